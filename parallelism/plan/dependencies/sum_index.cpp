#include "parallelism/plan/dependencies/sum_index.h"

namespace parabench::plan {

SumIndex::SumIndex(const OpPlaces& places)
    : places_(places), norms_(places.updates(), nowhere), reduction_(places.updates(), no_op) {
  const auto has = [&](Payload purpose) { return has_collectives(places.plan(), places.rank(), purpose); };
  if (has(Payload::gradient_shares)) share_sum_.assign(places.updates(), no_op);
  if (has(Payload::norms)) norm_sum_.assign(places.updates(), no_op);
  if (has(Payload::encoded) || has(Payload::projected)) {
    for (auto* steps : {&encode_, &project_}) steps->assign(places.updates(), nowhere);
    for (auto* sums : {&encoded_, &projected_}) sums->assign(places.updates(), no_op);
  }
}

void SumIndex::add(const Op& op, const OpRef& ref) {
  if (op.kind == OpKind::norms) return places_.put_due(op, ref.index, norms_);
  if (op.kind == OpKind::encode) return places_.put_due(op, ref.index, encode_);
  if (op.kind == OpKind::project) return places_.put_due(op, ref.index, project_);
  if (op.kind == OpKind::decode) return places_.put_due(op, ref, reduction_);
  if (!is_collective(op.kind)) return;
  if (op.payload == Payload::gradients) return places_.put_due(op, ref, reduction_);
  if (op.payload == Payload::gradient_shares) return places_.put_due(op, ref, share_sum_);
  if (op.payload == Payload::norms) return places_.put_due(op, ref, norm_sum_);
  if (op.payload == Payload::encoded) return places_.put_due(op, ref, encoded_);
  if (op.payload == Payload::projected) return places_.put_due(op, ref, projected_);
}

OpRef SumIndex::whole(const Op& op, SegmentId s) const {
  const OpRef of_shares = share_sum_.empty() ? no_op : share_sum_[places_.due(op, s)];
  return is_known(of_shares) ? of_shares : reduction(op, s);
}

OpRef SumIndex::compressed(const Op& op, SegmentId s) const {
  const bool projects = !projected_.empty() && is_known(projected_[places_.due(op, s)]);
  return sum(op, s, projects ? projected_ : encoded_);
}

}  // namespace parabench::plan
