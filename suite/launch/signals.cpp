#include "suite/launch/signals.h"

#include <poll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

namespace parabench::suite {
namespace {

/// The interruptions, but what whoever started this program has told it to ignore (nohup, a shell's background job).
sigset_t interruptions() {
  sigset_t set;
  sigemptyset(&set);
  for (int number : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction present {};
    sigaction(number, nullptr, &present);
    if (present.sa_handler != SIG_IGN) sigaddset(&set, number);
  }
  return set;
}

}  // namespace

Signals::Signals() {
  sigset_t watched = interruptions();
  sigaddset(&watched, SIGCHLD);
  pthread_sigmask(SIG_BLOCK, &watched, &original_);
  descriptor_ = signalfd(-1, &watched, SFD_CLOEXEC | SFD_NONBLOCK);
  if (descriptor_ < 0) {
    const int code = errno;
    pthread_sigmask(SIG_SETMASK, &original_, nullptr);
    throw std::system_error(code, std::generic_category(), "signalfd");
  }
}

Signals::~Signals() {
  close(descriptor_);
  // An interruption that came too late to be waited for must not kill the program while it reports.
  const timespec no_wait{0, 0};
  const sigset_t late = interruptions();
  while (sigtimedwait(&late, nullptr, &no_wait) > 0) {
  }
  pthread_sigmask(SIG_SETMASK, &original_, nullptr);
}

Signals::Event Signals::wait(Clock::time_point deadline) {
  for (;;) {
    signalfd_siginfo info;
    if (read(descriptor_, &info, sizeof info) == sizeof info) {
      if (info.ssi_signo == SIGCHLD) return Event::child;
      must_stop_ = interrupted_ || info.ssi_signo != SIGINT;
      interrupted_ = true;
      return Event::interrupt;
    }
    const auto now = Clock::now();
    if (now >= deadline) return Event::timeout;
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - now).count();
    pollfd watched{descriptor_, POLLIN, 0};
    poll(&watched, 1, static_cast<int>(std::min<long long>(left, 3'600'000)));
  }
}

bool Signals::interrupted() {
  // Child events that nobody waits for any more may be dropped: whoever waits looks at its child first.
  while (!interrupted_ && wait(Clock::time_point::min()) != Event::timeout) {
  }
  return interrupted_;
}

bool Signals::must_stop() {
  while (!must_stop_ && wait(Clock::time_point::min()) != Event::timeout) {
  }
  return must_stop_;
}

}  // namespace parabench::suite
