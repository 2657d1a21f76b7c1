#include "base/statistics.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>
#include <stdexcept>

#include "base/random.h"

namespace parabench {
namespace {

void require_values(bool any) {
  if (!any) throw std::invalid_argument("statistics of no values");
}

/// As quantile(), reordering `values` instead of copying them. O(n).
double take_quantile(std::vector<double>& values, double p) {
  const double position = p * static_cast<double>(values.size() - 1);
  const auto below = static_cast<std::size_t>(position);
  const auto nth = values.begin() + static_cast<std::ptrdiff_t>(below);
  std::nth_element(values.begin(), nth, values.end());
  const double fraction = position - static_cast<double>(below);
  if (fraction == 0) return *nth;
  const double above = *std::min_element(nth + 1, values.end());
  return *nth + fraction * (above - *nth);
}

/// P(|T| < t) of Student's t.
double student_t_within(double t, int degrees_of_freedom) {
  const double angle = std::atan(t / std::sqrt(degrees_of_freedom)), cosine = std::cos(angle);
  const bool odd = degrees_of_freedom % 2 != 0;
  double term = odd ? cosine : 1, sum = degrees_of_freedom == 1 ? 0 : term;
  for (int k = odd ? 3 : 2; k < degrees_of_freedom; k += 2) {
    term *= cosine * cosine * (k - 1) / k;
    sum += term;
  }
  return odd ? 2 / std::numbers::pi * (angle + std::sin(angle) * sum) : std::sin(angle) * sum;
}

/// The x >= 0 at which a rising `within`, of 0 at 0 and 1 in the limit, comes to `share` < 1.
template <class Within>
double where(const Within& within, double share) {
  double low = 0, high = 1;
  while (within(high) < share) high *= 2;
  for (int i = 0; i < 200 && low < high; ++i) {
    const double middle = low + (high - low) / 2;
    if (middle <= low || middle >= high) break;
    (within(middle) < share ? low : high) = middle;
  }
  return high;
}

/// Of a distribution that is the same on both sides of 0.
template <class Within>
double symmetric_quantile(const Within& within, double p) {
  const double distance = where(within, std::abs(2 * p - 1));
  return p < 0.5 ? -distance : distance;
}

/// Sum of t^3 - t over the groups of t equal values. Sorts.
double tie_term(std::vector<double>& values) {
  std::ranges::sort(values);
  double sum = 0;
  for (auto first = values.begin(); first != values.end();) {
    const auto last = std::find_if(first, values.end(), [first](double x) { return x != *first; });
    const auto equal = static_cast<double>(last - first);
    sum += equal * equal * equal - equal;
    first = last;
  }
  return sum;
}

/// The place of each value in the order of all, from 1; equal values share the mean of theirs.
std::vector<double> ranks_of(std::span<const double> values) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, [&](std::size_t a, std::size_t b) { return values[a] < values[b]; });
  std::vector<double> ranks(values.size());
  for (std::size_t first = 0; first < order.size();) {
    std::size_t last = first;
    while (last + 1 < order.size() && values[order[last + 1]] == values[order[first]]) ++last;
    for (std::size_t i = first; i <= last; ++i) ranks[order[i]] = static_cast<double>(first + last) / 2 + 1;
    first = last + 1;
  }
  return ranks;
}

/// The ends between which `confidence` of the values lie, as much of the rest on either side.
std::pair<double, double> middle_of(std::span<const double> values, double confidence) {
  const double tail = (1 - confidence) / 2;
  return {quantile(values, tail), quantile(values, 1 - tail)};
}

/// P(U <= u) over all orders of n and m values without ties: how many choices of n places among n + m have which sum.
double exact_tail(double u, std::size_t n, std::size_t m) {
  // ways[k][s]: of k values, pairs with a smaller one of the other sample sum to s.
  std::vector<std::vector<double>> ways(n + 1, std::vector<double>(n * m + 1));
  ways[0][0] = 1;
  for (std::size_t place = 0; place < n + m; ++place) {
    for (std::size_t k = std::min(n, place + 1); k > 0; --k) {
      // The k-th chosen value at `place` has place - (k - 1) values of the other sample below it.
      const std::size_t below = place - (k - 1);
      for (std::size_t s = below; s <= n * m; ++s) ways[k][s] += ways[k - 1][s - below];
    }
  }
  const auto last = ways[n].begin() + static_cast<std::ptrdiff_t>(u) + 1;
  return std::accumulate(ways[n].begin(), last, 0.0) / std::accumulate(ways[n].begin(), ways[n].end(), 0.0);
}

}  // namespace

double quantile(std::span<const double> values, double p) {
  require_values(!values.empty());
  std::vector<double> copy(values.begin(), values.end());
  return take_quantile(copy, p);
}

double median(std::span<const double> values) { return quantile(values, 0.5); }

double mad(std::span<const double> values) {
  const double centre = median(values);
  std::vector<double> deviations(values.size());
  std::ranges::transform(values, deviations.begin(), [centre](double x) { return std::abs(x - centre); });
  return take_quantile(deviations, 0.5);
}

double mean(std::span<const double> values) {
  require_values(!values.empty());
  double sum = 0;
  for (const double x : values) sum += x;
  return sum / static_cast<double>(values.size());
}

double standard_deviation(std::span<const double> values) {
  require_values(values.size() > 1);
  const double middle = mean(values);
  double squares = 0;
  for (const double value : values) squares += (value - middle) * (value - middle);
  return std::sqrt(squares / static_cast<double>(values.size() - 1));
}

std::optional<double> rank_correlation(std::span<const double> a, std::span<const double> b) {
  require_values(!a.empty());
  if (a.size() != b.size()) throw std::invalid_argument("a rank correlation of samples of different lengths");
  const std::vector<double> of_a = ranks_of(a), of_b = ranks_of(b);
  const double centre = static_cast<double>(a.size() + 1) / 2;
  double both = 0, only_a = 0, only_b = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    both += (of_a[i] - centre) * (of_b[i] - centre);
    only_a += (of_a[i] - centre) * (of_a[i] - centre);
    only_b += (of_b[i] - centre) * (of_b[i] - centre);
  }
  if (only_a == 0 || only_b == 0) return std::nullopt;
  return both / std::sqrt(only_a * only_b);
}

double student_t_quantile(double p, int degrees_of_freedom) {
  return symmetric_quantile([=](double t) { return student_t_within(t, degrees_of_freedom); }, p);
}

double normal_quantile(double p) {
  return symmetric_quantile([](double x) { return std::erf(x / std::numbers::sqrt2); }, p);
}

std::vector<double> normal_scores(int n) {
  std::vector<double> scores(static_cast<std::size_t>(n), 0);
  for (int k = 1; k <= n / 2; ++k) {
    scores[k - 1] = normal_quantile((k - 0.375) / (n + 0.25));
    scores[n - k] = -scores[k - 1];
  }
  return scores;
}

MannWhitney mann_whitney(std::span<const double> a, std::span<const double> b) {
  require_values(!a.empty() && !b.empty());
  MannWhitney out;
  for (const double x : a)
    for (const double y : b) out.u += x > y ? 1 : x == y ? 0.5 : 0;
  std::vector<double> pooled(a.begin(), a.end());
  pooled.insert(pooled.end(), b.begin(), b.end());
  const double ties = tie_term(pooled);
  const auto n = static_cast<double>(a.size()), m = static_cast<double>(b.size());
  out.exact = ties == 0 && a.size() < 50 && b.size() < 50;
  const double smaller = std::min(out.u, n * m - out.u);
  if (out.exact) {
    out.p = std::min(1.0, 2 * exact_tail(smaller, a.size(), b.size()));
    return out;
  }
  const double all = n + m, variance = n * m / 12 * (all + 1 - ties / (all * (all - 1)));
  const double distance = n * m / 2 - smaller - 0.5;
  out.p = variance > 0 && distance > 0 ? std::erfc(distance / std::sqrt(2 * variance)) : 1;
  return out;
}

double smallest_mann_whitney_p(int n) {
  double p = 2;
  for (int k = 1; k <= n; ++k) p *= static_cast<double>(k) / (n + k);
  return std::min(1.0, p);
}

std::pair<double, double> bootstrap_median_ratio(std::span<const double> a, std::span<const double> b,
                                                 double confidence, int resamples, std::uint64_t seed) {
  require_values(!a.empty() && !b.empty());
  std::vector<double> sample;
  const auto resampled = [&](std::span<const double> values, std::uint64_t stream, std::size_t round) {
    sample.clear();
    for (std::size_t i = 0; i < values.size(); ++i) {
      const double place = counter_uniform(seed, stream, round * values.size() + i);
      sample.push_back(values[static_cast<std::size_t>(place * static_cast<double>(values.size()))]);
    }
    return take_quantile(sample, 0.5);
  };
  const std::uint64_t one = hash_name("ratio of medians, one"), other = hash_name("ratio of medians, other");
  std::vector<double> logs;
  // Each sample takes either stream in turn, so that swapped samples give the same ratios inverted.
  for (std::size_t round = 0; 2 * round < static_cast<std::size_t>(resamples); ++round) {
    logs.push_back(std::log(resampled(b, other, round)) - std::log(resampled(a, one, round)));
    logs.push_back(std::log(resampled(b, one, round)) - std::log(resampled(a, other, round)));
  }
  const auto [low, high] = middle_of(logs, confidence);
  return {std::exp(low), std::exp(high)};
}

std::pair<double, double> bootstrap_median(std::span<const std::vector<double>> groups, double confidence,
                                           int resamples, std::uint64_t seed) {
  require_values(std::ranges::any_of(groups, [](const auto& group) { return !group.empty(); }));
  std::uint64_t drawn = 0;
  const auto draw = [&](std::size_t size) {
    return static_cast<std::size_t>(counter_uniform(seed, hash_name("bootstrap"), drawn++) * static_cast<double>(size));
  };
  std::vector<double> medians, sample;
  medians.reserve(static_cast<std::size_t>(resamples));
  while (medians.size() < static_cast<std::size_t>(resamples)) {
    sample.clear();
    if (groups.size() == 1) {
      const std::vector<double>& only = groups.front();
      for (std::size_t i = 0; i < only.size(); ++i) sample.push_back(only[draw(only.size())]);
    } else {
      for (std::size_t i = 0; i < groups.size(); ++i) {
        const std::vector<double>& group = groups[draw(groups.size())];
        sample.insert(sample.end(), group.begin(), group.end());
      }
    }
    // Only empty groups were drawn: draw again.
    if (!sample.empty()) medians.push_back(take_quantile(sample, 0.5));
  }
  return middle_of(medians, confidence);
}

std::pair<double, double> bootstrap_mean(std::span<const double> values, double confidence, int resamples,
                                         std::uint64_t seed) {
  require_values(!values.empty());
  const auto size = static_cast<double>(values.size());
  const std::uint64_t stream = hash_name("bootstrap of a mean");
  std::uint64_t drawn = 0;
  std::vector<double> means(static_cast<std::size_t>(resamples));
  for (double& one : means) {
    double sum = 0;
    for (std::size_t i = 0; i < values.size(); ++i)
      sum += values[static_cast<std::size_t>(counter_uniform(seed, stream, drawn++) * size)];
    one = sum / size;
  }
  return middle_of(means, confidence);
}

}  // namespace parabench
