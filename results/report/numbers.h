// A report's numbers as LaTeX macros, so that the text of a paper cannot go stale.
#pragma once

#include <string>
#include <string_view>

#include "results/report/report.h"

namespace parabench::results {

/// Letters of a text as one word of a macro's name: what is no letter or digit separates words, which are capitalised,
/// and a digit is its English name: "np:2/batch:32" is "NpTwoBatchThreeTwo".
std::string macro_word(std::string_view text);

/// One \newcommand per number of the report's records that count, and of its summary:
///   \pb<case><quantity>   <case> is macro_word of the id, in front of it that of the file's label where several files
///                         hold the id; of names that are still the same, the later ones end in "Again" ...
///   \pbSummary<quantity>
/// The quantity's name ends in its unit (Ms, MiB, Percent). A number that is not known has no macro, so that LaTeX
/// stops where it is used. Values are plain decimals: of three digits or
/// more, percentages to a tenth.
std::string report_numbers(const Report& report);

}  // namespace parabench::results
