// What works on this machine: what was found, how good that is, and what to type where it is not.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "analytic/calibration/machine.h"
#include "base/enum_text.h"
#include "suite/protocol/offer.h"

namespace parabench::suite {

enum class CheckStatus { ok, missing, warning };
constexpr std::array<std::string_view, 3> names_of(CheckStatus) { return {"ok", "missing", "warning"}; }

struct Check {
  std::string name;
  CheckStatus status = CheckStatus::ok;
  std::string found;
  std::string advice;  ///< what to type or do; "" where nothing is wanting
};

/// Processor, memory, shared memory and the governor of the clock.
std::vector<Check> host_checks(const analytic::MachineInfo& machine);

/// What lies outside parabench-rank, as texts that the caller read from this machine; "" for what is not there.
struct GpuSurroundings {
  std::string kernel_driver;  ///< nvidia_driver()
  std::string toolkit;        ///< what `nvcc --version` printed
  std::string mpi;            ///< what `ompi_info --parsable --all` printed
};

/// Build, driver, toolkit, devices, cuDNN, NCCL and the awareness of MPI. `probe`: nullptr where parabench-rank was
/// built without CUDA or does not answer; then only what needs no probe is checked.
std::vector<Check> gpu_checks(const protocol::GpuProbe* probe, const GpuSurroundings& surroundings);

}  // namespace parabench::suite
