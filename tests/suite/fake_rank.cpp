// Stands in for parabench-rank: obeys its contract without training anything, and misbehaves when told to.
//
// FAKE_RANK="TEXT|PHASE|BEHAVIOUR|RANK[;...]": in launches whose case id holds TEXT, in PHASE, rank RANK (-1: every
// rank) does BEHAVIOUR. FAKE_LOG=FILE: one line "PHASE ID ARGUMENTS" per launch is appended. FAKE_GPUS=N: a build with
// CUDA on a machine of N GPUs of 80 GiB (0: without a driver); FAKE_NCCL=ERROR: NCCL does not start there. FAKE_MPI=0:
// a build without MPI.

#include <signal.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <limits>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "analytic/calibration/calibration.h"
#include "analytic/calibration/scope.h"
#include "base/case_id.h"
#include "base/case_text.h"
#include "base/file.h"
#include "datasets/spec/dataset.h"
#include "models/spec/cost.h"
#include "models/spec/model.h"
#include "parallelism/plan/formats/print_json.h"
#include "parallelism/plan/formats/read_json.h"
#include "results/record.h"
#include "suite/protocol/command.h"
#include "suite/protocol/folder.h"

namespace parabench::suite {
namespace {

struct Launch {
  protocol::RankCommand command;
  int rank = 0;
  plan::Plan plan;
  protocol::ExchangeWork work;
  std::string id;
  std::string behaviour;
};

int number(const char* variable, int otherwise) {
  const char* text = std::getenv(variable);
  return text ? std::atoi(text) : otherwise;
}

std::string behaviour(const Launch& launch) {
  std::istringstream rules(std::getenv("FAKE_RANK") ? std::getenv("FAKE_RANK") : "");
  for (std::string rule; std::getline(rules, rule, ';');) {
    std::istringstream fields(rule);
    std::string text, where, what, rank;
    std::getline(fields, text, '|') && std::getline(fields, where, '|') && std::getline(fields, what, '|') &&
        std::getline(fields, rank, '|');
    const int wanted = std::stoi(rank);
    if (launch.id.find(text) != std::string::npos && where == to_text(launch.command.phase) &&
        (wanted == -1 || wanted == launch.rank))
      return what;
  }
  return "";
}

Launch read_launch(int argc, char** argv) {
  Launch launch;
  CLI::App app;
  protocol::add_options(app, launch.command);
  app.parse(argc, argv);
  launch.rank = number("OMPI_COMM_WORLD_RANK", 0);
  if (launch.command.phase == protocol::Phase::communicate) {
    const nlohmann::json work = read_json(launch.command.plan);
    launch.work = protocol::exchange_work_from_json(JsonReader(work, "work"));
    launch.id = std::string("reduce:") += to_text(launch.work.setting.reduce);
  } else if (!launch.command.plan.empty()) {
    launch.plan = plan::plan_from_json(read_json(launch.command.plan));
    launch.id = to_id(launch.plan.spec);
  }
  launch.behaviour = behaviour(launch);
  return launch;
}

/// Adds a line to the log.
void note(const Launch& launch, const std::string& text) {
  std::ofstream(std::getenv("FAKE_LOG"), std::ios::app)
      << to_text(launch.command.phase) << ' ' << launch.id << ' ' << text << std::endl;
}

/// Whether the log holds no earlier launch of this phase of the case, beside this one.
bool is_first(const Launch& launch) {
  std::ifstream file(std::getenv("FAKE_LOG"));
  const std::string beginning = std::string(to_text(launch.command.phase)) + ' ' + launch.id + ' ';
  int count = 0;
  for (std::string line; std::getline(file, line);) count += line.starts_with(beginning);
  return count == 1;
}

void log(int argc, char** argv, const Launch& launch) {
  if (launch.rank != 0 || !std::getenv("FAKE_LOG")) return;
  std::ofstream file(std::getenv("FAKE_LOG"), std::ios::app);
  file << to_text(launch.command.phase) << ' ' << launch.id;
  for (int i = 1; i < argc; ++i) file << ' ' << argv[i];
  file << '\n';
}

void fail(const Launch& launch, protocol::FailureKind kind, const std::string& message) {
  protocol::write_error(launch.command.reply, {parabench::Rank(launch.rank), kind, message});
  std::cerr << "fake rank: " << message << '\n';
  std::exit(1);
}

/// Uses so many MiB of memory.
void eat(int mebibytes) {
  for (int i = 0; i < mebibytes; ++i) {
    volatile char* block = static_cast<char*>(std::malloc(1 << 20));
    for (int at = 0; block && at < 1 << 20; at += 4096) block[at] = 1;
  }
}

/// What happens instead of an answer.
void misbehave(const Launch& launch) {
  const std::string& what = launch.behaviour;
  if (std::ranges::find(enum_names<protocol::FailureKind>, what) != enum_names<protocol::FailureKind>.end()) {
    fail(launch, parse_enum<protocol::FailureKind>("FAKE_RANK", what), "told to fail with " + what);
  }
  if (what == "out_of_memory") {
    fail(launch, protocol::FailureKind::environment, "out of memory on GPU 0: predicted 91.3 GiB, available 79.1 GiB");
  }
  if (what == "crash") abort();
  if (what == "kill") raise(SIGKILL);
  if (what == "stop") raise(SIGSTOP);
  if (what == "silent") std::exit(0);
  if (what == "exit") {
    std::cerr << "last words of the launch\n";
    std::exit(7);
  }
  if (what == "slow") usleep(1'000'000);
  if (what == "eat") eat(256);
  if (what == "first_fails" && is_first(launch)) fail(launch, protocol::FailureKind::failure, "told to fail once");
  if (what == "second_hangs" && !is_first(launch)) {
    note(launch, "again");
    pause();
  }
  if (what == "stubborn") signal(SIGTERM, SIG_IGN);
  while (what == "hang" || what == "stubborn") pause();
}

const Canary canary{1e-4, 5e-3, 0.0, 3};

analytic::Calibration calibration(const plan::Plan& plan) {
  const datasets::DatasetSpec data = datasets::make_dataset(plan.spec.dataset);
  const models::ModelSpec model = models::make_model(plan.spec.model, data.sample, data.classes, data.small_stem);
  const auto inputs = models::boundaries(model);
  analytic::Calibration result;
  result.machine = analytic::this_machine();
  result.machine.id = "seen-by-a-bound-rank";
  result.machine.cores = 1;
  result.date = "2026-01-01T00:00:00Z";
  const int np = plan.spec.np;
  for (std::size_t i = 0; i < model.layers.size(); ++i) {
    const models::LayerCost flops = models::cost(model.layers[i], inputs[i], 4, i == 0);
    for (int busy : {1, np}) {
      std::vector<analytic::LayerTiming> timings;
      for (int samples : {1, plan.pieces[0][0] + 1}) {
        analytic::LayerTiming timing;
        timing.samples = samples;
        timing.forward_s = 1e-5 + samples * flops.forward_per_sample.value / 5e10;
        timing.backward_s = 1e-5 + samples * flops.backward_per_sample.value / 5e10;
        timing.saved_bytes = samples * flops.saved_per_sample.value + 1;
        timing.forward_peak_bytes = timing.backward_peak_bytes = 2 * timing.saved_bytes;
        timing.adding_peak_bytes = timing.backward_peak_bytes;
        timings.push_back(timing);
      }
      result.layers[analytic::layer_key(model.layers[i], inputs[i], i == 0, plan.spec, busy)] = timings;
    }
  }
  const DeviceKind device = analytic::measured_device(plan.spec);
  const analytic::RankCountKey ranks{std::string(to_text(plan.spec.comm)), np, device};
  const analytic::Curve curve = {{1000, 1e-5}, {100'000'000, 1e-1}};
  result.all_reduce[ranks] = result.point_to_point[ranks] = curve;
  for (const GroupShape& group : analytic::calibration_scope(plan).groups)
    result.all_reduce[analytic::reduction_key(plan.spec, group)] = curve;
  for (int busy : {1, np}) {
    result.update_s_per_parameter[analytic::update_key(plan.spec)][busy] = 1e-9;
    result.load_s_per_sample[analytic::load_key(plan.spec)][busy] = 1e-6;
  }
  result.ranks = np;
  result.canary = canary;
  return result;
}

void slow_down(analytic::Calibration& measured, double slower) {
  for (auto& [key, timings] : measured.layers)
    for (analytic::LayerTiming& timing : timings) {
      timing.forward_s *= slower;
      timing.backward_s *= slower;
    }
  for (auto& [key, rates] : measured.update_s_per_parameter)
    for (auto& [busy, rate] : rates) rate *= slower;
  for (auto* curves : {&measured.all_reduce, &measured.point_to_point})
    for (auto& [key, curve] : *curves)
      for (analytic::CurvePoint& point : curve) point.seconds *= slower;
}

/// As of the next day where the machine drifted.
analytic::Calibration calibration(const Launch& launch) {
  analytic::Calibration result = calibration(launch.plan);
  if (launch.behaviour == "drifted") {
    slow_down(result, 1.25);
    result.canary->matrix_product_s *= 1.25;
    result.date = "2026-01-02T00:00:00Z";
  }
  if (launch.behaviour == "disturbed") result.canary->matrix_product_s *= 100;
  return result;
}

results::Measured measured(const Launch& launch) {
  results::Measured m;
  const plan::Window window = plan::window(launch.plan, launch.command.warmup, launch.command.steps);
  m.warmup_steps = window.discarded;
  const int surplus = launch.behaviour == "steps" ? 1 : 0;
  const double slower = launch.behaviour == "drifted" ? 1.25 : 1;
  std::vector<double> samples;
  for (int i = 0; i < window.samples + surplus; ++i) samples.push_back(slower * (0.05 + 0.001 * (i % 3)));
  m.canaries = {canary};
  m.canaries[0].matrix_product_s *= slower;
  m.step_time_s.samples = {samples};
  results::summarise(m.step_time_s);
  m.throughput_samples_per_s = launch.plan.spec.batch / m.step_time_s.median;
  for (int i = 0; i < window.steps() + surplus; ++i) m.losses.push_back(2.3 - 0.01 * i);
  if (launch.behaviour == "loss") m.losses[1] *= 1.01;
  if (launch.behaviour == "nan") m.losses[1] = std::numeric_limits<double>::quiet_NaN();
  for (int rank = 0; rank < launch.plan.spec.np; ++rank) {
    results::RankMeasured r;
    r.rank = parabench::Rank(rank);
    r.host = "fake";
    r.device = to_text(launch.plan.spec.device);
    r.cpuset = "0";
    r.peak_memory[MemoryCategory::parameters] = 1000;
    r.breakdown_s = Breakdown{.forward = 0.02};
    m.ranks.push_back(r);
  }
  return m;
}

/// Rounds on a machine that becomes slower, in all that it calibrates and in steps alike.
protocol::PairedRounds paired(const Launch& launch) {
  protocol::PairedRounds answer;
  for (const double slower : {1.0, 1.25, 1.5, 2.0}) {
    analytic::Calibration round = calibration(launch.plan);
    if (launch.behaviour == "lacking") round.layers.clear();
    slow_down(round, slower);
    answer.rounds.push_back({round, {0.05 * slower, 0.06 * slower, 0.05 * slower}, Breakdown{.forward = slower}});
  }
  answer.canary = canary;
  return answer;
}

results::Equivalence equivalence(const Launch& launch) {
  results::Equivalence e;
  e.status = launch.behaviour == "unequal" ? results::EquivalenceStatus::fail : results::EquivalenceStatus::pass;
  if (launch.behaviour == "unequal") e.reason = "conv1.weight differs by 0.5";
  e.reference_batch = results::ReferenceBatch::pieces;
  e.steps = 3;
  e.max_relative_update_difference = launch.behaviour == "unequal" ? 0.5 : 1e-15;
  e.worst_parameter = "conv1.weight";
  e.max_relative_buffer_difference = 0;
  e.reference_losses = {2.3, 2.29, 2.28};
  return e;
}

/// Adds what the probe of a build with CUDA says about `count` GPUs.
void add_gpus(protocol::Offer& offer, int count) {
  const std::string no_driver = "no CUDA driver; install the NVIDIA driver";
  const char* nccl_error = std::getenv("FAKE_NCCL");
  protocol::GpuProbe& gpu = offer.gpu.emplace();
  gpu.runtime = "13.0";
  gpu.cudnn = "9.19.0";
  gpu.nccl = "2.28.9";
  if (count == 0) {
    gpu.obstacle = offer.obstacles["cuda"] = offer.obstacles["nccl"] = no_driver;
    return;
  }
  gpu.driver = "13.0";
  for (int i = 0; i < count; ++i) {
    gpu.gpus.push_back({"NVIDIA H100", "GPU-" + std::to_string(i), 90, std::int64_t{80} << 30});
  }
  offer.devices.push_back(DeviceKind::cuda);
  gpu.nccl_init = nccl_error ? nccl_error : protocol::nccl_starts;
  if (nccl_error) {
    offer.obstacles["nccl"] = nccl_error;
  } else {
    offer.communicators.push_back(CommKind::nccl);
  }
}

protocol::Offer offer() {
  protocol::Offer result{
      .devices = {DeviceKind::cpu}, .communicators = {CommKind::threads}, .libtorch = "fake", .mpi = "fake"};
  if (number("FAKE_MPI", 1) == 1) {
    result.communicators.push_back(CommKind::mpi);
  } else {
    result.obstacles["mpi"] = "this build has no MPI";
  }
  if (std::getenv("FAKE_GPUS")) add_gpus(result, number("FAKE_GPUS", 0));
  return result;
}

/// A microsecond and a nanosecond per byte, in every third iteration a tenth more.
protocol::ExchangeTimings timings(const Launch& launch) {
  protocol::ExchangeTimings all{.exchanges = {}, .mpi_settings = "OMPI_MCA_btl_tcp_flags=1", .canary = canary};
  const ReduceKind reduce = launch.work.setting.reduce;
  for (const Exchange& one : launch.work.exchanges) {
    protocol::ExchangeTiming timing{std::string(reduce == ReduceKind::automatic ? "window" : to_text(reduce)), {}, ""};
    for (int i = 0; i < launch.work.iterations; ++i)
      timing.seconds.push_back((1e-6 + 1e-9 * static_cast<double>(one.bytes)) * (i % 3 == 2 ? 1.1 : 1));
    if (launch.behaviour == "wrong" && one.bytes > 4096)
      timing.wrong = "iteration 0, rank 1: element 3 is 2, expected 5";
    all.exchanges.push_back(std::move(timing));
  }
  if (launch.behaviour == "short") all.exchanges.pop_back();
  return all;
}

protocol::Answer answer_of(const Launch& launch) {
  switch (launch.command.phase) {
    case protocol::Phase::probe: return offer();
    case protocol::Phase::verify: return equivalence(launch);
    case protocol::Phase::measure: return measured(launch);
    case protocol::Phase::calibrate: return calibration(launch);
    case protocol::Phase::paired: return paired(launch);
    case protocol::Phase::hand_over: return protocol::HandOver{{2.5, 2.25, 2}};
    case protocol::Phase::communicate: return timings(launch);
  }
  return {};
}

void answer(const Launch& launch) {
  const std::filesystem::path& folder = launch.command.reply;
  const bool exchanges = launch.command.phase == protocol::Phase::communicate;
  const std::string hash = exchanges ? protocol::hash(launch.work) : plan::hash(launch.plan);
  const protocol::Reply reply{launch.behaviour == "foreign" ? "0123456789abcdef" : hash, "", answer_of(launch)};
  if (launch.command.trace) write_atomically(protocol::trace_file(folder), R"({"traceEvents": []})");
  protocol::write_reply(folder, reply);
  if (launch.behaviour == "truncated") std::filesystem::resize_file(folder / "reply.json", 100);
}

}  // namespace
}  // namespace parabench::suite

int main(int argc, char** argv) {
  const auto launch = parabench::suite::read_launch(argc, argv);
  parabench::suite::log(argc, argv, launch);
  auto machine = parabench::analytic::this_machine();
  machine.host = "fake";
  parabench::protocol::write_start(launch.command.reply, parabench::Rank(launch.rank), machine, "0-1");
  parabench::suite::misbehave(launch);
  if (launch.rank == 0) parabench::suite::answer(launch);
}
