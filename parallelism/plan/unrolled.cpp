#include "parallelism/plan/unrolled.h"

#include <optional>

namespace parabench::plan {
namespace {

/// Updates on their way to who reads what they write.
class LateUpdates {
 public:
  LateUpdates(const Plan& plan, std::span<const Op> once, std::vector<Repeated>& result)
      : plan_(plan), once_(once), result_(result), waiting_(plan.segments.size()) {}

  void add(const Repeated& update) {
    for (int i = 0; i < once_[update.index].segments; ++i) waiting_[once_[update.index].segment.value + i] = update;
  }

  /// Before a forward of `s`.
  void write_for(SegmentId s) {
    if (plan_.tie && plan_.tie->shared && s == plan_.tie->copy) write(plan_.tie->original);
    write(s);
  }

  void write_all() {
    for (SegmentId s; s.value < std::ssize(waiting_); ++s) write(s);
  }

 private:
  void write(SegmentId s) {
    const std::optional<Repeated> update = waiting_[s.value];
    if (!update) return;
    result_.push_back(*update);
    const Op& op = once_[update->index];
    for (int i = 0; i < op.segments; ++i) waiting_[op.segment.value + i].reset();
  }

  const Plan& plan_;
  std::span<const Op> once_;
  std::vector<Repeated>& result_;
  std::vector<std::optional<Repeated>> waiting_;  ///< by segment
};

}  // namespace

std::vector<Repeated> unrolled_lane(const Plan& plan, std::span<const Op> once, int times) {
  std::vector<Repeated> result;
  result.reserve(once.size() * times);
  LateUpdates late(plan, once, result);
  for (int time = 0; time < times; ++time) {
    for (int i = 0; i < std::ssize(once); ++i) {
      const bool waits = plan.updates_late && once[i].kind == OpKind::update;
      if (waits) {
        late.add({i, time});
        continue;
      }
      if (once[i].kind == OpKind::forward) late.write_for(once[i].segment);
      result.push_back({i, time});
    }
  }
  late.write_all();
  return result;
}

}  // namespace parabench::plan
