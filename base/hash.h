// FNV-1a, 64 bits: stable across machines and compilers, for plan hashes and stream names. Not for adversaries.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace parabench {

constexpr std::uint64_t fnv1a64(std::string_view bytes) {
  std::uint64_t hash = 0xcbf29ce484222325ULL;
  for (const char c : bytes) {
    hash ^= static_cast<unsigned char>(c);
    hash *= 0x100000001b3ULL;
  }
  return hash;
}

/// 16 lower-case hexadecimal digits.
inline std::string hex16(std::uint64_t value) {
  std::string text(16, '0');
  for (int i = 15; i >= 0; --i, value >>= 4) text[static_cast<std::size_t>(i)] = "0123456789abcdef"[value & 15];
  return text;
}

}  // namespace parabench
