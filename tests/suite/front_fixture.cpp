#include "tests/suite/front_fixture.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <thread>

#include "base/file.h"
#include "suite/launch/process.h"

namespace parabench::suite {

namespace fs = std::filesystem;

FrontTest::FrontTest() : program_(PARABENCH_PROGRAM) {
  fs::create_directory(path("bin"));
  fs::create_symlink(FAKE_MPIRUN_SCRIPT, path("bin/mpirun"));
  set("PATH", path("bin").string() + ":" + std::getenv("PATH"));
  set("PARABENCH_RANK", FAKE_RANK_PROGRAM);
  set("XDG_CACHE_HOME", path("cache"));
  set("TMPDIR", scratch_.path());
  set("FAKE_LOG", path("log"));
}

FrontTest::~FrontTest() {
  for (auto it = saved_.rbegin(); it != saved_.rend(); ++it) {
    it->second.empty() ? unsetenv(it->first.c_str()) : setenv(it->first.c_str(), it->second.c_str(), 1);
  }
}

void FrontTest::set(const std::string& variable, const std::string& value) {
  const char* old = std::getenv(variable.c_str());
  saved_.emplace_back(variable, old ? old : "");
  setenv(variable.c_str(), value.c_str(), 1);
}

void FrontTest::without_rank_program() {
  program_ = path("bin/parabench");
  fs::copy_file(PARABENCH_PROGRAM, program_);
  set("PARABENCH_RANK", "");
}

pid_t FrontTest::start(const std::vector<std::string>& words) {
  std::vector<char*> argv = {const_cast<char*>("parabench")};
  for (const auto& word : words) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  const pid_t pid = fork();
  if (pid != 0) return pid;
  dup2(open(path("out").c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0666), 1);
  dup2(open(path("err").c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0666), 2);
  if (chdir(scratch_.path().c_str()) == 0) execv(program_.c_str(), argv.data());
  _exit(127);
}

Outcome FrontTest::finish(pid_t pid) {
  int status = 0;
  waitpid(pid, &status, 0);
  return {WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status), read_text(path("out")),
          read_text(path("err"))};
}

Outcome FrontTest::run(const std::vector<std::string>& words) { return finish(start(words)); }

Outcome FrontTest::run_and_signal(const std::vector<std::string>& words, const std::string& log_line, int signal,
                                  int times) {
  const int before = count_launches(log_line);
  const pid_t pid = start(words);
  for (int i = 0; i < 1000 && count_launches(log_line) == before; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  for (int sent = 0; sent < times; ++sent) {
    kill(pid, signal);
    // Signals of one kind that nobody has taken yet are one.
    if (sent + 1 < times) std::this_thread::sleep_for(std::chrono::milliseconds(300));
  }
  return finish(pid);
}

std::vector<std::string> FrontTest::launches() const {
  std::ifstream file(path("log"));
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  return lines;
}

int FrontTest::count_launches(const std::string& beginning) const {
  int count = 0;
  for (const auto& line : launches()) count += line.starts_with(beginning);
  return count;
}

nlohmann::json FrontTest::results(const std::string& name) const { return read_json(path(name)); }

int FrontTest::left_running() const {
  std::size_t count = 0;
  // The dying need a moment to leave /proc.
  for (int attempt = 0; attempt < 100; ++attempt) {
    count = processes_carrying(scratch_.path().string()).size();
    if (count == 0) break;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  return static_cast<int>(count);
}

}  // namespace parabench::suite
