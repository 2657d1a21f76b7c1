#include "parallelism/plan/dependencies/server_index.h"

#include <algorithm>

#include "parallelism/plan/ties.h"

namespace parabench::plan {
namespace {

void append(const std::vector<OpRef>& refs, std::vector<OpRef>& found) {
  found.insert(found.end(), refs.begin(), refs.end());
}

}  // namespace

ServerIndex::ServerIndex(const OpPlaces& places) : places_(places) {
  if (places.plan().servers.empty()) return;
  last_reader_.assign(places.updates(), nowhere);
  for (auto* table : {&last_push_, &sent_, &pulled_}) table->resize(places.updates());
}

void ServerIndex::add(const Op& op, const OpRef& ref) {
  if (is_pass(op.kind)) return note_reader(op, ref.index);
  if (op.kind == OpKind::add) {
    adds_[{op.segment, op.step, op.peer}] = ref.index;
  } else if (op.kind == OpKind::receive && op.payload == Payload::parameters) {
    note(op, ref, op.version.value, pulled_);
  } else if (op.kind == OpKind::receive && op.payload == Payload::gradients) {
    pushed_[{op.segment, op.step, op.peer}] = ref;
  } else if (op.kind == OpKind::send && op.payload == Payload::gradients) {
    note(op, ref, op.step.value, last_push_);
  } else if (op.kind == OpKind::send && is_over_run(op)) {
    note(op, ref, op.version.value, sent_);
  }
}

void ServerIndex::finish() {
  for (std::size_t i = 1; i < last_reader_.size(); ++i) {
    if (i % places_.updates_of_segment() == 0) continue;  // another segment's
    last_reader_[i] = std::max(last_reader_[i], last_reader_[i - 1]);
    if (last_push_[i].empty()) last_push_[i] = last_push_[i - 1];
  }
}

OpRef ServerIndex::pushed(const Op& add) const {
  const auto found = pushed_.find({add.segment, add.step, add.peer});
  if (found == pushed_.end()) places_.missing(add);
  return found->second;
}

void ServerIndex::all_pushed(const Op& add, std::vector<OpRef>& found) const {
  const auto begin = pushed_.lower_bound({add.segment, add.step, Rank(nowhere)});
  const auto end = pushed_.lower_bound({add.segment, StepId(add.step.value + 1), Rank(nowhere)});
  if (begin == end) places_.missing(add);
  for (auto push = begin; push != end; ++push) found.push_back(push->second);
}

OpRef ServerIndex::addition(const Op& receive) const {
  const auto found = adds_.find({receive.segment, receive.step, receive.peer});
  return places_.compute_if_any(found == adds_.end() ? nowhere : found->second);
}

void ServerIndex::sends_of_overwritten(const Op& update, SegmentId s, std::vector<OpRef>& found) const {
  const int version = overwritten(update);
  if (!sent_.empty() && version >= 0) append(sent_[places_.update(update, s, version)], found);
}

void ServerIndex::pulled(const Op& op, SegmentId s, std::vector<OpRef>& found) const {
  if (!pulled_.empty()) append(pulled_[places_.update(op, s, op.version.value)], found);
}

OpRef ServerIndex::last_reader_before(const Op& pull, SegmentId s) const {
  const int version = overwritten(pull);
  if (last_reader_.empty() || version < 0) return no_op;
  return places_.compute_if_any(last_reader_[places_.update(pull, s, version)]);
}

void ServerIndex::pushes_before(const Op& pass, SegmentId s, std::vector<OpRef>& found) const {
  if (last_push_.empty() || pass.step.value == 0) return;
  append(last_push_[places_.update(pass, s, pass.step.value - 1)], found);
}

void ServerIndex::note_reader(const Op& pass, int index) {
  const int version = pass.version.value;
  if (last_reader_.empty() || version > places_.plan().steps) return;
  last_reader_[places_.update(pass, pass.segment, version)] = index;
  if (const auto original = shared_original(places_.plan(), pass.segment))
    last_reader_[places_.update(pass, *original, version)] = index;
}

void ServerIndex::note(const Op& message, const OpRef& ref, int number, std::vector<Refs>& table) const {
  for (int i = 0; i < message.segments && number <= places_.plan().steps && !table.empty(); ++i)
    table[places_.update(message, SegmentId(message.segment.value + i), number)].push_back(ref);
}

int ServerIndex::overwritten(const Op& op) const {
  const int version = op.version.value - places_.plan().ranks[places_.rank().value].weight_versions;
  return version >= 0 && version <= places_.plan().steps ? version : -1;
}

}  // namespace parabench::plan
