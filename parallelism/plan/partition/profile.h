// What is known of a model's layers on a machine, as plain numbers: what plans are cut by.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/case.h"

namespace parabench::plan {

/// Bytes of a layer on its rank.
struct LayerSizes {
  std::int64_t weights = 0;  ///< one version
  std::int64_t states =
      0;  ///< gradients, optimizer, input that stays; with recomputation what one micro-batch brings back
  std::int64_t saved = 0;  ///< kept for each micro-batch in flight
  std::int64_t input = 0;  ///< of a micro-batch; the model's images count as saved
  std::int64_t output = 0;
  std::int64_t passing = 0;  ///< once, while a pass runs: temporaries and messages on their way
};

/// How long ranks take to sum.
struct SumTimes {
  double latency_s = 0;
  double bytes_per_s = 0;  ///< 0: no bytes take any time
  double seconds(double bytes) const { return latency_s + (bytes_per_s > 0 ? bytes / bytes_per_s : 0); }
};

/// Of so many micro-batches of a step those whose forwards run again, as far as that is known before stages are cut.
constexpr int repeated_pieces(Recompute recompute, int pieces) {
  if (recompute == Recompute::except_last) return pieces - 1;
  return recompute == Recompute::all ? pieces : 0;
}

/// Each part is read by who needs it alone. Seconds by themselves are a profile.
struct Profile {
  Profile(std::vector<double> layer_seconds = {}) : seconds(std::move(layer_seconds)) {}  // NOLINT

  /// What stages are cut by: passes, the forwards that run again, what all pieces but the first take longer to add to
  /// gradients, and of the update that follows so many pieces the share of one.
  std::vector<double> seconds_per_piece(int pieces) const {
    std::vector<double> sums = seconds;
    const double again = static_cast<double>(repeated_pieces(recompute, pieces)) / pieces;
    for (std::size_t l = 0; l < forward_seconds.size(); ++l) sums.at(l) += again * forward_seconds[l];
    const double added = static_cast<double>(pieces - 1) / pieces;
    for (std::size_t l = 0; l < adding_seconds.size(); ++l) sums.at(l) += added * adding_seconds[l];
    for (std::size_t l = 0; l < update_seconds.size(); ++l) sums.at(l) += update_seconds[l] / pieces;
    return sums;
  }

  std::vector<double> seconds;          ///< forward + backward of each layer at the size of a piece
  std::vector<double> forward_seconds;  ///< of its forward alone; empty: none runs again
  Recompute recompute = Recompute::none;
  std::vector<double> adding_seconds;    ///< that a backward takes longer where it adds to gradients; empty: none
  std::vector<double> update_seconds;    ///< of each layer's update; empty: they take no time
  std::vector<LayerSizes> sizes;         ///< likewise of a piece, for partition:memory and replicas=auto
  double link_bytes_per_s = 0;           ///< of messages between two ranks, for replicas=auto
  std::vector<double> ring_bytes_per_s;  ///< likewise, where 2, 3, ... ranks sum; empty: that of messages
  SumTimes sum;                          ///< among all ranks, for order:priority
};

}  // namespace parabench::plan
