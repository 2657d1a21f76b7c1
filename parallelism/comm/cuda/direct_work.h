// What operations have in common where ranks hand device pointers over.
#pragma once

#include <cstdint>

#include "parallelism/comm/communicator.h"
#include "parallelism/comm/cuda/direct_resources.h"

namespace parabench::comm {

/// A turn in a queue, and an end on its stream.
class DirectWork : public WorkState {
 public:
  DirectWork(DirectResources& resources, DirectResources::Queue& queue, BufferView buffer)
      : resources_(resources), buffer_(buffer), queue_(queue), turn_(queue.started++) {}
  ~DirectWork() override;

  bool queued() override;
  bool advance() override;
  DeviceSpan device_span() const override { return span_; }

 protected:
  /// The host's part; sets span_ and returns true once it is done.
  virtual bool give_out() = 0;
  DeviceEvent record() { return resources_.events().record(stream()); }
  const Stream& stream() const { return queue_.stream; }
  /// How many operations of the queue were started before.
  std::uint64_t turn() const { return turn_; }

  DirectResources& resources_;
  BufferView buffer_;
  DeviceSpan span_;
  bool ended_ = false;

 private:
  DirectResources::Queue& queue_;
  std::uint64_t turn_;
  bool is_queued_ = false;
};

}  // namespace parabench::comm
