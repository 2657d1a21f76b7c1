// Speed-up over sequential training on the same hardware.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "results/record.h"

namespace parabench::results {

/// Whether two cases are measures of each other: the same model and data set, and the same value of every key but those
/// that only strategies read and those that say how ranks compute (np, threads, comm, recompute, memory, executor):
/// the same training, from the same weights, by the same arithmetic, of samples that are loaded alike. Batch and cores
/// are compared where they matter.
bool same_training(const Case& a, const Case& b);
/// Cores that a case uses: np x threads.
int cores(const Case& spec);
/// Whether it is what others are compared with: sequential training that was measured and counts (summary.h).
bool is_reference(const Record& record);

/// In what a sequential case is not the one that another is compared with, batch and cores apart: "model", "data set"
/// and names of keys. It has to train the same, with recompute, memory and executor as the case has them, or with their
/// defaults.
std::vector<std::string_view> obstacles(const Case& reference, const Case& spec);
/// Whether it is what a case is compared with: is_reference(), and no obstacles().
bool is_reference_of(const Record& reference, const Case& spec);

/// Fills `measured.baseline` of every record that counts (summary.h) but the sequential ones, from the first that is
/// their reference (is_reference_of) with the same batch on as many cores: np x threads of the case = threads of the
/// sequential one. Cleared where the span holds no such record.
///   speedup    = samples per second of the case / samples per second of the baseline
///   efficiency = speedup x cores of the baseline / cores of the case, cores = np x threads
/// Both use the same cores, so today the two are equal: 1 means that ranks use the cores as well as threads do. It
/// is not the speed-up over one core, which would credit a strategy with cores that threads use as well.
void fill_baselines(std::span<Record> records);

}  // namespace parabench::results
