// Writes documents for the agreement test of the two validators: one JSON object per line, {"document", "violations":
// [pointers]}, the second as our own validator sees the first.
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>

#include "results/validate.h"
#include "tests/results/samples.h"

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: write_schema_samples FILE\n";
    return 2;
  }
  std::ofstream out(argv[1]);
  const auto write = [&out](const nlohmann::json& document) {
    nlohmann::json pointers = nlohmann::json::array();
    for (const parabench::results::SchemaViolation& violation : parabench::results::validate_results(document)) {
      pointers.push_back(violation.pointer);
    }
    out << nlohmann::json{{"document", document}, {"violations", pointers}} << '\n';
  };
  for (const parabench::results::ResultsFile& file : parabench::results::sample_files()) {
    write(nlohmann::json::parse(parabench::results::results_text(file)));
  }
  const auto full = nlohmann::json::parse(parabench::results::results_text(parabench::results::sample_files().front()));
  for (const nlohmann::json& mutated : parabench::results::mutations(full)) write(mutated);
  return out.flush() ? 0 : 1;
}
