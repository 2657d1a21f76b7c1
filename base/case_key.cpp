#include "base/case_key.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>
#include <type_traits>
#include <vector>

#include "base/case_text.h"
#include "base/compression.h"
#include "base/error.h"
#include "base/optimizer.h"
#include "base/sum_order.h"
#include "base/units_text.h"

namespace parabench {
namespace {

constexpr bool at_least_one(double x) { return x >= 1; }
bool not_negative(double x) { return x >= 0 && std::isfinite(x); }
bool positive(double x) { return x > 0 && std::isfinite(x); }
constexpr bool below_one(double x) { return x >= 0 && x < 1; }
constexpr bool up_to_three(double x) { return x == 0 || x == 1 || x == 2 || x == 3; }

constexpr std::array<std::string_view, 2> switch_names{"off", "on"};

// How values of each type print.
std::string print(int value) { return std::to_string(value); }
std::string print(std::uint64_t value) { return std::to_string(value); }
std::string print(double value) { return print_number(value); }
std::string print(bool value) { return std::string(switch_names[value]); }
std::string print(Bytes value) { return print_bytes(value); }
std::string print(const NamedChoice& value) { return to_text(value); }
template <NamedEnum E>
std::string print(E value) {
  return std::string(to_text(value));
}
template <class T>
std::string print(const std::optional<T>& value) {
  return value ? print(*value) : "";
}

template <class T>
struct Unwrapped {
  using type = T;
  static constexpr bool optional = false;
};
template <class T>
struct Unwrapped<std::optional<T>> {
  using type = T;
  static constexpr bool optional = true;
};

/// The value that `text` spells, or nullopt. Enumerations, sizes and choices throw by themselves, knowing better what
/// is wrong.
template <class T>
std::optional<T> read(const KeyDeclaration& key, std::string_view text) {
  if constexpr (std::is_same_v<T, bool>) {
    return index_of_name(key.name, text, switch_names) == 1;
  } else if constexpr (NamedEnum<T>) {
    return parse_enum<T>(key.name, text);
  } else if constexpr (std::is_same_v<T, Bytes>) {
    return parse_bytes(key.name, text);
  } else if constexpr (std::is_same_v<T, NamedChoice>) {
    return key.canonical(parse_choice(key.name, text));
  } else {
    T number{};
    const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (code != std::errc{} || end != text.data() + text.size()) return std::nullopt;
    return number;
  }
}

/// Whether a number lies in its key's range; enumerations, switches and choices have none.
template <class T>
bool is_accepted(const KeyDeclaration& key, const T& value) {
  if constexpr (NamedEnum<T> || std::is_same_v<T, NamedChoice>) return true;
  if constexpr (std::is_same_v<T, Bytes>) return !key.accepts || key.accepts(static_cast<double>(value.value));
  if constexpr (std::is_arithmetic_v<T>) {
    const auto number = static_cast<double>(value);
    return (!key.least || number >= *key.least) && (!key.accepts || key.accepts(number));
  }
}

template <class T>
std::partial_ordering compare(const T& a, const T& b) {
  if constexpr (std::three_way_comparable<T>) return a <=> b;
  return a == b ? std::partial_ordering::equivalent : std::partial_ordering::unordered;
}
template <class T>
std::partial_ordering compare(const std::optional<T>& a, const std::optional<T>& b) {
  if (a && b) return compare(*a, *b);
  return a.has_value() == b.has_value() ? std::partial_ordering::equivalent : std::partial_ordering::unordered;
}

template <class T>
constexpr KeyType key_type() {
  if (std::is_same_v<T, bool>) return KeyType::on_off;
  if (NamedEnum<T>) return KeyType::choice;
  if (std::is_same_v<T, NamedChoice>) return KeyType::named_choice;
  if (std::is_same_v<T, Bytes>) return KeyType::size;
  return std::is_floating_point_v<T> ? KeyType::number : KeyType::integer;
}

template <class T>
constexpr std::span<const std::string_view> choices_of(const KeyDeclaration& key) {
  if constexpr (std::is_same_v<T, bool>) return switch_names;
  if constexpr (NamedEnum<T>) return enum_names<T>;
  return key.names;
}

/// The key that lives in Case::*Member.
template <auto Member>
constexpr CaseKey key(const KeyDeclaration& declaration) {
  using Wrapped = Unwrapped<std::remove_cvref_t<decltype(std::declval<Case>().*Member)>>;
  using Value = typename Wrapped::type;
  CaseKey key{declaration};
  key.type = key_type<Value>();
  if constexpr (std::is_integral_v<Value>) key.most = static_cast<std::uint64_t>(std::numeric_limits<Value>::max());
  key.optional = Wrapped::optional;
  key.choices = choices_of<Value>(declaration);
  key.print = [](const Case& spec) { return print(spec.*Member); };
  key.read = [](Case& spec, const CaseKey& self, std::string_view text) {
    if constexpr (Wrapped::optional) {
      if (!self.none.empty() && text == self.none) {
        (spec.*Member).reset();
        return true;
      }
    }
    const std::optional<Value> value = read<Value>(self, text);
    if (!value || !is_accepted(self, *value)) return false;
    spec.*Member = *value;
    return true;
  };
  key.compare = [](const Case& a, const Case& b) { return compare(a.*Member, b.*Member); };
  return key;
}

void follow_device(Case& usual, const Case& spec) { usual.comm = default_comm(spec.device); }

constexpr std::array keys{
    key<&Case::np>({.name = "np", .least = 1, .help = "ranks", .readers = "every case", .required = true}),
    key<&Case::batch>({.name = "batch",
                       .least = 1,
                       .help = "samples of a step over all ranks",
                       .readers = "every case",
                       .required = true}),
    key<&Case::micro>({.name = "micro", .least = 1, .help = "micro-batches of each copy and step"}),
    key<&Case::dp>({.name = "dp", .least = 1, .help = "copies of the pipeline, np / dp ranks each"}),
    key<&Case::chunks>({.name = "chunks", .least = 1, .help = "stages on each rank"}),
    key<&Case::warmup>(
        {.name = "warmup", .least = 0, .help = "forwards that rank 0 starts with; by default the schedule's own"}),
    key<&Case::bucket>({.name = "bucket",
                        .accepts = at_least_one,
                        .expected = "a size of at least one byte",
                        .help = "bytes of gradients that are reduced together"}),
    key<&Case::recompute>({.name = "recompute",
                           .help = "what runs its forward again before its backward, to save memory; auto needs memory",
                           .readers = "every case"}),
    key<&Case::partition>({.name = "partition", .help = "what layers are cut into stages by; memory needs memory"}),
    key<&Case::memory>({.name = "memory",
                        .accepts = at_least_one,
                        .expected = "a size of at least one byte",
                        .help = "bytes that a rank may use",
                        .readers = "partition:memory, recompute:auto",
                        .since = "1.4"}),
    key<&Case::precision>({.name = "precision",
                           .help = "of the arithmetic; parameters are fp64 with fp64, else fp32",
                           .readers = "every case"}),
    key<&Case::layout>({.name = "layout", .help = "of images in memory", .readers = "models of images"}),
    key<&Case::device>({.name = "device", .help = "what ranks compute on", .readers = "every case"}),
    key<&Case::comm>({.name = "comm",
                      .help = "what ranks talk through; nccl is usual with cuda, threads with emulated",
                      .readers = "np above 1",
                      .follow = follow_device}),
    key<&Case::threads>(
        {.name = "threads", .least = 1, .help = "threads that compute in each rank", .readers = "device:cpu"}),
    key<&Case::graph>({.name = "graph",
                       .help = "replay a step that was captured as a CUDA graph",
                       .readers = "device:cuda with np:1"}),
    key<&Case::loader>({.name = "loader",
                        .least = 1,
                        .help = "threads that read samples in each rank",
                        .readers = "data sets from files"}),
    key<&Case::input>({.name = "input",
                       .help = "load each step's samples, or keep those of the first on the device",
                       .readers = "synthetic data sets with device:cuda",
                       .since = "1.5"}),
    key<&Case::optimizer>({.name = "optimizer",
                           .help = "how weights follow from gradients",
                           .readers = "every case",
                           .since = "1.6",
                           .names = enum_names<OptimizerKind>,
                           .all = optimizers_text,
                           .canonical = canonical_optimizer}),
    key<&Case::zero>(
        {.name = "zero",
         .accepts = up_to_three,
         .expected = "0, 1, 2 or 3",
         .help =
             "stage of ZeRO among copies of a stage: 1 shards optimizer states and updates, 2 gradients; 3, weights "
             "too, is the strategy zero3, not for pipelines",
         .since = "1.6"}),
    key<&Case::shard>({.name = "shard",
                       .least = 1,
                       .none = "all",
                       .help = "ranks that divide states, gradients and weights among themselves; by default all",
                       .since = "1.10"}),
    key<&Case::prefetch>(
        {.name = "prefetch",
         .least = 0,
         .help = "buckets whose weights are gathered ahead of the one that is computed, with reshard:on",
         .since = "1.8"}),
    key<&Case::reshard>(
        {.name = "reshard", .help = "drop whole weights after the forward, and gather them again", .since = "1.8"}),
    key<&Case::reduce>({.name = "reduce",
                        .help = "the algorithm by which ranks sum; auto chooses by hosts, ranks and size",
                        .since = "1.8"}),
    key<&Case::compress>({.name = "compress",
                          .help = "what ranks make of gradients before they sum them",
                          .since = "1.10",
                          .names = enum_names<CompressionKind>,
                          .all = compressions_text,
                          .canonical = canonical_compression}),
    key<&Case::order>({.name = "order",
                       .help = "of sums of gradients: as backwards make them, or as the next forwards need them",
                       .since = "1.10",
                       .names = enum_names<SumOrderKind>,
                       .all = sum_orders_text,
                       .canonical = canonical_sum_order}),
    key<&Case::sync_bn>({.name = "sync_bn",
                         .help = "batch norms by the statistics of the whole batch, summed over all copies",
                         .since = "1.11"}),
    key<&Case::executor>({.name = "executor",
                          .help = "start operations in the plan's order, or as soon as what they need has ended",
                          .readers = "device:cpu",
                          .since = "1.10"}),
    key<&Case::tp>({.name = "tp",
                    .least = 1,
                    .help = "ranks that divide the matrix products of each block among themselves",
                    .readers = "predict and advise, of transformers",
                    .since = "1.12"}),
    key<&Case::lr>({.name = "lr",
                    .accepts = positive,
                    .expected = "a number > 0",
                    .help = "learning rate",
                    .readers = "every case"}),
    key<&Case::momentum>({.name = "momentum",
                          .accepts = below_one,
                          .expected = "a number >= 0 and < 1",
                          .help = "of the gradient descent",
                          .readers = "optimizers sgd and lars"}),
    key<&Case::weight_decay>({.name = "weight_decay",
                              .accepts = not_negative,
                              .expected = "a number >= 0",
                              .help = "of all parameters",
                              .readers = "every case"}),
    key<&Case::seed>(
        {.name = "seed", .least = 0, .help = "of weights, order and synthetic samples", .readers = "every case"}),
};

}  // namespace

std::span<const CaseKey> case_keys() { return keys; }

const CaseKey& find_case_key(std::string_view name) {
  const auto found = std::ranges::find(keys, name, &CaseKey::name);
  if (found != keys.end()) return *found;
  std::vector<std::string> known;
  for (const CaseKey& key : keys) known.emplace_back(key.name);
  throw usage_error("case id", name, "a key of a case", nearest_hint(name, known));
}

std::string value_text(const Case& spec, const CaseKey& key) { return key.print(spec); }

void set_value(Case& spec, const CaseKey& key, std::string_view text) {
  if (key.read(spec, key, text)) return;
  const std::string usual = key.print(Case{});
  throw usage_error(key.name, text, accepted_text(key), usual.empty() ? "" : fmt::format("try {}:{}", key.name, usual));
}

std::string default_text(const CaseKey& key, const Case& spec) {
  if (key.required) return "";
  Case usual;
  if (key.follow) key.follow(usual, spec);
  return key.print(usual);
}

std::string accepted_text(const CaseKey& key) {
  if (key.type == KeyType::named_choice) return key.all();
  if (key.least)
    return fmt::format("an integer from {} to {}{}{}", *key.least, key.most, key.none.empty() ? "" : ", or ", key.none);
  return key.choices.empty() ? std::string(key.expected) : fmt::format("{}", fmt::join(key.choices, ", "));
}

}  // namespace parabench
