// Data sheets of machines that one need not have: files in JSON, some of which are part of the program.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <vector>

#include "analytic/calibration/machine.h"
#include "base/case.h"

namespace parabench::analytic {

/// Hosts that are alike, each with GPUs of one kind or none; data_sheet_costs() predicts by its `machine`.
struct Hardware {
  std::string summary;
  std::vector<std::string> sources;  ///< where its figures were published
  MachineInfo machine;               ///< one host, with its sheet
};

/// Of a document as hardware-1.1.schema.json has it; `name` begins every place. Throws usage_error naming the place of
/// what is missing, unknown, of another type, zero, negative or not finite, and for another kind of file or a newer
/// one.
Hardware hardware_from_json(const nlohmann::json& document, const std::string& name);

/// Those of the folder sheets, by name.
std::span<const Hardware> shipped_hardware();
/// Their files as they are in the repository.
struct HardwareFile {
  std::string_view path, text;
};
std::span<const HardwareFile> shipped_hardware_files();

/// A shipped one by its name, else that of a file. Throws usage_error where there is neither, with the nearest name,
/// and what hardware_from_json() throws.
Hardware find_hardware(const std::string& name_or_file);

/// Throws usage_error for a case that the machine of a sheet has no place for: on GPUs where it has none, or with more
/// ranks over NCCL than GPUs where no network leads to further hosts. A machine without a sheet has room for all.
void require_room(const MachineInfo& machine, const Case& spec);

/// The GPU with most memory; nullptr where the machine has none, or none whose memory is known.
const GpuInfo* largest_gpu(const MachineInfo& machine);

}  // namespace parabench::analytic
