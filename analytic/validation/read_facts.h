// Files of published measurements: CSV, one measurement a row.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "analytic/validation/fact.h"

namespace parabench::analytic {

/// The rows of a file. Lines that begin with # are remarks. The first other line names the columns, in any order:
/// source, row, models, quantity, value and use, which every row fills, uncertainty, quality, source_error, and those
/// of the configuration. Fields are parted by commas and have no quotes; an empty one is not given. `models` are names
/// of fact_models.h, parted by blanks.
/// Throws usage_error with `name` and the line for a header that lacks a column, has one twice or an unknown one; a row
/// with more or fewer fields; an unknown word; a number that is none, or not above 0; what a model of the row needs and
/// the row does not give; a source with two rows of one name; and with `name` for a file without test rows.
std::vector<Fact> read_facts(std::string_view text, const std::string& name);

}  // namespace parabench::analytic
