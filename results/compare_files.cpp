#include "results/compare_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

#include "base/case_id.h"
#include "base/case_text.h"
#include "base/error.h"
#include "base/statistics.h"

namespace parabench::results {
namespace {

/// Two digits: "0.75 %", "5 %", "120 %".
std::string percent(double part) {
  return part < 0.1 ? fmt::format("{:.2g} %", 100 * part) : fmt::format("{:.0f} %", 100 * part);
}

/// The fewest launches per side that can give p < alpha.
int fewest_for(double alpha) {
  int n = 1;
  while (smallest_mann_whitney_p(n) >= alpha) ++n;
  return n;
}

/// Launches per side that make widths `excess` times smaller, more than there are and no fewer than `least`.
std::optional<int> to_settle(double launches, double excess, int least) {
  constexpr int most = 1000;
  const double needed = std::ceil(launches * excess * excess);
  if (!(needed <= most)) return std::nullopt;
  return std::max({static_cast<int>(needed), static_cast<int>(launches) + 1, least});
}

/// How many on either side make medians as sure as these two numbers do.
double balanced(std::size_t launches_a, std::size_t launches_b) {
  return 2 / (1 / static_cast<double>(launches_a) + 1 / static_cast<double>(launches_b));
}

/// Verdict and reason from everything else.
void decide(CaseComparison& c, const CompareRules& rules) {
  const double limit = std::log1p(rules.threshold), log_ratio = std::log(c.ratio), size = std::abs(log_ratio);
  // As if the ratio were over 1, so that both directions are one.
  double low = std::log(c.interval->first), high = std::log(c.interval->second);
  if (log_ratio < 0) low = -std::exchange(high, -low);
  const double launches = balanced(c.launches_a, c.launches_b);
  const int fewest = fewest_for(rules.alpha);
  if (low > limit && *c.p < rules.alpha && size > *c.noise) {
    c.verdict = log_ratio > 0 ? Verdict::slower : Verdict::faster;
  } else if (low >= -limit && high <= limit && *c.noise <= limit) {
    c.verdict = Verdict::same;
  } else if (size <= limit) {
    const double width = std::max((high - size) / (limit - size), (size - low) / (size + limit));
    c.reason = size <= *c.noise ? "a tie within the noise; " : "";
    c.reason += low < -limit || high > limit
                    ? fmt::format("the interval goes beyond the threshold of {}", percent(rules.threshold))
                    : fmt::format("launch-to-launch noise hides differences up to {}, more than the threshold of {}",
                                  percent(std::expm1(*c.noise)), percent(rules.threshold));
    c.launches_to_settle = to_settle(launches, std::max(width, *c.noise / limit), static_cast<int>(fewest_launches));
  } else {
    if (size <= *c.noise) {
      c.reason = fmt::format("a tie within launch-to-launch noise, which hides differences up to {}",
                             percent(std::expm1(*c.noise)));
    } else if (low <= limit) {
      c.reason = fmt::format("the interval reaches {} to the threshold of {}", log_ratio > 0 ? "down" : "up",
                             percent(rules.threshold));
    } else {
      c.reason = fmt::format("p is not below {:g}", rules.alpha);
    }
    const double width = std::max((size - low) / (size - limit), *c.noise / size);
    c.launches_to_settle = to_settle(launches, width, fewest);
  }
}

/// "" where the row can be compared.
std::string why_not(const Record& record) {
  if (!counts(record)) return why_not_counted(record);
  if (!record.measured || launch_medians(*record.measured).empty()) return "no step time was measured";
  return "";
}

const Record* find(const ResultsFile& file, std::string_view id) {
  const auto found = std::ranges::find(file.records, id, &Record::id);
  return found == file.records.end() ? nullptr : &*found;
}

struct Pair {
  const Record *a, *b;
};

/// Both rows, or left out with the reason.
void take(const Record& a, const Record& b, std::vector<Pair>& pairs, std::vector<LeftOut>& left_out) {
  const std::string not_a = why_not(a), not_b = why_not(b);
  if (!not_a.empty()) left_out.push_back({a.id, "in A " + not_a});
  if (!not_b.empty())
    left_out.push_back({b.id, "in B " + not_b, not_a.empty() && !counts(b) && b.status != Status::skipped});
  if (not_a.empty() && not_b.empty()) pairs.push_back({&a, &b});
}

const Record& named(const ResultsFile& file, std::string_view side, const std::string& given) {
  const std::string id = to_id(parse_case(given));
  if (const Record* record = find(file, id)) return *record;
  std::vector<std::string> known;
  for (const Record& record : file.records) known.push_back(record.id);
  throw usage_error(fmt::format("case of {}", side), given, "the id of a record of this file", nearest_hint(id, known));
}

std::vector<Pair> choose(const ResultsFile& a, const ResultsFile& b, const CompareRules& rules,
                         std::vector<LeftOut>& left_out) {
  std::vector<Pair> pairs;
  if (rules.ids) {
    take(named(a, "A", rules.ids->first), named(b, "B", rules.ids->second), pairs, left_out);
    return pairs;
  }
  const auto comes_again = [&left_out](const ResultsFile& file, std::string_view side, const Record& record) {
    if (find(file, record.id) == &record) return false;
    left_out.push_back({record.id, fmt::format("comes again in {}: its first row is compared", side)});
    return true;
  };
  for (const Record& record : a.records) {
    if (comes_again(a, "A", record)) continue;
    const Record* other = find(b, record.id);
    other ? take(record, *other, pairs, left_out) : left_out.push_back({record.id, "only in A"});
  }
  for (const Record& record : b.records) {
    if (!comes_again(b, "B", record) && !find(a, record.id)) left_out.push_back({record.id, "only in B"});
  }
  return pairs;
}

/// "plan of 3 cases, first CASE: X in A, Y in B".
std::string describe(const std::vector<WorkDifference>& differences, WorkAspect aspect) {
  const auto first = std::ranges::find(differences, aspect, &WorkDifference::aspect);
  const auto cases = std::ranges::count(differences, aspect, &WorkDifference::aspect);
  std::string text(to_text(aspect));
  if (cases > 1) text += fmt::format(" of {} cases, first", cases);
  if (!first->id.empty()) text += (cases > 1 ? " " : " of ") + first->id;
  return fmt::format("{}: {} in A, {} in B", text, first->a, first->b);
}

void require_allowed(const std::vector<WorkDifference>& differences, const CompareRules& rules) {
  std::string what, names;
  for (const WorkAspect aspect : enum_values<WorkAspect>) {
    if (std::ranges::find(rules.allowed, aspect) != rules.allowed.end() ||
        std::ranges::find(differences, aspect, &WorkDifference::aspect) == differences.end())
      continue;
    what += (what.empty() ? "" : "; ") + describe(differences, aspect);
    names += fmt::format("{}{}", names.empty() ? " " : ",", to_text(aspect));
  }
  if (!what.empty()) throw usage_error("compare", what, "the same work in A and B", "try --allow-different" + names);
}

}  // namespace

CaseComparison judge(std::span<const double> launches_a, std::span<const double> launches_b,
                     const std::optional<LaunchNoise>& noise_a, const std::optional<LaunchNoise>& noise_b,
                     const CompareRules& rules) {
  CaseComparison c;
  c.launches_a = launches_a.size();
  c.launches_b = launches_b.size();
  c.median_a_s = median(launches_a);
  c.median_b_s = median(launches_b);
  c.ratio = c.median_b_s / c.median_a_s;
  if (std::min(c.launches_a, c.launches_b) < fewest_launches) {
    c.reason = fmt::format("launches: {} in A and {} in B; a verdict wants {} on either side, FASTER or SLOWER {}",
                           c.launches_a, c.launches_b, fewest_launches, fewest_for(rules.alpha));
    return c;
  }
  c.interval = bootstrap_median_ratio(launches_a, launches_b, 1 - rules.alpha);
  c.p = mann_whitney(launches_a, launches_b).p;
  c.noise = 0;
  for (const auto& noise : {noise_a, noise_b}) {
    if (noise) c.noise = std::max(*c.noise, smallest_difference(*noise, c.launches_a, c.launches_b, rules.alpha));
  }
  decide(c, rules);
  return c;
}

FilesComparison compare_files(const ResultsFile& a, const ResultsFile& b, const CompareRules& rules) {
  FilesComparison out;
  const std::vector<Pair> pairs = choose(a, b, rules, out.left_out);
  const bool on_gpus = std::ranges::any_of(pairs, [](const Pair& pair) {
    return pair.a->parameters.device == DeviceKind::cuda || pair.b->parameters.device == DeviceKind::cuda;
  });
  if (!pairs.empty()) out.allowed = work_differences(a, b, on_gpus);
  for (const Pair& pair : pairs) std::ranges::move(work_differences(*pair.a, *pair.b), std::back_inserter(out.allowed));
  require_allowed(out.allowed, rules);
  out.context = context_differences(a, b);
  for (const DeviceKind device : enum_values<DeviceKind>) {
    const auto concerns = [device](const Pair& pair) {
      return pair.a->parameters.device == device || pair.b->parameters.device == device;
    };
    if (std::ranges::any_of(pairs, concerns))
      out.noise.push_back({device, launch_noise(a.records, device), launch_noise(b.records, device)});
  }
  const auto noise_of = [&out](const Record& record) {
    return *std::ranges::find(out.noise, record.parameters.device, &DeviceNoise::device);
  };
  for (const auto& [in_a, in_b] : pairs) {
    CaseComparison c = judge(launch_medians(*in_a->measured), launch_medians(*in_b->measured), noise_of(*in_a).a,
                             noise_of(*in_b).b, rules);
    c.id_a = in_a->id;
    c.id_b = in_b->id;
    c.device = in_a->parameters.device;
    out.cases.push_back(std::move(c));
  }
  return out;
}

}  // namespace parabench::results
