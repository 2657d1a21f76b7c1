#include "suite/run/fitting_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <optional>
#include <string>
#include <vector>

#include "base/case_text.h"
#include "base/error.h"
#include "models/spec/nets/nets.h"
#include "models/spec/synchronised.h"

namespace parabench::suite {
namespace {

models::Samples samples_of(datasets::DataSource source) {
  switch (source) {
    case datasets::DataSource::synthetic:
    case datasets::DataSource::cifar_binary:
    case datasets::DataSource::jpeg_folder:
    case datasets::DataSource::mnist_idx: return models::Samples::images;
    case datasets::DataSource::synthetic_masks: return models::Samples::masks;
    case datasets::DataSource::synthetic_tokens: return models::Samples::tokens;
  }
  return models::Samples::images;
}

void require_samples(const Case& spec, models::Samples given) {
  const auto net = std::ranges::find(models::nets(), spec.model.name, &models::Net::name);
  if (net == models::nets().end() || net->samples == given) return;
  std::vector<std::string> fitting;
  for (const datasets::DatasetRow& row : datasets::dataset_rows())
    if (samples_of(row.spec.source) == net->samples) fitting.push_back(row.spec.name);
  throw usage_error("data set", to_text(spec.dataset),
                    fmt::format("{}, which {} is trained on, not {}", to_text(net->samples), net->name, to_text(given)),
                    fmt::format("these fit: {}", fmt::join(fitting, ", ")));
}

/// Throws where a layer cannot take what comes to it.
models::ModelSpec make_checked(const Case& spec, const datasets::DatasetSpec& dataset, const TensorSpec& sample) {
  models::ModelSpec model = models::make_model(spec.model, sample, dataset.classes, dataset.small_stem);
  models::boundaries(model);
  return spec.sync_bn ? models::synchronised(model) : model;
}

/// A side of images near the data set's that the model takes: the nearest of those around, else the next power of two;
/// nullopt: the size is not what is wrong.
std::optional<int> nearest_side(const Case& spec, const datasets::DatasetSpec& dataset, const ChoiceParameter& pixels) {
  const auto takes = [&](int side) {
    if (side < pixels.low || side > pixels.high) return false;
    try {
      make_checked(spec, dataset, dataset.sample.with(1, side).with(2, side));
      return true;
    } catch (const Error&) {
      return false;
    }
  };
  constexpr int around = 32;
  const auto given = static_cast<int>(dataset.sample[2]);
  for (int step = 1; step <= around; ++step) {
    if (takes(given - step)) return given - step;
    if (takes(given + step)) return given + step;
  }
  // Whatever halves maps can do so often.
  for (unsigned side = std::bit_ceil(static_cast<unsigned>(given)); side <= static_cast<unsigned>(pixels.high);
       side *= 2)
    if (takes(static_cast<int>(side))) return static_cast<int>(side);
  return std::nullopt;
}

/// The data set, or the twin of one from files, with images of a size that the model takes.
std::optional<NamedChoice> resized(const Case& spec, const datasets::DatasetSpec& dataset) {
  for (const datasets::DatasetRow& row : datasets::dataset_rows()) {
    if (row.spec.name != spec.dataset.name && row.spec.name != spec.dataset.name + "-synthetic") continue;
    const auto pixels = std::ranges::find(row.parameters, "pixels", &ChoiceParameter::name);
    if (pixels == row.parameters.end()) continue;
    const std::optional<int> side = nearest_side(spec, dataset, *pixels);
    if (!side) return std::nullopt;
    NamedChoice choice{row.spec.name, spec.dataset.parameters};
    std::erase_if(choice.parameters, [](const auto& one) { return one.first == "pixels"; });
    choice.parameters.emplace(choice.parameters.begin(), "pixels", std::to_string(*side));
    return choice;
  }
  return std::nullopt;
}

}  // namespace

models::ModelSpec make_model_for(const Case& spec, const datasets::DatasetSpec& dataset) {
  require_samples(spec, samples_of(dataset.source));
  try {
    return make_checked(spec, dataset, dataset.sample);
  } catch (const Error&) {
    const std::optional<NamedChoice> other = resized(spec, dataset);
    if (!other) throw;
    throw usage_error("data set", to_text(spec.dataset),
                      fmt::format("images of a size that every layer of {} takes, not of {}", to_text(spec.model),
                                  to_text(dataset.sample)),
                      "try " + to_text(*other));
  }
}

}  // namespace parabench::suite
