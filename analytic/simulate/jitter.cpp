#include "analytic/simulate/jitter.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <initializer_list>

namespace parabench::analytic {
namespace {

/// SplitMix64 (Steele, Lea, Flood: Fast Splittable Pseudorandom Number Generators, 2014).
std::uint64_t mixed(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

/// The sum of four uniform numbers, of mean 0 and variance 1.
double drawn(Rank rank, const plan::Op& op) {
  std::uint64_t state = 0;
  for (const int part : {rank.value, op.step.value, static_cast<int>(op.kind), op.segment.value, op.micro_batch.value})
    state = mixed(state ^ static_cast<std::uint32_t>(part));
  constexpr double range = 1 << 16;
  double sum = 0;
  for (int shift = 0; shift < 64; shift += 16) sum += static_cast<double>((state >> shift) & 0xffff) / range;
  return std::sqrt(3.0) * (sum - 2);
}

}  // namespace

TimeParts Jittered::parts(const plan::Plan& plan, Rank rank, const plan::Op& op, int busy_ranks) const {
  const TimeParts parts = base_.parts(plan, rank, op, busy_ranks);
  if (!plan::is_pass(op.kind)) return parts;
  const double deviation_s = 1.4826 * base_.deviation_s(plan, rank, op, busy_ranks);
  return with_total(parts, std::max(0.0, parts.total() + drawn(rank, op) * deviation_s));
}

}  // namespace parabench::analytic
