#include "tests/suite/sweep_fixture.h"

#include <fcntl.h>
#include <unistd.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "suite/launch/launcher.h"

namespace parabench::suite {

void SweepTest::write(const std::string& text, const std::string& name) { std::ofstream(path(name)) << text; }

Outcome SweepTest::make(const std::string& text, const std::string& scheduler) {
  write(text);
  return run({"sweep", "sweep.toml", "--scheduler", scheduler, "--out", "my runs"});
}

std::filesystem::path SweepTest::first_result() const {
  const std::string index = read_text(folder() / "index.tsv");
  return folder() / index.substr(0, index.find('\t')) / "result.json";
}

pid_t SweepTest::start_shell(const std::string& command) {
  const pid_t pid = fork();
  if (pid != 0) return pid;
  setpgid(0, 0);
  dup2(open(path("out").c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0666), 1);
  dup2(open(path("err").c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0666), 2);
  execl("/bin/sh", "sh", "-c", command.c_str(), nullptr);
  _exit(127);
}

Outcome SweepTest::run_local() { return shell(shell_line({"exec", "sh", folder() / "run.sh"})); }

nlohmann::json SweepTest::status() {
  return nlohmann::json::parse(run({"sweep", "status", "my runs", "--json"}).out)[0];
}

std::vector<std::string> SweepTest::states() {
  std::vector<std::string> states;
  const nlohmann::json now = status();
  for (const nlohmann::json& one : now["cases"]) states.push_back(one["state"]);
  return states;
}

}  // namespace parabench::suite
