// An all-reduce of which each member's GPU sums its share over all members' buffers.
#pragma once

#include <memory>
#include <vector>

#include "parallelism/comm/collectives.h"
#include "parallelism/comm/communicator.h"
#include "parallelism/comm/cuda/direct_work.h"
#include "parallelism/comm/cuda/exchange.h"
#include "parallelism/comm/reduce.h"

namespace parabench {

/// One member's part: it posts its buffer, gives out its share once all have posted, and is queued once all have given
/// theirs out. Dropped before it has ended, it breaks the sum for all, and waits for the shares that were given out.
class DirectReduction final : public DirectWork {
 public:
  /// Bytes that the GPU moves for the share are added to `traffic`.
  DirectReduction(DirectResources& resources, int group, BufferView buffer, Traffic& traffic);
  ~DirectReduction() override;

 private:
  const std::vector<Rank>& members() const { return resources_.host().groups().members(group_); }
  int position() const { return resources_.host().groups().position(group_, resources_.host().rank()); }
  Reduction::Seat& own_seat() { return reduction_->seats[static_cast<std::size_t>(position())]; }

  bool give_out() override;
  void give_out_share();
  void sum(Share share);

  int group_;
  Traffic& traffic_;
  std::shared_ptr<Reduction> reduction_;
};

}  // namespace parabench
