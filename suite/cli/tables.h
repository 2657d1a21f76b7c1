// The tables behind case ids: strategies, models, data sets and keys, as lists show them; and of what options name.
#pragma once

#include <array>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "base/enum_text.h"

namespace parabench::suite {

enum class WordTable { strategies, models, datasets, keys, sets, hardware };
constexpr std::array<std::string_view, 6> names_of(WordTable) {
  return {"strategies", "models", "datasets", "keys", "sets", "hardware"};
}

/// What it lists, for --help.
std::string_view table_help(WordTable table);
/// For people: aligned columns.
std::string table_text(WordTable table);
/// A list of objects, one per row; of hardware the files as they are. Of a strategy, `stages_per_rank` is null where
/// the key chunks or a file decides, and `refused` are the pairs of ranks of one copy and micro-batches, up to 16 of
/// each, that it does not serve.
nlohmann::json table_json(WordTable table);

}  // namespace parabench::suite
