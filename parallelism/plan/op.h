// One operation of a plan: a small flat value made by a named function.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/strong.h"

namespace parabench {

enum class OpKind : std::uint8_t {
  forward,          ///< F: one segment, one micro-batch
  backward,         ///< B: its input and weight gradients
  backward_input,   ///< I: its input gradient alone; what the weight gradients need is kept
  backward_weight,  ///< W: the weight gradients that an I left open
  recompute,        ///< a forward once more, for the backward that follows: brings back what the first one discarded
  send_forward,     ///< activation of `segment`'s output to the peer that computes the next segment
  recv_forward,     ///< activation that is `segment`'s input
  send_backward,    ///< gradient of `segment`'s input to the peer that computes the previous segment
  recv_backward,    ///< gradient of `segment`'s output
  all_reduce,       ///< sum of the gradients of a run of segments over the holders of their stage
  update,           ///< optimizer step of a run of segments
};

/// "F", "B", "I", "W", "RECOMPUTE", "SEND_F", "RECV_F", "SEND_B", "RECV_B", "ALL_REDUCE", "UPDATE".
std::string_view name(OpKind kind);
inline constexpr std::array<OpKind, 11> all_op_kinds = {
    OpKind::forward,       OpKind::backward,     OpKind::backward_input, OpKind::backward_weight,
    OpKind::recompute,     OpKind::send_forward, OpKind::recv_forward,   OpKind::send_backward,
    OpKind::recv_backward, OpKind::all_reduce,   OpKind::update};

bool is_pass(OpKind kind);                ///< computes one segment for one micro-batch: F, B, I, W, RECOMPUTE
bool makes_input_gradient(OpKind kind);   ///< B, I
bool makes_weight_gradient(OpKind kind);  ///< B, W
bool is_send(OpKind kind);                ///< send_forward, send_backward
bool is_receive(OpKind kind);             ///< recv_forward, recv_backward
bool is_message(OpKind kind);             ///< sends and receives
bool is_over_run(OpKind kind);            ///< all_reduce, update: works on a run of segments

struct Op {
  OpKind kind = OpKind::forward;
  bool accumulates = false;     ///< B, W: adds to gradients that an earlier one made since the last update
  bool discards = false;        ///< F: keeps its input alone, for a RECOMPUTE
  bool overlaps_next = false;   ///< F: may run at the same time as the action after it
  SegmentId segment;            ///< all_reduce, update: the first of the run
  int segments = 1;             ///< all_reduce, update: length of the run
  MicroBatchId micro_batch{0};  ///< all_reduce, update: 0
  int step = 0;                 ///< step of the window, 0-based
  int version = 0;              ///< passes: weight version read; update: version written
  Rank peer{-1};                ///< send, recv: the other rank
  bool operator==(const Op&) const = default;
};

/// A pass of the given kind (is_pass).
Op pass(OpKind kind, SegmentId s, MicroBatchId m, int step, int version);
Op forward(SegmentId s, MicroBatchId m, int step, int version);
Op backward(SegmentId s, MicroBatchId m, int step, int version);
Op send_forward(SegmentId s, MicroBatchId m, int step, Rank to);
Op recv_forward(SegmentId s, MicroBatchId m, int step, Rank from);
Op send_backward(SegmentId s, MicroBatchId m, int step, Rank to);
Op recv_backward(SegmentId s, MicroBatchId m, int step, Rank from);
Op all_reduce(SegmentId first, int segments, int step);
Op update(SegmentId first, int segments, int step, int version);

/// The segment at the other end of a message: the next one where an activation leaves or its gradient arrives, else the
/// previous one. May be none of the plan.
SegmentId other_segment(const Op& message);
/// The receive that belongs to a send of rank `from`.
Op receive_of(const Op& send, Rank from);

/// Text with segment and micro-batch: `2F0`, `1SEND_F3`, `0-4ALL_REDUCE`, `7UPDATE`; the step is not part of it.
std::string to_text(const Op& op);

}  // namespace parabench
