// Which of the chosen cases can run here, and what each is expected to cost.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "suite/cases/selection.h"
#include "suite/protocol/offer.h"
#include "suite/run/forecast.h"
#include "suite/run/run_options.h"

namespace parabench::suite {

struct Prepared {
  SelectedCase chosen;
  /// nullopt where the case is impossible in itself. Of a case that another product trains, its counterpart's: so are
  /// plan and forecast.
  std::optional<Subject> subject;
  std::optional<Forecast> forecast;  ///< nullopt where it cannot be planned here
  std::string skip;                  ///< why it does not run; "" when it does
  bool finished = false;             ///< an earlier run has left its record: it needs neither calibration nor launch
  bool runs() const { return skip.empty(); }
};

struct PrepareOptions {
  protocol::Offer capabilities;
  bool one_host = false;  ///< all ranks are of this host, so that they share its GPUs
  bool has_data = false;  ///< a folder for data sets from files was given
  bool force = false;     ///< also where the memory is predicted not to suffice
  int warmup = 0, steps = 0;
  std::map<std::string, std::string> peer_obstacles = {};  ///< of products (launch/peer.h)
};

/// For a run by this launcher, the one that was found usable.
PrepareOptions options_of_run(const RunOptions& options, const protocol::Offer& capabilities, const Launcher& launcher);

/// Every case, in order, with its plan or with the reason why it is skipped. Throws usage_error for a named case
/// that is impossible in itself, and Interrupted where `interrupted`, asked before each case, says so.
std::vector<Prepared> prepare(const std::vector<SelectedCase>& chosen, const PrepareOptions& options,
                              const Knowledge& knowledge, const std::function<bool()>& interrupted = {});

/// What the case asks for and this machine, or this build of parabench-rank, does not have; "" when nothing.
std::string missing_capability(const Case& spec, const PrepareOptions& options);

/// Throws usage_error where the case trains on files and no folder of data was given.
void require_data(const Subject& subject, bool has_data);

/// Forecasts the runnable cases anew, after a calibration.
void forecast_again(std::vector<Prepared>& cases, const PrepareOptions& options, const Knowledge& knowledge);

}  // namespace parabench::suite
