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
#include "parallelism/exec/stage_state.h"
#include "parallelism/exec/upload.h"
#include "parallelism/plan/formats/print_json.h"
#include "suite/rank/reference_losses.h"

namespace parabench::rank {
namespace {

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
      modules::initialise(layer, p, spec.seed, 0,
                          {values.data_ptr<double>(), static_cast<std::size_t>(values.numel())});
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

}  // namespace

protocol::HandOver hand_over(const Launch& launch) {
  if (is_emulated(launch.plan.spec)) throw usage_error("--phase", "hand-over", "measure for a plan on device:emulated");
  write_weights(launch);
  write_batches(launch);
  write_work(launch);
  at::set_num_threads(static_cast<int>(launch.all_cores.size()));
  return {reference_losses(launch, launch.model)};
}

}  // namespace parabench::rank
