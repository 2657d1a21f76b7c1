// The global order of samples: the same on every rank, every sample once per epoch.
#pragma once

#include <cstdint>
#include <vector>

namespace parabench::datasets {

/// Maps positions of the endless training stream to samples. Position p lies in epoch p / size; each epoch is
/// a permutation drawn from (seed, epoch). Step t of batch B covers positions [t B, (t + 1) B), also across
/// the end of an epoch, so no sample is lost or repeated within an epoch, whatever the number of ranks.
/// O(size) when the epoch changes, else O(1). Requires size >= 1 and position >= 0. Not shared between
/// threads.
class SampleOrder {
 public:
  SampleOrder(std::int64_t size, std::uint64_t seed);
  struct Sample {
    std::int64_t index, epoch;
    bool operator==(const Sample&) const = default;
  };
  Sample at(std::int64_t position);

 private:
  std::int64_t size_;
  std::uint64_t seed_;
  std::int64_t epoch_ = -1;
  std::vector<std::int64_t> permutation_;
};

}  // namespace parabench::datasets
