#include "suite/protocol/folder.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "base/file.h"

namespace parabench::protocol {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view error_prefix = "error-";
constexpr std::string_view start_prefix = "pid-";

fs::path reply_file(const fs::path& folder) { return folder / "reply.json"; }

fs::path file_of(const fs::path& folder, std::string_view prefix, int rank) {
  return folder / fmt::format("{}{}.json", prefix, rank);
}

template <class Use>
void for_each_file(const fs::path& folder, std::string_view prefix, Use use) {
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(folder, ignored)) {
    const std::string name = entry.path().filename();
    if (name.starts_with(prefix) && name.ends_with(".json")) use(entry.path());
  }
}

}  // namespace

void write_reply(const fs::path& folder, const Reply& reply) {
  write_atomically(reply_file(folder), to_json(reply).dump(1) + "\n");
}

bool has_reply(const fs::path& folder) { return fs::exists(reply_file(folder)); }

Reply read_reply(const fs::path& folder, Phase phase) {
  const fs::path file = reply_file(folder);
  const nlohmann::json document = read_json(file);
  return reply_from_json(
      JsonReader(document, fmt::format("{}: reply", file.string()), "is parabench-rank of the same build?"), phase);
}

void write_error(const fs::path& folder, const RankError& error) {
  write_atomically(file_of(folder, error_prefix, error.rank.value), to_json(error).dump() + "\n");
}

bool has_error(const fs::path& folder, Rank rank) { return fs::exists(file_of(folder, error_prefix, rank.value)); }

std::optional<RankError> read_cause(const fs::path& folder) {
  std::optional<RankError> cause;
  const auto precedes = [](const RankError& a, const RankError& b) {
    return std::pair(a.kind == FailureKind::peer, a.rank) < std::pair(b.kind == FailureKind::peer, b.rank);
  };
  for_each_file(folder, error_prefix, [&](const fs::path& path) {
    try {
      const RankError error = rank_error_from_json(JsonReader(read_json(path), path.string() + ": error"));
      if (!cause || precedes(error, *cause)) cause = error;
    } catch (const Error&) {
    }
  });
  return cause;
}

void write_start(const fs::path& folder, Rank rank, const analytic::MachineInfo& machine, const std::string& cpuset) {
  const nlohmann::json start = {{"rank", rank.value},           {"pid", getpid()},
                                {"host", machine.host},         {"cpu", machine.cpu},
                                {"cores", machine.cores},       {"memory_bytes", machine.memory_bytes},
                                {"governor", machine.governor}, {"cpuset", cpuset}};
  write_atomically(file_of(folder, start_prefix, rank.value), start.dump() + "\n");
}

namespace {

/// By rank.
std::map<int, results::Host> read_starts(const fs::path& folder) {
  std::map<int, results::Host> of_rank;
  for_each_file(folder, start_prefix, [&](const fs::path& path) {
    try {
      const nlohmann::json document = read_json(path);
      const JsonReader start(document, path.string());
      of_rank[start.get<int>("rank")] = {start.get<std::string>("host"),
                                         start.get<std::string>("cpu"),
                                         start.get<int>("cores"),
                                         start.get<std::int64_t>("memory_bytes"),
                                         start.get<std::string>("governor"),
                                         {start.get<std::string>("cpuset")}};
    } catch (const Error&) {
    }
  });
  return of_rank;
}

}  // namespace

std::vector<std::string> read_host_of_rank(const fs::path& folder) {
  std::vector<std::string> hosts;
  for (const auto& [rank, host] : read_starts(folder)) {
    if (rank != std::ssize(hosts)) return {};
    hosts.push_back(host.name);
  }
  return hosts;
}

std::vector<results::Host> read_hosts(const fs::path& folder) {
  std::vector<results::Host> hosts;
  for (auto& [rank, host] : read_starts(folder)) {
    const auto same = std::ranges::find(hosts, host.name, &results::Host::name);
    if (same == hosts.end()) {
      hosts.push_back(std::move(host));
    } else {
      same->cpusets.push_back(host.cpusets.front());
    }
  }
  return hosts;
}

int started_ranks(const fs::path& folder) {
  int count = 0;
  for_each_file(folder, start_prefix, [&](const fs::path&) { ++count; });
  return count;
}

fs::path trace_file(const fs::path& folder) { return folder / "trace.json"; }

}  // namespace parabench::protocol
