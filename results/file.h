// A results file: the program, the machine, the calibration and one record per case, or per timed exchange.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "results/exchange_record.h"
#include "results/record.h"

namespace parabench::results {

/// Version of the format: the minor number grows with added fields, the major one with anything else. Files of all
/// minor versions up to this one are read.
inline constexpr std::string_view results_schema_version = "1.18";

struct Program {
  std::string version, git;  ///< git: hash of the commit, "unknown" outside a checkout
  bool dirty = false;        ///< tracked files differed from the commit
  std::string build_type, flags;
  bool operator==(const Program&) const = default;
};

struct Host {
  std::string name, cpu;
  int cores = 0;
  std::int64_t memory_bytes = 0;
  std::string governor;              ///< "" (null) where the kernel offers none
  std::vector<std::string> cpusets;  ///< per local rank, as "0-1"
  bool operator==(const Host&) const = default;
};

struct HostGpu {
  std::string name, uuid;
  int capability = 0;  ///< 10 * major + minor: 90 for H100 and H200
  std::int64_t memory_bytes = 0;
  bool operator==(const HostGpu&) const = default;
};

struct Context {
  std::string date;  ///< ISO 8601, UTC
  std::vector<std::string> argv;
  std::vector<Host> hosts;
  std::vector<HostGpu> gpus;            ///< as the CUDA driver of the first host numbers them
  std::string mpi, launcher, libtorch;  ///< "" (null) where there is none
  std::map<std::string, std::string> environment;
  std::vector<std::string> notes;  ///< for whoever reads the numbers: that the host was busy, that ranks shared cores
  bool operator==(const Context&) const = default;
};

struct CalibrationOrigin {
  std::string file, date, machine_id;
  bool operator==(const CalibrationOrigin&) const = default;
};

struct ResultsFile {
  Program program;
  Context context;
  std::optional<CalibrationOrigin> calibration;
  std::vector<Record> records;
  std::vector<ExchangeRecord> exchanges;  ///< of `parabench communicate`, which has no records
};

nlohmann::json to_json(const ResultsFile& file);
/// Throws usage_error for a file of another kind, for another schema_version, or naming
/// the place (a JSON pointer) that does not fit the schema; `subject` names the document in errors.
ResultsFile results_from_json(const nlohmann::json& json, std::string_view subject = "results");

/// Reads a file; errors name it.
ResultsFile read_results(const std::filesystem::path& path);
/// The file as text: JSON indented by one space, bytes that are not UTF-8 replaced.
std::string results_text(const ResultsFile& file);
/// Writes at once, as write_atomically does.
void write_results(const std::filesystem::path& path, const ResultsFile& file);

/// The variables that may influence a run, of an environment as main() gets it: OMPI_*, PMIX_*, SLURM_*, OMP_*, NCCL_*,
/// CUDA_*, UCX_*, TORCH_*, MALLOC_*, PARABENCH_*. An allow-list, since an environment holds secrets; variables of these
/// families that are named like one (SLURM_JWT, ..._TOKEN, ..._KEY) stay out as well.
std::map<std::string, std::string> recorded_environment(const char* const* environment);

}  // namespace parabench::results
