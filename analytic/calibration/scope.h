// What a calibration launch of a plan measures; front and ranks ask the same question.
#pragma once

#include <vector>

#include "analytic/calibration/calibration.h"
#include "base/placement.h"
#include "models/spec/model.h"
#include "parallelism/plan/plan.h"

namespace parabench::analytic {

/// Two ranks between which messages are timed.
struct MessagePair {
  Rank first, second;
  bool between_hosts = false;
  bool operator==(const MessagePair&) const = default;
};

/// Where a calibration keeps the curves of reduce-scatters, or of all-gathers; null for any other operation.
std::map<RankCountKey, Curve> Calibration::*share_curves(plan::OpKind collective);

/// A collective of even shares, and between which ranks.
struct SharesOfGroup {
  plan::OpKind collective;  ///< reduce_scatter or all_gather
  GroupShape group;
  auto operator<=>(const SharesOfGroup&) const = default;
};

/// Layers are timed alone and, where hosts have several ranks, with all of them busy; so are updates and copies.
struct CalibrationScope {
  std::vector<int> samples;           ///< of the chains of layers, ascending
  bool split_backwards = false;       ///< of the layers, too
  bool adds_gradients = false;        ///< of several micro-batches: what passes hold that add to gradients, too
  std::vector<GroupShape> groups;     ///< whose all-reduces are timed, ascending
  std::vector<SharesOfGroup> shares;  ///< timed besides, as the plan has them, ascending
  std::vector<MessagePair> messages;  ///< within a host, between hosts, or both, as the plan sends them
};
/// Where ranks are says Plan::placement.
CalibrationScope calibration_scope(const plan::Plan& plan);

/// A calibration with all entries that such a launch would bring, their times being the data sheet's: what will be
/// known, not how long anything takes.
Calibration promised_calibration(const plan::Plan& plan, const models::ModelSpec& model, const MachineInfo& machine);

}  // namespace parabench::analytic
