#include "analytic/memory/free_blocks.h"

#include <algorithm>
#include <functional>

namespace parabench::analytic {

FreeBlocks::Sizes::iterator FreeBlocks::place(std::int64_t bytes) {
  return std::ranges::lower_bound(sizes_, bytes, {}, &Size::bytes);
}

FreeBlocks::Entry FreeBlocks::pop(int heap) {
  std::vector<Entry>& entries = heaps_[heap];
  std::ranges::pop_heap(entries, std::greater<>(), &Entry::address);
  const Entry first = entries.back();
  entries.pop_back();
  return first;
}

void FreeBlocks::insert(std::int64_t bytes, Entry entry) {
  auto at = place(bytes);
  if (at == sizes_.end() || at->bytes != bytes) {
    if (unused_.empty()) {
      unused_.push_back(static_cast<int>(heaps_.size()));
      heaps_.emplace_back();
    }
    at = sizes_.insert(at, {.bytes = bytes, .free = 0, .heap = unused_.back()});
    unused_.pop_back();
  }
  ++at->free;
  std::vector<Entry>& entries = heaps_[at->heap];
  entries.push_back(entry);
  std::ranges::push_heap(entries, std::greater<>(), &Entry::address);
}

void FreeBlocks::drop(std::int64_t bytes) { drop(place(bytes)); }

void FreeBlocks::drop(Sizes::iterator of) {
  if (--of->free > 0) return;
  heaps_[of->heap].clear();
  unused_.push_back(of->heap);
  sizes_.erase(of);
}

}  // namespace parabench::analytic
