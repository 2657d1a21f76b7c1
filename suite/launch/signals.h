// Ctrl-C and the end of child processes as events that one place waits for.
#pragma once

#include <signal.h>

#include <chrono>

namespace parabench::suite {

/// While one lives, SIGINT, SIGTERM, SIGHUP and SIGCHLD no longer act on the calling thread: `wait` reports them. A
/// first Ctrl-C (SIGINT) asks to finish what has begun; a second one, SIGTERM and SIGHUP ask to stop at once. Signals
/// that the program was started to ignore stay ignored. Create it on the main thread, before any other thread; the
/// destructor restores the mask.
class Signals {
 public:
  using Clock = std::chrono::steady_clock;
  enum class Event { child, interrupt, timeout };

  Signals();
  ~Signals();
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;

  /// Sleeps until a child ended, an interruption arrived or `deadline` has passed.
  Event wait(Clock::time_point deadline);
  /// True once an interruption has arrived, of either kind; never waits.
  bool interrupted();
  /// True once one has arrived that asks to stop at once; never waits.
  bool must_stop();
  /// The mask that a child must run with.
  const sigset_t& original_mask() const { return original_; }

 private:
  sigset_t original_;
  int descriptor_;
  bool interrupted_ = false, must_stop_ = false;
};

}  // namespace parabench::suite
