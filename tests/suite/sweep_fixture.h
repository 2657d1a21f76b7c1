// Makes sweeps with the front program and runs their scripts with stand-ins for ranks.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <string>
#include <vector>

#include "tests/suite/front_fixture.h"

namespace parabench::suite {

/// A sweep of three cases that can run: sequential, gpipe and pipedream of front_fixture.h.
inline const std::string grid = R"(
name = "pipes"
system = "here"
cases = ["resnet18/imagenet-synthetic[pixels=32,classes=10]/sequential/np:1/batch:8"]
[grid]
model = "resnet18"
dataset = "imagenet-synthetic[pixels=32,classes=10]"
strategy = ["gpipe", "pipedream"]
np = 2
batch = 8
[run]
steps = 6
warmup = 1
verify = "off"
)";

class SweepTest : public FrontTest {
 protected:
  void write(const std::string& text, const std::string& name = "sweep.toml");
  /// Writes sweep.toml and makes scripts of it in "my runs".
  Outcome make(const std::string& text, const std::string& scheduler = "local");
  std::filesystem::path folder() const { return path("my runs/pipes/here"); }
  /// The results file of the first case of the index.
  std::filesystem::path first_result() const;
  /// Starts a command in a process group of its own, for finish().
  pid_t start_shell(const std::string& command);
  Outcome shell(const std::string& command) { return finish(start_shell(command)); }
  Outcome run_local();
  /// What `sweep status --json` says of the sweep.
  nlohmann::json status();
  std::vector<std::string> states();
};

}  // namespace parabench::suite
