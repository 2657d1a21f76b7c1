#include "suite/advise/choices.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/counted.h"
#include "base/json_null.h"
#include "base/statistics.h"
#include "base/units_text.h"
#include "results/accuracy_text.h"
#include "suite/advise/candidates.h"

namespace parabench::suite {
namespace {

using nlohmann::json;
using results::JudgedCase;

/// What is asked where this case is one of the answers.
std::string question_of(const std::string& id) {
  std::istringstream parts(id);
  std::string question, part;
  for (int place = 0; std::getline(parts, part, '/'); ++place) {
    constexpr int strategy = 2;  // model/data set/strategy/...
    if (place == strategy || is_chosen_key(part.substr(0, part.find(':')))) continue;
    question += (question.empty() ? "" : "/") + part;
  }
  return question;
}

}  // namespace

std::vector<Choice> judge_choices(std::vector<JudgedCase>& cases) {
  std::map<std::string, std::vector<JudgedCase*>> questions;
  for (JudgedCase& one : cases)
    if (trains_as_sequential(one.parameters)) questions[question_of(one.id)].push_back(&one);
  std::vector<Choice> choices;
  for (const auto& [question, candidates] : questions) {
    if (candidates.size() < 2) continue;
    JudgedCase& picked = **std::ranges::min_element(candidates, {}, &JudgedCase::predicted_s);
    JudgedCase& best = **std::ranges::min_element(candidates, {}, &JudgedCase::measured_s);
    best.choice = "best";
    picked.choice = &picked == &best ? "picked best" : "picked";
    choices.push_back({question, static_cast<int>(candidates.size()), picked.id, best.id,
                       results::difference(picked.measured_s, best.measured_s, picked.noise, best.noise)});
  }
  return choices;
}

ChoiceFigures figures_of(std::span<const Choice> choices) {
  if (choices.empty()) return {};
  std::vector<double> regrets;
  for (const Choice& one : choices) regrets.push_back(one.regret.relative);
  return {.questions = static_cast<int>(choices.size()),
          .right = static_cast<int>(std::ranges::count_if(choices, &Choice::is_right)),
          .exact = static_cast<int>(std::ranges::count_if(choices, &Choice::is_exact)),
          .mean_regret = mean(regrets),
          .largest_regret = std::ranges::max(regrets),
          .mean_regret_ci95 = results::mean_interval(regrets)};
}

std::string choices_text(std::span<const Choice> choices) {
  if (choices.empty()) return "";
  const ChoiceFigures figures = figures_of(choices);
  std::string text = fmt::format(
      "\npicks the measured best in {} of {} ({} exactly, {} by a tie within the noise); "
      "regret {} in the mean{}, {} at most\n",
      figures.right, counted(figures.questions, "group"), figures.exact, figures.right - figures.exact,
      human_share(figures.mean_regret),
      figures.mean_regret_ci95 ? fmt::format(" (95 %: {})", results::percent_interval(figures.mean_regret_ci95)) : "",
      human_share(figures.largest_regret));
  for (const Choice& one : choices) {
    if (one.is_right()) continue;
    text += fmt::format("  +{}  {}, not {}, of {} (noise {})\n", human_share(one.regret.relative), one.predicted_best,
                        one.measured_best, one.candidates, human_share(one.regret.noise));
  }
  return text;
}

json choices_json(std::span<const Choice> choices) {
  const ChoiceFigures figures = figures_of(choices);
  json rows = json::array();
  for (const Choice& one : choices)
    rows.push_back({{"group", one.question},
                    {"candidates", one.candidates},
                    {"predicted_best", one.predicted_best},
                    {"measured_best", one.measured_best},
                    {"regret", one.regret.relative},
                    {"noise", one.regret.noise},
                    {"is_right", one.is_right()}});
  return {{"groups", figures.questions},
          {"right", figures.right},
          {"exact", figures.exact},
          {"mean_regret", figures.mean_regret},
          {"mean_regret_ci95", null_if_absent(figures.mean_regret_ci95)},
          {"largest_regret", figures.largest_regret},
          {"choices", rows}};
}

}  // namespace parabench::suite
