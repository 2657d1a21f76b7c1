// What a rank sends, by closed form: from what its strategy sums and hands on, without a look at its operations.
#pragma once

#include <optional>
#include <string>

#include "analytic/memory/sizes.h"

namespace parabench::analytic {

/// Bytes that a rank sends in a step, an average over steps where these differ.
struct TrafficForm {
  double bytes = 0;
  std::string formula;  ///< for people
};

/// Of a rank whose sums run as rings (Thakur, Rabenseifner, Gropp 2005), W being the bytes of the weights that it
/// holds:
///  - sums of gradients among p ranks 2 (p-1)/p W; in shares a reduce-scatter and an all-gather, as much; weights that
///    are gathered before they are read once more where they are dropped in between (Rajbhandari et al., SC'20), but
///    for those of the last forwards, for which there is room
///  - with shares of s of p ranks the same in s, and the sum of the shares, 2 (g-1)/g W/s, g = p/s (Zhao et al. 2023)
///  - each micro-batch reduce-scattered by itself: (s-1)/s W for each
///  - averages in place of sums: the same, once in so many steps
///  - compressed sums: 2 (p-1)/p of the message, half of W (bf16) or r (n + m) values for a matrix of n x m (powersgd;
///    Vogels et al., NeurIPS'19); of k values with their places p - 1 times the message (topk)
///  - servers: a worker W to them, by turns once in p steps, and a server its W to each worker that gave gradients
///  - pipelines: for each micro-batch the activations that leave a stage for another rank and the gradients of those
///    that came in; of what skips stages a tensor to each other rank that takes it, and its gradient back; ranks that
///    share a stage and its mini-batches by turns send their part of it
///  - a tensor that two stages share on ranks of their own: its sum between them
///  - statistics of a batch norm of C channels, summed over the ranks: 8 (2 C + 1) bytes in each direction
/// Exact for micro-batches of one size, but for the weights that the last forwards of zero3 leave and for shares of
/// servers, which are even to 64 bytes; norms of lars where shares are updated, 16 bytes of each tensor, are left out.
/// nullopt for layers in shards, which no strategy writes.
std::optional<TrafficForm> traffic_form(const plan::Plan& plan, const Sizes& sizes, Rank rank);

/// The same counted over the plan's operations: what traffic_form() stands for.
double sent_bytes(const plan::Plan& plan, const Sizes& sizes, Rank rank);

}  // namespace parabench::analytic
