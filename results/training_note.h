// What a row learned that does not train as sequential training does.
#pragma once

#include <span>
#include <string>

#include "results/record.h"

namespace parabench::results {

/// Of a measured row that trains_otherwise(): its loss, and that of sequential training after as many samples where one
/// of `records` has it, since its time alone says nothing of what it learned: "loss 2.38 after 20 steps of 32 samples,
/// of sequential training 2.31". Of all others "".
std::string training_note(const Record& record, std::span<const Record> records);

}  // namespace parabench::results
