// The words of a case: its enumerations, and names with parameters in brackets.
#pragma once

#include <array>
#include <string>
#include <string_view>

#include "base/case.h"
#include "base/enum_text.h"

namespace parabench {

template <>
inline constexpr std::array<std::string_view, 4> enum_names<Recompute>{"none", "all", "except-last", "auto"};
template <>
inline constexpr std::array<std::string_view, 4> enum_names<PartitionRule>{"time", "parameters", "uniform", "memory"};
template <>
inline constexpr std::array<std::string_view, 4> enum_names<Precision>{"fp32", "tf32", "bf16", "fp64"};
template <>
inline constexpr std::array<std::string_view, 2> enum_names<Layout>{"contiguous", "channels_last"};
template <>
inline constexpr std::array<std::string_view, 3> enum_names<DeviceKind>{"cpu", "cuda", "emulated"};
template <>
inline constexpr std::array<std::string_view, 3> enum_names<CommKind>{"mpi", "nccl", "threads"};
template <>
inline constexpr std::array<std::string_view, 2> enum_names<InputKind>{"host", "resident"};

/// The communicator of a case that names none: mpi; nccl with cuda; threads with emulated devices.
CommKind default_comm(DeviceKind device);

/// `imagenet-synthetic[pixels=32,classes=10]`.
std::string to_text(const NamedChoice& choice);
/// Parameters keep the order given; what they mean is the owner's business. Throws usage_error where the text is not
/// name[key=value,...] of letters, digits, '_', '-' (values: '.', '+' too), or repeats a key. `subject`: "model", ...
NamedChoice parse_choice(std::string_view subject, std::string_view text);

}  // namespace parabench
