#include "suite/launch/process.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <thread>

#include "base/error.h"
#include "base/file.h"
#include "suite/launch/launch.h"

namespace parabench::suite {
namespace {

class ProcessTest : public testing::Test {
 protected:
  ProcessEnd run(const std::string& script, double timeout_s = 30) {
    ProcessRequest request;
    request.command = {"sh", "-c", script, scratch_.path()};
    request.output = scratch_.path() / "out";
    request.errors = scratch_.path() / "err";
    request.mark = scratch_.path();
    request.timeout_s = timeout_s;
    request.grace_s = 0.2;
    return run_process(request, signals_);
  }
  std::string output() { return read_text(scratch_.path() / "out"); }
  bool lives(const std::string& pid) { return kill(std::stoi(pid), 0) == 0; }

  ScratchFolder scratch_;
  Signals signals_;
};

TEST_F(ProcessTest, KeepsOutputAndExitCode) {
  const ProcessEnd end = run("echo to out; echo to err >&2; exit 7");
  EXPECT_EQ(end.how, ProcessEnd::How::exited);
  EXPECT_EQ(end.code, 7);
  EXPECT_EQ(output(), "to out\n");
  EXPECT_EQ(read_text(scratch_.path() / "err"), "to err\n");
}

TEST_F(ProcessTest, HasNoStandardInput) { EXPECT_EQ(run("read line").code, 1); }

TEST_F(ProcessTest, SaysWhichSignalEndedIt) {
  const ProcessEnd end = run("kill -SEGV $$");
  EXPECT_EQ(end.how, ProcessEnd::How::signalled);
  EXPECT_EQ(end.code, SIGSEGV);
}

TEST_F(ProcessTest, TimeOutEndsWhatIgnoresTerm) {
  const ProcessEnd end = run("trap '' TERM; echo $$; while :; do sleep 0.1; done", 0.3);
  EXPECT_EQ(end.how, ProcessEnd::How::timed_out);
  EXPECT_LT(end.seconds, 10);
  EXPECT_FALSE(lives(output()));
}

TEST_F(ProcessTest, TimeOutEndsAStoppedProcess) {
  EXPECT_EQ(run("kill -STOP $$", 0.3).how, ProcessEnd::How::timed_out);
}

TEST_F(ProcessTest, KillsMarkedProcessesThatLeftTheGroup) {
  // The inner shell carries the mark as its argument and outlives the launcher, as ranks of a crashed mpirun do.
  const ProcessEnd end = run("setsid sh -c 'echo $$; while :; do sleep 0.1; done' \"$0\" & sleep 0.3; exit 3");
  EXPECT_EQ(end.code, 3);
  for (int i = 0; i < 100 && lives(output()); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_FALSE(lives(output()));
}

TEST_F(ProcessTest, InterruptionEndsIt) {
  const ProcessEnd end = run("kill -INT $PPID; sleep 30");
  EXPECT_EQ(end.how, ProcessEnd::How::interrupted);
  EXPECT_TRUE(signals_.interrupted());
}

TEST_F(ProcessTest, UnknownProgramIsTheEnvironmentsFault) {
  ProcessRequest request;
  request.command = {"no-such-program"};
  EXPECT_THROW(run_process(request, signals_), Error);
}

}  // namespace
}  // namespace parabench::suite
