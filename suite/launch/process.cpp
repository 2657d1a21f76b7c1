#include "suite/launch/process.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <optional>
#include <sstream>
#include <utility>

#include "base/error.h"

namespace parabench::suite {
namespace {

using Clock = Signals::Clock;

Clock::time_point after(double seconds) {
  return Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
}

/// Replaces the forked child by the command; only async-signal-safe calls. Writes errno to `report` on failure.
[[noreturn]] void become(const char* program, char* const* argv, const char* output, const char* errors,
                         const sigset_t& mask, pid_t parent, int report) {
  setpgid(0, 0);
  // TERM lets a launcher take its ranks along when this program is killed.
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (getppid() != parent) _exit(127);
  const int in = open("/dev/null", O_RDONLY);
  const int out = open(output, O_WRONLY | O_CREAT | O_TRUNC, 0666);
  const int err = open(errors, O_WRONLY | O_CREAT | O_TRUNC, 0666);
  if (in >= 0 && out >= 0 && err >= 0 && dup2(in, 0) >= 0 && dup2(out, 1) >= 0 && dup2(err, 2) >= 0) {
    sigprocmask(SIG_SETMASK, &mask, nullptr);
    execv(program, argv);
  }
  const int code = errno;
  [[maybe_unused]] const auto written = write(report, &code, sizeof code);
  _exit(127);
}

pid_t start(const ProcessRequest& request, Signals& signals) {
  const std::string program = find_program(request.command.front());
  if (program.empty()) {
    throw environment_error("program", request.command.front(), "an executable in PATH");
  }
  std::vector<char*> argv;
  for (const auto& word : request.command) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  int report[2];
  if (pipe2(report, O_CLOEXEC) != 0) throw environment_error("pipe", std::strerror(errno), "a free file descriptor");
  const pid_t parent = getpid();
  const pid_t child = fork();
  if (child == 0) {
    become(program.c_str(), argv.data(), request.output.c_str(), request.errors.c_str(), signals.original_mask(),
           parent, report[1]);
  }
  close(report[1]);
  int code = 0;
  const bool failed = child < 0 || read(report[0], &code, sizeof code) == sizeof code;
  if (child < 0) code = errno;
  close(report[0]);
  if (!failed) return child;
  if (child > 0) waitpid(child, nullptr, 0);
  throw environment_error("program", program, "a program that starts", std::strerror(code));
}

/// Status of the child once it has ended.
std::optional<int> ended(pid_t child) {
  int status = 0;
  return waitpid(child, &status, WNOHANG) == child ? std::optional(status) : std::nullopt;
}

/// Empty for a process that is gone: it may end between being listed and being read, which a stream reports by
/// throwing.
std::string command_line_of(const std::filesystem::path& process) {
  std::string line;
  const int file = open((process / "cmdline").c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return line;
  char part[4096];
  for (ssize_t n; (n = read(file, part, sizeof part)) > 0;) line.append(part, static_cast<std::size_t>(n));
  close(file);
  return line;
}

void kill_carriers(std::string_view mark, pid_t except) {
  for (pid_t pid : processes_carrying(mark)) {
    if (pid != except) kill(pid, SIGKILL);
  }
}

/// Waits for the child's end; nullopt at the deadline or at an interruption.
std::optional<int> await(pid_t child, Clock::time_point deadline, Signals& signals) {
  for (;;) {
    if (const auto status = ended(child)) return status;
    if (signals.wait(deadline) != Signals::Event::child) return ended(child);
  }
}

/// Watches over the child until its end; nullopt where it is to be stopped, with the reason in `end`.
std::optional<int> attend(pid_t child, const ProcessRequest& request, Signals& signals, ProcessEnd& end) {
  constexpr double between_looks_s = 1;
  const auto deadline = after(request.timeout_s);
  auto next_look = after(between_looks_s);
  bool told = false;
  for (;;) {
    if (const auto status = ended(child)) return status;
    if (signals.must_stop() || (signals.interrupted() && !request.finishing)) {
      end.how = ProcessEnd::How::interrupted;
      return ended(child);
    }
    if (signals.interrupted() && !std::exchange(told, true)) request.finishing();
    if (Clock::now() >= deadline) {
      end.how = ProcessEnd::How::timed_out;
      return ended(child);
    }
    if (request.watch && Clock::now() >= next_look) {
      next_look = after(between_looks_s);
      end.trouble = request.watch(child);
      if (!end.trouble.empty()) {
        end.how = ProcessEnd::How::unresponsive;
        return ended(child);
      }
    }
    signals.wait(request.watch ? std::min(deadline, next_look) : deadline);
  }
}

int stop(pid_t child, const ProcessRequest& request, Signals& signals) {
  kill(-child, SIGTERM);
  if (const auto status = await(child, after(request.grace_s), signals)) return *status;
  kill_carriers(request.mark, child);
  if (const auto status = await(child, after(request.grace_s), signals)) return *status;
  kill(-child, SIGKILL);
  int status = 0;
  waitpid(child, &status, 0);
  return status;
}

}  // namespace

std::vector<pid_t> processes_carrying(std::string_view mark) {
  std::vector<pid_t> found;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", ignored)) {
    const std::string name = entry.path().filename();
    pid_t pid = 0;
    const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), pid);
    if (error != std::errc() || end != name.data() + name.size() || pid == getpid()) continue;
    if (command_line_of(entry.path()).find(mark) != std::string::npos) found.push_back(pid);
  }
  return found;
}

ProcessEnd run_process(const ProcessRequest& request, Signals& signals) {
  const auto begin = Clock::now();
  const pid_t child = start(request, signals);
  ProcessEnd end;
  const auto status = attend(child, request, signals, end);
  const int last = status ? *status : stop(child, request, signals);
  // What has left the group, or outlived a crashed launcher.
  kill(-child, SIGKILL);
  kill_carriers(request.mark, child);
  end.seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  end.code = WIFSIGNALED(last) ? WTERMSIG(last) : WEXITSTATUS(last);
  if (status) end.how = WIFSIGNALED(last) ? ProcessEnd::How::signalled : ProcessEnd::How::exited;
  return end;
}

std::string find_program(std::string_view name) {
  const auto executable = [](const std::string& path) {
    return access(path.c_str(), X_OK) == 0 && !std::filesystem::is_directory(path);
  };
  if (name.find('/') != std::string_view::npos) return executable(std::string(name)) ? std::string(name) : "";
  const char* path = std::getenv("PATH");
  std::istringstream folders(path ? path : "");
  for (std::string folder; std::getline(folders, folder, ':');) {
    const std::string candidate = (folder.empty() ? "." : folder) + "/" + std::string(name);
    if (executable(candidate)) return candidate;
  }
  return "";
}

}  // namespace parabench::suite
