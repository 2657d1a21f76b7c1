#include "suite/protocol/failure.h"

#include <nlohmann/json.hpp>

namespace parabench::protocol {

nlohmann::json to_json(const RankError& error) {
  return {{"rank", error.rank.value}, {"kind", to_text(error.kind)}, {"message", error.message}};
}

RankError rank_error_from_json(const JsonReader& reader) {
  return {Rank(reader.get_at_least("rank", 0)), reader.get<FailureKind>("kind"), reader.get<std::string>("message")};
}

}  // namespace parabench::protocol
