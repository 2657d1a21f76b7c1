// Waking a sleeping rank: an event counter that can be slept on, also across processes.
#pragma once

#include <atomic>
#include <cstdint>

namespace parabench::comm {

/// Lies in memory that the ranks share; all bytes zero is its initial state.
struct alignas(64) Doorbell {
  std::atomic<std::uint32_t> events;    ///< goes up by one with every ring
  std::atomic<std::uint32_t> sleepers;  ///< so that ringing an awake rank costs no system call
};

/// Counts an event and wakes whoever sleeps on the bell.
void ring(Doorbell& bell) noexcept;

/// What a watching thread does with its core between two looks. A yield lets whoever is waited for have the core, but
/// costs a whole time slice (milliseconds) where somebody else computes on it, as Linux's scheduler has it since 6.6.
enum class BetweenLooks : std::uint8_t { pause, yield };

/// Watches the bell awake for `limit_s` at most; true once `events` differs from `seen`.
bool watch(const Doorbell& bell, std::uint32_t seen, double limit_s, BetweenLooks between) noexcept;

/// Returns once `events` differs from `seen`, at the latest after `limit_s`; may return early.
void sleep_on(Doorbell& bell, std::uint32_t seen, double limit_s) noexcept;

}  // namespace parabench::comm
