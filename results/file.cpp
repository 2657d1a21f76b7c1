#include "results/file.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/file.h"
#include "base/json_text.h"
#include "results/context_json.h"
#include "results/record_json.h"
#include "results/record_read.h"
#include "results/validate.h"

namespace parabench::results {
namespace {

using nlohmann::json;

constexpr std::array<std::string_view, 10> recorded_families = {"OMPI_", "PMIX_", "SLURM_", "OMP_",    "NCCL_",
                                                                "CUDA_", "UCX_",  "TORCH_", "MALLOC_", "PARABENCH_"};
constexpr std::array<std::string_view, 7> secret_words = {"TOKEN",  "SECRET",     "PASS", "JWT",
                                                          "APIKEY", "CREDENTIAL", "_KEY"};

bool is_recorded(std::string_view name) {
  const auto starts = [name](std::string_view family) { return name.starts_with(family); };
  const auto contains = [name](std::string_view word) { return name.find(word) != std::string_view::npos; };
  return std::ranges::any_of(recorded_families, starts) && !std::ranges::any_of(secret_words, contains);
}

}  // namespace

json to_json(const ResultsFile& file) {
  json records = json::array();
  for (const Record& record : file.records) records.push_back(to_json(record));
  json document = {{"schema_version", results_schema_version},
                   {"program", to_json(file.program)},
                   {"context", to_json(file.context)},
                   {"calibration", to_json(file.calibration)},
                   {"records", std::move(records)}};
  for (const ExchangeRecord& exchange : file.exchanges) document["exchanges"].push_back(to_json(exchange));
  return document;
}

ResultsFile results_from_json(const json& document, std::string_view subject) {
  require_results(document, subject);
  if (document.is_object() && document.contains("schema_version")) {
    const json& known = results_schema().at("properties").at("schema_version").at("enum");
    const json& version = document["schema_version"];
    if (std::ranges::find(known, version) == known.end()) {
      throw usage_error(subject, version.dump(), "schema_version of " + known.dump(),
                        "read it with the program that wrote it");
    }
  }
  const JsonReader reader(document, std::string(subject));
  require_valid(reader, "");
  ResultsFile file;
  file.program = program_from_json(reader.at("program"));
  file.context = context_from_json(reader.at("context"));
  file.calibration = calibration_origin_from_json(reader.at("calibration"));
  for (const JsonReader& record : reader.at("records").items()) file.records.push_back(record_from_valid_json(record));
  if (reader.has("exchanges")) {
    for (const JsonReader& exchange : reader.at("exchanges").items())
      file.exchanges.push_back(exchange_record_from_json(exchange));
  }
  return file;
}

ResultsFile read_results(const std::filesystem::path& path) {
  return results_from_json(read_json(path), path.string());
}

std::string results_text(const ResultsFile& file) { return json_text(to_json(file)) + "\n"; }

void write_results(const std::filesystem::path& path, const ResultsFile& file) {
  write_atomically(path, results_text(file));
}

std::map<std::string, std::string> recorded_environment(const char* const* environment) {
  std::map<std::string, std::string> recorded;
  for (; *environment; ++environment) {
    const std::string_view entry = *environment;
    const std::size_t equals = entry.find('=');
    if (equals != std::string_view::npos && is_recorded(entry.substr(0, equals))) {
      recorded.emplace(entry.substr(0, equals), entry.substr(equals + 1));
    }
  }
  return recorded;
}

}  // namespace parabench::results
