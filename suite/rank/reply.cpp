#include "suite/rank/reply.h"

#include <fmt/format.h>

#include <chrono>
#include <iostream>
#include <thread>

#include "base/error.h"
#include "base/lack.h"
#include "parallelism/comm/communicator.h"
#include "parallelism/exec/execution.h"
#include "suite/protocol/folder.h"

namespace parabench::rank {
namespace {

protocol::FailureKind kind_of(const std::exception& error) {
  if (const auto* ours = dynamic_cast<const Error*>(&error))
    return ours->code() == ExitCode::environment ? protocol::FailureKind::environment : protocol::FailureKind::usage;
  if (lack_behind(error)) return protocol::FailureKind::environment;
  if (dynamic_cast<const comm::PeerFailure*>(&error)) return protocol::FailureKind::peer;
  if (dynamic_cast<const exec::NotANumber*>(&error)) return protocol::FailureKind::not_a_number;
  return protocol::FailureKind::failure;
}

}  // namespace

void report_failure(const std::filesystem::path& folder, Rank rank, const std::exception& error) noexcept {
  try {
    const auto lack = lack_behind(error);
    const std::string text = lack ? lack->what() : error.what();
    std::cerr << fmt::format("parabench-rank {}: {}\n", rank.value, text);
    protocol::write_error(folder, {rank, kind_of(error), text});
  } catch (const std::exception& second) {
    std::cerr << fmt::format("parabench-rank {}: could not write its error file: {}\n", rank.value, second.what());
  }
}

bool await_error(const std::filesystem::path& folder, Rank rank, double limit_s) {
  using Clock = std::chrono::steady_clock;
  const auto end = Clock::now() + std::chrono::duration<double>(limit_s);
  while (!protocol::has_error(folder, rank)) {
    if (Clock::now() >= end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return true;
}

}  // namespace parabench::rank
