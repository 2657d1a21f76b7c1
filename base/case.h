// A case: one point of the benchmark's grid, as pure data.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/strong.h"

namespace parabench {

/// A name with parameters in brackets: `imagenet-synthetic[pixels=32,classes=10]`.
/// Parameters keep the canonical order of their owner's spec, defaults left out.
struct NamedChoice {
  std::string name;
  std::vector<std::pair<std::string, std::string>> parameters;
  bool operator==(const NamedChoice&) const = default;
};

enum class Recompute { none, all, except_last, automatic };
enum class PartitionRule { time, parameters, uniform, memory };
enum class Precision { fp32, tf32, bf16, fp64 };
enum class Layout { contiguous, channels_last };
enum class DeviceKind { cpu, cuda, emulated };
enum class CommKind { mpi, nccl, threads };
/// How ranks sum among themselves (parallelism/comm/algorithms); automatic leaves it to the communicator.
enum class ReduceKind { automatic, ring, halving_doubling, double_tree, hierarchical, window, library };
/// Where a step finds its samples: the host loads them and uploads each piece, or those of step 0 stay on the device.
enum class InputKind { host, resident };
/// When a rank starts an operation that computes: in the plan's order, or as soon as what it needs has ended.
enum class ExecutorKind { ordered, futurized };

/// Every key with its default; defaults are constants, never taken from the machine.
struct Case {
  NamedChoice model;
  NamedChoice dataset;
  NamedChoice strategy;
  int np = 1;     ///< ranks
  int batch = 1;  ///< global batch in samples (pipedream: the mini-batch of one step)

  int micro = 4;              ///< micro-batches per step; micro-batch pipelines only
  int dp = 1;                 ///< copies of the pipeline, np / dp ranks each
  int chunks = 2;             ///< model chunks per device
  std::optional<int> warmup;  ///< warm-up forwards of rank 0; nullopt: the schedule's own
  Bytes bucket{25LL << 20};
  ReduceKind reduce = ReduceKind::automatic;
  NamedChoice compress{"none", {}};  ///< what ranks make of gradients before they sum them (compression.h), canonical
  Recompute recompute = Recompute::none;
  PartitionRule partition = PartitionRule::time;
  std::optional<Bytes> memory;  ///< that a rank may use, for partition:memory and recompute:auto
  Precision precision = Precision::fp32;
  Layout layout = Layout::contiguous;
  DeviceKind device = DeviceKind::cpu;
  CommKind comm = CommKind::mpi;  ///< resolved at parsing: nccl with cuda, threads with emulated
  int threads = 1;                ///< threads that compute in each rank
  bool graph = false;
  int loader = 1;  ///< loader threads per rank
  InputKind input = InputKind::host;
  NamedChoice optimizer{"sgd", {}};   ///< with its extras (optimizer.h), canonical
  int zero = 0;                       ///< stage of ZeRO among the copies of each pipeline stage
  std::optional<int> shard;           ///< ranks that divide what ZeRO shares among themselves; nullopt: all
  int prefetch = 1;                   ///< buckets whose weights are gathered ahead of the one that is computed
  bool reshard = true;                ///< whether whole weights are dropped between forward and backward
  NamedChoice order{"backward", {}};  ///< of sums of gradients (sum_order.h), canonical
  bool sync_bn = false;               ///< whether batch norms take the statistics of all copies' samples
  ExecutorKind executor = ExecutorKind::ordered;
  int tp = 1;  ///< ranks that divide the matrix products of each block among themselves; predicted, not run
  double lr = 0.01;
  double momentum = 0.9;
  double weight_decay = 0.0;
  std::uint64_t seed = 1;

  bool operator==(const Case&) const = default;
};

/// Whether devices wait instead of computing: nothing is trained, and times are only as good as the model behind them.
inline bool is_emulated(const Case& spec) { return spec.device == DeviceKind::emulated; }
inline bool is_futurized(const Case& spec) { return spec.executor == ExecutorKind::futurized; }
/// How a rank's threads compute: all of them one operation, or each one of its own.
inline int threads_of_operation(const Case& spec) { return is_futurized(spec) ? 1 : spec.threads; }
inline int operations_at_once(const Case& spec) { return is_futurized(spec) ? spec.threads : 1; }

}  // namespace parabench
