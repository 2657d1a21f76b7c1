// The two ends of a message that is one copy between the memories of GPUs.
#pragma once

#include <cstdint>
#include <memory>

#include "parallelism/comm/communicator.h"
#include "parallelism/comm/cuda/direct_work.h"
#include "parallelism/comm/cuda/exchange.h"

namespace parabench::comm {

/// Offers the buffer; its part is done once the receiver has given out the copy. Dropped before it has ended, it
/// withdraws the offer, and waits for a copy that was given out.
class DirectSend final : public DirectWork {
 public:
  DirectSend(DirectResources& resources, const MessageLane& lane, BufferView buffer, std::uint64_t tag);
  ~DirectSend() override;

 private:
  bool give_out() override;

  std::shared_ptr<MessageOffer> offer_;
};

/// Copies what the sender offers. Dropped before it has ended, it waits for a copy that was given out.
class DirectReceive final : public DirectWork {
 public:
  DirectReceive(DirectResources& resources, const MessageLane& lane, BufferView buffer, std::uint64_t tag);
  ~DirectReceive() override;

 private:
  bool give_out() override;

  MessageLane lane_;
  std::uint64_t tag_;
};

}  // namespace parabench::comm
