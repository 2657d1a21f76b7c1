#include "parallelism/exec/memory.h"

#include <c10/core/Allocator.h>
#include <c10/core/CPUAllocator.h>

#include <algorithm>
#include <cstdlib>
#include <new>

namespace parabench::exec {

void MemoryAccount::add(MemoryCategory category, std::int64_t bytes) {
  std::lock_guard lock(mutex_);
  live_[category] += bytes;
  total_ += bytes;
  window_peak_ = std::max(window_peak_, total_);
  if (total_ > peak_total_) {
    peak_total_ = total_;
    peak_ = live_;
  }
}

void MemoryAccount::remove(MemoryCategory category, std::int64_t bytes) {
  std::lock_guard lock(mutex_);
  live_[category] -= bytes;
  total_ -= bytes;
}

void MemoryAccount::move(MemoryCategory from, MemoryCategory to, std::int64_t bytes) {
  std::lock_guard lock(mutex_);
  live_[from] -= bytes;
  live_[to] += bytes;
}

std::int64_t MemoryAccount::live() const {
  std::lock_guard lock(mutex_);
  return total_;
}

MemoryUsage MemoryAccount::peak() const {
  std::lock_guard lock(mutex_);
  return peak_;
}

void MemoryAccount::reset_peak() {
  std::lock_guard lock(mutex_);
  peak_ = live_;
  peak_total_ = total_;
}

void MemoryAccount::begin_window() {
  std::lock_guard lock(mutex_);
  window_peak_ = total_;
}

std::int64_t MemoryAccount::window_peak() const {
  std::lock_guard lock(mutex_);
  return window_peak_;
}

namespace {

thread_local MemoryAccount* current_account = nullptr;
thread_local MemoryCategory current_category = MemoryCategory::workspace;

/// Stands before every block; as large as the alignment, so that the data stays aligned.
struct alignas(64) Header {
  MemoryAccount* account;
  MemoryCategory category;
  std::int64_t bytes;
};

Header* header_of(const void* data) {
  return reinterpret_cast<Header*>(static_cast<std::byte*>(const_cast<void*>(data)) - sizeof(Header));
}

void release(void* data) {
  if (!data) return;
  Header* header = header_of(data);
  if (header->account) header->account->remove(header->category, header->bytes);
  std::free(header);
}

class CountingAllocator final : public c10::Allocator {
 public:
  c10::DataPtr allocate(std::size_t bytes) override {
    const c10::Device cpu(c10::DeviceType::CPU);
    if (bytes == 0) return {nullptr, nullptr, &release, cpu};
    void* block = nullptr;
    if (posix_memalign(&block, alignof(Header), sizeof(Header) + bytes) != 0) throw std::bad_alloc();
    auto* header = new (block) Header{current_account, current_category, static_cast<std::int64_t>(bytes)};
    if (header->account) header->account->add(header->category, header->bytes);
    void* data = header + 1;
    // oneDNN's scratch pads insist on context == data.
    return {data, data, &release, cpu};
  }
  c10::DeleterFnPtr raw_deleter() const override { return &release; }
  void copy_data(void* to, const void* from, std::size_t bytes) const override { default_copy_data(to, from, bytes); }
};

}  // namespace

void install_counting_allocator() {
  static CountingAllocator allocator;
  c10::SetCPUAllocator(&allocator, /*priority=*/255);
}

AccountScope::AccountScope(MemoryAccount& account, MemoryCategory category)
    : previous_account_(current_account), previous_category_(current_category) {
  current_account = &account;
  current_category = category;
}

AccountScope::~AccountScope() {
  current_account = previous_account_;
  current_category = previous_category_;
}

void recategorise(const void* data, MemoryCategory category) {
  if (!data) return;
  Header* header = header_of(data);
  if (header->account) header->account->move(header->category, category, header->bytes);
  header->category = category;
}

}  // namespace parabench::exec
