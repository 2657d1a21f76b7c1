// Exchanges as they are in a step: on the thread that communicates, while another one computes.
#pragma once

#include <atomic>
#include <functional>
#include <optional>
#include <span>

namespace parabench::rank {

/// Runs `exchange` on a thread of its own, as the executor runs the lanes of messages and collectives, while this
/// thread computes, on one core: what a training step is made of, by turns a product of two matrices that stay in its
/// cache, of some 0.1 ms, and a pass over 8 MiB. `done_s`: how long what it has computed so far takes while nobody
/// communicates, timed right before, out of warm caches; where it grows more slowly than time does, computing loses the
/// rest. To be called by all ranks that compute beside each other at the same time. Rethrows what `exchange` throws.
void compute_beside(const std::function<void(const std::atomic<double>& done_s)>& exchange);

/// Of a rank, over some exchanges: how long they took, and how long what it computed meanwhile takes while nobody
/// communicates.
struct ComputedBeside {
  double passed_s = 0, computed_s = 0;
};
/// Share of its computing that a rank loses meanwhile, in the mean over those that exchanged for long enough to tell,
/// 2 ms: what it computed is known to a piece of some 0.1 ms at either end. nullopt: none did.
std::optional<double> lost_share(std::span<const ComputedBeside> ranks);

}  // namespace parabench::rank
