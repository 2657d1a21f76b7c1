// How far a sweep is.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/enum_text.h"
#include "results/file.h"
#include "suite/sweep/sweep_layout.h"

namespace parabench::suite {

/// done: the record counts. failed: it does not, or the run refused to start. other: the record was made with other
/// options than the index names. missing: not started, or cut short.
enum class CaseState { done, failed, other, skipped, running, missing };
constexpr std::array<std::string_view, 6> names_of(CaseState) {
  return {"done", "failed", "other", "skipped", "running", "missing"};
}

struct CaseProgress {
  IndexEntry entry;
  CaseState state = CaseState::missing;
  std::string reason;                           ///< "" for done and running ones
  std::optional<results::ResultsFile> results;  ///< as it was read, with this case's record; nullopt: none
};

/// Every case of the index, in its order.
std::vector<CaseProgress> progress_of(const CampaignFolder& campaign);

/// All records of a campaign but those in the state `other` as one file, in the order of the index. Throws usage_error
/// naming the two cases and what differs where they come from different programs, kinds of machines or libraries, and
/// Error with code nothing_matched where there is no record.
results::ResultsFile collect(const std::vector<CaseProgress>& cases, const std::vector<std::string>& argv);

}  // namespace parabench::suite
