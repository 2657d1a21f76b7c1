// What was measured on this machine, kept in a file with machine id and date.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "analytic/calibration/machine.h"
#include "base/canary.h"
#include "base/case.h"
#include "base/placement.h"
#include "base/tensor_spec.h"
#include "models/spec/layer.h"

namespace parabench::analytic {

/// What a layer's time depends on, besides the number of samples.
struct LayerKey {
  /// signature(layer, input shape), or segment_signature() of several; "+first" appended when its input needs no
  /// gradient.
  std::string layer;
  Precision precision = Precision::fp32;
  Layout layout = Layout::contiguous;
  int threads = 1;
  int busy_ranks = 1;  ///< ranks of one host that compute at the same time
  DeviceKind device = DeviceKind::cpu;
  bool graph = false;                 ///< in steps that a CUDA graph replays
  InputKind input = InputKind::host;  ///< of a first layer, whose forward takes the images as they come; else host
  auto operator<=>(const LayerKey&) const = default;
};

/// Medians of the two parts of a layer's backward (I, W), and their median absolute deviations.
struct SplitTiming {
  double input_s = 0, weight_s = 0;
  double input_mad_s = 0, weight_mad_s = 0;
  /// Highest above the start of I, of a W that starts gradients, and of one that adds to those of an earlier
  /// micro-batch. nullopt: not measured.
  std::optional<std::int64_t> input_peak_bytes = {}, weight_peak_bytes = {}, adding_weight_peak_bytes = {};
  bool operator==(const SplitTiming&) const = default;
};

/// Medians of a layer, or of a segment, in its chain, for one number of samples.
struct LayerTiming {
  int samples = 0;
  double forward_s = 0, backward_s = 0;
  double forward_mad_s = 0, backward_mad_s = 0;  ///< median absolute deviations over the repetitions
  /// Allocated in its forward and still held at its end: output included, input not (except the images, which the
  /// first layer's forward loads), so that the bytes of a chain are the sum over its layers. 0: not measured.
  std::int64_t saved_bytes = 0;
  std::int64_t forward_peak_bytes = 0;   ///< highest above the start of its forward
  std::int64_t backward_peak_bytes = 0;  ///< highest above the start of its backward, which starts gradients
  /// Of one that adds to those of an earlier micro-batch; nullopt: not measured.
  std::optional<std::int64_t> adding_peak_bytes = {};
  std::optional<SplitTiming> split;  ///< measured for plans whose backwards are split
};

/// Seconds of a transfer or reduction of `bytes`.
struct CurvePoint {
  std::int64_t bytes = 0;
  double seconds = 0;   ///< while nobody computes
  double loaded_s = 0;  ///< while every rank of the launch computes on one thread; 0: not measured
  /// Share of its computing that a rank loses meanwhile, in the mean over those that take part; nullopt: not measured,
  /// as of what is too short.
  std::optional<double> lost_share = {};
};
using Curve = std::vector<CurvePoint>;  ///< ascending bytes, unique

/// Between which ranks a curve was measured: of reductions the shape of the group (base/placement.h), of messages the
/// ranks of the launch, and whether its two ends were on one host (hosts 1, most = ranks) or not (2, 1).
struct RankCountKey {
  std::string comm;  ///< "mpi" | "nccl" | "threads", of reductions with their algorithm: reduction_key()
  int ranks = 1;
  DeviceKind device = DeviceKind::cpu;  ///< where the buffers lie
  int hosts = 1;
  int most = ranks;  ///< on one host
  auto operator<=>(const RankCountKey&) const = default;
};

using RatesByBusy = std::map<int, double>;  ///< by ranks that are busy at the same time

/// What an update's time depends on, besides the number of parameters.
struct UpdateKey {
  DeviceKind device = DeviceKind::cpu;
  std::string optimizer = "sgd";  ///< with "/momentum:0" where that spares it a state
  int threads = 1;
  int parameter_bytes = 4;  ///< of one parameter, as weights, gradients and states have it
  auto operator<=>(const UpdateKey&) const = default;
};

/// Whose samples a rank's loader makes, and with how many threads.
struct LoadKey {
  std::string dataset;  ///< as in case ids, parameters included
  int threads = 1;
  auto operator<=>(const LoadKey&) const = default;
};

/// What one launch measured, or what several did together (combine.h).
struct Calibration {
  MachineInfo machine;
  std::string date;              ///< ISO 8601, UTC, of the launch; of several of the latest
  std::string software;          ///< program and LibTorch of the launch, with their versions; "": several, unknown
  std::optional<int> ranks;      ///< of the launch, on all of which its canary was timed; nullopt: of several, unknown
  std::optional<Canary> canary;  ///< of the launch; nullopt: of several, on GPUs, unknown
  std::vector<Calibration> launches;  ///< that it was combined from, by date; empty: it is one launch's itself
  /// Ascending samples. In files those of single layers; paired rounds have the segments of their plan.
  std::map<LayerKey, std::vector<LayerTiming>> layers;
  std::map<RankCountKey, Curve> all_reduce;                  ///< in place, all ranks take part
  std::map<RankCountKey, Curve> reduce_scatter, all_gather;  ///< likewise, of even shares; where a plan has them
  std::map<RankCountKey, Curve> point_to_point;              ///< one way, half a ping-pong
  std::map<UpdateKey, RatesByBusy> update_s_per_parameter;   ///< in place
  std::map<DeviceKind, RatesByBusy> copy_bytes_per_s;        ///< of a GPU, from pinned host memory
  /// From sample to sample while nobody computes, by ranks that load at the same time.
  std::map<LoadKey, RatesByBusy> load_s_per_sample;
  std::map<DeviceKind, double> step_overhead_s;  ///< executor's own time per operation
  /// Resident bytes of a rank's process beside its counted memory, at the peaks of both in a launch's first chain of
  /// layers: program and libraries, what these make for the layers, the allocator's slack. Of one launch, whose layers
  /// say of what model; 0: of several, on GPUs, not measured.
  std::int64_t process_bytes = 0;
  // Of a GPU; 0, or no entry: not measured.
  double launch_floor_s = 0;       ///< per kernel, launched one after the other
  std::int64_t context_bytes = 0;  ///< that a process holds there before its first tensor
  /// That its communicator holds for a rank, by communicator_name().
  std::map<std::string, std::int64_t> communicator_bytes;
};

/// A communicator, by what it holds on a GPU for a rank: "nccl", or "nccl/np:1" of a rank that has nobody to exchange
/// with, for which the library holds its kernels all the same, and no buffers for neighbours.
std::string communicator_name(const Case& spec);

/// The launches of a calibration in place, or itself.
std::span<const Calibration> launches_in(const Calibration& calibration);

/// The device whose measurements hold for a case: emulated devices sleep for the times of the processor.
DeviceKind measured_device(const Case& spec);

/// The key of collectives in a group under a case: by another algorithm than the usual one, `comm` is "mpi
/// reduce:ring"; of the reducer's buckets, which lie outside of the communicator's memory, "mpi c10d".
RankCountKey reduction_key(const Case& spec, const GroupShape& shape);
/// The key of messages between ranks of a case that share a host, or do not.
RankCountKey message_key(const Case& spec, bool between_hosts);
/// The key of the updates of a case.
UpdateKey update_key(const Case& spec);
/// The key of a case's loaders.
LoadKey load_key(const Case& spec);
/// The key of a layer on an input of shape `in` under a case. `first`: layer 0 of the model, whose input needs no
/// gradient.
LayerKey layer_key(const models::LayerSpec& layer, const TensorSpec& in, bool first, const Case& spec, int busy_ranks);
/// The same where models::signature() of both is known.
LayerKey layer_key(const std::string& signature, bool first, const Case& spec, int busy_ranks);
/// The most ranks of a case that can get into each other's way, with which its layers are measured beside one alone:
/// all of the fullest host; emulated, the rank itself.
int competing_ranks(const Case& spec, const Placement& placement);
/// Between the layers of a segment's signature, in no layer's own.
inline constexpr std::string_view segment_joint = " > ";
/// The signature of consecutive layers that are one segment, by their own; of one layer its own.
std::string segment_signature(std::span<const std::string> layers);

/// Reads a calibration file and combines its launches. Throws usage_error, naming file and place, for one that is
/// missing, unreadable, truncated, foreign, incomplete or newer.
Calibration read_calibration(const std::string& path);
/// Writes every launch, replacing the file at once and making its folder; throws Error naming the path.
void write_calibration(const Calibration& calibration, const std::string& path);

}  // namespace parabench::analytic
