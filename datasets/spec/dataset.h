// A data set as data: names, shapes, classes, sizes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/case.h"
#include "base/tensor_spec.h"

namespace parabench {

enum class DataSource { synthetic, cifar_binary, jpeg_folder, mnist_idx };

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

std::vector<std::string> dataset_names();

/// `imagenet`, `cifar10`, `mnist` from files; `imagenet-synthetic`, `cifar10-synthetic`, `mnist-synthetic`, `highres-synthetic`
/// in memory. Parameters: pixels, classes (synthetic twins), pixels (imagenet). The stem follows the set's name, so
/// imagenet-synthetic[pixels=32] keeps the ImageNet stem. Throws usage_error with the nearest name or the
/// known parameters.
DatasetSpec make_dataset(const NamedChoice& dataset);

/// Throws usage_error for input:resident, by which every step trains on the samples of step 0, where that is not
/// offered: on other devices than a GPU, and for data sets from files, whose reading is part of the training.
void check_input(const Case& spec);

/// The same choice as case ids print it: parameters in the order pixels, classes, plain integers, defaults left out.
/// Throws as make_dataset does. make_dataset(d).name is its text.
NamedChoice canonical_dataset(const NamedChoice& dataset);

}  // namespace parabench
