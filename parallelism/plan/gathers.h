// Gathers of weights before they are read, of a rank that has room for those of some runs alone (Plan::room), and who
// reads what they bring.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "parallelism/plan/dependencies.h"
#include "parallelism/plan/state/buffers.h"

namespace parabench::plan {

/// A run's first gather of a step is for its forwards, the last one, which may be the same, for all other passes. The
/// plan outlives the index. O(operations) to make.
class GatherIndex {
 public:
  GatherIndex(const Plan& plan, Rank rank);

  /// Adds what brings the weights that a pass reads; false where nothing does.
  bool bring(const Op& pass, std::vector<OpRef>& found) const;
  /// The last pass that reads what a gather replaces; none where nobody does.
  std::optional<OpRef> last_reader(const OpRef& gather) const;

 private:
  bool knows(SegmentId s) const { return buffers_.run_of[s.value] >= 0; }
  std::size_t place(SegmentId s, StepId step) const;
  /// Segments whose weights a pass reads.
  std::vector<SegmentId> read(const Op& pass) const;
  void add(int lane);

  const Plan& plan_;
  Rank rank_;
  Buffers buffers_;
  std::vector<std::optional<OpRef>> first_, last_;                  ///< [run][step]
  std::vector<std::optional<OpRef>> last_forward_, last_backward_;  ///< [run][step]
  std::map<int, std::vector<std::optional<OpRef>>> replaced_;       ///< [lane][index] the gather whose buffer it takes
};

}  // namespace parabench::plan
