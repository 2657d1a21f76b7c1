#include "datasets/order.h"

#include <numeric>
#include <utility>

#include "datasets/draws.h"

namespace parabench::datasets {

SampleOrder::SampleOrder(std::int64_t size, std::uint64_t seed) : size_(size), seed_(seed) {}

SampleOrder::Sample SampleOrder::at(std::int64_t position) {
  const std::int64_t epoch = position / size_;
  if (epoch != epoch_) {
    permutation_.resize(static_cast<std::size_t>(size_));
    std::iota(permutation_.begin(), permutation_.end(), std::int64_t{0});
    Draws draws(seed_, DrawPurpose::order, epoch);
    for (std::int64_t last = size_ - 1; last > 0; --last) {
      std::swap(permutation_[static_cast<std::size_t>(last)],
                permutation_[static_cast<std::size_t>(draws.below(last + 1))]);
    }
    epoch_ = epoch;
  }
  return {permutation_[static_cast<std::size_t>(position % size_)], epoch};
}

}  // namespace parabench::datasets
