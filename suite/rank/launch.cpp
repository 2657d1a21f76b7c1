#include "suite/rank/launch.h"

#include <map>
#include <mutex>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "models/spec/synchronised.h"
#include "parallelism/plan/formats/read_json.h"
#include "parallelism/plan/strategies/check_executable.h"
#include "parallelism/plan/validate.h"
#include "suite/rank/affinity.h"

namespace parabench::rank {

Launch load_launch(const protocol::RankCommand& command) {
  Launch launch;
  launch.command = command;
  launch.input = {command.data, command.skip_corrupt};
  launch.machine = analytic::this_machine();
  launch.all_cores = allowed_cores();
  const nlohmann::json plan_file = read_json(command.plan);
  launch.plan = plan::plan_from_json(plan_file);
  plan::require_valid(launch.plan);
  const datasets::DatasetSpec data = datasets::make_dataset(launch.plan.spec.dataset);
  launch.original = models::make_model(launch.plan.spec.model, data.sample, data.classes, data.small_stem);
  launch.model = launch.plan.spec.sync_bn ? models::synchronised(launch.original) : launch.original;
  if (is_emulated(launch.plan.spec)) {
    launch.durations = plan::durations_from_json(plan_file, launch.plan);
    launch.links = std::make_shared<exec::EmulatedLinks>(launch.plan.spec.np);
    return launch;
  }
  plan::check_executable(launch.plan, launch.model);
  launch.source = datasets::open_source(data, {launch.input.directory, datasets::Split::train, launch.plan.spec.seed});
  return launch;
}

exec::MemoryAccount& account_of(Rank rank) {
  static std::mutex mutex;
  static auto* accounts = new std::map<Rank, exec::MemoryAccount>();
  std::lock_guard lock(mutex);
  return (*accounts)[rank];
}

}  // namespace parabench::rank
