// Speed-up over sequential training on the same hardware.
#pragma once

#include <span>

#include "results/record.h"

namespace parabench::results {

/// Whether two cases are measures of each other: the same model, data set, precision, layout, device, optimizer, input
/// and graph. Batch and cores are compared where they matter.
bool same_training(const Case& a, const Case& b);
/// Cores that a case uses: np x threads.
int cores(const Case& spec);
/// Whether it is what others are compared with: sequential training that was measured and counts (summary.h).
bool is_reference(const Record& record);

/// Fills `measured.baseline` of every record that counts (summary.h) but the sequential ones, from the first sequential
/// record that counts of the same training (same_training) and batch on as many cores: np x threads of the case =
/// threads of the sequential one. Cleared where the span holds no such record.
///   speedup    = samples per second of the case / samples per second of the baseline
///   efficiency = speedup x cores of the baseline / cores of the case, cores = np x threads
/// Both use the same cores, so today the two are equal: 1 means that ranks use the cores as well as threads do. It
/// is not the speed-up over one core, which would credit a strategy with cores that threads use as well.
void fill_baselines(std::span<Record> records);

}  // namespace parabench::results
