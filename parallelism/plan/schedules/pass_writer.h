// Writes a device's order of two chunks whose micro-batches count up per chunk and kind of pass.
#pragma once

#include <array>
#include <deque>

#include "parallelism/plan/schedules/schedule.h"

namespace parabench::plan {

class PassWriter {
 public:
  /// Passes of micro-batches from the limit on are not written, though the counters go on.
  explicit PassWriter(int limit) : limit_(limit) {}

  void forward(int chunk, bool overlaps_next = false);
  void backward(int chunk);         ///< B: input and weight gradients
  void input_gradient(int chunk);   ///< I; its W stays open
  void weight_gradient(int chunk);  ///< the chunk's oldest open W, if any
  void oldest_weight_gradient();    ///< the oldest open W of both chunks, if any
  int forwards(int chunk) const { return forwards_[chunk]; }
  bool is_open(int chunk) const;  ///< whether a W of the chunk is
  DeviceOrder take();

 private:
  struct Piece {
    int chunk, micro_batch;
  };
  void add(OpKind kind, Piece piece, bool overlaps_next = false);

  int limit_;
  std::array<int, 2> forwards_{}, backwards_{};
  std::deque<Piece> open_;
  DeviceOrder order_;
};

}  // namespace parabench::plan
