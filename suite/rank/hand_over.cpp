#include "suite/rank/hand_over.h"

#include <ATen/Parallel.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/case_json.h"
#include "base/error.h"
#include "base/file.h"
#include "models/spec/model_json.h"
#include "models/torch/layer.h"
#include "parallelism/exec/equivalence.h"
#include "parallelism/exec/reference.h"
#include "parallelism/exec/rounding.h"
#include "parallelism/exec/stage_state.h"
#include "parallelism/exec/upload.h"
#include "parallelism/plan/formats/print_json.h"
#include "results/record.h"

namespace parabench::rank {
namespace {

constexpr int hand_over_steps = 3;

class Numbers {
 public:
  explicit Numbers(std::filesystem::path path) : path_(std::move(path)), file_(path_, std::ios::binary) {}
  void add(const torch::Tensor& tensor) {
    const torch::Tensor whole = tensor.contiguous();
    file_.write(static_cast<const char*>(whole.const_data_ptr()), static_cast<std::streamsize>(whole.nbytes()));
  }
  void close() {
    file_.close();
    if (!file_) throw environment_error("file", path_.string(), "room for what another product is handed");
  }

 private:
  std::filesystem::path path_;
  std::ofstream file_;
};

void write_weights(const Launch& launch) {
  Numbers numbers(launch.command.reply / "weights.bin");
  const Case& spec = launch.plan.spec;
  for (const models::LayerSpec& layer : launch.model.layers) {
    const std::vector<models::ParameterSpec> parameters = models::parameters(layer);
    for (std::size_t p = 0; p < parameters.size(); ++p) {
      auto values = torch::empty(parameters[p].elements(), torch::kFloat64);
      modules::initialise(layer, p, spec.seed, {values.data_ptr<double>(), static_cast<std::size_t>(values.numel())});
      numbers.add(values.to(exec::master_type(spec.precision)));
    }
  }
  numbers.close();
}

void write_batches(const Launch& launch) {
  plan::Plan whole;
  whole.spec = launch.plan.spec;
  whole.pieces = {{whole.spec.batch}};
  std::vector<plan::InputPiece> pieces;
  for (int step = 0; step < hand_over_steps; ++step) pieces.push_back({StepId(step), ReplicaId(0), MicroBatchId(0)});
  exec::PieceInput input(whole, pieces, launch.source, launch.input, /*images=*/true, datasets::plain_memory);
  Numbers samples(launch.command.reply / "samples.bin"), labels(launch.command.reply / "labels.bin");
  for (int step = 0; step < hand_over_steps; ++step) {
    const datasets::LoadedPiece piece = input.next();
    const exec::PieceTensors tensors = exec::tensors_of(piece, launch.source->shape(), launch.source->label_shape());
    samples.add(tensors.images);
    labels.add(tensors.labels);
  }
  samples.close();
  labels.close();
}

std::vector<std::int64_t> dims_of(const TensorSpec& tensor) { return {tensor.dims().begin(), tensor.dims().end()}; }

void write_work(const Launch& launch) {
  const plan::Plan& plan = launch.plan;
  nlohmann::json stages = nlohmann::json::array();
  for (StageId s(0); s.value < plan.stages; ++s) {
    const auto [first, last] = plan::segments_of(plan, s);
    const plan::Segment& end = plan.segments[last.value];
    const int from = plan.segments[first.value].first_layer;
    stages.push_back({{"rank", plan::holders(plan, s).front().value},
                      {"first_layer", from},
                      {"layers", end.first_layer + end.layers - from}});
  }
  const bool wide = exec::master_type(plan.spec.precision) == torch::kFloat64;
  const nlohmann::json work = {
      {"plan_hash", plan::hash(plan)},
      {"parameters", parameters_json(plan.spec)},
      {"model", models::to_json(launch.model)},
      {"stages", std::move(stages)},
      {"pieces", plan.pieces},
      {"steps", hand_over_steps},
      {"sample", dims_of(launch.source->shape())},
      {"labels", dims_of(launch.source->label_shape())},
      {"sample_type", exec::loaded_type(launch.source->shape()) == torch::kInt64 ? "int64" : "float32"},
      {"weight_type", wide ? "float64" : "float32"}};
  write_atomically(launch.command.reply / "work.json", work.dump());
}

/// Share of themselves by which weights are rounded once more, in the type in which products are computed.
double rounding_of(Precision precision) {
  switch (precision) {
    case Precision::fp32: return 0x1p-24;
    case Precision::tf32: return 0x1p-11;
    case Precision::bf16: return 0x1p-9;
    case Precision::fp64: return exec::rounding_nudge;
  }
  return 0;
}

}  // namespace

std::vector<double> decided_losses(std::vector<double> losses, const std::vector<double>& nudged, double tolerance) {
  // What rounds otherwise differs by about what one rounding of every weight makes.
  constexpr double roundings = 3;
  std::size_t decided = 1;
  while (decided < losses.size() &&
         roundings * std::abs(nudged.at(decided) - losses[decided]) <= tolerance * std::abs(losses[decided]))
    ++decided;
  losses.resize(std::min(decided, losses.size()));
  return losses;
}

int loss_steps(const Launch& launch) {
  if (launch.plan.taken > 0) return 1;
  int smallest = launch.plan.spec.batch;
  for (const auto& replica : launch.plan.pieces) smallest = std::min(smallest, std::ranges::min(replica));
  return smallest < exec::steady_piece(launch.model) ? 2 : hand_over_steps;
}

protocol::HandOver hand_over(const Launch& launch) {
  if (is_emulated(launch.plan.spec)) throw usage_error("--phase", "hand-over", "measure for a plan on device:emulated");
  write_weights(launch);
  write_batches(launch);
  write_work(launch);
  at::set_num_threads(static_cast<int>(launch.all_cores.size()));
  const auto losses = [&](double nudge) {
    return exec::train_reference(launch.plan, launch.model, loss_steps(launch), launch.source, launch.input,
                                 {.nudge = nudge})
        .losses;
  };
  const Precision precision = launch.plan.spec.precision;
  return {decided_losses(losses(0), losses(rounding_of(precision)), results::loss_tolerance(precision))};
}

}  // namespace parabench::rank
