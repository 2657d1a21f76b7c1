// Runs the front program with a stand-in for parabench-rank and for mpirun.
#pragma once

#include <gmock/gmock.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "suite/launch/launch.h"

namespace parabench::suite {

inline const std::string small = "resnet18/imagenet-synthetic[pixels=32,classes=10]/";
inline const std::string sequential = small + "sequential/np:1/batch:8";
inline const std::string gpipe = small + "gpipe/np:2/batch:8";
inline const std::string pipedream = small + "pipedream/np:2/batch:8";

struct Outcome {
  int code = 0;
  std::string out, err;
};

class FrontTest : public testing::Test {
 protected:
  FrontTest();
  ~FrontTest() override;

  /// A test of a program beside which no parabench-rank lies, as in a build of the preset pure.
  void without_rank_program();
  /// Runs `parabench words...` in the scratch folder.
  Outcome run(const std::vector<std::string>& words);
  /// Starts it, waits until a launch whose log line begins with `log_line` has begun, sends `signal` as many `times`,
  /// and waits for its end.
  Outcome run_and_signal(const std::vector<std::string>& words, const std::string& log_line, int signal, int times = 1);
  /// Sets a variable until the test's end.
  void set(const std::string& variable, const std::string& value);

  std::filesystem::path path(const std::string& name) const { return scratch_.path() / name; }
  /// One line per launch of the stand-in: "PHASE ID ARGUMENTS".
  std::vector<std::string> launches() const;
  int count_launches(const std::string& beginning) const;
  nlohmann::json results(const std::string& name = "results.json") const;
  /// Processes that still carry this test's scratch folder in their command line.
  int left_running() const;
  /// Waits for a process that writes into the files "out" and "err".
  Outcome finish(pid_t pid);

 private:
  pid_t start(const std::vector<std::string>& words);

  ScratchFolder scratch_;
  std::filesystem::path program_;
  std::vector<std::pair<std::string, std::string>> saved_;
};

}  // namespace parabench::suite
