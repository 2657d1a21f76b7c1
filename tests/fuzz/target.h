// What every fuzz target holds to: an input ends in a value or in parabench::Error, and what was read can be printed
// and read again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string_view>

#include "base/error.h"

/// Each target is one source that defines this, for libFuzzer and for replay.cpp. Returns 0.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace parabench::fuzz {

inline std::string_view as_text(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

/// Stops the process, which is a finding, where `expectation` does not hold.
inline void require(bool holds, const char* expectation) {
  if (holds) return;
  std::fprintf(stderr, "does not hold: %s\n", expectation);
  std::abort();
}

/// What `read` returns, or nothing where it throws the error of bad input. All other exceptions are findings.
template <class Read>
auto value_or_error(Read read) -> std::optional<decltype(read())> {
  try {
    return read();
  } catch (const Error& error) {
    require(error.code() == ExitCode::usage, "bad input ends with the exit code of bad input");
    return std::nullopt;
  }
}

}  // namespace parabench::fuzz
