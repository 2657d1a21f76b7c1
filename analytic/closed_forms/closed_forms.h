// Closed forms as a second opinion beside the simulation; those of pipeline schedules are in
// parallelism/plan/schedules/makespan.h. All times in seconds, sizes in bytes.
#pragma once

#include <cstdint>
#include <span>

#include "base/case.h"
#include "base/placement.h"

namespace parabench::analytic {

/// One link between neighbours j and j+1.
struct Link {
  double latency_s = 0;
  double bytes_per_s = 0;
  bool operator==(const Link&) const = default;
};

/// Data parallel, DDLBench thesis (Jansen 2020) Eq. 5.1: T_seq / W + 2 (W-1) max_i(L_i + min(G, th) / (W BW_i)); only
/// the last fused buffer of a ring all-reduce is exposed. `links`: the W ring neighbours' links; W = 1 costs no
/// communication.
double data_parallel_step(double sequential_s, int workers, double gradient_bytes, double fusion_bytes,
                          std::span<const Link> links);

/// A step whose all-reduces run in halves (Zhang et al. 2023, arXiv 2302.12445): reduce-scatters beside the backward,
/// all-gathers beside the next forward, each as long as all of them one after the other:
/// max(tB, reduce-scatters) + update + max(tF, all-gathers).
double decoupled_step(double forward_s, double backward_s, double update_s, double reduce_scatter_s,
                      double all_gather_s);

/// A step whose sums come in the order in which the next forward reads the weights, in parts as small as one likes
/// (Jayarajan et al., MLSys'19, arXiv 1905.03960): neither the ranks nor their link ever wait for each other but for
/// the longer one's sake: max(tF + tB + update, sums).
double prioritised_step(double forward_s, double backward_s, double update_s, double sums_s);

/// A step whose ranks divide runs in groups and sum the shares between these (FSDP's HYBRID_SHARD, Zhao et al. 2023,
/// arXiv 2304.11277), each kind of collective as long as all of its operations one after the other:
/// tF + max(tB, reduce-scatters + sums of shares) + update + gathers.
double hybrid_sharded_step(double forward_s, double backward_s, double update_s, double reduce_scatter_s,
                           double share_sums_s, double gathers_s);

/// A step of copies that train each for itself and are averaged in every `every`-th of them (Zhou and Cong, IJCAI'18):
/// a step's own work and its part of what an average takes, every sum of weights after the other.
double local_step(double own_s, double average_s, int every);

/// A step whose sums run beside the backward that makes their gradients (Li et al., VLDB'20, arXiv 2006.15704): own
/// work, encodes and decodes of compressed gradients in it, and of the sums, one after the other, all that the backward
/// does not hide, which is at least those of the last bucket: own + max(last, sums - backward). Compression pays where
/// that is less with it than without.
double overlapped_step(double own_s, double backward_s, double sums_s, double last_sum_s);

/// A step over parameter servers: own work, and what it takes to send `bytes`, M, from each of p workers to the servers
/// and back, the busiest of which has a range of R of them, over links of one rate, nothing of which hides:
/// 2 max(M, p R) / rate.
double parameter_server_step(double own_s, int workers, double bytes, double largest_range, double bytes_per_s);

/// The same of p workers by turns. Each has a step of its own, whose bytes go up and down alone; p of them run side by
/// side as long as the busiest server does its part of one, `serving_s`, and the link moves it, in a p-th of that time:
/// max((own + serving + 2 M / rate) / p, serving, R / rate).
double asynchronous_server_step(double own_s, double serving_s, int workers, double bytes, double largest_range,
                                double bytes_per_s);

/// The same where a step reads the weights of k steps ago: what moves up, what moves down and what servers do hide
/// behind the passes, or these behind them, but k + 1 steps are no shorter than one and its way to the servers and
/// back: max(own, serving, max(M, p R) / rate, (own + serving + 2 max(M, p R) / rate) / (k + 1)).
double stale_server_step(double own_s, double serving_s, int workers, double bytes, double largest_range,
                         double bytes_per_s, int ahead);

/// A step whose ranks gather weights before they read them (Zhao et al. 2023, arXiv 2304.11277), each kind of
/// collective as long as all of its operations one after the other: max(tF, gathers) + max(tB, further gathers +
/// reduce-scatters) + update.
double fully_sharded_step(double forward_s, double backward_s, double update_s, double forward_gathers_s,
                          double backward_gathers_s, double reduce_scatter_s);

/// GPipe compute, Eq. 6.1: T_seq (W + m - 1) / (W m); m = 1 is plain model parallelism.
double gpipe_compute(double sequential_s, int workers, int micro_batches);

/// How much longer a GPipe step computes that recomputes the forwards of all micro-batches but the last (torchgpipe's
/// default), backwards being twice as long as forwards: 1 + (m-1) / (3 m).
double recompute_except_last(int micro_batches);

/// GPipe communication, Eq. 6.2, lock-step without overlap. `boundary_s[j]` = x_j = L + mb A_j / BW of the boundary
/// between workers j and j+1 (W - 1 entries):
///   2 [sum_{i=1..W-2} max_{j<=i} x_j + (m - (W-2)) max_j x_j + sum_{i=2..W-1} max_{j>=i} x_j]
double gpipe_communication(std::span<const double> boundary_s, int micro_batches);

/// Unequal stages, GPipe exact: sum(tF + tB) + (M-1)(max tF + max tB), the makespan of one drained step.
double gpipe_unequal(std::span<const double> forward_s, std::span<const double> backward_s, int micro_batches);

/// Unequal stages that alternate forwards and backwards, as 1F1B does: sum(tF + tB) + (M-1) max(tF + tB), at the pace
/// of the slowest stage. Exact where that is the last one; of others forwards that run ahead hide a part.
double alternating_unequal(std::span<const double> forward_s, std::span<const double> backward_s, int micro_batches);

/// Ring all-reduce of n bytes over p ranks: 2 (p-1) alpha + 2 (p-1)/p n beta (+ (p-1)/p n gamma).
double ring_all_reduce(int ranks, double bytes, double alpha_s, double beta_s_per_byte, double gamma_s_per_byte);

/// All-reduce by recursive halving and doubling (Thakur, Rabenseifner and Gropp 2005), q = 2^k <= p < 2q:
///   2k alpha + 2 (q-1)/q n beta + (q-1)/q n gamma, and 2 alpha + 2 n beta + n gamma more where p is not q.
double halving_doubling_all_reduce(int ranks, double bytes, double alpha_s, double beta_s_per_byte,
                                   double gamma_s_per_byte);

/// All-reduce by two binary trees (Sanders, Speck and Traeff 2009), each in many pieces, of which none counts by
/// itself: 2 ceil(log2 p) alpha + c n beta + n gamma for the busiest rank, which sends half of the buffer to the parent
/// and to each child in one tree and to the parent in the other: c = 2; 3/2 for p = 3, where no rank has two children
/// in a tree, and 1 for p = 2, where none has children in both, which halves gamma's part. 0 for p = 1.
double double_tree_all_reduce(int ranks, double bytes, double alpha_s, double beta_s_per_byte, double gamma_s_per_byte);

/// By the algorithm that `reduce` names, over links that are all alike; by a ring where it names none of the above.
double all_reduce_by(ReduceKind reduce, int ranks, double bytes, Link link);

/// The algorithm by which a group of ranks that send messages does a whole all-reduce of `bytes`, or one of its halves:
/// of auto the one that automatic_reduce() takes, but window on one host, whose memory they share; a half of
/// double_tree is none of its trees, which have one root, but goes around the ring.
ReduceKind algorithm_of(ReduceKind reduce, const GroupShape& shape, bool whole, std::int64_t bytes);

/// Whether all members on a host, or in a rack, send to others outside at the same time, as by halving and doubling and
/// in trees, where around rings one of them does.
bool sends_at_once(ReduceKind algorithm);

/// All-reduce within hosts of g ranks, then between m hosts, whose ranks share the host's wire, then within again:
///   2 (g-1) alpha1 + 2 (g-1)/g n beta1 + 2 (m-1) alpha2 + 2 (m-1)/m n beta2, and gamma (g-1)/g n + (m-1)/m n/g.
double hierarchical_all_reduce(int hosts, int ranks_per_host, double bytes, Link within, Link between,
                               double gamma_s_per_byte);

}  // namespace parabench::analytic
