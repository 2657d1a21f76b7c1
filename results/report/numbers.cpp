#include "results/report/numbers.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>

#include "results/report/escape.h"

namespace parabench::results {
namespace {

constexpr std::array<std::string_view, 10> digit_names = {"Zero", "One", "Two",   "Three", "Four",
                                                          "Five", "Six", "Seven", "Eight", "Nine"};
constexpr double mebibyte = 1 << 20;

/// Without an exponent, three significant digits or more.
std::string decimal(double value) {
  const double size = std::abs(value);
  if (size == 0) return "0";
  const int digits = std::clamp(2 - static_cast<int>(std::floor(std::log10(size))), 0, 15);
  return fmt::format("{:.{}f}", value, digits);
}

/// No name of a quantity is the end of another one, so that no two cases make the same macro of it.
class Writer {
 public:
  void comment(std::string_view line) { text_ += fmt::format("% {}\n", latex_comment(line)); }
  void add(std::string_view prefix, std::string_view quantity, std::string_view value) {
    text_ += fmt::format("\\newcommand{{\\pb{}{}}}{{{}}}\n", prefix, quantity, value);
  }
  void add(std::string_view prefix, std::string_view quantity, std::optional<double> value) {
    if (value && std::isfinite(*value)) add(prefix, quantity, decimal(*value));
  }
  void add_percent(std::string_view prefix, std::string_view quantity, std::optional<double> ratio) {
    if (ratio && std::isfinite(*ratio)) add(prefix, quantity, fmt::format("{:.1f}", 100 * *ratio));
  }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

void add_case(Writer& out, const std::string& name, const Record& record, const ReportRow& row) {
  const auto mib = [](std::int64_t bytes) {
    return bytes == 0 ? std::optional<double>() : static_cast<double>(bytes) / mebibyte;
  };
  if (record.measured) {
    const StepTime& time = record.measured->step_time_s;
    out.add(name, "MeasuredMs", 1e3 * time.median);
    out.add(name, "MeasuredLowMs", 1e3 * time.ci95.first);
    out.add(name, "MeasuredHighMs", 1e3 * time.ci95.second);
    out.add(name, "MeasuredMiB", mib(peak_bytes(*record.measured)));
    out.add(name, "SamplesPerSecond", record.measured->throughput_samples_per_s);
  }
  if (record.predicted) {
    out.add(name, "PredictedMs", 1e3 * record.predicted->step_time_s);
    if (const auto ends = known_interval(*record.predicted)) {
      out.add(name, "PredictedLowMs", 1e3 * ends->first);
      out.add(name, "PredictedHighMs", 1e3 * ends->second);
    }
    out.add(name, "PredictedMiB", mib(peak_bytes(*record.predicted)));
  }
  if (row.error) {
    out.add_percent(name, "TimeErrorPercent", row.error->step_time);
    out.add_percent(name, "MemoryErrorPercent", row.error->peak_memory);
  }
  if (record.error && record.error->noise_floor)
    out.add_percent(name, "NoisePercent", record.error->noise_floor->relative);
  if (record.error && record.error->adjusted)
    out.add_percent(name, "AdjustedTimeErrorPercent", record.error->adjusted->relative);
  if (record.error && record.error->paired_step_time_relative)
    out.add_percent(name, "PairedTimeErrorPercent", *record.error->paired_step_time_relative);
  for (const Scaling& scaling : row.scalings) {
    const std::string over = "Over" + macro_word(to_text(scaling.kind));
    out.add(name, "Speedup" + over, scaling.speedup);
    out.add(name, "SpeedupPredicted" + over, scaling.predicted_speedup);
    out.add(name, "Efficiency" + over, scaling.efficiency);
    if (scaling.speedup_interval) {
      out.add(name, "SpeedupLow" + over, scaling.speedup_interval->first);
      out.add(name, "SpeedupHigh" + over, scaling.speedup_interval->second);
      out.add(name, "EfficiencyLow" + over, scaling.efficiency_interval->first);
      out.add(name, "EfficiencyHigh" + over, scaling.efficiency_interval->second);
    }
  }
}

void add_summary(Writer& out, const Report& report) {
  const auto counting = std::ranges::count(report.rows, true, &ReportRow::counts);
  out.add("Summary", "Records", std::to_string(report.rows.size()));
  out.add("Summary", "CountingRecords", std::to_string(counting));
  for (const MeanError& mean : report.means) {
    const std::string kind = mean.emulated ? "SummaryEmulated" : (mean.checked ? "Summary" : "SummaryUnchecked");
    out.add(kind, "Cases", std::to_string(mean.cases));
    out.add_percent(kind, "TimeMeanErrorPercent", mean.step_time);
    out.add_percent(kind, "MemoryMeanErrorPercent", mean.peak_memory);
  }
}

}  // namespace

std::string macro_word(std::string_view text) {
  std::string word;
  bool begins = true;
  for (const char c : text) {
    const bool lower = 'a' <= c && c <= 'z', upper = 'A' <= c && c <= 'Z', digit = '0' <= c && c <= '9';
    if (digit) {
      word += digit_names[static_cast<std::size_t>(c - '0')];
    } else if (lower || upper) {
      word += lower && begins ? static_cast<char>(c - 'a' + 'A') : c;
    }
    begins = !(lower || upper);
  }
  return word;
}

std::string report_numbers(const Report& report) {
  std::map<std::string, std::set<std::size_t>> files_of_id;
  for (const ReportRow& row : report.rows) files_of_id[report.record(row).id].insert(row.file);
  Writer out;
  out.comment("By parabench report: one macro per number of the records that count. MiB are 2^20 bytes.");
  add_summary(out, report);
  std::set<std::string> taken = {"Summary", "SummaryEmulated", "SummaryUnchecked"};
  for (const ReportRow& row : report.rows) {
    const Record& record = report.record(row);
    const std::string& label = report.files[row.file].label;
    const bool several = files_of_id[record.id].size() > 1;
    const std::string where = several ? fmt::format("{} of {}", record.id, label) : record.id;
    if (!row.counts) {
      out.comment(where + ": does not count");
      continue;
    }
    std::string name = (several ? macro_word(label) : "") + macro_word(record.id);
    while (!taken.insert(name).second) name += "Again";
    out.comment(where);
    add_case(out, name, record, row);
  }
  return out.text();
}

}  // namespace parabench::results
