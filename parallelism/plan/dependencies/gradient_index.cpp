#include "parallelism/plan/dependencies/gradient_index.h"

#include <optional>

namespace parabench::plan {

GradientIndex::GradientIndex(const OpPlaces& places)
    : places_(places), last_(places.updates(), nowhere), tied_(places.updates_of_segment(), no_op) {
  if (places.plan().scatters_pieces) of_piece_.assign(places.pieces(), nowhere);
}

void GradientIndex::add(const Op& op, const OpRef& ref) {
  if (op.kind == OpKind::add) return places_.put_due(op, ref.index, last_);
  if (makes_weight_gradient(op.kind)) {
    last_[places_.due(op, op.segment)] = ref.index;
    if (!of_piece_.empty()) of_piece_[places_.piece(op, op.segment)] = ref.index;
  } else if (is_collective(op.kind) && op.payload == Payload::tied_gradients) {
    tied_[places_.number(op, op.segment)] = ref;
  } else if (is_collective(op.kind) && op.payload == Payload::gradients && places_.plan().scatters_pieces) {
    scattered_[{op.segment, op.step, op.micro_batch}] = ref;
  }
}

void GradientIndex::complete(const Op& op, SegmentId s, std::vector<OpRef>& found) const {
  const std::optional<TiedSegments>& tie = places_.plan().tie;
  if (tie && !tie->shared && (s == tie->original || s == tie->copy)) {
    found.push_back(places_.known(op, tied_[places_.number(op, s)]));
    return;
  }
  found.push_back(last(op, s));
  if (tie && tie->shared && s == tie->original && s != tie->copy) found.push_back(last(op, tie->copy));
}

OpRef GradientIndex::last_of_tied(const Op& op) const {
  const TiedSegments& tie = *places_.plan().tie;
  return last(op, places_.holds(tie.original) ? tie.original : tie.copy);
}

OpRef GradientIndex::scattered(const Op& add) const {
  const auto found = scattered_.find({add.segment, add.step, add.micro_batch});
  if (found == scattered_.end()) places_.missing(add);
  return found->second;
}

}  // namespace parabench::plan
