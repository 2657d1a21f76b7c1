// Memory counted where it is handed out: per rank, by category, with the categories at the total's peak.
#pragma once

#include <cstdint>
#include <mutex>

#include "base/measures.h"

namespace parabench::exec {

/// The counted memory of one rank. Thread-safe.
class MemoryAccount {
 public:
  void add(MemoryCategory category, std::int64_t bytes);
  void remove(MemoryCategory category, std::int64_t bytes);
  void move(MemoryCategory from, MemoryCategory to, std::int64_t bytes);

  std::int64_t live() const;
  /// Categories at the instant of the highest total since the last reset_peak(); `resident` is left 0.
  MemoryUsage peak() const;
  void reset_peak();
  /// A second, independent peak of the total alone, for one operation at a time.
  void begin_window();
  std::int64_t window_peak() const;

 private:
  mutable std::mutex mutex_;
  MemoryUsage live_, peak_;
  std::int64_t total_ = 0, peak_total_ = 0, window_peak_ = 0;
};

/// Makes every CPU tensor of the process count: replaces torch's CPU allocator. Call before the first tensor is
/// made.
void install_counting_allocator();

/// While in scope, tensors that this thread allocates belong to `account` under `category`; a block keeps its
/// account until it is freed, by whichever thread. Without a scope tensors are not counted.
class AccountScope {
 public:
  AccountScope(MemoryAccount& account, MemoryCategory category);
  ~AccountScope();
  AccountScope(const AccountScope&) = delete;
  AccountScope& operator=(const AccountScope&) = delete;

 private:
  MemoryAccount* previous_account_;
  MemoryCategory previous_category_;
};

/// Moves the block that starts at `data` (a tensor's storage) to another category of its account.
void recategorise(const void* data, MemoryCategory category);

}  // namespace parabench::exec
