#include "analytic/closed_forms/closed_forms.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace parabench {

double data_parallel_step(double sequential_s, int workers, double gradient_bytes, double fusion_bytes,
                          std::span<const Link> links) {
  double slowest = 0;
  for (const Link& link : links) {
    slowest = std::max(slowest, link.latency_s + std::min(gradient_bytes, fusion_bytes) / (workers * link.bytes_per_s));
  }
  return sequential_s / workers + 2 * (workers - 1) * slowest;
}

double gpipe_compute(double sequential_s, int workers, int micro_batches) {
  return sequential_s * (workers + micro_batches - 1) / (static_cast<double>(workers) * micro_batches);
}

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

double pipedream_stage(double compute_s, double parameter_bytes, int replicas, double bytes_per_s) {
  return (compute_s + 4 * (replicas - 1) * parameter_bytes / (replicas * bytes_per_s)) / replicas;
}

double gpipe_unequal(std::span<const double> forward_s, std::span<const double> backward_s, int micro_batches) {
  const double once = std::accumulate(forward_s.begin(), forward_s.end(), 0.0) +
                      std::accumulate(backward_s.begin(), backward_s.end(), 0.0);
  return once + (micro_batches - 1) * (*std::ranges::max_element(forward_s) + *std::ranges::max_element(backward_s));
}

double ring_all_reduce(int ranks, double bytes, double alpha_s, double beta_s_per_byte, double gamma_s_per_byte) {
  const double share = (ranks - 1.0) / ranks;
  return 2 * (ranks - 1) * alpha_s + 2 * share * bytes * beta_s_per_byte + share * bytes * gamma_s_per_byte;
}

std::optional<double> schedule_makespan(std::string_view strategy, int devices, int micro_batches, int chunks,
                                        const PassSeconds& t) {
  const double P = devices, M = micro_batches, v = chunks;
  const double whole = t.forward + t.backward, split = t.forward + t.input + t.weight;
  const auto near = [](double a, double b) { return std::abs(a - b) <= 0.1 * b; };
  if (strategy == "gpipe" || strategy == "1f1b" || strategy == "dapple") return (M + P - 1) * whole;
  if (strategy == "interleaved" && M < P) return whole * (P + (M - 1) / v);
  if ((strategy == "interleaved" || strategy == "looped-bfs") && M >= P) return M * whole + (P - 1) * whole / v;
  if (strategy == "zb-h1" && M >= P) {
    return M * split + (P - 1) * std::max({t.forward, t.input, t.forward + t.input - t.weight});
  }
  if (strategy == "zb-h2" && M >= 2 * P - 1) {
    return M * split + (P - 1) * std::max({t.forward, t.forward + t.input - 2 * t.weight, t.input - t.forward});
  }
  if (strategy == "zb-v" && M >= 2 * P - 1 && near(t.input, t.forward) && near(t.weight, t.forward)) {
    return M * split + (P - 1) * t.forward / 2;
  }
  if (strategy == "dualpipev" && M >= 2 * P && t.input <= 1.1 * t.forward && t.forward <= t.backward &&
      near(t.input + t.weight, t.backward)) {
    return M * whole + (P - 1) * std::max(t.forward, t.forward + t.input - t.weight) / 2;
  }
  if (strategy == "chimera" && M == P && near(t.backward, t.forward)) return (2 * M + P - 2) * t.forward;
  if (strategy == "chimera" && M == P && near(t.backward, 2 * t.forward)) return (3 * M + 2 * P - 4) * t.forward;
  return std::nullopt;
}

}  // namespace parabench
