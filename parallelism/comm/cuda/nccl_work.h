// One operation over NCCL, as its caller drives it.
#pragma once

#include <memory>

#include "parallelism/comm/communicator.h"
#include "parallelism/comm/cuda/nccl_communicator.h"
#include "parallelism/comm/cuda/nccl_lane.h"
#include "parallelism/comm/mailbox.h"

namespace parabench::comm {

/// One operation on a lane; of a message also its header over the host. Whoever made it calls release() of a sum,
/// send_header() of a send, receive_header() of a receive, once.
class NcclWork final : public WorkState {
 public:
  NcclWork(NcclCommunicator& comm, NcclLane& lane, NcclOperation operation);
  ~NcclWork() override;

  /// Lets the operation onto the GPU.
  void release();
  /// Releases it, too.
  void send_header(Message message);
  /// The header's arrival releases it, unless it belongs to another message.
  void receive_header(Message message);

  bool queued() override;
  bool advance() override { return queued() && operation_->ended; }
  DeviceSpan device_span() const override { return operation_->span; }

 private:
  void drive();

  NcclCommunicator& comm_;
  NcclLane& lane_;
  std::shared_ptr<NcclOperation> operation_;
  Message message_;         // of a receive
  MessageHeader header_;    // sent, or as it arrived
  bool launching_ = false;  // released, and not yet seen on the stream
  Work header_work_;
};

}  // namespace parabench::comm
