// One operation of a plan: a small flat value made by a named function.
#pragma once

#include <array>
#include <string>
#include <string_view>

#include "base/strong.h"

namespace parabench {

enum class OpKind {
  forward,        ///< F: one segment, one micro-batch
  backward,       ///< B: its input and weight gradients
  send_forward,   ///< activation of `segment`'s output to the peer that holds the next segment
  recv_forward,   ///< activation that is `segment`'s input
  send_backward,  ///< gradient of `segment`'s input to the peer that holds the previous segment
  recv_backward,  ///< gradient of `segment`'s output
  all_reduce,     ///< sum of the gradients of a run of segments over the replicas
  update,         ///< optimizer step of a run of segments
};

/// "F", "B", "SEND_F", "RECV_F", "SEND_B", "RECV_B", "ALL_REDUCE", "UPDATE".
std::string_view name(OpKind kind);
inline constexpr std::array<OpKind, 8> all_op_kinds = {
    OpKind::forward,       OpKind::backward,      OpKind::send_forward, OpKind::recv_forward,
    OpKind::send_backward, OpKind::recv_backward, OpKind::all_reduce,   OpKind::update};

bool is_compute(OpKind kind);   ///< forward, backward
bool is_send(OpKind kind);      ///< send_forward, send_backward
bool is_receive(OpKind kind);   ///< recv_forward, recv_backward
bool is_over_run(OpKind kind);  ///< all_reduce, update: works on a run of segments

/// Lanes of a rank run side by side; within a lane, operations run in order.
enum class Lane { compute, collectives, p2p_forward, p2p_backward };
inline constexpr int lane_count = 4;
inline constexpr std::array<Lane, lane_count> all_lanes = {Lane::compute, Lane::collectives, Lane::p2p_forward,
                                                           Lane::p2p_backward};
std::string_view name(Lane lane);
Lane lane_of(OpKind kind);

struct Op {
  OpKind kind = OpKind::forward;
  SegmentId segment;            ///< all_reduce, update: the first of the run
  int segments = 1;             ///< all_reduce, update: length of the run
  MicroBatchId micro_batch{0};  ///< all_reduce, update: 0
  int step = 0;                 ///< step of the window, 0-based
  int version = 0;              ///< forward, backward: weight version read; update: version written
  Rank peer{-1};                ///< send, recv: the other rank
  bool operator==(const Op&) const = default;
};

Op forward(SegmentId s, MicroBatchId m, int step, int version);
Op backward(SegmentId s, MicroBatchId m, int step, int version);
Op send_forward(SegmentId s, MicroBatchId m, int step, Rank to);
Op recv_forward(SegmentId s, MicroBatchId m, int step, Rank from);
Op send_backward(SegmentId s, MicroBatchId m, int step, Rank to);
Op recv_backward(SegmentId s, MicroBatchId m, int step, Rank from);
Op all_reduce(SegmentId first, int segments, int step);
Op update(SegmentId first, int segments, int step, int version);

/// Whether a backward makes its segment's gradients of the step; the later micro-batches, which pass in order,
/// add to them.
bool starts_gradients(const Op& backward);

/// Text with segment and micro-batch: `2F0`, `1SEND_F3`, `0-4ALL_REDUCE`, `7UPDATE`; the step is not part of it.
std::string to_text(const Op& op);

}  // namespace parabench
