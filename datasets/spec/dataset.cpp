#include "datasets/spec/dataset.h"

#include <algorithm>
#include <array>
#include <span>

#include "base/case_text.h"
#include "base/choice.h"
#include "base/error.h"

namespace parabench::datasets {
namespace {

/// What a bracket parameter sets.
enum class Parameter { pixels, classes, sequence, vocabulary };

/// A data set without parameters, and those that it takes, in the order in which ids have them.
struct Entry {
  DatasetSpec spec;
  std::span<const Parameter> takes;
};

/// Sizes and shapes of DDLBench (Jansen 2020); its synthetic ImageNet has 1281 samples per class. Tokens: length and
/// vocabulary of GPT-2 (Radford et al. 2019). Masks: the images of GPipe's and torchgpipe's U-Net.
const std::vector<Entry>& table() {
  using enum DataSource;
  using enum Parameter;
  static constexpr std::array side{pixels};
  static constexpr std::array twin{pixels, classes}, text{sequence, vocabulary};
  static const std::vector<Entry> entries{
      {{"mnist", mnist_idx, {1, 28, 28}, 10, 60'000, 10'000, true}, {}},
      {{"mnist-synthetic", synthetic, {1, 28, 28}, 10, 60'000, 10'000, true}, twin},
      {{"cifar10", cifar_binary, {3, 32, 32}, 10, 50'000, 10'000, true}, {}},
      {{"cifar10-synthetic", synthetic, {3, 32, 32}, 10, 50'000, 10'000, true}, twin},
      {{"imagenet", jpeg_folder, {3, 224, 224}, 1000, 1'281'167, 50'000, false}, side},
      {{"imagenet-synthetic", synthetic, {3, 224, 224}, 1000, 1'281'000, 50'000, false}, twin},
      {{"highres-synthetic", synthetic, {3, 512, 512}, 1000, 50'000, 10'000, false}, twin},
      {{"masks-synthetic", synthetic_masks, {3, 192, 192}, 2, 10'000, 1'000, false}, side},
      {{"tokens-synthetic", synthetic_tokens, {{1024}, ElementKind::int64}, 50'257, 100'000, 1'000, false}, text},
  };
  return entries;
}

std::vector<std::string> names() {
  std::vector<std::string> all;
  for (const Entry& entry : table()) all.push_back(entry.spec.name);
  return all;
}

const Entry& find(const std::string& name) {
  const auto& entries = table();
  const auto found = std::ranges::find(entries, name, [](const Entry& e) { return e.spec.name; });
  if (found == entries.end()) throw usage_error("data set", name, "a known data set", nearest_hint(name, names()));
  return *found;
}

int value_of(const DatasetSpec& spec, Parameter parameter) {
  switch (parameter) {
    case Parameter::pixels: return static_cast<int>(spec.sample[2]);
    case Parameter::sequence: return static_cast<int>(spec.sample[0]);
    case Parameter::classes:
    case Parameter::vocabulary: return spec.classes;
  }
  return 0;
}

void set_value(DatasetSpec& spec, Parameter parameter, int value) {
  switch (parameter) {
    case Parameter::pixels: spec.sample = spec.sample.with(1, value).with(2, value); break;
    case Parameter::sequence: spec.sample = spec.sample.with(0, value); break;
    case Parameter::classes:
    case Parameter::vocabulary: spec.classes = value; break;
  }
}

ChoiceParameter declared(const DatasetSpec& spec, Parameter parameter) {
  const int usual = value_of(spec, parameter);
  switch (parameter) {
    case Parameter::pixels: return {"pixels", usual, 1, 16'384};
    case Parameter::classes: return {"classes", usual, 2, 1'000'000};
    case Parameter::sequence: return {"sequence", usual, 1, 1'000'000};
    case Parameter::vocabulary: return {"vocabulary", usual, 2, 10'000'000};
  }
  return {};
}

std::vector<ChoiceParameter> parameters_of(const Entry& entry) {
  std::vector<ChoiceParameter> known;
  for (const Parameter parameter : entry.takes) known.push_back(declared(entry.spec, parameter));
  return known;
}

DatasetSpec apply_parameters(const Entry& entry, const NamedChoice& dataset) {
  DatasetSpec spec = entry.spec;
  std::vector<ChoiceParameter> values = parameters_of(entry);
  read_parameters(dataset, values);
  for (std::size_t i = 0; i < values.size(); ++i) set_value(spec, entry.takes[i], values[i].value);
  return spec;
}

}  // namespace

bool is_from_files(DataSource source) {
  switch (source) {
    case DataSource::synthetic:
    case DataSource::synthetic_masks:
    case DataSource::synthetic_tokens: return false;
    case DataSource::cifar_binary:
    case DataSource::jpeg_folder:
    case DataSource::mnist_idx: return true;
  }
  return true;
}

std::vector<DatasetRow> dataset_rows() {
  std::vector<DatasetRow> rows;
  for (const Entry& entry : table()) rows.push_back({entry.spec, parameters_of(entry)});
  return rows;
}

NamedChoice canonical_dataset(const NamedChoice& dataset) {
  const Entry& entry = find(dataset.name);
  const DatasetSpec spec = apply_parameters(entry, dataset);
  NamedChoice canonical{dataset.name, {}};
  for (const Parameter parameter : entry.takes) {
    if (const int value = value_of(spec, parameter); value != value_of(entry.spec, parameter))
      canonical.parameters.emplace_back(declared(entry.spec, parameter).name, std::to_string(value));
  }
  return canonical;
}

DatasetSpec make_dataset(const NamedChoice& dataset) {
  DatasetSpec spec = apply_parameters(find(dataset.name), dataset);
  spec.name = to_text(canonical_dataset(dataset));
  return spec;
}

TensorSpec label_shape(const DatasetSpec& dataset) {
  if (dataset.source == DataSource::synthetic_tokens) return {{dataset.sample[0]}, ElementKind::int64};
  if (dataset.source == DataSource::synthetic_masks)
    return {{dataset.sample[1], dataset.sample[2]}, ElementKind::int64};
  return {{}, ElementKind::int64};
}

void check_input(const Case& spec) {
  if (spec.input == InputKind::host) return;
  if (spec.device != DeviceKind::cuda) {
    throw usage_error("input", to_text(spec.input),
                      "host where the device is not cuda: nothing is uploaded that could stay on the device",
                      "leave input out");
  }
  if (is_from_files(make_dataset(spec.dataset).source)) {
    throw usage_error("input", to_text(spec.input),
                      "host for " + spec.dataset.name + ", whose samples are read from files in every step",
                      "try " + spec.dataset.name + "-synthetic, or leave input out");
  }
}

}  // namespace parabench::datasets
