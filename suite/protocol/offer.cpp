#include "suite/protocol/offer.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/case_text.h"
#include "results/context_json.h"
#include "results/record_json.h"

namespace parabench::protocol {
namespace {

using nlohmann::json;

json to_json(const GpuProbe& probe) {
  json gpus = json::array();
  for (const results::HostGpu& gpu : probe.gpus) gpus.push_back(results::to_json(gpu));
  return {{"driver", probe.driver},       {"runtime", probe.runtime}, {"cudnn", probe.cudnn},      {"nccl", probe.nccl},
          {"nccl_init", probe.nccl_init}, {"gpus", std::move(gpus)},  {"obstacle", probe.obstacle}};
}

GpuProbe gpu_probe_from_json(const JsonReader& reader) {
  GpuProbe probe;
  probe.driver = reader.get<std::string>("driver");
  probe.runtime = reader.get<std::string>("runtime");
  probe.cudnn = reader.get<std::string>("cudnn");
  probe.nccl = reader.get<std::string>("nccl");
  probe.nccl_init = reader.get<std::string>("nccl_init");
  for (const JsonReader& gpu : reader.at("gpus").items()) probe.gpus.push_back(results::host_gpu_from_json(gpu));
  probe.obstacle = reader.get<std::string>("obstacle");
  return probe;
}

}  // namespace

bool offers(const Offer& offer, DeviceKind device) {
  return std::ranges::find(offer.devices, device) != offer.devices.end();
}

bool offers(const Offer& offer, CommKind comm) {
  return std::ranges::find(offer.communicators, comm) != offer.communicators.end();
}

json to_json(const Offer& offer) {
  json document{{"devices", to_texts(offer.devices)},
                {"communicators", to_texts(offer.communicators)},
                {"libtorch", offer.libtorch},
                {"mpi", offer.mpi},
                {"obstacles", offer.obstacles}};
  if (offer.gpu) document["gpu"] = to_json(*offer.gpu);
  return document;
}

Offer offer_from_json(const JsonReader& reader) {
  Offer offer;
  offer.devices = reader.get<std::vector<DeviceKind>>("devices");
  offer.communicators = reader.get<std::vector<CommKind>>("communicators");
  offer.libtorch = reader.get<std::string>("libtorch");
  offer.mpi = reader.get<std::string>("mpi");
  offer.obstacles = reader.get<std::map<std::string, std::string>>("obstacles");
  if (reader.has("gpu")) offer.gpu = gpu_probe_from_json(reader.at("gpu"));
  return offer;
}

}  // namespace parabench::protocol
