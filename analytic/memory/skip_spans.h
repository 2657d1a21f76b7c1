// Until when a rank needs tensors that skip segments.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "analytic/memory/pass_spans.h"
#include "parallelism/plan/timeline.h"

namespace parabench::analytic {

/// Of one rank over a simulated timeline; plan, spans and passes outlive it. O(operations) to make.
class SkipSpans {
 public:
  SkipSpans(const plan::Plan& plan, Rank rank, std::span<const std::vector<plan::Span>> spans, const PassSpans& passes);

  /// Whether the rank computes the piece of `op` on another segment too.
  bool computes_here(const plan::Op& op, SegmentId other) const;
  /// When the last of those that take a skip on this rank has run its backward; minus infinity where none does.
  /// O(skips).
  double taken_until(const plan::Op& op, int tensor) const;
  /// The end of a message of a skip that follows a pass; minus infinity where there is none.
  double sent_until(plan::Payload payload, const plan::Op& pass, int port) const;

 private:
  /// A skip that leaves the rank, as a key.
  struct Place {
    plan::Payload payload;
    int segment, micro_batch, step, port;
    bool operator==(const Place&) const = default;
  };
  struct PlaceHash {
    std::size_t operator()(const Place& p) const {
      auto h = static_cast<std::uint64_t>(p.payload);
      for (const int field : {p.segment, p.micro_batch, p.step, p.port}) {
        h = (h ^ static_cast<std::uint32_t>(field)) * 0x9e3779b97f4a7c15ULL;
        h ^= h >> 32;
      }
      return h;
    }
  };
  static Place place(plan::Payload payload, const plan::Op& op, int port) {
    return {payload, op.segment.value, op.micro_batch.value, op.step.value, port};
  }

  const plan::Plan& plan_;
  Rank rank_;
  const PassSpans& passes_;
  std::unordered_map<Place, const plan::Span*, PlaceHash> sends_;
};

}  // namespace parabench::analytic
