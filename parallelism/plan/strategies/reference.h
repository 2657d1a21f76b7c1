// What a case trains as, with which its training is compared.
#pragma once

#include <array>
#include <string_view>

#include "base/case.h"
#include "base/enum_text.h"

namespace parabench::plan {

enum class Reference {
  sequential,      ///< one rank on the same batches
  delayed_update,  ///< gradients of older weights, or updates that come later (delay_rules.h)
  local_update,    ///< copies that train apart and are averaged now and then (local_sgd.h)
  backup_workers,  ///< updates by the gradients that come first (parameter_server.h)
  compressed,      ///< updates by gradients that lost something on their way (compression.h)
  peer,            ///< whatever another product does (peer.h)
};
constexpr std::array<std::string_view, 6> names_of(Reference) {
  return {"sequential", "delayed-update", "local-update", "backup-workers", "compressed", "peer"};
}

/// By the definition of the case's strategy and its keys. Throws usage_error for an unknown strategy, and for what a
/// parameter does not accept.
Reference reference_of(const Case& spec);

}  // namespace parabench::plan
