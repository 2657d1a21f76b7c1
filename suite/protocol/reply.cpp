#include "suite/protocol/reply.h"

#include <fmt/format.h>

#include <array>
#include <nlohmann/json.hpp>

#include "base/enum_text.h"
#include "base/error.h"
#include "base/file.h"
#include "results/context_json.h"

namespace parabench {

template <>
inline constexpr std::array<std::string_view, 4> enum_names<Phase>{"probe", "verify", "measure", "calibrate"};
template <>
inline constexpr std::array<std::string_view, 5> enum_names<FailureKind>{"usage", "environment", "failure",
                                                                         "not_a_number", "peer"};

namespace {

using nlohmann::json;
namespace fs = std::filesystem;

const json& field(const json& object, std::string_view name) {
  const auto found = object.is_object() ? object.find(name) : object.end();
  if (found == object.end()) {
    throw usage_error("reply", name, "a field that parabench-rank writes", "is parabench-rank of the same build?");
  }
  return *found;
}

/// JSON has no NaN: a loss that is none arrives as null.
void require_numbers(const json& losses) {
  for (std::size_t step = 0; step < losses.size(); ++step) {
    if (!losses[step].is_number()) {
      throw usage_error("loss", losses[step].dump(), fmt::format("a finite number at step {}", step),
                        "try a smaller lr, or precision:fp32");
    }
  }
}

json gpu_probe_json(const GpuProbe& probe) {
  json gpus = json::array();
  for (const HostGpu& gpu : probe.gpus) gpus.push_back(to_json(gpu));
  return {{"driver", probe.driver},       {"runtime", probe.runtime}, {"cudnn", probe.cudnn},      {"nccl", probe.nccl},
          {"nccl_init", probe.nccl_init}, {"gpus", std::move(gpus)},  {"obstacle", probe.obstacle}};
}

GpuProbe gpu_probe_from_json(const json& document) {
  GpuProbe probe;
  probe.driver = document.value("driver", "");
  probe.runtime = document.value("runtime", "");
  probe.cudnn = document.value("cudnn", "");
  probe.nccl = document.value("nccl", "");
  probe.nccl_init = document.value("nccl_init", "");
  for (const json& gpu : field(document, "gpus")) probe.gpus.push_back(host_gpu_from_json(gpu));
  probe.obstacle = document.value("obstacle", "");
  return probe;
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

std::string_view to_text(Phase phase) { return to_text<Phase>(phase); }

json to_json(const Offer& c) {
  json document{{"devices", c.devices},
                {"communicators", c.communicators},
                {"libtorch", c.libtorch},
                {"mpi", c.mpi},
                {"obstacles", c.obstacles}};
  if (c.gpu) document["gpu"] = gpu_probe_json(*c.gpu);
  return document;
}

Offer capabilities_from_json(const json& document) {
  try {
    Offer c;
    field(document, "devices").get_to(c.devices);
    field(document, "communicators").get_to(c.communicators);
    c.libtorch = document.value("libtorch", "");
    c.mpi = document.value("mpi", "");
    c.obstacles = document.value("obstacles", c.obstacles);
    if (document.contains("gpu")) c.gpu = gpu_probe_from_json(document["gpu"]);
    if (c.gpu && c.gpu->runtime.empty()) c.gpu.reset();
    return c;
  } catch (const json::exception& error) {
    throw usage_error("capabilities", error.what(), "lists of devices and communicators");
  }
}

Reply read_reply(const fs::path& folder, Phase phase) {
  const json document = read_json(folder / "reply.json");
  try {
    Reply reply;
    if (field(document, "phase") != to_text(phase)) {
      throw usage_error("reply", document["phase"].dump(), fmt::format("phase {}", to_text(phase)));
    }
    reply.plan_hash = document.value("plan_hash", "");
    switch (phase) {
      case Phase::probe: reply.capabilities = capabilities_from_json(document); break;
      case Phase::verify:
        require_numbers(field(field(document, "equivalence"), "reference_losses"));
        reply.equivalence = equivalence_from_json(document["equivalence"]);
        break;
      case Phase::measure:
        require_numbers(field(field(document, "measured"), "losses"));
        reply.measured = measured_from_json(document["measured"]);
        break;
      case Phase::calibrate: reply.calibration = calibration_from_json(field(document, "calibration")); break;
    }
    return reply;
  } catch (const json::exception& error) {
    throw usage_error("reply", error.what(), fmt::format("a reply to phase {}", to_text(phase)));
  }
}

std::optional<RankError> read_cause(const fs::path& folder) {
  std::optional<RankError> cause;
  const auto precedes = [](const RankError& a, const RankError& b) {
    return std::pair(a.kind == FailureKind::peer, a.rank) < std::pair(b.kind == FailureKind::peer, b.rank);
  };
  for_each_file(folder, "error-", [&](const fs::path& path) {
    try {
      const json document = read_json(path);
      const RankError error{document.at("rank").get<int>(),
                            parse_enum<FailureKind>("kind", document.at("kind").get<std::string>()),
                            document.at("message").get<std::string>()};
      if (!cause || precedes(error, *cause)) cause = error;
    } catch (const std::exception&) {
    }
  });
  return cause;
}

int started_ranks(const fs::path& folder) {
  int count = 0;
  for_each_file(folder, "pid-", [&](const fs::path&) { ++count; });
  return count;
}

}  // namespace parabench
