// What a build of parabench-rank offers on a machine.
#pragma once

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/case.h"
#include "base/json_reader.h"
#include "results/file.h"

namespace parabench::protocol {

/// What a build with CUDA found out about this machine's GPUs. Versions are "" where there is none.
struct GpuProbe {
  std::string driver;     ///< highest CUDA version that the driver serves
  std::string runtime;    ///< CUDA version of the build
  std::string cudnn;      ///< version that loads here
  std::string nccl;       ///< version that loads here; "" also for a build without NCCL
  std::string nccl_init;  ///< how a communicator of one rank fared: nccl_starts or its error; "" where none was tried
  std::vector<results::HostGpu> gpus;
  std::string obstacle;  ///< why no GPU can be used, with what to try; "" where one can
  bool operator==(const GpuProbe&) const = default;
};
inline constexpr std::string_view nccl_starts = "ok";

struct Offer {
  std::vector<DeviceKind> devices;
  std::vector<CommKind> communicators;
  std::string libtorch, mpi;                     ///< versions
  std::map<std::string, std::string> obstacles;  ///< why a device or communicator is not on offer, by its name
  std::optional<GpuProbe> gpu;                   ///< nullopt: a build without CUDA
  bool operator==(const Offer&) const = default;
};
bool offers(const Offer& offer, DeviceKind device);
bool offers(const Offer& offer, CommKind comm);

nlohmann::json to_json(const Offer& offer);
/// Throws usage_error naming the place.
Offer offer_from_json(const JsonReader& reader);

}  // namespace parabench::protocol
