#include "base/side_by_side.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace parabench {

void side_by_side(std::size_t count, const std::function<void(std::size_t)>& work) {
  constexpr unsigned most_threads = 4;
  thread_local bool is_piece = false;  // of other work, whose pieces have the threads that there are
  std::vector<std::exception_ptr> errors(count);
  std::atomic<std::size_t> next = 0;
  const auto run = [&] {
    const bool was_piece = std::exchange(is_piece, true);
    for (std::size_t i = next++; i < count; i = next++) {
      try {
        work(i);
      } catch (...) {
        errors[i] = std::current_exception();
      }
    }
    is_piece = was_piece;
  };
  {
    std::vector<std::jthread> helpers;
    const std::size_t threads = is_piece ? 1 : std::clamp(std::thread::hardware_concurrency(), 1U, most_threads);
    try {
      for (std::size_t t = 1; t < std::min(threads, count); ++t) helpers.emplace_back(run);
    } catch (const std::system_error&) {
      // No room for another thread: those that there are do all of it.
    }
    run();
  }
  for (const std::exception_ptr& error : errors)
    if (error) std::rethrow_exception(error);
}

}  // namespace parabench
