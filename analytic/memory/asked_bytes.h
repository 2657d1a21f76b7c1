// Answers about the bytes of operations, kept for those that are asked about again.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "parallelism/plan/op.h"

namespace parabench::analytic {

/// What an operation of a rank takes depends neither on its step nor, among micro-batches of as many samples, on its
/// micro-batch, so it is asked for once. A schedule has thousands of operations and few questions to each segment.
class AskedBytes {
 public:
  enum class Of { saved, peak, for_weights, input, payload };

  explicit AskedBytes(std::size_t segments) : known_(segments) {}

  /// What `ask` says, or said of such an operation on the segment of this row.
  template <class Ask>
  std::int64_t bytes(int row, Of of, const plan::Op& op, int samples, Ask ask) {
    const Question question{of, op.kind, op.payload, op.accumulates, op.discards, op.port, samples};
    auto& known = known_[row];
    const auto found = std::ranges::find(known, question, &Known::question);
    if (found != known.end()) return found->bytes;
    const std::int64_t answer = ask();
    known.push_back({question, answer});
    return answer;
  }

 private:
  struct Question {
    Of of;
    plan::OpKind kind;
    plan::Payload payload;
    bool accumulates, discards;
    int port, samples;
    bool operator==(const Question&) const = default;
  };
  struct Known {
    Question question;
    std::int64_t bytes;
  };
  std::vector<std::vector<Known>> known_;  ///< by row of a segment
};

}  // namespace parabench::analytic
