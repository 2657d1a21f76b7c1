// What a user can get wrong: message with value, expectation and hint; exit code; nothing started.
#include <fstream>

#include "base/file.h"
#include "tests/suite/front_fixture.h"

namespace parabench::suite {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

using BadInputTest = FrontTest;

TEST_F(BadInputTest, UnknownNamesGetTheNearestSpelling) {
  const auto expect_hint = [&](const std::string& id, const std::string& hint) {
    const Outcome outcome = run({"run", id});
    EXPECT_EQ(outcome.code, 2) << id;
    EXPECT_THAT(outcome.err, HasSubstr("did you mean '" + hint + "'?")) << id;
  };
  expect_hint("resnet19/cifar10-synthetic/gpipe/np:2/batch:8", "resnet18");
  expect_hint("resnet18/cifar-synthetic/gpipe/np:2/batch:8", "cifar10-synthetic");
  expect_hint("resnet18/cifar10-synthetic/gpip/np:2/batch:8", "gpipe");
  expect_hint("resnet18/cifar10-synthetic/gpipe/np:2/batch:8/mikro:2", "micro");
  EXPECT_EQ(count_launches("measure"), 0);
}

TEST_F(BadInputTest, UnknownCommandsAndOptionsGetTheNearestSpelling) {
  EXPECT_THAT(run({"rnu"}).err, HasSubstr("did you mean 'run'?"));
  EXPECT_THAT(run({"--versoin"}).err, HasSubstr("did you mean '--version'?"));
  EXPECT_THAT(run({"run", sequential, "--stpes", "3"}).err, HasSubstr("did you mean '--steps'?"));
  EXPECT_THAT(run({"plan", sequential, "--format", "jsn"}).err, HasSubstr("did you mean 'json'?"));
  EXPECT_EQ(run({"list", "--benchmark_filter=x"}).code, 2);
  EXPECT_THAT(run({"zzzzzzzz"}).err, HasSubstr("command: got 'zzzzzzzz', expected one of list, run, quick, predict"));
  EXPECT_EQ(run({"zzzzzzzz"}).code, 2);
  EXPECT_THAT(run({"plan", sequential, "more"}).err, AllOf(HasSubstr("'more'"), HasSubstr("no further word")));
  EXPECT_THAT(run({"plan"}).err, HasSubstr("got 'plan', expected CASE after it"));
  EXPECT_EQ(run({"validate"}).code, 2);
}

TEST_F(BadInputTest, ValuesAreChecked) {
  const auto expect_refused = [&](std::vector<std::string> words, const std::string& part) {
    const Outcome outcome = run(words);
    EXPECT_EQ(outcome.code, 2) << part;
    EXPECT_THAT(outcome.err, HasSubstr(part));
  };
  expect_refused({"run", sequential, "--steps", "0"}, "'0'");
  expect_refused({"run", sequential, "--warmup", "two"}, "'two'");
  expect_refused({"run", sequential, "--timeout", "5 parsecs"}, "'5 parsecs'");
  expect_refused({"run", sequential, "--verify", "of"}, "'of'");
  expect_refused({"run", sequential, "--data", "no-such-folder"}, "no-such-folder");
  expect_refused({"run", sequential, "--benchmark_min_time=3"}, "--steps");
  expect_refused({"run", sequential, "--json", "-", "--benchmark_format=json"}, "one owner of stdout");
  expect_refused({"run"}, "--filter");
  expect_refused({"run", sequential, "--steps", "99999999999"}, "an integer from 1 to 2147483647");
  expect_refused({"calibrate", sequential, "--device", "emulated"}, "try --device cpu");
  expect_refused({"plan", gpipe + "/memory:8GB"}, "memory: got '8GB'");
  expect_refused({"run", gpipe + "/sync_bn:on"}, "or take data-parallel, horovod, dear, zero1, zero2 or zero3");
  expect_refused({"run", "vgg11/cifar10-synthetic/data-parallel/np:2/batch:8/sync_bn:on"},
                 "sync_bn: got 'on', expected off for vgg11, which has no batch norms");
  expect_refused({"run", small + "data-parallel/np:1/batch:8/sync_bn:on"}, "off with np:1");
  expect_refused({"plan", small + "parameter-server[mode=backup]/np:2/batch:8"}, "2 workers or more with mode=backup");
  expect_refused({"plan", gpipe + "/partition:memory/memory:8kB"}, "memory: got '8kB'");
  expect_refused({"plan", small + "pipedream[replicas=auto]/np:2/batch:8/partition:memory/memory:8kB"},
                 "memory: got '8kB'");
  expect_refused({"list", "--where", "strategy=gpip"}, "--where strategy: got 'gpip'");
}

TEST_F(BadInputTest, ParametersOfServersAndOfCopiesThatTrainApartAreChecked) {
  const auto expect_refused = [&](const std::string& rest, const std::string& got, const std::string& expected) {
    const Outcome outcome = run({"run", small + rest + "/batch:8"});
    EXPECT_EQ(outcome.code, 2) << rest;
    EXPECT_THAT(outcome.err, AllOf(HasSubstr("got '" + got + "'"), HasSubstr(expected))) << rest;
  };
  expect_refused("parameter-server/np:1", "1", "try np:2");
  expect_refused("parameter-server[servers=3]/np:3", "3", "try np:4");
  expect_refused("parameter-server[servers=none]/np:3", "none", "fewer than np");
  expect_refused("parameter-server[mode=asinc]/np:3", "asinc", "did you mean 'async'?");
  expect_refused("parameter-server[cut=tensor]/np:3", "tensor", "did you mean 'tensors'?");
  expect_refused("parameter-server[servers=2,cut=tensors,mode=backup]/np:4", "backup", "try cut=layers or servers=1");
  expect_refused("parameter-server[servers=99]/np:120", "99", "try cut=tensors");
  expect_refused("parameter-server[mode=stale,k=0]/np:3", "0", "from 1 to 16");
  expect_refused("parameter-server[mode=stale,k=17]/np:3", "17", "from 1 to 16");
  expect_refused("parameter-server[mode=async,k=2]/np:3", "2", "mode=stale or mode=backup beside it");
  expect_refused("parameter-server[k=2]/np:3", "2", "leave k out");
  expect_refused("parameter-server[mode=backup,k=2]/np:3", "2", "fewer than the 2 workers");
  expect_refused("parameter-server[mode=backup,k=-1]/np:3", "-1", "from 0 on");
  expect_refused("parameter-server[mode=backup]/np:4", "8", "a multiple of the 3 workers");
  expect_refused("parameter-server[mode=backup]/np:3/executor:futurized", "futurized", "what comes first");
  expect_refused("local-sgd[every=0]/np:2", "0", "from 1 to 1000");
  expect_refused("local-sgd[outer=adam]/np:2", "adam", "none or nesterov");
  EXPECT_EQ(count_launches("measure"), 0);
}

TEST_F(BadInputTest, KeysOfSumsAndOfSharesAreChecked) {
  const auto expect_refused = [&](const std::string& rest, const std::string& got, const std::string& expected) {
    const Outcome outcome = run({"run", "mlp[layers=4,hidden=16]/cifar10-synthetic/" + rest});
    EXPECT_EQ(outcome.code, 2) << rest;
    EXPECT_THAT(outcome.err, AllOf(HasSubstr("got '" + got + "'"), HasSubstr(expected))) << rest;
  };
  const std::string copies = "data-parallel/np:2/batch:8/compress:";
  expect_refused(copies + "topk[ratio=0]", "0", "a number > 0 and <= 1");
  expect_refused(copies + "topk[ratio=2]", "2", "a number > 0 and <= 1");
  expect_refused(copies + "powersgd[rank=0]", "0", "an integer from 1 to");
  // 16 x 3072 is factored up to (16 + 3072) 2 rank < 16 x 3072.
  expect_refused(copies + "powersgd[rank=8]", "8", "at most 7, with which a matrix of mlp");
  expect_refused(copies + "powersgd[rank=8]", "8", "try rank=4");
  expect_refused("1f1b/np:2/batch:8/dp:2/zero:3", "3", "gathered for every forward and every backward");
  expect_refused("1f1b/np:2/batch:8/dp:2/zero:3", "3", "try zero:2, or the strategy zero3");
  expect_refused("1f1b/np:2/batch:8/dp:2/zero:4", "4", "0, 1, 2 or 3");
  expect_refused("zero3/np:4/batch:8/shard:3", "3", "a divisor of np, 4: 1, 2, 4");
  EXPECT_EQ(count_launches("measure"), 0);
}

TEST_F(BadInputTest, ANumberThatNoDoubleHoldsIsToldWithItsFileAndPlace) {
  std::ofstream(path("huge.json")) << R"({"x": 1e400})";
  std::ofstream(path("huge.toml")) << "name = \"x\"\n[slurm]\ntime = 1e400\n";
  const std::string byte = "huge.json: got '1e400 at byte 7'";
  const auto expect_refused = [&](const std::vector<std::string>& words, const std::string& part) {
    const Outcome outcome = run(words);
    EXPECT_EQ(outcome.code, 2) << words[0];
    EXPECT_THAT(outcome.err, HasSubstr(part));
  };
  expect_refused({"validate", "huge.json"}, byte);
  expect_refused({"report", "huge.json", "--out", "report"}, byte);
  expect_refused({"compare", "huge.json", "huge.json"}, byte);
  expect_refused({"export", "huge.json"}, byte);
  expect_refused({"predict", sequential, "--calibration", "huge.json"}, byte);
  expect_refused({"sweep", "huge.json", "--out", "runs"}, byte);
  expect_refused({"sweep", "huge.toml", "--out", "runs"}, "huge.toml: got 'line 3, column 13'");
}

TEST_F(BadInputTest, ImpossibleInItselfIsAnErrorWhenNamed) {
  const Outcome stages = run({"run", small + "gpipe/np:64/batch:256"});
  EXPECT_EQ(stages.code, 2);
  EXPECT_THAT(stages.err, HasSubstr("'64'"));
  const Outcome samples = run({"run", small + "gpipe/np:2/batch:3"});
  EXPECT_EQ(samples.code, 2);
  EXPECT_THAT(samples.err, HasSubstr("'3'"));
  EXPECT_EQ(run({"predict", small + "gpipe/np:2/batch:3"}).code, 2);
  EXPECT_EQ(run({"plan", small + "gpipe/np:2/batch:3"}).code, 2);
}

TEST_F(BadInputTest, DataFromFilesNeedsTheirFolder) {
  for (const char* command : {"run", "calibrate"}) {
    const Outcome outcome = run({command, "resnet18/cifar10/sequential/np:1/batch:8"});
    EXPECT_EQ(outcome.code, 2) << command;
    EXPECT_THAT(outcome.err, AllOf(HasSubstr("--data"), HasSubstr("cifar10-synthetic"))) << command;
  }
}

TEST_F(BadInputTest, NothingMatchedHasItsOwnCode) {
  EXPECT_EQ(run({"run", "--filter", "resnet9999"}).code, 3);
  EXPECT_EQ(run({"list", "--where", "np=1024"}).code, 3);
  EXPECT_EQ(run({"run", sequential, "--benchmark_filter=resnet9999"}).code, 3);
}

TEST_F(BadInputTest, MissingLauncherSaysWhatToInstall) {
  std::filesystem::remove(path("bin/mpirun"));
  set("PATH", path("bin"));
  const Outcome outcome = run({"run", gpipe});
  EXPECT_EQ(outcome.code, 4);
  EXPECT_THAT(outcome.err, AllOf(HasSubstr("'mpirun'"), HasSubstr("openmpi-bin")));
  const Outcome custom = run({"run", gpipe, "--launcher", "my-launcher {np} {program}"});
  EXPECT_EQ(custom.code, 4);
  EXPECT_THAT(custom.err, HasSubstr("my-launcher"));
}

TEST_F(BadInputTest, LaunchersDoNotNest) {
  set("OMPI_COMM_WORLD_RANK", "0");
  const Outcome outcome = run({"run", gpipe});
  EXPECT_EQ(outcome.code, 2);
  EXPECT_THAT(outcome.err, HasSubstr("OMPI_COMM_WORLD_RANK"));
}

TEST_F(BadInputTest, ALauncherForOneProcessStartsNoTwo) {
  EXPECT_EQ(run({"run", gpipe, "--launcher", "local"}).code, 2);
  EXPECT_EQ(run({"calibrate", gpipe, "--launcher", "local"}).code, 2);
  EXPECT_EQ(launches().size(), 1U) << "the probe";
}

TEST_F(BadInputTest, MissingRankProgramSaysHowToBuildIt) {
  set("PARABENCH_RANK", path("nowhere"));
  const Outcome outcome = run({"run", gpipe});
  EXPECT_EQ(outcome.code, 4);
  EXPECT_THAT(outcome.err, HasSubstr("PARABENCH_RANK: got '" + path("nowhere").string()));
  without_rank_program();
  const Outcome unbuilt = run({"run", gpipe});
  EXPECT_EQ(unbuilt.code, 4);
  EXPECT_THAT(unbuilt.err, HasSubstr("type: PARABENCH_PRESET=default ./parabench doctor"));
}

TEST_F(BadInputTest, ARankProgramThatCannotStartIsTheEnvironmentsFault) {
  set("FAKE_RANK", "|probe|exit|-1");
  const Outcome outcome = run({"run", gpipe});
  EXPECT_EQ(outcome.code, 4);
  EXPECT_THAT(outcome.err, HasSubstr("last words of the launch"));
}

TEST_F(BadInputTest, UnwritableOutputIsFoundBeforeAnythingRuns) {
  for (const char* option : {"--json", "--benchmark_out", "--trace"}) {
    std::ofstream(path("file")) << "text";
    const std::string value = path("file/out.json");
    const bool flag = std::string(option) == "--benchmark_out";
    const auto words = flag ? std::vector<std::string>{"run", gpipe, "--benchmark_out=" + value}
                            : std::vector<std::string>{"run", gpipe, option, value};
    const Outcome outcome = run(words);
    EXPECT_EQ(outcome.code, 2) << option;
    EXPECT_THAT(outcome.err, HasSubstr(value)) << option;
  }
  EXPECT_TRUE(launches().empty());
}

TEST_F(BadInputTest, TruncatedAndForeignCalibrationsAreNamed) {
  std::ofstream(path("half.json")) << R"({"machine": {"id": "abc)";
  std::ofstream(path("other.json")) << R"({"some": "document"})";
  for (const char* name : {"half.json", "other.json"}) {
    for (const char* command : {"run", "predict"}) {
      const Outcome outcome = run({command, gpipe, "--calibration", name});
      EXPECT_EQ(outcome.code, 2) << name << ' ' << command;
      EXPECT_THAT(outcome.err, HasSubstr(name));
    }
  }
}

const std::string perceptron = "mlp[layers=8]/cifar10-synthetic/sequential/np:1/batch:8";
const std::vector<std::string> advise_on_perceptron = {
    "advise", "--model", "mlp[layers=8]", "--dataset", "cifar10-synthetic", "--np", "1", "--batch", "8"};

TEST_F(BadInputTest, ACalibrationOfAnotherMachinePredictsThatOneAndDoesNotRun) {
  ASSERT_EQ(run({"calibrate", gpipe, "--out", "mine.json"}).code, 0);
  nlohmann::json calibration = results("mine.json");
  nlohmann::json& machine = calibration["machine"];
  machine["id"] = "another";
  machine["host"] = "node7";
  machine["cpu"] = "Fast CPU";
  machine["frequency_hz"] = 1e12;
  write_atomically(path("theirs.json"), calibration.dump());
  for (std::vector<std::string> words : {std::vector<std::string>{"run", gpipe}, {"communicate", "--sizes", "4KiB"}}) {
    words.insert(words.end(), {"--calibration", "theirs.json"});
    const Outcome outcome = run(words);
    EXPECT_EQ(outcome.code, 2) << words.front();
    EXPECT_THAT(outcome.err, HasSubstr("another")) << words.front();
  }

  const auto told = HasSubstr("predictions are for node7 (Fast CPU), whose calibration this is");
  const std::vector<std::vector<std::string>> commands = {
      {"predict", gpipe}, {"plan", gpipe}, {"list", gpipe}, advise_on_perceptron};
  for (std::vector<std::string> words : commands) {
    words.insert(words.end(), {"--calibration", "theirs.json"});
    const Outcome theirs = run(words);
    EXPECT_EQ(theirs.code, 0) << theirs.err;
    EXPECT_THAT(theirs.err, told) << words.front();
    words.back() = "mine.json";
    EXPECT_THAT(run(words).err, Not(HasSubstr("predictions are for"))) << words.front();
  }
  // What the file lacks is of that machine's data sheet, too.
  const auto predicted_s = [&](const std::string& file) {
    const Outcome lacking = run({"predict", gpipe + "/threads:2", "--json", "--calibration", file});
    EXPECT_THAT(lacking.err, HasSubstr("the data sheet predicts"));
    return nlohmann::json::parse(lacking.out)[0]["predicted"]["step_time_s"].get<double>();
  };
  EXPECT_LT(predicted_s("theirs.json"), predicted_s("mine.json"));
}

TEST_F(BadInputTest, ACalibrationOfLongAgoOrOfOtherSoftwareIsTold) {
  ASSERT_EQ(run({"calibrate", gpipe, perceptron, "--out", "mine.json"}).code, 0);
  nlohmann::json calibration = results("mine.json");
  EXPECT_THAT(calibration["launches"][0]["software"].get<std::string>(),
              AllOf(HasSubstr("parabench "), HasSubstr(" with LibTorch ")));
  const std::vector<std::vector<std::string>> commands = {{"predict", gpipe},
                                                          {"plan", gpipe, "--cost", "calibrated"},
                                                          {"run", gpipe, "--json", "results.json"},
                                                          advise_on_perceptron};
  const auto expect_note = [&](const std::string& date, const std::string& by, const std::string& note) {
    for (nlohmann::json& launch : calibration["launches"]) {
      launch["date"] = date;
      launch["software"] = by;
    }
    write_atomically(path("old.json"), calibration.dump());
    for (std::vector<std::string> words : commands) {
      words.insert(words.end(), {"--calibration", "old.json"});
      EXPECT_THAT(run(words).err, HasSubstr(note)) << words.front();
    }
  };
  expect_note("2020-01-01T00:00:00Z", "", "calibrated last more than 30 days ago, on 2020-01-01T00:00:00Z");
  expect_note("2999-01-01T00:00:00Z", "parabench 0.0", "2 of 2 launches of the calibration are by parabench 0.0");
}

TEST_F(BadInputTest, AFileThatHoldsNoResultsIsNotReplaced) {
  write_atomically(path("precious.toml"), "name = 'mine'\n");
  const Outcome refused = run({"run", gpipe, "--json", "precious.toml"});
  EXPECT_EQ(refused.code, 2);
  EXPECT_THAT(refused.err, HasSubstr("'precious.toml', expected a new file, or one with results"));
  EXPECT_EQ(read_text(path("precious.toml")), "name = 'mine'\n");
}

}  // namespace
}  // namespace parabench::suite
