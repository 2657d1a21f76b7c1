#include "suite/rank/reply.h"

#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <filesystem>
#include <iostream>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/error.h"
#include "base/file.h"
#include "parallelism/comm/communicator.h"
#include "parallelism/exec/executor.h"

namespace parabench {
namespace {

std::string_view kind_of(const std::exception& error) {
  if (const auto* ours = dynamic_cast<const Error*>(&error))
    return ours->code() == ExitCode::environment ? "environment" : "usage";
  if (dynamic_cast<const PeerFailure*>(&error)) return "peer";
  if (dynamic_cast<const NotANumber*>(&error)) return "not_a_number";
  return "failure";
}

std::string error_path(const std::string& folder, Rank rank) {
  return fmt::format("{}/error-{}.json", folder, rank.value);
}

}  // namespace

std::string host_name() {
  std::array<char, 256> name{};
  gethostname(name.data(), name.size() - 1);
  return name.data();
}

void write_pid(const std::string& folder, Rank rank) {
  const nlohmann::json pid = {{"rank", rank.value}, {"pid", getpid()}, {"host", host_name()}};
  write_atomically(fmt::format("{}/pid-{}.json", folder, rank.value), pid.dump() + "\n");
}

void write_reply(const std::string& folder, const nlohmann::json& reply) {
  write_atomically(folder + "/reply.json", reply.dump(1) + "\n");
}

void write_error(const std::string& folder, Rank rank, const std::exception& error) noexcept {
  try {
    const nlohmann::json json = {{"rank", rank.value}, {"kind", kind_of(error)}, {"message", error.what()}};
    std::cerr << fmt::format("parabench-rank {}: {}\n", rank.value, error.what());
    write_atomically(error_path(folder, rank), json.dump() + "\n");
  } catch (const std::exception& second) {
    std::cerr << fmt::format("parabench-rank {}: could not write its error file: {}\n", rank.value, second.what());
  }
}

bool await_error(const std::string& folder, Rank rank, double limit_s) {
  using Clock = std::chrono::steady_clock;
  const auto end = Clock::now() + std::chrono::duration<double>(limit_s);
  while (!std::filesystem::exists(error_path(folder, rank))) {
    if (Clock::now() >= end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return true;
}

}  // namespace parabench
