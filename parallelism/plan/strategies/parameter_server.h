// Data parallelism over parameter servers (Li et al., OSDI'14): workers train copies, servers hold and update the
// weights.
#pragma once

#include <array>
#include <span>
#include <string_view>
#include <vector>

#include "base/enum_text.h"
#include "parallelism/plan/strategies/placement.h"

namespace parabench::plan {

/// Which gradients an update is made of, and which weights they were computed with.
enum class ServerMode {
  sync,    ///< those of all workers, with the weights that the step before wrote
  async,   ///< those of one worker, by turns, with the weights that its own update before wrote
  stale,   ///< those of all workers, with weights that are a bounded number of steps old
  backup,  ///< those of all workers but a few, whichever come last, with the weights that the step before wrote
};
constexpr std::array<std::string_view, 4> names_of(ServerMode) { return {"sync", "async", "stale", "backup"}; }

/// What a server has of the weights.
enum class ServerCut {
  layers,   ///< a range of whole layers
  tensors,  ///< a share of every bucket, whose tensors are cut where shares end
};
constexpr std::array<std::string_view, 2> names_of(ServerCut) { return {"layers", "tensors"}; }

/// Of the parameters: their defaults, and what they accept.
inline constexpr std::string_view usual_servers = "1", servers_expected = "a number of ranks from 1 on, fewer than np";
inline constexpr std::string_view usual_cut = "layers", cut_expected = "layers or tensors";
inline constexpr std::string_view usual_mode = "sync", mode_expected = "sync, async, stale or backup";
inline constexpr std::string_view usual_k = "1",
                                  k_expected =
                                      "with mode=stale a number of steps from 1 to 16, with mode=backup a "
                                      "number of workers from 0 on, fewer than there are";

/// Versions of the weights that a worker of mode=backup holds besides those of its step: so many updates come while it
/// computes. Servers make one more, and wait with the next until it takes that.
inline constexpr int backup_versions_ahead = 2;

/// What the definition of a case's strategy says, whoever asks.
struct Serving {
  int servers = 0;  ///< ranks of np; 0 of strategies without servers
  ServerCut cut = ServerCut::layers;
  ServerMode mode = ServerMode::sync;
  int ahead = 0;    ///< of stale: steps that a worker may be ahead of the slowest
  int backups = 0;  ///< of backup: workers whose gradients an update does without

  /// Whether servers share what they update: one has all of it.
  bool in_shares() const { return cut == ServerCut::tensors && servers > 1; }
  /// Parts into which `workers` cut a batch: with async a step is a worker's own.
  int pieces(int workers) const { return mode == ServerMode::async ? 1 : workers; }
  /// Of so many workers, those whose gradients an update takes; 0: of all.
  int taken(int workers) const { return backups > 0 ? workers - backups : 0; }
};
/// Throws usage_error for what a parameter does not accept, and for `k` where the mode does not read it.
Serving serving(const Case& spec);

/// Throws usage_error for servers and backup workers that the case's ranks, its batch, its device or the model's layers
/// cannot be. Of cases whose ranks are workers and servers.
void check_servers(const Case& spec, const models::ModelSpec& model);

/// The rules of weight versions of stages that so many workers train; empty with sync, whose steps read what the step
/// before wrote.
///   async: updates of the workers by turns, of which each reads what its own update before wrote: the weights of p - 1
///     updates ago, the delayed gradients of Langford, Smola and Zinkevich ("Slow Learners are Fast", NIPS 2009).
///   stale: the weights of `ahead` steps ago, the oldest that stale synchronous parallel allows with this bound (Ho et
///     al., NIPS 2013: iteration c sees all updates of the iterations up to c - s - 1).
std::vector<VersionRule> served_delays(const Case& spec, std::span<const int> workers);

/// Updates that a rank lacks of those of so many steps, by the definition of the case's strategy: with async what
/// others' gradients made since a worker's own last update; else 0.
int updates_missed(const Case& spec, Rank rank, int steps);

/// The ranks before the last `servers` are workers, each with the whole model. With cut=layers the model is cut into as
/// many stages of about as many parameters as there are servers: ranges of keys, one for each. With cut=tensors it is
/// one stage, of every bucket of which each server has a share (shard_of()): equal ones, to a slice_alignment_bytes. A
/// bucket's gradients go from a worker to its servers as soon as the backward has made them; a server adds up those of
/// an update worker by worker, updates, and sends the weights back to each that took part. Where the optimizer reads
/// norms of whole tensors, servers sum what their shares add to them. Workers keep no states of the optimizer.
///   sync: one step, in which the workers share the batch. Trains as sequential.
///   async: a window of steps. Step t is the batch of worker t mod p, and one update. Servers update a bucket in the
///   order
///     of steps, and buckets in the order in which workers that begin a p-th of their step apart make them.
///   stale: a window of steps, as sync, of which each reads the weights that served_delays() says. A worker keeps
///     `ahead` + 1 versions of the weights.
///   backup: as sync, but an update is made of the gradients that come first (first_come.h), of all workers but
///     `backups`: Chen et al. 2016, arXiv 1604.00981. Each server chooses for itself. A worker keeps 1 +
///     backup_versions_ahead versions of the weights, so that it learns for which steps it comes too late; with
///     `backups` = 0 the plan is that of sync.
Plan parameter_server_plan(const StrategyInput& input);

}  // namespace parabench::plan
