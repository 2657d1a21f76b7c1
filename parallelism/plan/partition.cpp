#include "parallelism/plan/partition.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "parallelism/plan/plan.h"

namespace parabench {

std::vector<int> min_max_partition(std::span<const double> costs, int stages) {
  const int n = static_cast<int>(costs.size());
  std::vector<double> sum(n + 1, 0.0);
  std::partial_sum(costs.begin(), costs.end(), sum.begin() + 1);

  // best[k][i]: smallest possible largest stage when layers i.. are cut into k stages.
  const double impossible = std::numeric_limits<double>::infinity();
  std::vector<std::vector<double>> best(stages + 1, std::vector<double>(n + 1, impossible));
  best[0][n] = 0.0;
  for (int k = 1; k <= stages; ++k) {
    for (int i = 0; i < n; ++i) {
      for (int j = i + 1; j <= n; ++j) best[k][i] = std::min(best[k][i], std::max(sum[j] - sum[i], best[k - 1][j]));
    }
  }

  // Taking the shortest stage that keeps the optimum, again and again, gives the first optimum in lexicographic order.
  const double optimum = best[stages][0];
  std::vector<int> sizes;
  for (int k = stages, i = 0; k > 0; --k) {
    int j = i + 1;
    while (std::max(sum[j] - sum[i], best[k - 1][j]) > optimum) ++j;
    sizes.push_back(j - i);
    i = j;
  }
  return sizes;
}

std::vector<int> uniform_partition(int layers, int stages) { return split_evenly(layers, stages); }

}  // namespace parabench
