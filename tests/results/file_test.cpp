#include "results/file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/case_key.h"
#include "base/error.h"
#include "base/file.h"
#include "results/validate.h"
#include "tests/results/samples.h"

namespace parabench::results {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;

std::string complaint(const nlohmann::json& document) {
  try {
    results_from_json(document);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::usage);
    return error.what();
  }
  return "no complaint";
}

TEST(ResultsFile, SurvivesTheRoundTrip) {
  for (const ResultsFile& file : sample_files()) {
    const ResultsFile again = results_from_json(nlohmann::json::parse(results_text(file)));
    EXPECT_EQ(again.program, file.program);
    EXPECT_EQ(again.context, file.context);
    EXPECT_EQ(again.calibration, file.calibration);
    EXPECT_EQ(results_text(again), results_text(file));
  }
}

TEST(ResultsFile, IsWrittenAndReadAsAFile) {
  const auto path = std::filesystem::path(testing::TempDir()) / "parabench-results-file-test.json";
  write_results(path, sample_files()[0]);
  EXPECT_THAT(validate_results(read_json(path)), IsEmpty());
  EXPECT_EQ(results_text(read_results(path)), results_text(sample_files()[0]));
  std::filesystem::remove(path);
}

TEST(ResultsFile, StaysJsonWhereTheMachineIsNotUtf8) {
  ResultsFile file = sample_files()[0];
  file.context.argv = {"parabench", "\xff\xfe"};
  EXPECT_THAT(validate_results(nlohmann::json::parse(results_text(file))), IsEmpty());
}

TEST(ResultsFile, RefusesAnotherVersionOfTheFormat) {
  nlohmann::json newer = to_json(sample_files()[0]);
  newer["schema_version"] = "2.0";
  newer["surprise"] = true;
  EXPECT_THAT(complaint(newer), HasSubstr("\"2.0\""));
  newer["format"] = "parabench calibration";
  EXPECT_THAT(complaint(newer), AllOf(HasSubstr("got 'parabench calibration'"), HasSubstr("of another kind")));
}

TEST(ResultsFile, ReadsTheVersionsBefore) {
  nlohmann::json older = to_json(sample_files()[0]);
  EXPECT_EQ(older["schema_version"], results_schema_version);
  for (nlohmann::json& record : older["records"]) {
    record["equivalence"].erase("reference_batch");
    for (const CaseKey& key : case_keys())
      if (key.since != KeyDeclaration{}.since) record["parameters"].erase(std::string(key.name));
  }
  for (nlohmann::json& rank : older["records"][0]["measured"]["ranks"]) {
    rank.erase("arithmetic");
    rank.erase("bus_bandwidth_bytes_per_s");
  }
  for (nlohmann::json& exchange : older["exchanges"])
    for (const char* newer : {"mpi_settings", "canary"}) exchange.erase(newer);
  for (const nlohmann::json& version : results_schema().at("properties").at("schema_version").at("enum")) {
    older["schema_version"] = version;
    EXPECT_EQ(complaint(older), "no complaint") << version;
  }
  EXPECT_THAT(results_from_json(older).exchanges.at(0).canaries, IsEmpty());
}

TEST(ResultsFile, RefusesForeignDocuments) {
  for (const char* text : {"[]", "{}", "null", R"({"schema_version": "1.0"})", R"({"benchmarks": []})"}) {
    EXPECT_NE(complaint(nlohmann::json::parse(text)), "no complaint") << text;
  }
}

TEST(Environment, KeepsTheFamiliesThatMatterAndNoSecrets) {
  const char* const environment[] = {"HOME=/root",
                                     "OMP_NUM_THREADS=2",
                                     "OMPI_MCA_btl=self,vader",
                                     "SLURM_JWT=eyJhbGci",
                                     "SLURM_NTASKS=4",
                                     "PARABENCH_API_TOKEN=x",
                                     "TORCH_HUB_API_KEY=x",
                                     "MALLOC_ARENA_MAX=",
                                     "AWS_SECRET_ACCESS_KEY=x",
                                     "NCCL_DEBUG=A=B",
                                     "BROKEN",
                                     nullptr};
  EXPECT_THAT(recorded_environment(environment),
              ElementsAre(Pair("MALLOC_ARENA_MAX", ""), Pair("NCCL_DEBUG", "A=B"), Pair("OMPI_MCA_btl", "self,vader"),
                          Pair("OMP_NUM_THREADS", "2"), Pair("SLURM_NTASKS", "4")));
}

}  // namespace
}  // namespace parabench::results
