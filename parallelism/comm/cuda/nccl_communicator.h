// The communicator of ranks on GPUs, each its own, over NCCL.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "parallelism/comm/communicator.h"
#include "parallelism/comm/cuda/nccl.h"
#include "parallelism/comm/cuda/nccl_lane.h"
#include "parallelism/comm/cuda/polling.h"

namespace parabench::comm {

/// One rank's end. NCCL knows no tags and pairs messages by their order alone, so a header with tag and size goes over
/// the host before each, when the sender's host gives the message out, though its GPU may have other things to do
/// first. The header's arrival, which wakes the receiver, gives out the receive: none takes the GPU's time before, and
/// one that is paired wrongly never starts. From then on streams wait, not hosts. How often the host looks: polling.h.
class NcclCommunicator final : public Communicator {
 public:
  /// Collective over `host`, which must outlive it.
  NcclCommunicator(Communicator& host, int gpu, std::vector<MessageLane> lanes, NcclOptions options);
  ~NcclCommunicator() override;

  Capabilities capabilities() const override;
  Arena allocate(std::int64_t bytes) override;
  std::uint32_t events() const override { return host_.events(); }
  void sleep(std::uint32_t seen, double limit_s) override;
  void notify() override { host_.notify(); }
  void abort(std::string_view cause) noexcept override { host_.abort(cause); }

 private:
  friend class NcclWork;

  std::unique_ptr<WorkState> start_collective(const CollectiveCall& call) override;
  std::unique_ptr<WorkState> start_send(BufferView buffer, Rank to, Message message) override;
  std::unique_ptr<WorkState> start_recv(BufferView buffer, Rank from, Message message) override;
  std::unique_ptr<WorkState> start_barrier() override;

  struct Registration {
    ncclComm_t comm;
    void* handle;
  };

  NcclLane& collectives(CommGroupId group) { return *collectives_[static_cast<std::size_t>(group.value)]; }
  /// Throws std::invalid_argument for one that was not declared.
  NcclLane& messages(const MessageLane& lane) const;
  /// Any thread of the rank may call, and each has a current GPU of its own.
  void use_gpu() const;
  /// The world's lanes in the order made, which is the same on all ranks, so that nobody waits for one who waits for
  /// another; `declared` once each, in that order.
  void make_lanes(const std::vector<MessageLane>& declared);
  NcclLane* make_lane(const ncclUniqueId& id, const std::vector<Rank>& members);
  /// NCCL connects ranks at their first operation, which allocates memory: not while kernels wait for each other.
  void connect(NcclLane& lane, NcclOperation first);
  void wait_until_settled(double limit_s);
  bool finish_in_good_order() noexcept;
  /// Ends all lanes, kernels in flight too, and keeps whatever NCCL may still use. Once: then there is nothing left.
  void give_up() noexcept;
  /// Makes every rank stop.
  [[noreturn]] void fail(const std::string& cause);

  Communicator& host_;
  int gpu_;
  NcclOptions options_;
  DeviceMemory first_content_;  // what connect() sends and sums; outlives the lanes, whose kernels end with them
  std::vector<std::unique_ptr<NcclLane>> lanes_;
  std::vector<NcclLane*> collectives_;         // by group; nullptr where this rank is no member
  std::map<MessageLane, NcclLane*> messages_;  // nullptr where this rank is neither end
  std::vector<void*> arenas_;
  std::vector<Registration> registrations_;
  GpuPolling polling_;
  bool failed_ = false;    // the lanes are of no more use
  bool given_up_ = false;  // and were ended
  int exceptions_;         // in flight when it was made
};

}  // namespace parabench::comm
