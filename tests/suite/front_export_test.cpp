// export: a results file in the formats of other programs.
#include "base/file.h"
#include "tests/suite/front_fixture.h"

namespace parabench::suite {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

using ExportTest = FrontTest;

TEST_F(ExportTest, EveryFormatGoesToStandardOutput) {
  ASSERT_EQ(run({"run", gpipe, pipedream, "--json", "results.json"}).code, 0);
  const std::size_t launched = launches().size();
  const Outcome csv = run({"export", "results.json"});
  EXPECT_EQ(csv.code, 0);
  EXPECT_THAT(csv.out, StartsWith("file,id,model,dataset,strategy,np,batch,"));
  EXPECT_EQ(std::ranges::count(csv.out, '\n'), 3);
  EXPECT_EQ(run({"export", "results.json", "--format", "csv"}).out, csv.out);
  const Outcome metrics = run({"export", "results.json", "--format", "openmetrics"});
  EXPECT_EQ(metrics.code, 0);
  EXPECT_THAT(metrics.out, EndsWith("# EOF\n"));
  EXPECT_THAT(metrics.out, HasSubstr("parabench_step_time_median_seconds{id=\"" + gpipe + "\""));
  const Outcome log = run({"export", "results.json", "--format", "mllog"});
  EXPECT_EQ(log.code, 0);
  EXPECT_THAT(log.out, StartsWith(":::MLLOG {\"namespace\":\"\",\"time_ms\":"));
  EXPECT_EQ(launches().size(), launched) << "no rank is started";
}

TEST_F(ExportTest, BadInputIsNamed) {
  write_atomically(path("other.json"), R"({"some": "document"})");
  EXPECT_EQ(run({"export", "other.json"}).code, 2);
  EXPECT_THAT(run({"export", "absent.json"}).err, HasSubstr("absent.json"));
  EXPECT_THAT(run({"export", "other.json", "--format", "cvs"}).err, HasSubstr("did you mean 'csv'?"));
}

}  // namespace
}  // namespace parabench::suite
