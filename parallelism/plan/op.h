// One operation of a plan: a small flat value made by a named function.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/enum_text.h"
#include "base/strong.h"

namespace parabench::plan {

enum class OpKind : std::uint8_t {
  // Passes: one segment, one micro-batch.
  forward,          ///< F
  backward,         ///< B: its input and weight gradients
  backward_input,   ///< I: its input gradient alone; what the weight gradients need is kept
  backward_weight,  ///< W: the weight gradients that an I left open
  recompute,        ///< a forward once more, for the backward that follows: brings back what the first one discarded
  norms,            ///< what the rank's share of a run adds to the norms of its tensors, for an update in shares
  update,           ///< optimizer step of a run of segments, or of the rank's share of it
  add,              ///< adds gradients of a run to those that a rank sums: what a worker sent its server, or the rank's
                    ///< share of a micro-batch's (Plan::scatters_pieces)
  average,          ///< weights of a run from their sum over a group: the mean, or an outer optimizer's step to it
  encode,           ///< makes of the gradients of a run what is sent in their place (base/compression.h)
  project,          ///< makes of its sum what is sent next
  decode,           ///< makes the gradients of a run of what came of all members
  // Messages: from one rank to another.
  send,
  receive,
  // Collectives: among the members of a group, in place.
  all_reduce,      ///< the sum on every member
  reduce_scatter,  ///< on every member its share of the sum
  all_gather,      ///< every member's share on all of them
  broadcast,       ///< what the root has on all of them
};

constexpr std::array<std::string_view, 18> names_of(OpKind) {
  return {"F",          "B",        "I",       "W",      "RECOMPUTE", "NORMS", "UPDATE",     "ADD",
          "AVERAGE",    "ENCODE",   "PROJECT", "DECODE", "SEND",      "RECV",  "ALL_REDUCE", "REDUCE_SCATTER",
          "ALL_GATHER", "BROADCAST"};
}

constexpr bool is_pass(OpKind kind) { return kind <= OpKind::recompute; }
constexpr bool makes_input_gradient(OpKind kind) { return kind == OpKind::backward || kind == OpKind::backward_input; }
constexpr bool makes_weight_gradient(OpKind kind) {
  return kind == OpKind::backward || kind == OpKind::backward_weight;
}
constexpr bool is_message(OpKind kind) { return kind == OpKind::send || kind == OpKind::receive; }
constexpr bool is_collective(OpKind kind) { return kind >= OpKind::all_reduce; }
/// Whether it is a step of compressed sums.
constexpr bool is_of_compression(OpKind kind) {
  return kind == OpKind::encode || kind == OpKind::project || kind == OpKind::decode;
}

/// What a message or collective moves.
enum class Payload : std::uint8_t {
  none,             ///< of passes and updates
  gradients,        ///< of the parameters of a run of segments
  gradient_shares,  ///< the same, of the share that a rank has after a reduce-scatter among some of the run's holders
  tied_gradients,   ///< of the one tensor that two segments share (Plan::tie)
  parameters,       ///< of a run of segments
  norms,            ///< sums of squares of weights and of gradients, of each tensor of a run
  encoded,          ///< what an encode made of a run's gradients
  projected,        ///< what a project made
  activation,       ///< what a segment made of a micro-batch
  activation_gradient,  ///< the gradient of a segment's input, of a micro-batch
};
constexpr std::array<std::string_view, 10> names_of(Payload) {
  return {"none",  "gradients", "gradient_shares", "tied_gradients", "parameters",
          "norms", "encoded",   "projected",       "activation",     "activation_gradient"};
}
/// Whether it belongs to a micro-batch.
constexpr bool is_of_micro_batch(Payload payload) { return payload >= Payload::activation; }
/// Whether it is sent in the place of gradients.
constexpr bool is_compressed(Payload payload) { return payload == Payload::encoded || payload == Payload::projected; }

/// A tensor that skips segments on its way: made by one, taken by a later one.
struct SkipPort {
  SegmentId from, to;
  int tensor = 0;  ///< which of the model's (skip_ports.h); ports of one tensor lead to several segments
  bool operator==(const SkipPort&) const = default;
};
/// Ports that a plan can have.
inline constexpr int most_ports = (1 << 13) - 1;

/// Which fields an operation has follows from its kind and payload; the others keep their defaults.
struct Op {
  OpKind kind = OpKind::forward;
  Payload payload = Payload::none;
  bool accumulates : 1 = false;    ///< B, W: adds to gradients that an earlier one made since the last update
  bool discards : 1 = false;       ///< F: keeps its input alone, for a RECOMPUTE
  bool overlaps_next : 1 = false;  ///< F: may run at the same time as the action after it
  /// Messages: 0: what neighbouring segments hand on; else Plan::skips[port - 1]. Sums of gradients: 0: of the whole
  /// run; else which part of it (Plan::parts), from 1 on. Adds: 0: of the peer's gradients; else of whose
  /// (Plan::taken): which of those that are taken in the step, by rank, from 1 on.
  std::uint16_t port : 13 = 0;
  SegmentId segment;  ///< first of a run
  int segments = 1;   ///< length of the run: norms, updates, encodes, what moves gradients and the like
  /// Passes, and what moves activations or their gradients; with Plan::scatters_pieces reduce-scatters and adds.
  MicroBatchId micro_batch{0};
  StepId step;        ///< of the window
  VersionId version;  ///< passes: weights read; updates, averages, what moves parameters: weights written
  Rank peer{-1};      ///< messages: the other rank; adds: who sent it, -1: whoever is taken; broadcasts: the root
  /// Collectives, averages and steps of compressed sums: who takes part; norms, updates, adds and what moves between a
  /// worker and its servers: among whom the run is shared, -1: a rank updates all of it.
  GroupId group{-1};
  bool operator==(const Op&) const = default;
};
static_assert(sizeof(Op) == 32, "plans and simulations copy millions of operations");

/// Whether it works on a run of segments rather than on one of them for a micro-batch.
constexpr bool is_over_run(const Op& op) { return !is_pass(op.kind) && !is_of_micro_batch(op.payload); }
/// Whether an addition is of the rank's share of a micro-batch's sum, or of what a worker sent its server.
constexpr bool adds_share(const Op& op) { return op.kind == OpKind::add && op.group.value >= 0 && op.peer.value < 0; }
constexpr bool adds_sent(const Op& op) { return op.kind == OpKind::add && !adds_share(op); }
/// Whether it moves gradients of a run from a worker to a server, or weights back.
constexpr bool is_served(const Op& op) { return is_message(op.kind) && is_over_run(op); }
/// Whether it adds gradients of one of those that are taken in its step (Plan::taken).
constexpr bool is_first_come(const Op& op) { return adds_sent(op) && op.port > 0; }
/// Whether it reads or writes a version of the weights.
constexpr bool has_version(const Op& op) {
  return is_pass(op.kind) || op.kind == OpKind::update || op.kind == OpKind::average ||
         op.payload == Payload::parameters;
}

/// A pass of the given kind (is_pass).
Op pass(OpKind kind, SegmentId s, MicroBatchId m, StepId step, VersionId version);
Op forward(SegmentId s, MicroBatchId m, StepId step, VersionId version);
Op backward(SegmentId s, MicroBatchId m, StepId step, VersionId version);
Op update(SegmentId first, int segments, StepId step, VersionId version);
/// Of the share that the rank has in a run; the members of `group` divide it among them.
Op sharded_update(SegmentId first, int segments, StepId step, VersionId version, GroupId group);

/// The squares of the weights and of the summed gradients in the rank's share of a run, added up tensor by tensor: what
/// an update in shares needs whose rule reads norms.
Op norms(SegmentId first, int segments, StepId step, GroupId group);

/// The activation of `s`, to the rank that computes the next segment, and there as the input of `s`.
Op send_forward(SegmentId s, MicroBatchId m, StepId step, Rank to);
Op recv_forward(SegmentId s, MicroBatchId m, StepId step, Rank from);
/// The gradient of the input of `s`, to the rank that computes the previous segment, and there of the output of `s`.
Op send_backward(SegmentId s, MicroBatchId m, StepId step, Rank to);
Op recv_backward(SegmentId s, MicroBatchId m, StepId step, Rank from);

/// Adds the rank's share of the summed gradients that a micro-batch made of a run to those of the ones before.
Op add_share(SegmentId first, int segments, MicroBatchId m, StepId step, GroupId group);

/// Of the gradients of a run, to the rank that updates it, and there; the addition of what came from one of its
/// workers. `group`: of servers that share the run; all is then of that one's share which sends or receives.
Op send_gradients(SegmentId first, int segments, StepId step, Rank to, GroupId group = GroupId(-1));
Op recv_gradients(SegmentId first, int segments, StepId step, Rank from, GroupId group = GroupId(-1));
Op add_gradients(SegmentId first, int segments, StepId step, Rank from, GroupId group = GroupId(-1));
/// The same of one of those whose gradients came first: `place`, by rank, from 1 on.
Op add_first_come(SegmentId first, int segments, StepId step, int place);
/// Of the parameters of a run, as the step's update wrote them, to a rank that does not update it, and there.
Op send_parameters(SegmentId first, int segments, StepId step, VersionId version, Rank to, GroupId group = GroupId(-1));
Op recv_parameters(SegmentId first, int segments, StepId step, VersionId version, Rank from,
                   GroupId group = GroupId(-1));

/// Of the gradients of a run.
Op all_reduce(SegmentId first, int segments, StepId step, GroupId group);
Op reduce_scatter(SegmentId first, int segments, StepId step, GroupId group);
/// Of what one micro-batch made of them.
Op reduce_scatter_piece(SegmentId first, int segments, MicroBatchId m, StepId step, GroupId group);
/// Of the share of them that a reduce-scatter left on each member.
Op all_reduce_shares(SegmentId first, int segments, StepId step, GroupId group);
/// Of the tensor that `original`, whose segment it first lies in, shares with another.
Op all_reduce_tied(SegmentId original, StepId step, GroupId group);
/// Of the weights of a run, as each member's own update wrote them; and the weights that every member makes of that
/// sum.
Op all_reduce_parameters(SegmentId first, int segments, StepId step, VersionId version, GroupId group);
Op average(SegmentId first, int segments, StepId step, VersionId version, GroupId group);
/// A step of the compressed sum of the gradients of a run: encode, project or decode.
Op compression_step(OpKind kind, SegmentId first, int segments, StepId step, GroupId group);
/// Of what an encode or a project made of a run: its sum, or what each member made (all_gather).
Op compressed_sum(OpKind collective, Payload payload, SegmentId first, int segments, StepId step, GroupId group);
/// Of what the members' norms of a run came to.
Op all_reduce_norms(SegmentId first, int segments, StepId step, GroupId group);
/// Of the parameters of a run, as the step's update wrote them.
Op all_gather(SegmentId first, int segments, StepId step, VersionId version, GroupId group);
Op broadcast(SegmentId first, int segments, StepId step, VersionId version, GroupId group, Rank root);
/// Sums parts of the output of `s`, and of the gradient of its input, that the members computed.
Op all_reduce_forward(SegmentId s, MicroBatchId m, StepId step, GroupId group);
Op all_reduce_backward(SegmentId s, MicroBatchId m, StepId step, GroupId group);

/// The segment at the other end of a message: the next one where an activation leaves or its gradient arrives, else the
/// previous one, which may be none of the plan; of a skip the one that its port, one of `skips`, leads to or comes
/// from; of gradients and parameters the same.
SegmentId other_segment(const Op& message, std::span<const SkipPort> skips);
/// The receive that belongs to a send of rank `from`.
Op receive_of(const Op& send, Rank from, std::span<const SkipPort> skips);

/// Kind and payload: "F", "SEND_F" of an activation, "RECV_B" of a gradient of one, "SEND_GRADIENTS" and
/// "SEND_PARAMETERS" of a run, "ALL_REDUCE" of gradients, "ALL_REDUCE_SHARES" of shares of them, "ALL_REDUCE_TIED" of
/// those of a tied tensor, "ALL_REDUCE_PARAMETERS", "ALL_REDUCE_NORMS" of norms, "ALL_REDUCE_ENCODED" and
/// "ALL_REDUCE_PROJECTED" of what stands for gradients, "ALL_REDUCE_F" of activations, "ALL_GATHER" of parameters.
std::string name(const Op& op);
/// Text with segment and micro-batch: `2F0`, `1SEND_F3`, `0-4ALL_REDUCE`, `7UPDATE`; of a skip with its port:
/// `1SEND_F3^2`, of a part of a run with the part: `0ALL_REDUCE^2`. The step is not part of it.
std::string to_text(const Op& op);

}  // namespace parabench::plan
