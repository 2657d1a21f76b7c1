// Other products that train what a strategy of ours does, measured beside it under the id of one strategy:
// peer[product=torch-ddp].
#pragma once

#include <span>
#include <string_view>

#include "base/case.h"
#include "models/spec/model.h"
#include "parallelism/plan/plan.h"
#include "parallelism/plan/strategies/placement.h"

namespace parabench::plan {

struct PeerProduct {
  std::string_view name;         ///< in ids
  std::string_view summary;      ///< what is launched, as its users write it
  std::string_view counterpart;  ///< the strategy of ours that cuts model and batch alike
  bool pipelined = false;        ///< its processes hold stages, which pass on one tensor
  bool one_process = false;      ///< its ranks are threads of one process
};

std::span<const PeerProduct> peer_products();
/// The same for people.
inline constexpr std::string_view peer_products_expected =
    "torch-ddp, horovod, deepspeed-zero1, deepspeed-zero2, deepspeed-zero3, fsdp2, torch-gpipe, torch-1f1b, "
    "torch-interleaved, torch-zbv or torchgpipe";

/// Throws usage_error with the nearest name.
const PeerProduct& find_peer_product(std::string_view name);

/// Whether another product is to train the case.
bool is_peer(const Case& spec);

/// Throws usage_error where the case names none, or an unknown one. Precondition: is_peer(spec).
const PeerProduct& peer_product(const Case& spec);

/// The same work under the product's counterpart: its plan says who trains which layers on which samples. Throws as
/// peer_product() does. Precondition: is_peer(spec).
Case counterpart(const Case& spec);

/// What no product here is given to train, beside what its counterpart refuses (check_case.h). Throws usage_error.
void check_peer(const Case& spec, const models::ModelSpec& model);

/// Throws usage_error: what another product does has no plan of ours.
Plan refuse_peer_plan(const StrategyInput& input);

}  // namespace parabench::plan
