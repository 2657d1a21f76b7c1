// A published measurement, with the configuration that it was taken in.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analytic/closed_forms/model_states.h"
#include "analytic/closed_forms/transformer.h"
#include "base/enum_text.h"

namespace parabench::analytic {

enum class Quantity {
  seconds_per_iteration,
  seconds_per_epoch,
  samples_per_s,
  speed_up,  ///< over one device
  tflops_per_gpu,
  bytes_per_gpu,
  share,  ///< of what no technique would take
};
constexpr std::array<std::string_view, 7> names_of(Quantity) {
  return {"seconds_per_iteration", "seconds_per_epoch", "samples_per_s", "speed_up",
          "tflops_per_gpu",        "bytes_per_gpu",     "share"};
}

/// Whether more of it is less time.
constexpr bool is_rate(Quantity quantity) {
  return quantity == Quantity::samples_per_s || quantity == Quantity::speed_up || quantity == Quantity::tflops_per_gpu;
}

/// How a value got here: printed in the source; read by eye off a figure; computed, by the source or of its figures;
/// from somebody who cites it; from memory.
enum class Quality { printed, figure, computed, secondary, memory };
constexpr std::array<std::string_view, 5> names_of(Quality) {
  return {"printed", "figure", "computed", "secondary", "memory"};
}

/// A model's constants are fitted on some rows; it is judged by the others.
enum class Use { fit, test };
constexpr std::array<std::string_view, 2> names_of(Use) { return {"fit", "test"}; }

enum class Switch { off, on };
constexpr std::array<std::string_view, 2> names_of(Switch) { return {"off", "on"}; }

/// What was run. Each member is a column of the file; "", 0 and none: not given.
struct Configuration {
  std::string network;  ///< rows that share it share a device's constants
  double devices = 0, batch = 0, micro_batch = 0, micro_batches = 0;
  double samples = 0;                   ///< of an epoch
  double sequential_samples_per_s = 0;  ///< of one device
  double gradient_bytes = 0, fusion_bytes = 0, link_bytes_per_s = 0;
  double layers = 0, hidden = 0, heads = 0, sequence = 0, vocabulary = 0;
  double tensor = 0, pipeline = 0, data = 0, chunks = 0;
  std::optional<TransformerRecompute> recompute;
  std::optional<Switch> sequence_parallel;
  std::optional<Training> training;
  std::optional<Sharded> sharded;
};

struct Fact {
  std::string source, row;  ///< together they name it
  std::vector<std::string> models;
  Quantity quantity = Quantity::seconds_per_iteration;
  double value = 0;
  double uncertainty = 0;  ///< 0: unknown
  Quality quality = Quality::printed;
  Use use = Use::test;
  std::optional<double> source_error;  ///< (predicted - measured) / measured time, of a model that the source has
  Configuration configuration;
  std::string place;  ///< "FILE:LINE", for errors
};

}  // namespace parabench::analytic
