// What the command line says about exchanges to time.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/exchange.h"
#include "suite/run/run_options.h"

namespace parabench::suite {

struct CommunicateOptions {
  int np = 2;
  std::vector<ExchangeKind> kinds = {ExchangeKind::all_reduce};
  std::vector<ReduceKind> reduce = {ReduceKind::automatic};
  std::string sizes = "1KiB:64MiB:4";
  std::vector<int> groups;  ///< members of each; empty: all ranks are one
  Precision precision = Precision::fp32;
  CommKind comm = CommKind::mpi;
  int iterations = 20, warmup = 5;
  RunOptions run;  ///< of its options those of_communicate
};

/// "all-reduce,broadcast": names of E, each once. Throws usage_error naming `option`.
template <NamedEnum E>
std::vector<E> read_names(std::string_view option, std::string_view text);

/// "1KiB:64MiB:4" (begin, end, factor; 2 without one), one size, or several of both with commas: ascending, each once.
/// Throws usage_error for what is none, for a size that does not hold whole elements of `element_bytes`, a factor below
/// 2, and an end before its begin.
std::vector<std::int64_t> read_sizes(std::string_view text, int element_bytes);

/// "all", "2", "2,4": members of each group, each once, ascending; empty for all. Throws usage_error where that is no
/// number from 2 on.
std::vector<int> read_groups(std::string_view text);

/// Throws usage_error for fewer than two ranks, groups that do not divide them, and for a precision or communicator
/// that nothing is sent in here.
void check_exchanges(const CommunicateOptions& options);

}  // namespace parabench::suite
