#include "analytic/closed_forms/closed_forms.h"

#include <algorithm>
#include <bit>
#include <numeric>

#include "base/automatic_reduce.h"

namespace parabench::analytic {

namespace {

/// One micro-batch through all stages and back.
double once(std::span<const double> forward_s, std::span<const double> backward_s) {
  return std::accumulate(forward_s.begin(), forward_s.end(), 0.0) +
         std::accumulate(backward_s.begin(), backward_s.end(), 0.0);
}

}  // namespace

double data_parallel_step(double sequential_s, int workers, double gradient_bytes, double fusion_bytes,
                          std::span<const Link> links) {
  double slowest = 0;
  for (const Link& link : links) {
    slowest = std::max(slowest, link.latency_s + std::min(gradient_bytes, fusion_bytes) / (workers * link.bytes_per_s));
  }
  return sequential_s / workers + 2 * (workers - 1) * slowest;
}

double local_step(double own_s, double average_s, int every) { return own_s + average_s / every; }

double overlapped_step(double own_s, double backward_s, double sums_s, double last_sum_s) {
  return own_s + std::max(last_sum_s, sums_s - backward_s);
}

double parameter_server_step(double own_s, int workers, double bytes, double largest_range, double bytes_per_s) {
  return own_s + 2 * std::max(bytes, workers * largest_range) / bytes_per_s;
}

double asynchronous_server_step(double own_s, double serving_s, int workers, double bytes, double largest_range,
                                double bytes_per_s) {
  const double alone = own_s + serving_s + 2 * bytes / bytes_per_s;
  return std::max({alone / workers, serving_s, largest_range / bytes_per_s});
}

double stale_server_step(double own_s, double serving_s, int workers, double bytes, double largest_range,
                         double bytes_per_s, int ahead) {
  const double way_s = std::max(bytes, workers * largest_range) / bytes_per_s;
  return std::max({own_s, serving_s, way_s, (own_s + serving_s + 2 * way_s) / (ahead + 1)});
}

double decoupled_step(double forward_s, double backward_s, double update_s, double reduce_scatter_s,
                      double all_gather_s) {
  return std::max(backward_s, reduce_scatter_s) + update_s + std::max(forward_s, all_gather_s);
}

double prioritised_step(double forward_s, double backward_s, double update_s, double sums_s) {
  return std::max(forward_s + backward_s + update_s, sums_s);
}

double hybrid_sharded_step(double forward_s, double backward_s, double update_s, double reduce_scatter_s,
                           double share_sums_s, double gathers_s) {
  return forward_s + std::max(backward_s, reduce_scatter_s + share_sums_s) + update_s + gathers_s;
}

double fully_sharded_step(double forward_s, double backward_s, double update_s, double forward_gathers_s,
                          double backward_gathers_s, double reduce_scatter_s) {
  return std::max(forward_s, forward_gathers_s) + std::max(backward_s, backward_gathers_s + reduce_scatter_s) +
         update_s;
}

double gpipe_compute(double sequential_s, int workers, int micro_batches) {
  return sequential_s * (workers + micro_batches - 1) / (static_cast<double>(workers) * micro_batches);
}

double recompute_except_last(int micro_batches) { return 1 + (micro_batches - 1) / (3.0 * micro_batches); }

double gpipe_communication(std::span<const double> boundary_s, int micro_batches) {
  if (boundary_s.empty()) return 0;
  const std::size_t boundaries = boundary_s.size();  // W - 1
  double fill = 0, drain = 0, from_front = 0, from_back = 0;
  for (std::size_t i = 0; i + 1 < boundaries; ++i) {
    from_front = std::max(from_front, boundary_s[i]);
    from_back = std::max(from_back, boundary_s[boundaries - 1 - i]);
    fill += from_front;
    drain += from_back;
  }
  const double slowest = *std::ranges::max_element(boundary_s);
  return 2 * (fill + (micro_batches - (static_cast<double>(boundaries) - 1)) * slowest + drain);
}

double gpipe_unequal(std::span<const double> forward_s, std::span<const double> backward_s, int micro_batches) {
  return once(forward_s, backward_s) +
         (micro_batches - 1) * (*std::ranges::max_element(forward_s) + *std::ranges::max_element(backward_s));
}

double alternating_unequal(std::span<const double> forward_s, std::span<const double> backward_s, int micro_batches) {
  double slowest = 0;
  for (std::size_t stage = 0; stage < forward_s.size(); ++stage)
    slowest = std::max(slowest, forward_s[stage] + backward_s[stage]);
  return once(forward_s, backward_s) + (micro_batches - 1) * slowest;
}

double ring_all_reduce(int ranks, double bytes, double alpha_s, double beta_s_per_byte, double gamma_s_per_byte) {
  const double share = (ranks - 1.0) / ranks;
  return 2 * (ranks - 1) * alpha_s + 2 * share * bytes * beta_s_per_byte + share * bytes * gamma_s_per_byte;
}

double halving_doubling_all_reduce(int ranks, double bytes, double alpha_s, double beta_s_per_byte,
                                   double gamma_s_per_byte) {
  const auto actors = std::bit_floor(static_cast<unsigned>(ranks));
  const double share = (actors - 1.0) / actors;
  const int rounds = 2 * (std::bit_width(actors) - 1);
  const double among_actors = rounds * alpha_s + 2 * share * bytes * beta_s_per_byte + share * bytes * gamma_s_per_byte;
  if (actors == static_cast<unsigned>(ranks)) return among_actors;
  return among_actors + 2 * alpha_s + 2 * bytes * beta_s_per_byte + bytes * gamma_s_per_byte;
}

double double_tree_all_reduce(int ranks, double bytes, double alpha_s, double beta_s_per_byte,
                              double gamma_s_per_byte) {
  if (ranks == 1) return 0;
  const int rounds = 2 * std::bit_width(static_cast<unsigned>(ranks - 1));
  const double sent = ranks == 2 ? 1 : ranks == 3 ? 1.5 : 2;
  const double added = ranks == 2 ? 0.5 : 1;
  return rounds * alpha_s + sent * bytes * beta_s_per_byte + added * bytes * gamma_s_per_byte;
}

double all_reduce_by(ReduceKind reduce, int ranks, double bytes, Link link) {
  const double alpha = link.latency_s, beta = 1 / link.bytes_per_s;
  switch (reduce) {
    case ReduceKind::halving_doubling: return halving_doubling_all_reduce(ranks, bytes, alpha, beta, 0);
    case ReduceKind::double_tree: return double_tree_all_reduce(ranks, bytes, alpha, beta, 0);
    case ReduceKind::automatic:
    case ReduceKind::ring:
    case ReduceKind::hierarchical:
    case ReduceKind::window:
    case ReduceKind::library: break;
  }
  return ring_all_reduce(ranks, bytes, alpha, beta, 0);
}

ReduceKind algorithm_of(ReduceKind reduce, const GroupShape& shape, bool whole, std::int64_t bytes) {
  if (reduce == ReduceKind::automatic)
    return shape.hosts == 1 ? ReduceKind::window : automatic_reduce(shape, whole, bytes);
  return reduce == ReduceKind::double_tree && !whole ? ReduceKind::ring : reduce;
}

bool sends_at_once(ReduceKind algorithm) {
  return algorithm == ReduceKind::halving_doubling || algorithm == ReduceKind::double_tree;
}

double hierarchical_all_reduce(int hosts, int ranks_per_host, double bytes, Link within, Link between,
                               double gamma_s_per_byte) {
  const double lane = bytes / ranks_per_host;
  return ring_all_reduce(ranks_per_host, bytes, within.latency_s, 1 / within.bytes_per_s, gamma_s_per_byte) +
         ring_all_reduce(hosts, lane, between.latency_s, ranks_per_host / between.bytes_per_s, gamma_s_per_byte);
}

}  // namespace parabench::analytic
