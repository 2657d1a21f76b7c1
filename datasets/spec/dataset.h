// A data set as data: names, shapes, classes, sizes.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/case.h"
#include "base/choice.h"
#include "base/enum_text.h"
#include "base/tensor_spec.h"

namespace parabench::datasets {

enum class DataSource { synthetic, cifar_binary, jpeg_folder, mnist_idx, synthetic_masks, synthetic_tokens };
constexpr std::array<std::string_view, 6> names_of(DataSource) {
  return {"synthetic", "cifar-binary", "jpeg-folder", "mnist-idx", "synthetic-masks", "synthetic-tokens"};
}
/// Whether samples are read from files; if not, they are made in memory.
bool is_from_files(DataSource source);

struct DatasetSpec {
  std::string name;  ///< as in the case id, parameters included
  DataSource source = DataSource::synthetic;
  TensorSpec sample;
  int classes = 0;
  std::int64_t train_size = 0;
  std::int64_t validation_size = 0;
  bool small_stem = false;  ///< 32 px and below natively: models take their 3x3 stem
  bool operator==(const DatasetSpec&) const = default;
};

/// A data set that `make_dataset` knows, as lists show it.
struct DatasetRow {
  DatasetSpec spec;                         ///< without parameters
  std::vector<ChoiceParameter> parameters;  ///< in brackets, with their defaults
};
std::vector<DatasetRow> dataset_rows();

/// A row of dataset_rows() with the parameters that it takes; the vocabulary of tokens counts as classes. A set from
/// files has a twin in memory, `<name>-synthetic`. The stem follows the set's name, so imagenet-synthetic[pixels=32]
/// keeps the ImageNet stem. Throws usage_error with the nearest name or the known parameters.
DatasetSpec make_dataset(const NamedChoice& dataset);

/// The labels of a sample: {}, one class; those of tokens {length}, of masks {height, width}.
TensorSpec label_shape(const DatasetSpec& dataset);

/// Throws usage_error for input:resident, by which every step trains on the samples of step 0, where that is not
/// offered: on other devices than a GPU, and for data sets from files, whose reading is part of the training.
void check_input(const Case& spec);

/// The same choice as case ids print it: parameters in the order of dataset_rows(), plain integers, defaults left out.
/// Throws as make_dataset does. make_dataset(d).name is its text.
NamedChoice canonical_dataset(const NamedChoice& dataset);

}  // namespace parabench::datasets
