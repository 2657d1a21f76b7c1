// What one rank sends in the place of its gradients (base/compression.h), and what it makes of the others'.
#pragma once

#include <torch/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "base/compression.h"
#include "models/spec/model.h"
#include "parallelism/comm/communicator.h"
#include "parallelism/plan/plan.h"
#include "parallelism/plan/state/messages.h"

namespace parabench::exec {

/// The arenas of a rank that it works on: gradients and errors flat, as state_layout() has them; what is sent as bytes.
/// Errors are undefined where nothing is fed back, what is projected where nothing is.
struct CompressionArenas {
  torch::Tensor gradients, errors, encoded, projected;
};

/// Of the members of a group, this one.
class Compressor {
 public:
  /// `layout`: of the rank. The arenas outlive it, errors being zeros.
  Compressor(const plan::Plan& plan, const models::ModelSpec& model, const plan::StateLayout& layout,
             CompressionArenas arenas);

  /// Of the gradients of a run, which stay as they are.
  void encode(SegmentId first, int segments, plan::Shard member);
  /// Once the sum of what was encoded is there.
  void project(SegmentId first, int segments);
  /// Makes the gradients of a run their sum over all members, but for what is left out.
  void decode(SegmentId first, int segments, plan::Shard member);

  /// What a collective works on.
  comm::BufferView encoded(SegmentId first, int segments, int members) const;
  comm::BufferView projected(SegmentId first, int segments) const;

 private:
  /// A tensor of a segment.
  struct Part {
    std::string name;
    torch::Tensor gradient, error;  ///< flat, or the matrix that is factored
    std::int64_t first = 0;         ///< in a copy
    std::int64_t place = 0;         ///< of what it is encoded as, in bytes, where one member's lies alone
    std::int64_t kept = 0;          ///< top-k
    torch::Tensor left, right;      ///< P and Q; undefined where it is not factored
    torch::Tensor sent;             ///< of what is summed as it is, or rounded
  };
  template <class Visit>
  void for_each_part(SegmentId first, int segments, Visit visit);
  template <class T>
  void select(Part& part, std::byte* to);
  template <class T>
  void add_selected(Part& part, const std::byte* from);
  /// Where a member's own part of a run begins, less where that lies alone.
  std::int64_t shift(SegmentId first, int segments, int member, int members) const;

  const plan::Plan& plan_;
  Compression by_;
  plan::ParameterSizes sizes_;
  CompressionArenas arenas_;
  std::vector<std::vector<Part>> parts_;  ///< by segment of the plan
};

}  // namespace parabench::exec
