#include "datasets/spec/dataset.h"

#include <algorithm>

#include "base/case_text.h"
#include "base/choice.h"
#include "base/error.h"

namespace parabench {
namespace {

/// A data set without parameters, and which of them it takes.
struct Entry {
  DatasetSpec spec;
  bool takes_pixels = false, takes_classes = false;
};

/// Sizes and shapes of DDLBench (Jansen 2020); its synthetic ImageNet has 1281 samples per class.
const std::vector<Entry>& table() {
  using enum DataSource;
  static const std::vector<Entry> entries{
      {{"mnist", mnist_idx, {1, 28, 28}, 10, 60'000, 10'000, true}, false, false},
      {{"mnist-synthetic", synthetic, {1, 28, 28}, 10, 60'000, 10'000, true}, true, true},
      {{"cifar10", cifar_binary, {3, 32, 32}, 10, 50'000, 10'000, true}, false, false},
      {{"cifar10-synthetic", synthetic, {3, 32, 32}, 10, 50'000, 10'000, true}, true, true},
      {{"imagenet", jpeg_folder, {3, 224, 224}, 1000, 1'281'167, 50'000, false}, true, false},
      {{"imagenet-synthetic", synthetic, {3, 224, 224}, 1000, 1'281'000, 50'000, false}, true, true},
      {{"highres-synthetic", synthetic, {3, 512, 512}, 1000, 50'000, 10'000, false}, true, true},
  };
  return entries;
}

const Entry& find(const std::string& name) {
  const auto& entries = table();
  const auto found = std::ranges::find(entries, name, [](const Entry& e) { return e.spec.name; });
  if (found == entries.end())
    throw usage_error("data set", name, "a known data set", nearest_hint(name, dataset_names()));
  return *found;
}

DatasetSpec apply_parameters(const Entry& entry, const NamedChoice& dataset) {
  DatasetSpec spec = entry.spec;
  std::vector<ChoiceParameter> known;
  if (entry.takes_pixels) known.push_back({"pixels", static_cast<int>(spec.sample[2]), 1, 16'384});
  if (entry.takes_classes) known.push_back({"classes", spec.classes, 2, 1'000'000});
  read_parameters(dataset, known);
  for (const ChoiceParameter& parameter : known) {
    if (parameter.name == "pixels")
      spec.sample = {spec.sample[0], parameter.value, parameter.value};
    else
      spec.classes = parameter.value;
  }
  return spec;
}

}  // namespace

std::vector<std::string> dataset_names() {
  std::vector<std::string> names;
  for (const Entry& entry : table()) names.push_back(entry.spec.name);
  return names;
}

NamedChoice canonical_dataset(const NamedChoice& dataset) {
  const Entry& entry = find(dataset.name);
  const DatasetSpec spec = apply_parameters(entry, dataset);
  NamedChoice canonical{dataset.name, {}};
  if (spec.sample != entry.spec.sample) canonical.parameters.emplace_back("pixels", std::to_string(spec.sample[2]));
  if (spec.classes != entry.spec.classes) canonical.parameters.emplace_back("classes", std::to_string(spec.classes));
  return canonical;
}

DatasetSpec make_dataset(const NamedChoice& dataset) {
  DatasetSpec spec = apply_parameters(find(dataset.name), dataset);
  spec.name = to_text(canonical_dataset(dataset));
  return spec;
}

void check_input(const Case& spec) {
  if (spec.input == InputKind::host) return;
  if (spec.device != DeviceKind::cuda) {
    throw usage_error("input", to_text(spec.input),
                      "host where the device is not cuda: nothing is uploaded that could stay on the device",
                      "leave input out");
  }
  if (make_dataset(spec.dataset).source != DataSource::synthetic) {
    throw usage_error("input", to_text(spec.input),
                      "host for " + spec.dataset.name + ", whose samples are read from files in every step",
                      "try " + spec.dataset.name + "-synthetic, or leave input out");
  }
}

}  // namespace parabench
