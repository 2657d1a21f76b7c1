#include "parallelism/comm/exchange_values.h"

#include <fmt/format.h>

namespace parabench::comm {
namespace {

constexpr int period = static_cast<int>(ValuePeriod().size());

/// As the members of a buffer's type.
template <class T>
std::array<T, period> converted(const ValuePeriod& values) {
  std::array<T, period> all;
  for (int i = 0; i < period; ++i) all[i] = static_cast<T>(values[i]);
  return all;
}

template <class T>
void write(std::span<std::byte> buffer, std::int64_t first, const ValuePeriod& values) {
  const auto all = converted<T>(values);
  const std::span<T> elements(reinterpret_cast<T*>(buffer.data()), buffer.size() / sizeof(T));
  auto at = static_cast<int>(first % period);
  for (T& element : elements) {
    element = all[at];
    if (++at == period) at = 0;
  }
}

template <class T>
std::string first_wrong(std::span<const std::byte> buffer, std::int64_t first, const ValuePeriod& expected) {
  const auto all = converted<T>(expected);
  const std::span<const T> elements(reinterpret_cast<const T*>(buffer.data()), buffer.size() / sizeof(T));
  auto at = static_cast<int>(first % period);
  for (std::size_t i = 0; i < elements.size(); ++i) {
    // What is not a number equals nothing.
    if (!(elements[i] == all[at]))
      return fmt::format("element {} is {}, expected {}", first + static_cast<std::int64_t>(i), elements[i], all[at]);
    if (++at == period) at = 0;
  }
  return "";
}

}  // namespace

ValuePeriod own_values(int position, int iteration) {
  ValuePeriod values;
  for (int i = 0; i < period; ++i)
    values[i] = static_cast<double>((i + std::int64_t{31} * position + std::int64_t{7} * iteration) % period);
  return values;
}

ValuePeriod summed_values(int members, int iteration) {
  ValuePeriod sums{};
  for (int position = 0; position < members; ++position) {
    const ValuePeriod own = own_values(position, iteration);
    for (int i = 0; i < period; ++i) sums[i] += own[i];
  }
  return sums;
}

ValuePeriod no_values() {
  ValuePeriod values;
  values.fill(-1);
  return values;
}

void write_values(std::span<std::byte> buffer, Precision precision, std::int64_t first, const ValuePeriod& values) {
  precision == Precision::fp64 ? write<double>(buffer, first, values) : write<float>(buffer, first, values);
}

std::string first_wrong_value(std::span<const std::byte> buffer, Precision precision, std::int64_t first,
                              const ValuePeriod& expected) {
  return precision == Precision::fp64 ? first_wrong<double>(buffer, first, expected)
                                      : first_wrong<float>(buffer, first, expected);
}

}  // namespace parabench::comm
