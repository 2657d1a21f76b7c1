// Pieces of one piece of work on several threads.
#pragma once

#include <cstddef>
#include <functional>

namespace parabench {

/// Calls `work` once with each of 0, 1, ... count - 1, on up to four threads, the caller among them: what a command
/// works out is no reason to fill a shared login node. Called from within such work it uses the caller's thread alone.
/// Returns once all have ended, and throws the exception of the lowest one that threw.
void side_by_side(std::size_t count, const std::function<void(std::size_t)>& work);

}  // namespace parabench
