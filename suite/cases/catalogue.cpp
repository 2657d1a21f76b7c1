#include "suite/cases/catalogue.h"

#include <algorithm>
#include <utility>

#include "base/case_id.h"
#include "base/case_text.h"
#include "parallelism/plan/strategies/c10d.h"
#include "parallelism/plan/strategies/strategy_table.h"

namespace parabench::suite {
namespace {

const std::vector<std::string> models = {"resnet18", "resnet34", "resnet50", "resnet101", "resnet152"};

using DatasetAndBatch = std::pair<NamedChoice, int>;
/// MNIST and CIFAR-10 from files are left to ids: once read they are the work of their twins. ImageNet's JPEG files are
/// decoded in every epoch, which its twin spares.
const std::vector<DatasetAndBatch> datasets_and_batches = {
    {{"mnist-synthetic", {}}, 128},
    {{"cifar10-synthetic", {}}, 64},
    {{"imagenet-synthetic", {{"pixels", "32"}, {"classes", "10"}}}, 32},
    {{"imagenet-synthetic", {}}, 32},
    {{"imagenet", {}}, 32},
    {{"highres-synthetic", {}}, 32},
};

struct Workload {
  std::string model;
  NamedChoice dataset;
  int batch;
};

/// The grid of residual networks, and of other families what they are known for. U-Net and AmoebaNet-D, which take long
/// on a processor, are left to ids.
std::vector<Workload> workloads() {
  std::vector<Workload> all;
  for (const std::string& model : models)
    for (const auto& [dataset, batch] : datasets_and_batches) all.push_back({model, dataset, batch});
  const NamedChoice cifar{"cifar10-synthetic", {}}, imagenet{"imagenet-synthetic", {}};
  for (const char* model : {"vgg16", "mobilenetv2"}) {
    all.push_back({model, cifar, 64});
    all.push_back({model, imagenet, 32});
  }
  all.push_back({"resnet1001", cifar, 64});
  all.push_back({"transformer", {"tokens-synthetic", {}}, 16});
  all.push_back({"mlp", cifar, 64});
  return all;
}

bool compares_schedules(const std::string& model, const NamedChoice& dataset) {
  return dataset.name == "cifar10-synthetic" && (model == "resnet18" || model == "mlp");
}

/// Those that are everywhere first.
std::vector<const plan::Strategy*> strategies_of(const std::string& model, const NamedChoice& dataset) {
  std::vector<const plan::Strategy*> chosen;
  const auto add = [&](plan::Listed listed) {
    for (const plan::Strategy& strategy : plan::strategies())
      if (strategy.listed == listed) chosen.push_back(&strategy);
  };
  add(plan::Listed::everywhere);
  if (compares_schedules(model, dataset)) add(plan::Listed::comparisons);
  return chosen;
}

std::vector<int> ranks_of(const plan::Strategy& strategy) {
  switch (strategy.ranks) {
    case plan::RankUse::one: return {1};
    case plan::RankUse::workers: return {4};  // of two ranks one would be the only worker
    case plan::RankUse::replicas:
    case plan::RankUse::stages:
    case plan::RankUse::either: break;
  }
  return {2, 4};
}

std::vector<Case> grid(DeviceKind device) {
  std::vector<Case> cases;
  for (const auto& [model, dataset, batch] : workloads()) {
    for (const plan::Strategy* strategy : strategies_of(model, dataset)) {
      for (const int np : ranks_of(*strategy)) {
        Case spec;
        spec.model.name = model;
        spec.dataset = dataset;
        spec.strategy.name = strategy->name;
        spec.np = np;
        spec.batch = batch;
        spec.micro = plan::served_micro_batches(*strategy, spec, spec.micro);
        spec.device = device;
        spec.comm = default_comm(device);
        if (device == DeviceKind::cuda && plan::sums_by_reducer(spec)) continue;  // of the processor's memory alone
        cases.push_back(std::move(spec));
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
  const std::vector<Case> quick = quick_cases();
  std::vector<Case> cases = quick;
  for (const DeviceKind device : {DeviceKind::cpu, DeviceKind::cuda}) {
    for (const auto& spec : grid(device)) {
      if (std::ranges::find(quick, spec) == quick.end()) cases.push_back(spec);
    }
  }
  return cases;
}

}  // namespace parabench::suite
