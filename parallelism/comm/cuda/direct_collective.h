// A collective of which each member's GPU moves its part between all members' buffers.
#pragma once

#include <memory>
#include <vector>

#include "parallelism/comm/communicator.h"
#include "parallelism/comm/cuda/direct_work.h"
#include "parallelism/comm/cuda/exchange.h"
#include "parallelism/comm/rounds.h"

namespace parabench::comm {

/// One member's part: it posts its buffer, gives out what it moves once all have posted, and is queued once all have
/// given theirs out. Dropped before it has ended, it breaks the collective for all, and waits for what was given out.
class DirectCollective final : public DirectWork {
 public:
  /// Bytes that the GPU moves are added to `traffic`.
  DirectCollective(DirectResources& resources, const CollectiveCall& call, Traffic& traffic);
  ~DirectCollective() override;

 private:
  const std::vector<Rank>& members() const { return resources_.host().groups().members(call_.group); }
  int position() const { return resources_.host().groups().position(call_.group, resources_.host().rank()); }
  CommonCollective::Seat& seat(int position) { return common_->seats[static_cast<std::size_t>(position)]; }
  std::byte* data_of(int position) { return static_cast<std::byte*>(seat(position).data); }
  PostOfRank said_by(int position);

  bool give_out() override;
  void give_out_part();
  void sum(Share share, bool for_all);
  void copy(int to, int from, Share share);

  CollectiveCall call_;
  Traffic& traffic_;
  std::shared_ptr<CommonCollective> common_;
};

}  // namespace parabench::comm
