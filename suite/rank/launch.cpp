#include "suite/rank/launch.h"

#include <map>
#include <mutex>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "parallelism/plan/formats/read_json.h"
#include "parallelism/plan/strategies/check_executable.h"
#include "parallelism/plan/validate.h"
#include "suite/rank/affinity.h"

namespace parabench {

Launch load_launch(const RankCommand& command) {
  Launch launch;
  launch.command = command;
  launch.input = {command.data, command.skip_corrupt};
  launch.machine = this_machine();
  launch.all_cores = allowed_cores();
  const nlohmann::json plan_file = read_json(command.plan);
  launch.plan = plan_from_json(plan_file);
  require_valid(launch.plan);
  const DatasetSpec data = make_dataset(launch.plan.spec.dataset);
  launch.model = make_model(launch.plan.spec.model, data.sample, data.classes, data.small_stem);
  if (is_emulated(launch.plan.spec)) {
    launch.durations = durations_from_json(plan_file, launch.plan);
    return launch;
  }
  check_executable(launch.plan, launch.model);
  launch.source = open_source(data, {launch.input.directory, Split::train, launch.plan.spec.seed});
  return launch;
}

MemoryAccount& account_of(Rank rank) {
  static std::mutex mutex;
  static auto* accounts = new std::map<Rank, MemoryAccount>();
  std::lock_guard lock(mutex);
  return (*accounts)[rank];
}

}  // namespace parabench
