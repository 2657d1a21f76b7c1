#include "parallelism/plan/schedules/pass_writer.h"

#include <algorithm>
#include <utility>

namespace parabench::plan {

void PassWriter::add(OpKind kind, Piece piece, bool overlaps_next) {
  if (piece.micro_batch < limit_) order_.push_back({kind, piece.chunk, piece.micro_batch, overlaps_next});
}

void PassWriter::forward(int chunk, bool overlaps_next) {
  add(OpKind::forward, {chunk, forwards_[chunk]++}, overlaps_next);
}

void PassWriter::backward(int chunk) { add(OpKind::backward, {chunk, backwards_[chunk]++}); }

void PassWriter::input_gradient(int chunk) {
  open_.push_back({chunk, backwards_[chunk]++});
  add(OpKind::backward_input, open_.back());
}

void PassWriter::weight_gradient(int chunk) {
  const auto oldest = std::ranges::find(open_, chunk, &Piece::chunk);
  if (oldest == open_.end()) return;
  add(OpKind::backward_weight, *oldest);
  open_.erase(oldest);
}

void PassWriter::oldest_weight_gradient() {
  if (!open_.empty()) weight_gradient(open_.front().chunk);
}

bool PassWriter::is_open(int chunk) const { return std::ranges::find(open_, chunk, &Piece::chunk) != open_.end(); }

DeviceOrder PassWriter::take() { return std::move(order_); }

}  // namespace parabench::plan
