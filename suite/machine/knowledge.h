// What is known about this machine, kept between runs: calibration and capabilities.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "analytic/calibration/calibration.h"
#include "analytic/costs/emulation.h"
#include "suite/protocol/offer.h"
#include "suite/run/forecast.h"
#include "suite/run/progress.h"

namespace parabench::suite {

/// The calibration in use and where it is kept.
struct CalibrationFile {
  std::filesystem::path path;
  std::optional<analytic::Calibration> content;  ///< nullopt: no such file yet
  bool must_be_kept = true;                      ///< else what cannot be written serves this program alone
  std::string unkept;                            ///< why it could not be written; "": it could
  bool starts_over = false;                      ///< what the file holds goes with the next launch that is added
  bool is_given = false;                         ///< as an option, so that `calibrate` has to be told of it
};
/// What to type for a launch that is added to the file: "parabench calibrate CASE", `options`, --out.
std::string to_calibrate(const CalibrationFile& file, std::string_view options = "");

/// `given`, else the file of this machine. Throws usage_error when the file is truncated or no calibration.
/// `only_read`, for predictions: a given file may be that of another machine, but it has to be there.
CalibrationFile open_calibration(const std::string& given, const analytic::MachineInfo& machine, bool only_read);
/// Throws usage_error where the file is another machine's.
void require_calibration_of(const analytic::MachineInfo& machine, const CalibrationFile& file);

/// What predictions are made from. It points into `file`, which has to outlive it. The others: see Knowledge.
Knowledge knowledge_of(const analytic::MachineInfo& machine, const CalibrationFile& file,
                       const analytic::EmulatedCosts& emulated = {}, const std::map<int, Placement>& placements = {});

/// Adds a launch to what the file holds by now, others' launches included, and writes it at once. Returns the dates of
/// launches that newer ones have replaced (analytic::most_launches). Throws Error where that fails and it must be kept.
std::vector<std::string> add_to(CalibrationFile& file, const analytic::Calibration& launch);

/// The NVIDIA driver that the kernel has loaded, as it names itself; "" without one.
std::string nvidia_driver();

/// The GPUs of a probe, one entry per kind.
std::vector<analytic::GpuInfo> gpu_kinds(const protocol::Offer& capabilities);

/// The capabilities that an earlier probe of the same program file found on this machine, with the same driver and
/// the same GPUs in sight; nullopt when there was none.
std::optional<protocol::Offer> remembered_capabilities(const analytic::MachineInfo& machine,
                                                       const std::filesystem::path& program);
/// Keeps them; a cache that cannot be written is no error.
void remember(const protocol::Offer& capabilities, const analytic::MachineInfo& machine,
              const std::filesystem::path& program);

/// this_machine(), with the GPUs that an earlier probe has found.
analytic::MachineInfo known_machine();

/// What predictions are for: the machine of a data sheet, or that of a calibration, which is this one where none is
/// given.
struct Target {
  analytic::MachineInfo machine;
  CalibrationFile file;
};
/// `hardware`: a sheet's name or file, "" for none. Says so where `calibration` is another machine's. Throws what
/// find_hardware() and open_calibration() throw.
Target target_of(const std::string& hardware, const std::string& calibration, Progress& progress);
/// Throws usage_error for a calibration beside a sheet, of which nothing was calibrated.
void check_target(const std::string& hardware, const std::string& calibration);

}  // namespace parabench::suite
