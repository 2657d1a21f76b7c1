#include "suite/cli/advise_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <ostream>

#include "base/case_id.h"
#include "base/counted.h"
#include "base/units_text.h"
#include "results/difference.h"
#include "results/file.h"
#include "results/summary.h"
#include "suite/advise/advice_text.h"
#include "suite/advise/candidates.h"
#include "suite/cli/options.h"
#include "suite/cli/unexpected_device.h"
#include "suite/launch/launch.h"
#include "suite/machine/knowledge.h"
#include "suite/machine/staleness.h"
#include "suite/run/emulate_option.h"
#include "suite/run/hosts_option.h"
#include "suite/run/session.h"

namespace parabench::suite {
namespace {

/// Throws usage_error for keys that the candidates differ in.
void check_keys(const std::string& keys) {
  for (std::size_t begin = 0; begin < keys.size();) {
    const std::size_t end = std::min(keys.find('/', begin), keys.size());
    const std::string_view key = std::string_view(keys).substr(begin, end - begin);
    const std::string_view name = key.substr(0, key.find(':'));
    const bool is_given = name == "zero" && key != "zero:0";
    if ((is_chosen_key(name) && !is_given) || name == "memory")
      throw usage_error("--keys", key, "keys that advise does not choose itself",
                        name == "memory" ? "try --memory" : "leave it out: candidates differ in it");
    begin = end + 1;
  }
}

Question question_of(const AdviseOptions& options) {
  check_keys(options.keys);
  // As an id, so that values are read and refused as everywhere.
  std::string id =
      fmt::format("{}/{}/sequential/np:{}/batch:{}", options.model, options.dataset, options.np, options.batch);
  if (!options.keys.empty()) id += "/" + options.keys;
  Question question{.spec = parse_case(id), .memory = {}, .hosts = options.hosts};
  if (!options.memory.empty()) question.memory = parse_bytes("--memory", options.memory);
  return question;
}

/// The predicted best beside the measured best.
std::string verdict(const results::ResultsFile& measured, const std::string& predicted_best) {
  const results::Record* best = nullptr;
  const results::Record* predicted = nullptr;
  for (const results::Record& record : measured.records) {
    if (!record.measured || !results::counts(record)) continue;
    if (record.id == predicted_best) predicted = &record;
    if (!best || record.measured->step_time_s.median < best->measured->step_time_s.median) best = &record;
  }
  if (!best || !predicted) return "the predicted best has no time that counts\n";
  if (best == predicted) return fmt::format("the predicted best is the measured best: {}\n", best->id);
  const results::Difference loss = results::difference_by_turns(*predicted, *best);
  // Where rounds say the opposite of the medians, neither is faster.
  const bool is_tie = loss.is_tie() || loss.relative < 0;
  return fmt::format("measured best: {}\nthe predicted best, {}, takes {} longer{} (noise {})\n", best->id,
                     predicted->id, human_share(std::max(0.0, loss.relative)), is_tie ? ", a tie" : "",
                     human_share(loss.noise));
}

ExitCode run_best(const AdviseOptions& options, const Advice& advice, const Start& start) {
  const std::vector<SelectedCase> chosen = best_to_run(advice, options.best);
  if (chosen.empty())
    throw usage_error("--run", std::to_string(options.best),
                      "a candidate that can run and trains as sequential training does; here there is none",
                      "leave --run out, or run one of the others by its id");
  RunOptions run = options.run;
  run.interleave = true;
  const ScratchFolder scratch;
  if (run.json.empty()) run.json = (scratch.path() / "advise.json").string();
  start.out << '\n';
  const ExitCode code = run_cases(chosen, run, start.argv, start.progress, start.out);
  if (std::filesystem::exists(run.json)) start.out << verdict(results::read_results(run.json), chosen.front().id);
  return code;
}

}  // namespace

AdviseOptions advise_options() {
  AdviseOptions options;
  options.run.stopping.repetitions = 3;
  return options;
}

void add_options(CLI::App& app, AdviseOptions& options) {
  app.add_option("--model", options.model, "What is trained: list --models")->required()->type_name("MODEL");
  app.add_option("--dataset", options.dataset, "On what: list --datasets")->required()->type_name("DATASET");
  add_integer(app, "--np", options.np, 1, "Ranks at hand");
  app.get_option("--np")->required()->default_str("");
  add_integer(app, "--batch", options.batch, 1, "Global batch in samples");
  app.get_option("--batch")->required()->default_str("");
  app.add_option("--memory", options.memory, "What a rank may use: 8GB; default: what the GPU has, on a CPU no limit")
      ->type_name("BYTES");
  app.add_option("--keys", options.keys, "Keys of all candidates, as ids have them: device:cuda/precision:bf16")
      ->type_name("KEY:VALUE/...");
  add_hardware(app, options.hardware, "Advise for the machine of a data sheet, as predict --hardware");
  add_hosts(app, options.hosts, true);
  add_integer(app, "--rows", options.rows, 1,
              "Rows of the text at least: what nothing else is both faster and smaller than is always there");
  add_choice(app, "--format", options.format,
             "Text, or all candidates that were chosen for simulation as a table in CSV, or JSON");
  add_integer(app, "--run", options.best, 0,
              "Run so many of the best that can run and train as sequential training does, their launches by turns");
  add_run_options(app, options.run);
  app.remove_option(app.get_option("--interleave"));  // always
  app.get_option("--json")->description("Results file of what --run measures");
  for (const RunOption& option : run_options()) {
    CLI::Option* added = app.get_option_no_throw(std::string(option.name));
    if (added && option.name != "--calibration" && option.name != "--emulate") added->needs("--run");
  }
}

void check(const AdviseOptions& options) {
  if (!options.hardware.empty() && options.best > 0)
    throw usage_error("--run", std::to_string(options.best), "no --hardware beside it: cases run on this machine");
  if (options.hosts > 1 && options.best > 0)
    throw usage_error("--run", std::to_string(options.best), "no --hosts beside it: the launcher says where ranks run",
                      "leave out --hosts");
  check_target(options.hardware, options.run.calibration);
  if (options.run.json == "-")
    throw usage_error("--json", "-", "a file", "the text stands on stdout; --format json is the advice in JSON");
  if (options.best > 0 && options.format != PredictFormat::text)
    throw usage_error("--format", to_text(options.format), "text beside --run", "--json keeps what is measured");
}

ExitCode give_advice(const AdviseOptions& options, const Start& start) {
  const Question question = question_of(options);
  check_emulate_option(question.spec, options.run.emulated);
  const auto [machine, file] = target_of(options.hardware, options.run.calibration, start.progress);
  if (options.best > 0) require_calibration_of(known_machine(), file);
  check_hosts(question.spec, options.hosts, machine);
  note_doubts(file, start.progress);
  Knowledge knowledge = knowledge_of(machine, file, options.run.emulated);
  set_hosts(knowledge, options.hosts);
  const Advice advice = advise(question, knowledge);
  switch (options.format) {
    case PredictFormat::text: start.out << advice_text(question, advice, options.rows); break;
    case PredictFormat::csv: start.out << advice_csv(advice); break;
    case PredictFormat::json: start.out << advice_json(question, advice).dump(1) << '\n'; break;
  }
  std::vector<std::string> dates;
  for (const Candidate& one : advice.fitting)
    if (one.is_simulated) dates.push_back(one.calibrated_on);
  note_age(dates, file, start.progress);
  if (!advice.left_out.empty())
    start.progress.note(fmt::format("{} of which the calibration lacks something {} left out, as {}; {}",
                                    counted(static_cast<int>(advice.left_out.size()), "case"),
                                    advice.left_out.size() == 1 ? "is" : "are", advice.left_out.front(),
                                    how_to_calibrate()));
  if (!advice.gap.empty()) start.progress.note(fmt::format("the data sheet predicts: {}", advice.gap));
  const bool is_by_data_sheet = advice.fitting.front().cost_source == "data-sheet";
  if (options.hardware.empty() && !file.content && is_by_data_sheet)
    start.progress.note("the data sheet predicts: no calibration of this machine yet; " + how_to_calibrate());
  if (const auto unknown = unknown_network(knowledge, question.spec); is_by_data_sheet && !unknown.empty())
    start.progress.note(unknown);
  if (const std::string device = unexpected_device(machine, question.spec); !device.empty())
    start.progress.note(device);
  return options.best > 0 ? run_best(options, advice, start) : ExitCode::ok;
}

}  // namespace parabench::suite
