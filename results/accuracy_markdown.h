// Judged predictions as a part of a page.
#pragma once

#include <span>
#include <string>

#include "results/accuracy.h"

namespace parabench::results {

/// Two tables in Markdown: the figures of each kind of error, then all cases with signed errors and the noise beside
/// them, in the order of the cases, under the model/dataset/ that their ids share. Columns in which no case has a value
/// are left out.
std::string accuracy_markdown(std::span<const JudgedCase> cases);

}  // namespace parabench::results
