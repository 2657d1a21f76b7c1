#include "tests/results/samples.h"

#include <limits>
#include <nlohmann/json.hpp>

#include "base/case_id.h"
#include "results/summary.h"

namespace parabench::results {
namespace {

using nlohmann::json;

MemoryUsage memory(std::int64_t scale) { return {{scale, scale, scale, 0, 3 * scale, scale / 2, scale / 4}, 0}; }

/// Each rank forwards, then goes backward.
StepTimeline timeline(int ranks, double step) {
  StepTimeline out{7, 7, {}};
  for (int rank = 0; rank < ranks; ++rank) out.ranks.push_back({{"F0", 0, step / 2}, {"B0", step / 2, step}});
  return out;
}

Measured measured(const Case& spec, double throughput) {
  const double step = spec.batch / throughput;
  Measured out;
  out.step_time_s.samples = {{step, 1.1 * step, 0.9 * step}, {step, 1.2 * step, 0.8 * step}};
  summarise(out.step_time_s);
  out.throughput_samples_per_s = throughput;
  out.isolated_step_time_s = out.step_time_s;
  out.achieved_flops_per_s = 1.25e9 * throughput;
  out.losses = {2.302585092994046, 2.25, 2.125};
  out.warmup_steps = 2;
  out.stopped_by = StopReason::repetitions;
  out.reduction = "ring";
  out.mpi_settings = "OMPI_MCA_btl_tcp_flags=1";
  out.timeline = timeline(spec.np, step);
  out.canaries = {{1.5e-4, 6e-3, 0.01, 20, 1.5}, {1.75e-4, 5e-3, std::nullopt, 0}};
  for (int rank = 0; rank < spec.np; ++rank) {
    MemoryUsage peak = memory((10 + rank) << 20);
    peak.resident = 300 << 20;
    out.ranks.push_back({Rank(rank), "node0", "cpu", "0-1", peak,
                         Breakdown{step / 4, step / 2, 0, step / 8, step / 16, step / 32, 0, step / 32}, 1 << 20,
                         1 << 20, 2.5e9,
                         Arithmetic{Precision::fp32, Precision::bf16, Precision::bf16, Precision::bf16, ""},
                         WorkerSteps{0.75, 0.125}, FiredTasks{24, step / 24, 1e-6, 0.25}});
  }
  return out;
}

Predicted predicted(const Case& spec, double step) {
  Predicted out;
  out.step_time_s = step;
  out.throughput_samples_per_s = spec.batch / step;
  out.interval_s = {0.95 * step, 1.05 * step};
  for (int rank = 0; rank < spec.np; ++rank) {
    out.ranks.push_back({Rank(rank), memory((10 + rank) << 20), {step / 4, step / 2, 0, step / 8, step / 8, 0, 0, 0}});
  }
  out.terms = {{"forward", step / 4, "s", "sum of layers", "simulation", "calibrated", "2026-10-05T12:00:00Z"}};
  out.step_parts = StepParts{Rank(spec.np - 1), {step / 2, step / 8, step / 4, step / 16, step / 32}};
  out.isolated_step_time_s = 1.2 * step;
  out.canary_matrix_product_s = 1.25e-4;
  out.calibrated_by = LaunchesBehind{3, "2026-10-04T12:00:00Z", "2026-10-05T12:00:00Z", 0.03125};
  out.timeline = timeline(spec.np, 1.1 * step);
  out.second_opinion_step_time_s = {{"thesis-5.1", 1.1 * step}};
  out.broken_assumptions = {{"thesis-5.1", {"the forwards that run again are not counted"}}};
  return out;
}

ResultsFile head() {
  ResultsFile file;
  file.program = {"0.1.0", "0123456789abcdef0123456789abcdef01234567", false, "Release", "-O3"};
  file.context.date = "2025-01-02T03:04:05Z";
  file.context.argv = {"parabench", "quick"};
  file.context.hosts = {{"node0", "A CPU", 2, std::int64_t{8} << 30, "", {"0-1", "0-1"}}};
  file.context.gpus = {{"A GPU", "GPU-00112233", 90, std::int64_t{80} << 30}};
  file.context.mpi = "Open MPI 4.1.4";
  file.context.launcher = "mpirun";
  file.context.libtorch = "2.11.0";
  file.context.environment = {{"OMP_NUM_THREADS", "1"}};
  file.context.notes = {"this host was busy"};
  file.calibration = {{"calibration.json", "2025-01-01T00:00:00Z", "0011223344556677"}};
  return file;
}

json replacement_of_another_type(const json& value) {
  if (value.is_string()) return 7;
  if (value.is_array()) return json::object();
  if (value.is_object()) return json::array();
  return "text";
}

json at_with(const json& good, const json::json_pointer& at, json value) {
  json changed = good;
  changed[at] = std::move(value);
  return changed;
}

void mutate(const json& good, const json& value, const json::json_pointer& at, std::vector<json>& out) {
  if (!at.empty()) {
    json without = good;
    json& parent = without[at.parent_pointer()];
    if (parent.is_array()) {
      parent.erase(std::stoul(at.back()));
    } else {
      parent.erase(at.back());
    }
    out.push_back(std::move(without));
  }
  for (json other : {json(), replacement_of_another_type(value), json(-1), json(1.0), json(0.5)}) {
    out.push_back(at_with(good, at, std::move(other)));
  }
  if (value.is_string()) out.push_back(at_with(good, at, ""));
  if (value.is_array()) out.push_back(at_with(good, at, json::array()));
  if (value.is_object()) out.push_back(at_with(good, at / "unknown", 1));
  if (value.is_array() && !value.empty()) mutate(good, value[0], at / 0, out);
  if (value.is_object()) {
    for (const auto& item : value.items()) mutate(good, item.value(), at / item.key(), out);
  }
}

}  // namespace

Record ok_record(const std::string& id, double throughput) {
  Record record;
  record.id = id;
  record.parameters = parse_case(id);
  record.plan = {"00112233aabbccdd", std::vector<int>(static_cast<std::size_t>(record.parameters.np), 5)};
  record.equivalence = {.status = EquivalenceStatus::pass,
                        .reference_batch = ReferenceBatch::pieces,
                        .steps = 3,
                        .every = 2,
                        .max_relative_update_difference = 3e-15,
                        .tensors_left_out = 2,
                        .worst_parameter = "conv1.weight",
                        .max_relative_buffer_difference = 1e-16,
                        .loss_agrees = true,
                        .reference_losses = {2.3}};
  record.measured = measured(record.parameters, throughput);
  record.predicted = predicted(record.parameters, 1.05 * record.parameters.batch / throughput);
  record.paired = {{0.08, 0.08, {{Breakdown{.bubble = 0.03}, Breakdown{.bubble = 0.02}}}},
                   {0.09, 0.1, {{Breakdown{.bubble = 0.05}, Breakdown{.bubble = 0.04}}}}};
  record.paired_canary = {1.5e-4, 6e-3, 0.5, 7};
  record.error = compare(*record.predicted, *record.measured, record.paired);
  record.error->adjusted = AdjustedError{0.02, 0.75};
  record.earlier_failures = {"measure 1/2: timed out after 3.00 min"};
  record.last_operations = {{Rank(0), "node0", "step 3 1RECV_F2"}, {Rank(1), "node1", ""}};
  record.launch = "mpirun -np 2 parabench-rank --phase measure";
  record.reproduce = "parabench run '" + id + "'";
  return record;
}

Record skipped_record(const std::string& id, const std::string& reason) {
  Record record;
  record.id = id;
  record.parameters = parse_case(id);
  record.status = Status::skipped;
  record.reason = reason;
  return record;
}

std::vector<ExchangeRecord> sample_exchanges() {
  const auto one = [](const ExchangeSetting& setting, const Exchange& exchange, std::string algorithm) {
    ExchangeRecord record{.id = exchange_id(setting, exchange), .setting = setting, .exchange = exchange};
    record.algorithm = std::move(algorithm);
    record.mpi_settings = setting.comm == CommKind::mpi ? "OMPI_MCA_btl_tcp_flags=1" : "";
    record.canaries = {{1e-4, 5e-3, 0.0, 3}, {1.25e-4, 5e-3, std::nullopt, 4}};
    record.prediction = "this machine was never calibrated";
    record.reproduce = "parabench communicate --sizes 1KiB";
    const double seconds = 2e-6 + 1e-10 * static_cast<double>(exchange.bytes);
    record.time_s = exchange_time({{seconds, 1.25 * seconds}, {seconds, 1.5 * seconds}});
    return record;
  };
  const ExchangeSetting usual, ring{.reduce = ReduceKind::ring}, window{.reduce = ReduceKind::window};
  std::vector<ExchangeRecord> all = {one(usual, {ExchangeKind::all_reduce, 1024, 2}, "window"),
                                     one(ring, {ExchangeKind::all_reduce, 1024, 2}, "ring"),
                                     one(usual, {ExchangeKind::all_reduce, 64 << 20, 2}, "window")};
  for (const std::size_t predicted : {0, 2}) {
    all[predicted].predicted_time_s = 1.1 * all[predicted].time_s->median;
    all[predicted].prediction = "from all-reduces of comm:mpi reduce:auto among 2 ranks, calibrated up to 25MiB";
  }
  const ExchangeSetting four{.np = 4, .precision = Precision::fp64, .comm = CommKind::threads};
  all.push_back(one(four, {ExchangeKind::all_gather, 4096, 2}, "window"));
  all.push_back(one({.np = 4}, {ExchangeKind::ping_pong, 4096, 4}, "shared memory"));
  ExchangeRecord skipped = one(window, {ExchangeKind::broadcast, 4096, 2}, "");
  skipped.status = Status::skipped;
  skipped.reason = "reduce: got 'window', expected memory that all ranks share";
  skipped.time_s.reset();
  skipped.canaries.clear();
  ExchangeRecord failed = one(ring, {ExchangeKind::broadcast, 4096, 2}, "library");
  failed.status = Status::failed;
  failed.reason = "a wrong value: iteration 3, rank 1: element 17 is 3, expected 4";
  failed.time_s.reset();
  failed.canaries.clear();
  all.insert(all.end(), {skipped, failed});
  return all;
}

std::vector<ResultsFile> sample_files() {
  ResultsFile full = head();
  full.exchanges = {sample_exchanges().front()};
  full.records = {ok_record("resnet18/imagenet-synthetic[pixels=32,classes=10]/gpipe/np:2/batch:32", 400)};
  MemoryUsage& on_gpu = full.records[0].measured->ranks[0].peak_memory;
  on_gpu.reserved = 400 << 20;
  on_gpu.device_used = 900 << 20;
  full.records[0].measured->baseline = {"resnet18/cifar10-synthetic/sequential/np:1/batch:32/threads:2", 1.5, 1.5};

  ResultsFile bare = head();
  bare.calibration.reset();
  bare.context.hosts[0].governor = "performance";
  bare.context.mpi = bare.context.launcher = bare.context.libtorch = "";
  bare.context.environment.clear();

  ResultsFile troubled = head();
  troubled.records = {skipped_record("resnet18/cifar10-synthetic/gpipe/np:64/batch:64", "more stages than segments")};
  Record killed = ok_record("resnet18/cifar10-synthetic/pipedream/np:2/batch:32/warmup:1", 100);
  killed.status = Status::failed;
  killed.reason = "rank 1 was killed";
  killed.measured.reset();
  killed.error.reset();
  killed.equivalence = {.status = EquivalenceStatus::fail,
                        .reason = "fc.bias differs",
                        .reference = "delayed-update",
                        .reference_batch = ReferenceBatch::whole,
                        .steps = 4,
                        .max_relative_update_difference = 0.5,
                        .worst_parameter = "fc.bias"};
  troubled.records.push_back(killed);

  ResultsFile infinite = head();
  infinite.records = {ok_record("resnet18/cifar10-synthetic/sequential/np:1/batch:32", 100)};
  infinite.records[0].measured->losses[2] = std::numeric_limits<double>::quiet_NaN();
  infinite.records[0].predicted->terms[0].value = std::numeric_limits<double>::infinity();
  ResultsFile exchanges = head();
  exchanges.exchanges = sample_exchanges();
  return {full, bare, troubled, infinite, exchanges};
}

std::vector<json> mutations(const json& good) {
  std::vector<json> out;
  mutate(good, good, json::json_pointer(), out);
  return out;
}

}  // namespace parabench::results
