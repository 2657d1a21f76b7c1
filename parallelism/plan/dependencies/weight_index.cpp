#include "parallelism/plan/dependencies/weight_index.h"

namespace parabench::plan {

WeightIndex::WeightIndex(const OpPlaces& places) : places_(places), update_to_(places.updates(), nowhere) {
  if (!has_collectives(places.plan(), places.rank(), Payload::parameters)) return;
  gathered_.assign(places.updates(), no_op);
  if (places.plan().averaging.every > 0) sums_.assign(places.updates(), no_op);
}

void WeightIndex::add(const Op& op, const OpRef& ref) {
  if (op.kind == OpKind::update) return places_.put_version(op, ref.index, update_to_);
  if (op.kind == OpKind::average) return places_.put_version(op, ref, gathered_);
  if (is_collective(op.kind) && op.payload == Payload::parameters)
    places_.put_version(op, ref, op.kind == OpKind::all_reduce ? sums_ : gathered_);
}

OpRef WeightIndex::written(const Op& op, SegmentId s) const {
  const OpRef gathered = gathered_.empty() ? no_op : gathered_[places_.update(op, s, op.version.value)];
  return is_known(gathered) ? gathered : update_to(op, s);
}

OpRef WeightIndex::update_to(const Op& op, SegmentId s) const {
  const int version = op.version.value;
  return places_.compute(op, version <= places_.plan().steps ? update_to_[places_.update(op, s, version)] : nowhere);
}

OpRef WeightIndex::sum(const Op& op, SegmentId s) const {
  if (sums_.empty() || op.version.value > places_.plan().steps) places_.missing(op);
  return places_.known(op, sums_[places_.update(op, s, op.version.value)]);
}

}  // namespace parabench::plan
