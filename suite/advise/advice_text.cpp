#include "suite/advise/advice_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

#include "base/case_json.h"
#include "base/case_text.h"
#include "base/counted.h"
#include "base/units_text.h"
#include "results/report/escape.h"
#include "results/table.h"

namespace parabench::suite {
namespace {

using nlohmann::json;

double samples_per_s(const Candidate& one) { return one.chosen.spec.batch / one.step_time_s; }

void add_row(std::string& text, const Candidate& one, std::size_t width) {
  text +=
      fmt::format("{} {:<{}}  {:>10}  {:>10}  {:>11}  {:>11}\n", one.is_on_front ? '*' : ' ', one.chosen.id, width,
                  one.is_simulated ? human_seconds(one.step_time_s) : "-", results::plain_number(samples_per_s(one)),
                  human_bytes(static_cast<double>(one.peak_bytes)), human_seconds(one.form.step_time_s));
}

void add_table(std::string& text, const std::vector<const Candidate*>& rows) {
  std::size_t width = 4;
  for (const Candidate* one : rows) width = std::max(width, one->chosen.id.size());
  text += fmt::format("  {:<{}}  {:>10}  {:>10}  {:>11}  {:>11}\n", "case", width, "simulated", "samples/s",
                      "peak memory", "closed form");
  for (const Candidate* one : rows) add_row(text, *one, width);
}

/// Of those that train so the `rows` fastest, and the others of the front.
std::vector<const Candidate*> rows_of(const Advice& advice, bool is_sequential, int rows) {
  std::vector<const Candidate*> chosen;
  for (const Candidate& one : advice.fitting) {
    if (one.is_sequential != is_sequential) continue;
    if (std::ssize(chosen) < rows || one.is_on_front) chosen.push_back(&one);
  }
  return chosen;
}

}  // namespace

std::string advice_text(const Question& question, const Advice& advice, int rows) {
  const std::string limit = question.memory ? fmt::format(", {} a rank", print_bytes(*question.memory)) : "";
  const std::string source = advice.fitting.front().cost_source;
  std::string text = fmt::format(
      "{} on {}, batch {}, up to {}{}: {} ({} more cannot be), ranked by closed forms; {} simulated, {}\n\n",
      to_text(question.spec.model), to_text(question.spec.dataset), question.spec.batch,
      counted(question.spec.np, "rank"), limit, counted(advice.possible, "case"), advice.impossible, advice.simulated,
      source);
  add_table(text, rows_of(advice, true, rows));
  text += "* nothing is both as fast and as small\n";
  if (const auto others = rows_of(advice, false, std::min(rows, 3)); !others.empty()) {
    text += "\ntrain otherwise than sequential training, so that the time of a step alone says little:\n";
    add_table(text, others);
  }
  return text;
}

std::string advice_csv(const Advice& advice) {
  std::string text =
      "id,strategy,trains_as_sequential,is_simulated,step_time_s,throughput_samples_per_s,peak_memory_bytes,"
      "on_front,cost_source,closed_form_step_time_s,closed_form_peak_memory_bytes\n";
  for (const Candidate& one : advice.fitting)
    text +=
        fmt::format("{},{},{},{},{},{},{},{},{},{},{}\n", results::csv_text(one.chosen.id),
                    one.chosen.spec.strategy.name, one.is_sequential, one.is_simulated, print_number(one.step_time_s),
                    print_number(samples_per_s(one)), one.peak_bytes, one.is_on_front, one.cost_source,
                    print_number(one.form.step_time_s), print_number(one.form.peak_bytes));
  return text;
}

json advice_json(const Question& question, const Advice& advice) {
  json rows = json::array();
  for (const Candidate& one : advice.fitting)
    rows.push_back(
        {{"id", one.chosen.id},
         {"parameters", parameters_json(one.chosen.spec)},
         {"trains_as_sequential", one.is_sequential},
         {"is_simulated", one.is_simulated},
         {"step_time_s", one.step_time_s},
         {"throughput_samples_per_s", samples_per_s(one)},
         {"peak_memory_bytes", one.peak_bytes},
         {"on_front", one.is_on_front},
         {"cost_source", one.cost_source},
         {"closed_form", {{"step_time_s", one.form.step_time_s}, {"peak_memory_bytes", one.form.peak_bytes}}}});
  return {{"memory_bytes", question.memory ? json(question.memory->value) : json()},
          {"possible", advice.possible},
          {"impossible", advice.impossible},
          {"simulated", advice.simulated},
          {"gap", advice.gap.empty() ? json() : json(advice.gap)},
          {"candidates", rows}};
}

}  // namespace parabench::suite
