// The option --sweep: a case becomes a grid of cases.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/case.h"

namespace parabench::suite {

/// Cases that a sweep makes at most.
inline constexpr std::size_t most_swept = 10'000;

/// One key of ids, or model, dataset or strategy, and the texts of its values.
struct SweptAxis {
  std::string name;
  std::vector<std::string> values;
};

/// "np=2..1024,micro=4,8,strategy=gpipe,1f1b": keys with their values, joined by commas. Of whole numbers and sizes
/// A..B stands for A, 2 A, 4 A, ... up to B, and A..B+C for A, A + C, A + 2 C, ... up to B. Throws usage_error for a
/// text of another form, a key twice, an unknown key, a range of a key that has none, one that begins at 0 or ends
/// before it begins, and for one of more than most_swept values.
std::vector<SweptAxis> parse_sweep(std::string_view text);

/// Every combination of the axes with what else `base` says, in the order of ids, as in a sweep's file (sweep_grid.h),
/// possible or not. Throws usage_error for a value that its key does not accept and for more than most_swept.
std::vector<Case> swept_cases(const Case& base, const std::vector<SweptAxis>& axes);

}  // namespace parabench::suite
