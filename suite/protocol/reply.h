// What a launch leaves in its reply folder.
#pragma once

#include <filesystem>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analytic/calibration/calibration.h"
#include "results/file.h"

namespace parabench {

enum class Phase { probe, verify, measure, calibrate };
std::string_view to_text(Phase phase);

/// What a build of parabench-rank with CUDA found out about this machine's GPUs. Versions are "" where there is none.
struct GpuProbe {
  std::string driver;     ///< highest CUDA version that the driver serves
  std::string runtime;    ///< CUDA version of the build
  std::string cudnn;      ///< version that loads here
  std::string nccl;       ///< version that loads here; "" also for a build without NCCL
  std::string nccl_init;  ///< how a communicator of one rank fared: "ok" or its error; "" where none was tried
  std::vector<HostGpu> gpus;
  std::string obstacle;  ///< why no GPU can be used, with what to try; "" where one can
};

/// What a build of parabench-rank offers on this machine, and which libraries it runs.
struct Offer {
  std::vector<std::string> devices, communicators;  ///< as in case ids
  std::string libtorch, mpi;
  std::map<std::string, std::string> obstacles;  ///< why a device or communicator is not on offer, by its name
  std::optional<GpuProbe> gpu;                   ///< nullopt: a build without CUDA
};
nlohmann::json to_json(const Offer& capabilities);
/// Throws usage_error naming the field.
Offer capabilities_from_json(const nlohmann::json& json);

/// reply.json of rank 0; the member of its phase is set.
struct Reply {
  std::string plan_hash;
  std::optional<Offer> capabilities;
  std::optional<Equivalence> equivalence;
  std::optional<Measured> measured;
  std::optional<Calibration> calibration;
};

/// Reads DIR/reply.json. Throws usage_error naming the field that is missing, truncated or not a number.
Reply read_reply(const std::filesystem::path& folder, Phase phase);

enum class FailureKind { usage, environment, failure, not_a_number, peer };

/// error-<rank>.json of one rank.
struct RankError {
  int rank = 0;
  FailureKind kind = FailureKind::failure;
  std::string message;
};

/// The cause among the ranks' error files: the lowest rank that did not stop merely because of another one; nullopt
/// where no rank wrote any. Unreadable files count as absent: a killed rank may have left half of one.
std::optional<RankError> read_cause(const std::filesystem::path& folder);

/// Ranks that have said that they started (pid-<rank>.json).
int started_ranks(const std::filesystem::path& folder);

}  // namespace parabench
