// Device buffers over a host communicator: copied out, moved by the host, copied in. Knows of a device only that it
// copies.
#pragma once

#include <memory>
#include <vector>

#include "parallelism/comm/communicator.h"
#include "parallelism/comm/cuda/polling.h"

namespace parabench::comm {

/// What staging needs of a device. Memory that it hands out lives as long as itself.
class StagingDevice {
 public:
  virtual ~StagingDevice() = default;
  /// Zeroed memory of the device, 64-byte aligned. environment_error when there is too little.
  virtual std::byte* allocate(std::int64_t bytes) = 0;
  /// Host memory that the device copies from and to while the processor goes on.
  virtual std::byte* allocate_pinned(std::int64_t bytes) = 0;
  /// Makes other host memory such memory until the device ends.
  virtual void pin(std::byte* data, std::int64_t bytes) = 0;
  /// Start a copy between the device and pinned host memory, after the device has come to `ready` (null: at once): the
  /// work is queued from the beginning. Dropping it waits for the copy.
  virtual Work copy_out(std::byte* host, const std::byte* device, std::int64_t bytes, void* ready) = 0;
  virtual Work copy_in(std::byte* device, const std::byte* host, std::int64_t bytes, void* ready) = 0;
};

/// Operations reach the host in the order in which they were started, as its own rules ask for, although their copies
/// may end in another order. Nothing blocks. The host moves what was copied out when it has seen that; an operation is
/// queued once it is being copied in, so that of a send the host does the last part. How often the host looks at
/// copies: polling.h. A collective within an arena happens in the part of the host's arena behind it, in place where
/// the host can; other buffers pass through pinned memory that is kept for the next ones. Only what a rank gives is
/// copied out, and only what it gets is copied in: with a share of s of S bytes, S and s for a reduce_scatter, s and
/// S - s for an all_gather.
class StagedCommunicator final : public Communicator {
 public:
  /// `host` must outlive it.
  StagedCommunicator(Communicator& host, std::unique_ptr<StagingDevice> device);

  Capabilities capabilities() const override { return host_.capabilities(); }
  Arena allocate(std::int64_t bytes) override;
  std::uint32_t events() const override { return host_.events(); }
  void sleep(std::uint32_t seen, double limit_s) override;
  void notify() override { host_.notify(); }
  void abort(std::string_view cause) noexcept override { host_.abort(cause); }

 private:
  friend class StagedWork;

  std::unique_ptr<WorkState> start_collective(const CollectiveCall& call) override;
  std::unique_ptr<WorkState> start_send(BufferView buffer, Rank to, Message message) override;
  std::unique_ptr<WorkState> start_recv(BufferView buffer, Rank from, Message message) override;
  std::unique_ptr<WorkState> start_barrier() override;

  /// Operations of one kind, of which the host wants to hear in order.
  struct Queue {
    std::uint64_t started = 0, handed_over = 0;
  };
  struct StagedArena {
    Arena device, host;
  };
  /// A piece of pinned memory, between operations in `idle_`.
  struct Pinned {
    std::byte* data = nullptr;
    std::int64_t bytes = 0;
  };

  /// Where a device buffer lies in the host's arena; nullptr for a buffer from elsewhere.
  std::byte* behind(BufferView buffer) const;
  Pinned take_pinned(std::int64_t bytes);

  Communicator& host_;
  std::unique_ptr<StagingDevice> device_;
  std::vector<StagedArena> arenas_;
  std::vector<Pinned> idle_;
  std::vector<Queue> collectives_;          // by group
  std::vector<Queue> outgoing_, incoming_;  // [peer * channel_count + channel]
  GpuPolling polling_;
};

}  // namespace parabench::comm
