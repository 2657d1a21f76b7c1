#include "suite/rank/affinity.h"

#include <fmt/format.h>
#include <sched.h>

#include <algorithm>

namespace parabench::rank {

std::vector<int> allowed_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  std::vector<int> cores;
  if (sched_getaffinity(0, sizeof(set), &set) != 0) return cores;
  for (int c = 0; c < CPU_SETSIZE; ++c)
    if (CPU_ISSET(c, &set)) cores.push_back(c);
  return cores;
}

std::vector<int> take_cores(int rank, int ranks, int threads) {
  const std::vector<int> all = allowed_cores();
  if (static_cast<std::size_t>(ranks) * threads > all.size()) return all;
  const auto first = all.begin() + static_cast<std::ptrdiff_t>(rank) * threads;
  const std::vector<int> mine(first, first + threads);
  use_cores(mine);
  return mine;
}

int cores_beside_gpu(int allowed, int ranks) { return std::max(1, allowed / ranks); }

void use_cores(const std::vector<int>& cores) {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (int c : cores) CPU_SET(c, &set);
  sched_setaffinity(0, sizeof(set), &set);
}

std::string to_text(const std::vector<int>& cores) {
  std::string text;
  for (std::size_t i = 0; i < cores.size();) {
    std::size_t j = i;
    while (j + 1 < cores.size() && cores[j + 1] == cores[j] + 1) ++j;
    if (!text.empty()) text += ',';
    text += i == j ? fmt::format("{}", cores[i]) : fmt::format("{}-{}", cores[i], cores[j]);
    i = j + 1;
  }
  return text;
}

}  // namespace parabench::rank
