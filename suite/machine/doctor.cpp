#include "suite/machine/doctor.h"

#include <fmt/format.h>

#include <charconv>
#include <sstream>

#include "base/counted.h"
#include "base/units_text.h"

namespace parabench::suite {
namespace {

/// Two ranks of the larger models reduce that many bytes of gradients through shared memory.
constexpr std::int64_t enough_shared_memory = 512LL << 20;

std::string human(std::int64_t bytes) { return human_bytes(static_cast<double>(bytes)); }

/// The first word of digits and dots: "NVRM version: ... Module  580.65.06  Release" holds 580.65.06.
std::string version_in(const std::string& text) {
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    if (word.find('.') != std::string::npos && word.find_first_not_of("0123456789.") == std::string::npos) return word;
  }
  return text;
}

/// "13.0" of "Cuda compilation tools, release 13.0, V13.0.88".
std::string toolkit_version(const std::string& nvcc) {
  constexpr std::string_view before = "release ";
  const auto at = nvcc.find(before);
  if (at == std::string::npos) return "";
  const auto begin = at + before.size();
  return nvcc.substr(begin, nvcc.find(',', begin) - begin);
}

int major(const std::string& version) {
  int number = 0;
  std::from_chars(version.data(), version.data() + version.size(), number);
  return number;
}

Check build_check(const protocol::GpuProbe* probe, const std::string& toolkit) {
  if (probe)
    return {"CUDA build", CheckStatus::ok, fmt::format("parabench-rank was built with CUDA {}", probe->runtime), ""};
  return {"CUDA build", CheckStatus::missing, "no parabench-rank with CUDA; cases on cpu need none",
          fmt::format("{}PARABENCH_PRESET=cuda ./parabench doctor", toolkit.empty() ? "with a CUDA 13 toolkit: " : "")};
}

Check driver_check(const protocol::GpuProbe* probe, const std::string& kernel_driver) {
  Check check{"CUDA driver", CheckStatus::ok, kernel_driver.empty() ? "" : version_in(kernel_driver), ""};
  if (probe && !probe->driver.empty()) {
    check.found += fmt::format("{}serves CUDA {}", check.found.empty() ? "" : ", ", probe->driver);
    if (major(probe->driver) < major(probe->runtime)) {
      check.status = CheckStatus::missing;
      check.found += fmt::format(", this build wants {}", probe->runtime);
      check.advice = fmt::format("install a newer NVIDIA driver, one that serves CUDA {}", major(probe->runtime));
    }
  } else if (probe || kernel_driver.empty()) {
    check.status = CheckStatus::missing;
    check.found = check.found.empty() ? "none" : check.found + " is loaded, but its libcuda.so.1 cannot be used";
    check.advice = "install the NVIDIA driver; in a container: docker run --gpus all";
  }
  return check;
}

Check toolkit_check(const std::string& toolkit) {
  if (toolkit.empty()) {
    return {"CUDA toolkit", CheckStatus::missing,
            "no nvcc in PATH or /usr/local/cuda/bin: the preset cuda cannot be built",
            "install the CUDA 13 toolkit, or put its bin folder into PATH"};
  }
  const std::string found = fmt::format("nvcc {}", toolkit);
  if (major(toolkit) == 13) return {"CUDA toolkit", CheckStatus::ok, found, ""};
  return {"CUDA toolkit", CheckStatus::warning, found + ": LibTorch was built with CUDA 13",
          "install the CUDA 13 toolkit"};
}

void add_devices(const protocol::GpuProbe& probe, std::vector<Check>& checks) {
  if (probe.gpus.empty() || !probe.obstacle.empty()) {
    const bool known = !probe.obstacle.empty();  // and says what to do about it
    checks.push_back({"GPUs", CheckStatus::missing, known ? probe.obstacle : "none",
                      known ? "" : "see nvidia-smi -L and CUDA_VISIBLE_DEVICES"});
  }
  for (std::size_t i = 0; i < probe.gpus.size(); ++i) {
    const results::HostGpu& gpu = probe.gpus[i];
    checks.push_back({fmt::format("GPU {}", i), CheckStatus::ok,
                      fmt::format("{}, capability {}.{}, {}", gpu.name, gpu.capability / 10, gpu.capability % 10,
                                  human(gpu.memory_bytes)),
                      ""});
  }
}

Check cudnn_check(const protocol::GpuProbe& probe) {
  if (!probe.cudnn.empty()) return {"cuDNN", CheckStatus::ok, probe.cudnn, ""};
  return {"cuDNN", CheckStatus::missing, "libcudnn.so.9 cannot be loaded",
          "install cuDNN 9 for CUDA 13, or put its folder into LD_LIBRARY_PATH"};
}

Check nccl_check(const protocol::GpuProbe& probe) {
  if (probe.nccl.empty()) {
    return {"NCCL", CheckStatus::missing, "not in this build, or libnccl.so.2 cannot be loaded",
            "install NCCL 2.28 and build anew; comm:mpi and comm:threads do without"};
  }
  if (probe.nccl_init == protocol::nccl_starts)
    return {"NCCL", CheckStatus::ok, probe.nccl + ", a communicator of one rank starts", ""};
  if (probe.nccl_init.empty()) {
    return {"NCCL", CheckStatus::warning, probe.nccl + ", not started: there is no GPU to start it on", ""};
  }
  return {"NCCL", CheckStatus::missing, fmt::format("{}, does not start: {}", probe.nccl, probe.nccl_init),
          "NCCL_DEBUG=INFO ./parabench doctor tells more; comm:mpi and comm:threads do without"};
}

Check awareness_check(const std::string& mpi) {
  const bool known = mpi.find("built_with_cuda_support:value:") != std::string::npos;
  const bool aware = mpi.find("built_with_cuda_support:value:true") != std::string::npos;
  return {"MPI and CUDA", CheckStatus::ok,
          fmt::format("{}; not needed: comm:mpi stages through pinned host memory",
                      !known  ? "no ompi_info that says whether MPI knows GPU memory"
                      : aware ? "this Open MPI knows GPU memory"
                              : "this Open MPI does not know GPU memory"),
          ""};
}

}  // namespace

std::vector<Check> host_checks(const analytic::MachineInfo& machine) {
  std::vector<Check> checks;
  checks.push_back({"host", CheckStatus::ok,
                    fmt::format("{}: {}, {}, {} of memory", machine.host, machine.cpu, counted(machine.cores, "core"),
                                human(machine.memory_bytes)),
                    ""});
  checks.push_back({"shared memory", CheckStatus::ok, human(machine.shared_memory_bytes) + " in /dev/shm", ""});
  if (machine.shared_memory_bytes < enough_shared_memory) {
    checks.back().status = CheckStatus::warning;
    checks.back().found += ": gradients that do not fit are reduced by the MPI library, more slowly";
    checks.back().advice = "mount -o remount,size=2g /dev/shm; in a container: docker run --shm-size=2g";
  }
  const bool seen = machine.governor != "unknown";
  checks.push_back({"clock governor", CheckStatus::ok,
                    seen ? machine.governor : "not to be seen (a virtual machine or container)", ""});
  if (seen && machine.governor != "performance") {
    checks.back().status = CheckStatus::warning;
    checks.back().found += ": times vary with the clock";
    checks.back().advice = "cpupower frequency-set -g performance";
  }
  return checks;
}

std::vector<Check> gpu_checks(const protocol::GpuProbe* probe, const GpuSurroundings& surroundings) {
  const std::string toolkit = toolkit_version(surroundings.toolkit);
  std::vector<Check> checks = {build_check(probe, toolkit), driver_check(probe, surroundings.kernel_driver),
                               toolkit_check(toolkit)};
  if (probe) {
    add_devices(*probe, checks);
    checks.push_back(cudnn_check(*probe));
    checks.push_back(nccl_check(*probe));
  }
  checks.push_back(awareness_check(surroundings.mpi));
  return checks;
}

}  // namespace parabench::suite
