// Random values of the protocol's types: a test draws many and sends each there and back.
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "base/enum_text.h"

namespace parabench::protocol {

class Any {
 public:
  explicit Any(std::uint32_t seed) : engine_(seed) {}

  int whole(int least, int most) { return std::uniform_int_distribution(least, most)(engine_); }
  bool flag() { return whole(0, 1) == 1; }
  double real() { return std::uniform_real_distribution(-1e3, 1e3)(engine_); }
  std::int64_t bytes() { return std::uniform_int_distribution<std::int64_t>(1, std::int64_t{1} << 50)(engine_); }
  /// Also empty, and with what JSON must escape.
  std::string text() {
    std::string out;
    for (int n = whole(0, 8); n > 0; --n) out += "ab \"\\/\n\t{}?"[whole(0, 9)];
    return out;
  }
  template <NamedEnum E>
  E one_of() {
    return static_cast<E>(whole(0, static_cast<int>(enum_names<E>.size()) - 1));
  }
  template <class Make>
  auto list(int least, int most, Make make) {
    std::vector<decltype(make())> out;
    for (int n = whole(least, most); n > 0; --n) out.push_back(make());
    return out;
  }

 private:
  std::mt19937 engine_;
};

constexpr int round_trips = 200;

}  // namespace parabench::protocol
