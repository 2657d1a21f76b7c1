// The keys of a case as a table, and the text of their values.
#pragma once

#include <array>
#include <span>
#include <string>
#include <string_view>
#include <variant>

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

/// Where a key lives in a case; the alternative gives its type.
using CaseMember =
    std::variant<int Case::*, std::optional<int> Case::*, std::uint64_t Case::*, double Case::*, bool Case::*,
                 Bytes Case::*, std::optional<Bytes> Case::*, Recompute Case::*, PartitionRule Case::*,
                 Precision Case::*, Layout Case::*, DeviceKind Case::*, CommKind Case::*, InputKind Case::*>;

struct CaseKey {
  std::string_view name;
  CaseMember member;
  bool (*accepts)(double) = nullptr;  ///< range of a number; null: any value of the type
  std::string_view expected = {};     ///< that range for people: "an integer >= 1"
};

/// All keys in the fixed order of the canonical id, np and batch (which have no default) first.
std::span<const CaseKey> case_keys();
/// Throws usage_error with the nearest key.
const CaseKey& find_case_key(std::string_view name);

/// The text of a key's value: "25MiB", "except-last", "on"; "" where none is given (warmup, memory).
std::string value_text(const Case& spec, const CaseKey& key);
/// Sets a key from text. Throws usage_error with value, expectation and the default to try.
void set_value(Case& spec, const CaseKey& key, std::string_view text);

/// `imagenet-synthetic[pixels=32,classes=10]`.
std::string to_text(const NamedChoice& choice);
/// Parameters keep the order given; what they mean is the owner's business. Throws usage_error where the text is not
/// name[key=value,...] of letters, digits, '_', '-' (values: '.', '+' too), or repeats a key. `subject`: "model", ...
NamedChoice parse_choice(std::string_view subject, std::string_view text);

}  // namespace parabench
