#include "parallelism/plan/strategies/reference.h"

#include "base/compression.h"
#include "parallelism/plan/strategies/delay_rules.h"
#include "parallelism/plan/strategies/local_sgd.h"
#include "parallelism/plan/strategies/parameter_server.h"
#include "parallelism/plan/strategies/peer.h"

namespace parabench::plan {

Reference reference_of(const Case& spec) {
  if (is_peer(spec)) return Reference::peer;
  if (delays_updates(spec)) return Reference::delayed_update;
  if (averaging(spec).every > 0) return Reference::local_update;
  if (serving(spec).backups > 0) return Reference::backup_workers;
  if (compression(spec).is_on()) return Reference::compressed;
  return Reference::sequential;
}

}  // namespace parabench::plan
