#include "suite/launch/peer.h"

#include <fmt/format.h>

#include <cstdlib>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/error.h"
#include "base/file.h"
#include "base/json_reader.h"
#include "parallelism/plan/strategies/peer.h"
#include "suite/launch/peer_files.h"
#include "suite/launch/process.h"

namespace parabench::suite {
namespace {

namespace fs = std::filesystem;

constexpr double probe_patience_s = 120;  ///< a cold disk
constexpr const char* remedy = "./parabench peers makes the environment anew";

std::string python() { return peer_environment() / "bin" / "python"; }

std::string last_line(const fs::path& file) {
  std::istringstream lines(read_text(file));
  std::string last;
  for (std::string line; std::getline(lines, line);)
    if (line.find_first_not_of(" \t\r") != std::string::npos) last = line.substr(0, 300);
  return last;
}

using Obstacles = std::map<std::string, std::string>;

/// The same reason for all of them.
Obstacles none_because(const std::set<std::string>& products, const std::string& reason) {
  Obstacles obstacles;
  for (const std::string& name : products) obstacles[name] = reason;
  return obstacles;
}

Obstacles read_probe(const std::set<std::string>& products, const fs::path& output) {
  const nlohmann::json document = read_json(output);
  const JsonReader reader(document, "probe");
  Obstacles obstacles;
  for (const std::string& name : products) {
    std::string& reason = obstacles[name] = reader.at("products").get<std::string>(name);
    if (!reason.empty()) reason += fmt::format(" (in {})", peer_environment().string());
  }
  return obstacles;
}

/// What a probe did that ended without an answer.
std::string ending(const ProcessEnd& end, const fs::path& errors) {
  if (end.how == ProcessEnd::How::timed_out) return fmt::format("said nothing for {:.0f} s", probe_patience_s);
  const std::string last = last_line(errors);
  return fmt::format("ended {} {}{}", end.how == ProcessEnd::How::exited ? "with code" : "by signal", end.code,
                     last.empty() ? "" : ": " + last);
}

}  // namespace

fs::path peer_environment() {
  const char* chosen = std::getenv("PARABENCH_PEERS");
  return chosen && *chosen ? fs::absolute(chosen) : fs::path(usual_peer_environment);
}

void write_peer_program(const fs::path& folder) {
  fs::create_directories(folder);
  for (const PeerFile& file : peer_files) write_atomically(folder / file.name, file.text);
}

std::vector<std::string> peer_command(const PeerLaunch& launch, int steps, int warmup, const fs::path& reply) {
  std::vector<std::string> words = {python(),
                                    // Neither the user's packages nor its settings, nor files beside the program.
                                    "-sEB", launch.program, "--product", launch.product, "--work", launch.work,
                                    "--reply", reply, "--steps", std::to_string(steps), "--warmup",
                                    std::to_string(warmup)};
  if (plan::find_peer_product(launch.product).one_process) words.emplace_back("--one-process");
  return words;
}

std::map<std::string, std::string> probe_peers(const std::set<std::string>& products, const fs::path& program,
                                               const fs::path& scratch, Signals& signals) {
  const fs::path folder = peer_environment();
  if (!fs::exists(folder))
    return none_because(products,
                        fmt::format("no Python environment in {}; ./parabench peers makes it", folder.string()));
  if (find_program(python()).empty())
    return none_because(products, fmt::format("{} is no program that can be started; {}", python(), remedy));
  ProcessRequest request{.command = {python(), "-sEB", program, "--environment", folder, "--probe"},
                         .output = scratch / "peers.json",
                         .errors = scratch / "peers-errors.txt",
                         .mark = program,
                         .timeout_s = probe_patience_s};
  request.command.insert(request.command.end(), products.begin(), products.end());
  request.command.emplace_back("--pins");
  std::istringstream pins{std::string(peer_wheels)};
  for (std::string pin; pins >> pin;) request.command.push_back(pin);
  try {
    const ProcessEnd end = run_process(request, signals);
    if (end.how == ProcessEnd::How::exited && end.code == 0) return read_probe(products, request.output);
    return none_because(products, fmt::format("{} {}; {}", python(), ending(end, request.errors), remedy));
  } catch (const Error& error) {
    return none_because(products, fmt::format("{}: {}; {}", python(), error.what(), remedy));
  }
}

}  // namespace parabench::suite
