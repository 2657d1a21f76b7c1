// Commands that need no ranks, and calibrate.
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <numbers>

#include "base/case_id.h"
#include "base/file.h"
#include "parallelism/plan/formats/read_json.h"
#include "tests/suite/front_fixture.h"

namespace parabench::suite {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

using CommandsTest = FrontTest;

TEST_F(CommandsTest, EveryCommandHasHelpWithAnExample) {
  for (const std::string name : {"list", "run", "quick", "predict", "plan", "calibrate", "communicate", "doctor",
                                 "compare", "export", "report", "validate", "validate-model", "completion"}) {
    const Outcome outcome = run({name, "--help"});
    EXPECT_EQ(outcome.code, 0) << name;
    EXPECT_THAT(outcome.out,
                AllOf(HasSubstr("Example:\n  parabench " + name), HasSubstr("Usage: parabench " + name + " [OPTIONS]")))
        << name;
  }
  EXPECT_THAT(run({"--help"}).out, HasSubstr("validate"));
  EXPECT_THAT(run({"--version"}).out, testing::StartsWith("parabench "));
}

TEST_F(CommandsTest, WhatToTypeIsWhatWasTyped) {
  set("PARABENCH_CALLED", "./parabench");
  EXPECT_THAT(run({"list", "--help"}).out,
              AllOf(HasSubstr("Usage: ./parabench list [OPTIONS]"), HasSubstr("  ./parabench list --strategies\n")));
  EXPECT_THAT(run({"list", gpipe}).out, HasSubstr("not measured: ./parabench calibrate CASE\n"));
  EXPECT_THAT(run({"plan"}).err, HasSubstr("try ./parabench plan --help"));
  EXPECT_THAT(run({"calibrate", gpipe, "--no-such"}).err, HasSubstr("an option of ./parabench calibrate"));
}

TEST_F(CommandsTest, ListShowsSizeRanksAndMarkedPrediction) {
  const Outcome outcome = run({"list", "--filter", "gpipe", "--where", "model=resnet50,np=4"});
  EXPECT_EQ(outcome.code, 0);
  EXPECT_THAT(outcome.out, AllOf(HasSubstr("25.56 M"), HasSubstr("resnet50/imagenet-synthetic/gpipe/np:4/batch:32"),
                                 HasSubstr("~"), HasSubstr("parabench calibrate"), Not(HasSubstr("resnet18"))));
}

TEST_F(CommandsTest, ListAsJsonIsTyped) {
  const auto lines = nlohmann::json::parse(run({"list", gpipe, "--json"}).out);
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_EQ(lines[0]["id"], gpipe);
  EXPECT_EQ(lines[0]["ranks"], 2);
  EXPECT_EQ(lines[0]["parameters"]["micro"], 4);
  EXPECT_EQ(lines[0]["model_parameters"], 11181642);
  EXPECT_EQ(lines[0]["predicted"]["cost_source"], "data-sheet");
  EXPECT_GT(lines[0]["predicted"]["step_time_s"], 0);
  EXPECT_GT(lines[0]["predicted"]["peak_memory_bytes"], lines[0]["predicted"]["peak_memory_bytes_per_rank"]);
}

TEST_F(CommandsTest, ListAndPredictSayTheSame) {
  const std::string cases = "^resnet18/cifar10-synthetic/.*/np:4/batch:64(/micro:[0-9]+)?$";
  const auto first = nlohmann::json::parse(run({"list", "--filter", cases, "--json"}).out);
  EXPECT_EQ(nlohmann::json::parse(run({"list", "--filter", cases, "--json"}).out), first) << "kept lines";
  std::vector<std::string> words = {"predict", "--json"};
  for (const auto& line : first) words.push_back(line["id"]);
  const auto predicted = nlohmann::json::parse(run(words).out);
  ASSERT_EQ(predicted.size(), first.size());
  EXPECT_GT(first.size(), 10u);
  for (std::size_t i = 0; i < first.size(); ++i)
    EXPECT_EQ(first[i]["predicted"]["step_time_s"], predicted[i]["predicted"]["step_time_s"]) << first[i]["id"];
}

TEST_F(CommandsTest, ListIsTheSameWithoutItsKeptLines) {
  set("XDG_CACHE_HOME", path("cache"));
  const std::vector<std::string> words = {"list", "--where", "model=mlp,np<=2"};
  const std::string first = run(words).out;
  int kept = 0;
  for (const auto& entry : std::filesystem::directory_iterator(path("cache") / "parabench")) {
    kept += entry.path().filename().string().starts_with("list-") ? 1 : 0;
    std::filesystem::resize_file(entry.path(), entry.file_size() / 2);
  }
  EXPECT_EQ(kept, 1);
  EXPECT_EQ(run(words).out, first) << "damaged";
  EXPECT_EQ(run(words).out, first) << "written anew";
  set("XDG_CACHE_HOME", "/proc/none");
  const Outcome without = run(words);
  EXPECT_EQ(without.out, first) << "nowhere to keep them";
  EXPECT_EQ(without.err, "");
}

TEST_F(CommandsTest, TheWholeCatalogueIsPossible) {
  const Outcome outcome = run({"list"});
  EXPECT_EQ(outcome.code, 0);
  EXPECT_THAT(outcome.out, Not(HasSubstr("impossible")));
}

TEST_F(CommandsTest, ListShowsTheGridOnGpusWhereItIsAskedFor) {
  const Outcome outcome = run({"list", "--where", "device=cuda,np=2"});
  EXPECT_EQ(outcome.code, 0);
  EXPECT_THAT(outcome.out, AllOf(HasSubstr("resnet50/cifar10-synthetic/gpipe/np:2/batch:64/device:cuda\n"),
                                 Not(HasSubstr("batch:64\n"))));
}

TEST_F(CommandsTest, PredictShowsEveryTermWithItsOrigin) {
  const Outcome outcome = run({"predict", gpipe});
  EXPECT_EQ(outcome.code, 0);
  EXPECT_THAT(outcome.out,
              AllOf(HasSubstr("step time"), HasSubstr("terms"), HasSubstr("data-sheet"), HasSubstr("bubble")));
  EXPECT_THAT(outcome.err, HasSubstr("data sheet"));
  EXPECT_THAT(outcome.out, Not(HasSubstr(" ms to ")));  // the data sheet knows of no interval
  const auto predictions = nlohmann::json::parse(run({"predict", gpipe, sequential, "--json"}).out);
  ASSERT_EQ(predictions.size(), 2u);
  EXPECT_EQ(predictions[1]["id"], sequential);
  EXPECT_FALSE(predictions[0]["predicted"]["terms"].empty());
}

TEST_F(CommandsTest, PlanTextIsTheNotationOfTheGoldenStrings) {
  EXPECT_EQ(run({"plan", small + "gpipe/np:2/batch:8/micro:2", "--format", "text"}).out,
            "p0 F0 F1 B0 B1\np1 F0 F1 B0 B1\n");
}

TEST_F(CommandsTest, PlanGridSaysItsBubble) {
  // F 1, B 2 per micro-batch on two ranks, four micro-batches: 12 of 15 units are busy.
  EXPECT_THAT(run({"plan", gpipe}).out, HasSubstr("bubble 20.0 % isolated, 20.0 % steady (unit costs)"));
}

TEST_F(CommandsTest, PlanJsonIsThePlanFile) {
  for (const auto& id : {gpipe, pipedream, sequential}) {
    const auto document = nlohmann::json::parse(run({"plan", id, "--format", "json"}).out);
    EXPECT_EQ(to_id(plan::plan_from_json(document).spec), id);
    EXPECT_GT(document["makespan"], 0);
    EXPECT_TRUE(document.contains("bubble_fraction"));
    EXPECT_EQ(document.contains("steady_step"), id != pipedream);
    EXPECT_EQ(document.contains("steady_bubble_fraction"), id != pipedream);
    EXPECT_TRUE(document["ranks"][0]["lanes"]["compute"][0].contains("end"));
  }
}

TEST_F(CommandsTest, PlanWindowOfAnAsynchronousStrategyIsWarmupPlusSteps) {
  const auto document =
      nlohmann::json::parse(run({"plan", pipedream, "--format", "json", "--steps", "4", "--warmup", "2"}).out);
  EXPECT_EQ(plan::plan_from_json(document).steps, 6);
}

TEST_F(CommandsTest, PlanCsvAndTraceAreWellFormed) {
  EXPECT_THAT(run({"plan", gpipe, "--format", "csv"}).out, HasSubstr("0F0,"));
  const auto trace = nlohmann::json::parse(run({"plan", gpipe, "--format", "trace", "--cost", "calibrated"}).out);
  EXPECT_FALSE(trace.empty());
}

TEST_F(CommandsTest, CalibrateAddsToTheFileAndPredictionsUseIt) {
  const Outcome outcome = run({"calibrate", gpipe, pipedream, "--out", "calibration.json"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("calibration.json"));
  EXPECT_EQ(results("calibration.json")["machine"]["host"], analytic::this_machine().host);
  const auto predicted =
      nlohmann::json::parse(run({"predict", gpipe, "--json", "--calibration", "calibration.json"}).out);
  EXPECT_EQ(predicted[0]["cost_source"], "calibrated");
  const auto plan = run({"plan", gpipe, "--cost", "calibrated", "--calibration", "calibration.json"});
  EXPECT_THAT(plan.out, HasSubstr("calibrated costs"));
  const auto other = run({"predict", gpipe + "/threads:2", "--calibration", "calibration.json"});
  EXPECT_THAT(other.err, AllOf(HasSubstr("the data sheet predicts, since the calibration lacks something"),
                               HasSubstr("threads:2")));
  // Measured anew, once for what several cases share.
  EXPECT_EQ(count_launches("calibrate"), 2);
  EXPECT_EQ(run({"calibrate", gpipe, "--out", "calibration.json"}).code, 0);
  EXPECT_EQ(count_launches("calibrate"), 3);
}

TEST_F(CommandsTest, CalibrateMeasuresAgainWhereThePlannerThenWantsOtherGroups) {
  const std::string planned = "mlp[layers=4]/cifar10-synthetic/pipedream[replicas=auto]/np:4/batch:12";
  const Outcome outcome = run({"calibrate", planned, "--out", "c.json"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(count_launches("calibrate"), 2);
  EXPECT_THAT(outcome.err, HasSubstr(planned + ": what was measured changes its plan"));
  const auto predicted = nlohmann::json::parse(run({"predict", planned, "--json", "--calibration", "c.json"}).out);
  EXPECT_EQ(predicted[0]["cost_source"], "calibrated");
  EXPECT_EQ(run({"run", planned, "--calibration", "c.json", "--verify", "off"}).code, 0);
  EXPECT_EQ(count_launches("calibrate"), 2) << "nothing is missing any more";
}

TEST_F(CommandsTest, ADisturbedCalibrationLaunchIsTold) {
  const std::string disturbed = "this calibration launch was disturbed, its matrix product took 10.0 ms";
  EXPECT_THAT(run({"calibrate", gpipe, "--out", "c.json"}).err, Not(HasSubstr("disturbed")));
  set("FAKE_RANK", "gpipe|calibrate|disturbed|0");
  const Outcome again = run({"calibrate", gpipe, "--out", "c.json"});
  EXPECT_EQ(again.code, 0);
  EXPECT_THAT(again.err, AllOf(HasSubstr("note: " + gpipe + ": " + disturbed), HasSubstr("on a quiet machine")));
  // A run that measures first, where the file lacks the case's layers for so many samples.
  EXPECT_THAT(run({"run", small + "gpipe/np:2/batch:64", "--calibration", "c.json"}).err, HasSubstr(disturbed));
}

TEST_F(CommandsTest, ADisturbedFirstLaunchIsToldOnceAnotherOneIsThere) {
  set("FAKE_RANK", "gpipe|calibrate|disturbed|0");
  ASSERT_EQ(run({"calibrate", gpipe, "--out", "c.json"}).code, 0);
  const std::string told = "1 of 2 launches of the calibration was disturbed (of ";
  const std::vector<std::string> predict = {"predict", gpipe, "--calibration", "c.json"};
  EXPECT_THAT(run(predict).err, Not(HasSubstr("disturbed"))) << "alone nothing tells";
  set("FAKE_RANK", "");
  ASSERT_EQ(run({"calibrate", gpipe, "--out", "c.json"}).code, 0);
  EXPECT_THAT(run(predict).err,
              AllOf(HasSubstr(told), HasSubstr("its matrix product took 10.0 ms"), HasSubstr("--fresh")));
  EXPECT_THAT(run({"run", gpipe, "--verify", "off", "--calibration", "c.json"}).err, HasSubstr(told));
}

TEST_F(CommandsTest, ResidentMemoryIsHeldAgainstThatOfTheHostWhereItIsPredicted) {
  ASSERT_EQ(run({"calibrate", gpipe, "--out", "c.json"}).code, 0);
  nlohmann::json file = results("c.json");
  file["launches"][0]["process_bytes"] = std::int64_t{1} << 50;
  std::ofstream(path("c.json")) << file;
  const Outcome refused = run({"run", gpipe, "--calibration", "c.json"});
  EXPECT_EQ(refused.code, 4);
  EXPECT_THAT(refused.out + refused.err, HasSubstr("predicted to need 2048 TiB of resident memory, this host has"));
}

TEST_F(CommandsTest, CalibrateAddsALaunchAndPredictionsAreOfAllOfThem) {
  const std::vector<std::string> calibrate = {"calibrate", gpipe, "--out", "c.json"};
  const auto prediction = [&] {
    return nlohmann::json::parse(run({"predict", gpipe, "--json", "--calibration", "c.json"}).out)[0]["predicted"];
  };
  EXPECT_THAT(run(calibrate).out, HasSubstr("  " + gpipe + ": first launch of these layers ("));
  const auto one = prediction();
  EXPECT_EQ(one["calibrated_by"]["launches"], 1);
  EXPECT_EQ(one["calibrated_by"]["spread_relative"], nullptr);
  EXPECT_THAT(run({"predict", gpipe, "--calibration", "c.json"}).out,
              HasSubstr("terms, of one launch: the spread is unknown\n"));

  set("FAKE_RANK", "gpipe|calibrate|drifted|0");
  const Outcome again = run(calibrate);
  // Of 1 and 1.25 the standard deviation is 0.177, their median 1.125.
  EXPECT_THAT(again.out, AllOf(HasSubstr("2 launches, the last of 2026-01-02T00:00:00Z"),
                               HasSubstr(": launch 2 of these layers ("),
                               HasSubstr(", 25.0 % longer than their medians before; spread between launches 15.7 %")));
  EXPECT_EQ(results("c.json")["launches"].size(), 2u);
  const auto two = prediction();
  const double step = two["step_time_s"], spread = two["calibrated_by"]["spread_relative"];
  EXPECT_NEAR(step, 1.125 * one["step_time_s"].get<double>(), 1e-9);
  EXPECT_NEAR(spread, 0.25 / std::sqrt(2) / 1.125, 1e-9);
  EXPECT_NEAR(two["interval_s"][0], step * (1 - 1.96 * spread), 1e-9);
  EXPECT_NEAR(two["interval_s"][1], step * (1 + 1.96 * spread), 1e-9);
  EXPECT_EQ(two["calibrated_by"]["launches"], 2);
  EXPECT_NEAR(two["canary_matrix_product_s"], 1.125e-4, 1e-12);
  EXPECT_THAT(run({"predict", gpipe, "--calibration", "c.json", "--what-if", "flops=x2"}).out,
              HasSubstr(", of 2 launches between 2026-01-01T00:00:00Z and 2026-01-02T00:00:00Z, spread 15.7 %\n"));

  // Of a single launch of the run, the noise is that between the calibration's.
  ASSERT_EQ(run({"run", gpipe, "--calibration", "c.json", "--json", "results.json"}).code, 0);
  const auto record = results()["records"][0];
  EXPECT_EQ(record["error"]["noise_floor_of"], "calibration");
  EXPECT_NEAR(
      record["error"]["noise_floor_relative"],
      std::sqrt(2 / std::numbers::pi) * spread * step / record["measured"]["step_time_s"]["median"].get<double>(),
      1e-6);
  EXPECT_EQ(run({"validate", "results.json"}).code, 0);
  EXPECT_EQ(count_launches("calibrate"), 2) << "a run measures what it lacks alone";
}

TEST_F(CommandsTest, CalibrateStartsTheFileOverWhereItIsTold) {
  ASSERT_EQ(run({"calibrate", gpipe, sequential, "--out", "c.json", "--launches", "3", "--pause", "1ms"}).code, 0);
  EXPECT_EQ(count_launches("calibrate " + gpipe), 3);
  EXPECT_EQ(results("c.json")["launches"].size(), 6u);
  const Outcome over = run({"calibrate", gpipe, "--out", "c.json", "--fresh", "--launches", "2"});
  EXPECT_THAT(over.out, AllOf(HasSubstr(": first launch of these layers"), HasSubstr(": launch 2 of these layers")));
  EXPECT_EQ(results("c.json")["launches"].size(), 2u);
  set("FAKE_RANK", "gpipe|calibrate|failure|0");
  EXPECT_EQ(run({"calibrate", gpipe, "--out", "c.json", "--fresh"}).code, 1);
  EXPECT_EQ(results("c.json")["launches"].size(), 2u) << "no launch takes their place";
  EXPECT_EQ(run({"calibrate", gpipe, "--launches", "0"}).code, 2);
  EXPECT_EQ(run({"calibrate", gpipe, "--pause", "soon"}).code, 2);
}

TEST_F(CommandsTest, CalibrateSaysWhichLaunchesNewerOnesReplace) {
  const Outcome outcome = run({"calibrate", gpipe, "--out", "c.json", "--launches", "10"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(results("c.json")["launches"].size(), 9u);
  EXPECT_THAT(outcome.out, HasSubstr("the launch of 2026-01-01T00:00:00Z is left out"));
}

TEST_F(CommandsTest, CalibrateOfADeviceThatIsNotThere) {
  EXPECT_EQ(run({"calibrate", small + "sequential/np:1/batch:8/device:cuda"}).code, 4);
  EXPECT_EQ(run({"calibrate", "--device", "cuda"}).code, 3);
  EXPECT_EQ(run({"calibrate", "--device", "gpu"}).code, 2);
}

TEST_F(CommandsTest, CalibrateReportsAFailedLaunch) {
  set("FAKE_RANK", "gpipe|calibrate|failure|0");
  const Outcome outcome = run({"calibrate", gpipe, sequential});
  EXPECT_EQ(outcome.code, 1);
  EXPECT_THAT(outcome.err, HasSubstr("told to fail"));
  EXPECT_EQ(count_launches("calibrate " + sequential), 1);
}

TEST_F(CommandsTest, ValidateNamesTheOffendingField) {
  ASSERT_EQ(run({"run", gpipe, "--json", "results.json"}).code, 0);
  EXPECT_EQ(run({"validate", "results.json"}).code, 0);
  auto document = results();
  document["records"][0]["measured"]["sync"] = "maybe";
  write_atomically(path("bad.json"), document.dump());
  const Outcome outcome = run({"validate", "bad.json"});
  EXPECT_EQ(outcome.code, 2);
  EXPECT_THAT(outcome.err, AllOf(HasSubstr("/records/0/measured/sync"), HasSubstr("maybe")));
  EXPECT_EQ(run({"validate", "absent.json"}).code, 2);
}

TEST_F(CommandsTest, DryRunPrintsCommandsThatRunByHand) {
  const Outcome outcome = run({"run", gpipe, "--dry-run", "--repetitions", "2", "--steps", "4"});
  EXPECT_EQ(outcome.code, 0);
  EXPECT_TRUE(launches().empty());
  EXPECT_THAT(outcome.out, AllOf(HasSubstr("mpirun -np 2 --bind-to none"), HasSubstr("--phase verify"),
                                 HasSubstr("--steps 4 --warmup")));
  write_atomically(path("script.sh"), "set -e\n" + outcome.out);
  ASSERT_EQ(std::system(("cd " + path("").string() + " && sh script.sh > script.log 2>&1").c_str()), 0);
  EXPECT_EQ(count_launches("calibrate"), 1);
  EXPECT_EQ(count_launches("verify"), 1);
  EXPECT_EQ(count_launches("measure"), 2);
  EXPECT_TRUE(std::filesystem::exists(path("reply-1-measure-2/reply.json")));
}

TEST_F(CommandsTest, AloneItPrintsItsHelp) {
  const Outcome alone = run({});
  EXPECT_EQ(alone.code, 0);
  EXPECT_THAT(alone.out, AllOf(HasSubstr("Usage: parabench"), HasSubstr("compare")));
  EXPECT_EQ(run({"help"}).out, alone.out);
  EXPECT_EQ(run({"help", "plan"}).out, run({"plan", "--help"}).out);
}

TEST_F(CommandsTest, CompletionKnowsCommandsOptionsAndTheirWords) {
  write_atomically(path("completion.sh"), run({"completion"}).out);
  const auto completed = [&](const std::string& words, int place) {
    const std::string script = "bash -c 'source " + path("completion.sh").string() + "; COMP_WORDS=(" + words +
                               "); COMP_CWORD=" + std::to_string(place) + "; _parabench; echo ${COMPREPLY[@]}' > " +
                               path("completed").string();
    EXPECT_EQ(std::system(script.c_str()), 0);
    return read_text(path("completed"));
  };
  EXPECT_EQ(completed("parabench p", 1), "predict plan\n");
  EXPECT_EQ(completed("parabench he", 1), "help\n");
  EXPECT_EQ(completed("parabench sweep st", 2), "status\n");
  EXPECT_EQ(completed("parabench sweep collect --j", 3), "--json\n");
  EXPECT_EQ(completed("parabench run --set qu", 3), "quick\n");
  EXPECT_EQ(completed("parabench run --veri", 2), "--verify\n");
  EXPECT_EQ(completed("parabench run --verify o", 3), "on off only\n");
}

}  // namespace
}  // namespace parabench::suite
