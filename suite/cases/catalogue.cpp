#include "suite/cases/catalogue.h"

#include <algorithm>
#include <utility>

#include "base/case_id.h"
#include "base/case_text.h"

namespace parabench {
namespace {

const std::vector<std::string> models = {"resnet18", "resnet34", "resnet50", "resnet101", "resnet152", "mlp"};

const std::vector<std::pair<NamedChoice, int>> datasets_and_batches = {
    {{"mnist-synthetic", {}}, 128},
    {{"mnist", {}}, 128},
    {{"cifar10-synthetic", {}}, 64},
    {{"cifar10", {}}, 64},
    {{"imagenet-synthetic", {{"pixels", "32"}, {"classes", "10"}}}, 32},
    {{"imagenet-synthetic", {}}, 32},
    {{"imagenet", {}}, 32},
    {{"highres-synthetic", {}}, 32},
};

/// For every model and data set.
const std::vector<std::string> strategies = {"sequential", "data-parallel", "model-parallel", "gpipe",
                                             "1f1b",       "dapple",        "pipedream"};
/// For a few models on in-memory data: schedules are compared with each other on the same work.
const std::vector<std::string> schedules = {"interleaved", "looped-bfs", "zb-h1",   "zb-h2",
                                            "zb-v",        "dualpipev",  "chimera", "pipedream-2bw"};

bool compares_schedules(const std::string& model, const NamedChoice& dataset) {
  return dataset.name == "cifar10-synthetic" && (model == "resnet18" || model == "resnet50" || model == "mlp");
}

std::vector<int> ranks_of(const std::string& strategy) {
  return strategy == "sequential" ? std::vector{1} : std::vector{2, 4};
}

std::vector<Case> grid(DeviceKind device) {
  std::vector<Case> cases;
  for (const auto& model : models) {
    for (const auto& [dataset, batch] : datasets_and_batches) {
      // Whatever the images, all its layers but the first are the same.
      if (model == "mlp" && dataset.name != "cifar10-synthetic") continue;
      std::vector<std::string> names = strategies;
      if (compares_schedules(model, dataset)) names.insert(names.end(), schedules.begin(), schedules.end());
      for (const auto& strategy : names) {
        for (const int np : ranks_of(strategy)) {
          Case spec;
          spec.model.name = model;
          spec.dataset = dataset;
          spec.strategy.name = strategy;
          spec.np = np;
          spec.batch = batch;
          // Its least number of micro-batches.
          if (strategy == "dualpipev") spec.micro = std::max(spec.micro, 2 * np);
          spec.device = device;
          spec.comm = default_comm(device);
          cases.push_back(std::move(spec));
        }
      }
    }
  }
  return cases;
}

}  // namespace

std::vector<Case> quick_cases() {
  std::vector<Case> cases;
  for (const char* rest : {"sequential/np:1/batch:32/threads:2", "data-parallel/np:2/batch:32",
                           "model-parallel/np:2/batch:32", "gpipe/np:2/batch:32", "pipedream/np:2/batch:32"}) {
    cases.push_back(parse_case(std::string("resnet18/imagenet-synthetic[pixels=32,classes=10]/") + rest));
  }
  return cases;
}

std::vector<Case> catalogue() {
  std::vector<Case> cases = quick_cases();
  for (const DeviceKind device : {DeviceKind::cpu, DeviceKind::cuda}) {
    for (const auto& spec : grid(device)) {
      if (std::ranges::find(cases, spec) == cases.end()) cases.push_back(spec);
    }
  }
  return cases;
}

}  // namespace parabench
