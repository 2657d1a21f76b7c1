// What a rank may expect of a machine that was never measured: guesses; every number made of them is "data-sheet".
#pragma once

#include "analytic/calibration/machine.h"
#include "analytic/closed_forms/closed_forms.h"
#include "base/case.h"

namespace parabench::analytic {

/// Of peak rates, what training reaches: PyTorch's RuntimeEstimator; of bandwidths Calculon's at 10 MB.
inline constexpr double peak_efficiency = 0.75;
inline constexpr double core_bytes_per_s = 10e9;  ///< what one core draws from memory

struct DataSheetRates {
  double flops_per_s = 0;        ///< of the layers, at the efficiency that training reaches
  double bytes_per_s = 0;        ///< of their maps and weights, while the rank has its turn
  double state_bytes_per_s = 0;  ///< of gradients and updates
  double launch_s = 0;           ///< per operation of a layer and pass
  bool launches_ahead = false;   ///< launches hide behind work
  double sharing = 1;            ///< by how much longer layers take since ranks take turns
  Link message;                  ///< between two ranks
};

/// While `busy_ranks` ranks compute.
DataSheetRates data_sheet_rates(const MachineInfo& machine, const Case& spec, int busy_ranks);

/// The GPU that the case runs on; nullptr where none is known.
const GpuInfo* first_gpu(const MachineInfo& machine);
/// Its rates: those of the machine's sheet, else those of gpu_sheet().
const GpuRates& gpu_rates(const MachineInfo& machine);

}  // namespace parabench::analytic
