// What a test must know of the sanitizers that it was built with.
#pragma once

namespace parabench {

/// Programs are several times slower, take more memory and address space than a small limit leaves, and load their
/// run-time library before any other.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool under_sanitizer = true;
#else
inline constexpr bool under_sanitizer = false;
#endif

}  // namespace parabench
