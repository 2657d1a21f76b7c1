// Trains by a plan on one rank and returns when everything ran.
#pragma once

#include <optional>

#include "parallelism/comm/communicator.h"
#include "parallelism/exec/device.h"
#include "parallelism/exec/execution.h"
#include "parallelism/exec/input.h"
#include "parallelism/exec/stage_state.h"
#include "parallelism/plan/paces.h"

namespace parabench::exec {

/// Trains `plan` (unrolled) as rank `comm.rank()`, by run_lanes(). The memory peak is reset when step `measure_from`
/// begins, with graph:on when step graph_capture_step does; nullopt: nothing is measured, and spans are zeros. `comm`
/// has the plan's collective_groups() and can send on its routes(). Throws NotANumber, PeerFailure, or what a reader
/// threw; before that the other ranks are told to stop. `paces`: messages and collectives take as long as that, though
/// `comm` would end them at once, and ranks receive late (plan::receiving_late()). Precondition: such a plan is trained
/// neither by the reducer (plan::sums_by_reducer()) nor with graph:on.
Execution execute(const plan::Plan& plan, const models::ModelSpec& model, StageState& state, comm::Communicator& comm,
                  RankInput& input, Device& device, std::optional<StepId> measure_from,
                  const plan::ExchangeSeconds* paces = nullptr);

}  // namespace parabench::exec
