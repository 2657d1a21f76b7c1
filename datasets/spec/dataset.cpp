#include "datasets/spec/dataset.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <span>

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

int integer(const std::string& subject, const std::string& value, int low, int high) {
  int number = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
  if (error != std::errc() || end != value.data() + value.size() || number < low || number > high)
    throw usage_error(subject, value, fmt::format("an integer from {} to {}", low, high));
  return number;
}

DatasetSpec apply_parameters(const Entry& entry, const NamedChoice& dataset) {
  std::vector<std::string> known;
  if (entry.takes_pixels) known.emplace_back("pixels");
  if (entry.takes_classes) known.emplace_back("classes");

  DatasetSpec spec = entry.spec;
  std::vector<std::string> given;
  for (const auto& [key, value] : dataset.parameters) {
    if (std::ranges::find(known, key) == known.end())
      throw usage_error("parameter of " + dataset.name, key,
                        known.empty() ? "no parameters" : fmt::format("one of: {}", fmt::join(known, ", ")),
                        known.empty() ? "write " + dataset.name : nearest_hint(key, known));
    if (std::ranges::find(given, key) != given.end())
      throw usage_error("parameter of " + dataset.name, key, "each parameter once");
    given.push_back(key);
    if (key == "pixels")
      spec.sample.height = spec.sample.width = integer(key, value, 1, 16'384);
    else
      spec.classes = integer(key, value, 2, 1'000'000);
  }
  return spec;
}

std::string text(const NamedChoice& choice) {
  if (choice.parameters.empty()) return choice.name;
  std::vector<std::string> pairs;
  for (const auto& [key, value] : choice.parameters) pairs.push_back(key + '=' + value);
  return fmt::format("{}[{}]", choice.name, fmt::join(pairs, ","));
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
  if (spec.sample != entry.spec.sample) canonical.parameters.emplace_back("pixels", std::to_string(spec.sample.width));
  if (spec.classes != entry.spec.classes) canonical.parameters.emplace_back("classes", std::to_string(spec.classes));
  return canonical;
}

DatasetSpec make_dataset(const NamedChoice& dataset) {
  DatasetSpec spec = apply_parameters(find(dataset.name), dataset);
  spec.name = text(canonical_dataset(dataset));
  return spec;
}

}  // namespace parabench
