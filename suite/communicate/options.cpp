#include "suite/communicate/options.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string>

#include "base/case_text.h"
#include "base/error.h"
#include "base/split.h"
#include "base/units_text.h"
#include "suite/protocol/exchange_work.h"

namespace parabench::suite {
namespace {

constexpr std::string_view sizes_option = "--sizes", groups_option = "--groups";
constexpr std::string_view sizes_hint = "try --sizes 1KiB:64MiB:4";

/// The parts of "begin:end:factor".
std::vector<std::string_view> parts_of(std::string_view range) {
  std::vector<std::string_view> parts;
  for (std::size_t colon = range.find(':'); colon != std::string_view::npos; colon = range.find(':')) {
    parts.push_back(range.substr(0, colon));
    range.remove_prefix(colon + 1);
  }
  parts.push_back(range);
  return parts;
}

void add_range(std::set<std::int64_t>& sizes, std::string_view range, int element_bytes) {
  const std::vector<std::string_view> parts = parts_of(range);
  if (parts.size() > 3) throw usage_error(sizes_option, range, "BEGIN:END:FACTOR, or a size", sizes_hint);
  const std::int64_t begin = parse_bytes(sizes_option, parts[0]).value;
  const std::int64_t end = parts.size() > 1 ? parse_bytes(sizes_option, parts[1]).value : begin;
  const int factor = parts.size() > 2 ? read_integer("factor of --sizes", parts[2], 2, sizes_hint) : 2;
  if (begin < element_bytes || begin % element_bytes != 0) {
    throw usage_error(sizes_option, parts[0],
                      fmt::format("whole elements: a multiple of {} bytes, which is not 0", element_bytes), sizes_hint);
  }
  if (end < begin) throw usage_error(sizes_option, range, "an end that is not before the begin", sizes_hint);
  for (std::int64_t bytes = begin;; bytes *= factor) {
    sizes.insert(bytes);
    if (bytes > end / factor) return;
  }
}

}  // namespace

template <NamedEnum E>
std::vector<E> read_names(std::string_view option, std::string_view text) {
  std::vector<E> values;
  for (const std::string_view word : split_at_commas(text)) {
    const E value = parse_enum<E>(option, word);
    if (std::ranges::find(values, value) == values.end()) values.push_back(value);
  }
  return values;
}
template std::vector<ExchangeKind> read_names(std::string_view option, std::string_view text);
template std::vector<ReduceKind> read_names(std::string_view option, std::string_view text);

std::vector<std::int64_t> read_sizes(std::string_view text, int element_bytes) {
  std::set<std::int64_t> sizes;
  for (const std::string_view range : split_at_commas(text)) add_range(sizes, range, element_bytes);
  return {sizes.begin(), sizes.end()};
}

std::vector<int> read_groups(std::string_view text) {
  if (text == "all") return {};
  std::set<int> sizes;
  for (const std::string_view word : split_at_commas(text))
    sizes.insert(read_integer(groups_option, word, 2, "try --groups 2"));
  return {sizes.begin(), sizes.end()};
}

void check_exchanges(const CommunicateOptions& options) {
  for (const int members : options.groups) {
    if (options.np % members == 0) continue;
    throw usage_error(groups_option, std::to_string(members),
                      fmt::format("a size that divides the {} ranks of --np", options.np), "leave --groups out");
  }
  if (options.precision != Precision::fp32 && options.precision != Precision::fp64) {
    throw usage_error("--precision", to_text(options.precision), "fp32 or fp64",
                      "gradients of bf16 and tf32 are summed as fp32");
  }
  if (options.comm == CommKind::nccl)
    throw usage_error("--comm", "nccl", "mpi or threads, between ranks on processors",
                      "nccl-tests time NCCL between GPUs");
  read_sizes(options.sizes, protocol::element_bytes(options.precision));
}

}  // namespace parabench::suite
