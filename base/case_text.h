// The words of a case: its enumerations, and names with parameters in brackets.
#pragma once

#include <array>
#include <string>
#include <string_view>

#include "base/case.h"
#include "base/enum_text.h"

namespace parabench {

constexpr std::array<std::string_view, 4> names_of(Recompute) { return {"none", "all", "except-last", "auto"}; }
constexpr std::array<std::string_view, 4> names_of(PartitionRule) {
  return {"time", "parameters", "uniform", "memory"};
}
constexpr std::array<std::string_view, 4> names_of(Precision) { return {"fp32", "tf32", "bf16", "fp64"}; }
constexpr std::array<std::string_view, 2> names_of(Layout) { return {"contiguous", "channels_last"}; }
constexpr std::array<std::string_view, 3> names_of(DeviceKind) { return {"cpu", "cuda", "emulated"}; }
constexpr std::array<std::string_view, 3> names_of(CommKind) { return {"mpi", "nccl", "threads"}; }
constexpr std::array<std::string_view, 7> names_of(ReduceKind) {
  return {"auto", "ring", "halving-doubling", "double-tree", "hierarchical", "window", "library"};
}
constexpr std::array<std::string_view, 2> names_of(InputKind) { return {"host", "resident"}; }
constexpr std::array<std::string_view, 2> names_of(ExecutorKind) { return {"ordered", "futurized"}; }

/// The communicator of a case that names none: mpi; nccl with cuda; threads with emulated devices.
CommKind default_comm(DeviceKind device);

/// `imagenet-synthetic[pixels=32,classes=10]`.
std::string to_text(const NamedChoice& choice);
/// Parameters keep the order given; what they mean is the owner's business. Throws usage_error where the text is not
/// name[key=value,...] of letters, digits, '_', '-' (values: '.', '+' too), is longer than 1000 characters, or repeats
/// a key. `subject`: "model", ...
NamedChoice parse_choice(std::string_view subject, std::string_view text);

}  // namespace parabench
