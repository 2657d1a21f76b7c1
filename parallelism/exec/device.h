// What a rank computes on: the processor, or one GPU. Nothing else in the executor knows which.
#pragma once

#include <torch/types.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/optimizer.h"
#include "parallelism/comm/communicator.h"
#include "parallelism/exec/memory.h"
#include "parallelism/exec/optimizer/operands.h"
#include "parallelism/exec/upload.h"

namespace parabench::exec {

/// A point in a device's compute queue.
struct Mark {
  double host_s = 0;      ///< when it was set, on the processor
  void* event = nullptr;  ///< the device's own, as BufferView::ready takes it; null on the processor
  int number = 0;
};

/// Work that a device can be given again as a whole.
class CapturedWork {
 public:
  virtual ~CapturedWork() = default;
  /// Gives it out once: the same operations on the same memory.
  virtual void replay() = 0;
};

/// One rank's device with the account of its memory. On a device with a queue of its own, tensor work returns
/// before it is done.
class Device {
 public:
  explicit Device(MemoryAccount& account) : account_(account) {}
  virtual ~Device() = default;
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  MemoryAccount& account() const { return account_; }
  virtual torch::Device where() const = 0;
  virtual std::string name() const = 0;  ///< as results name it: "cpu", "cuda:0 NVIDIA H200"

  /// Each thread of the rank calls this before it touches tensors: the computing one, and the one that communicates.
  /// Backwards that the computing thread starts run on it: else those of all ranks of the process that share a GPU
  /// queue up for one thread of autograd's, which also keeps cuDNN's choices of algorithms to itself.
  void enter(bool computes);

  /// Gets ready for so many marks, so that none of them takes time to make.
  virtual void expect_marks(int count) = 0;
  /// The point after all work that the computing thread has given out so far.
  virtual Mark mark() = 0;
  /// Whether the device has come to a mark; for any thread.
  virtual bool reached(const Mark& mark) const = 0;
  /// Makes all that the computing thread gives out from now on wait for an event of another queue of the device.
  virtual void wait(const comm::DeviceEvent& event) = 0;
  /// For the communicating thread: copies once the device has come to `ready`, an event as BufferView::ready takes it
  /// (null: to all that the computing thread has given out so far). The event after it, null on the processor; who
  /// hands it on keeps it.
  virtual comm::DeviceEvent copy(torch::Tensor& to, const torch::Tensor& from, void* ready) = 0;
  /// Waits for everything given out.
  virtual void synchronise() = 0;
  /// When the device came to a mark, on the clock of now_s(); after synchronise().
  virtual double seconds(const Mark& mark) const = 0;
  /// Likewise of an event of another queue that has passed.
  virtual double event_seconds(const comm::DeviceEvent& event) const = 0;

  /// A way for pieces from the host, of which none is larger than that one. The device outlives it.
  virtual std::unique_ptr<Upload> upload(const LargestPiece& largest) = 0;
  /// Tells the allocator that the computing thread will read a tensor that the communicating thread allocated.
  virtual void adopt(const torch::Tensor& tensor) = 0;

  /// Captures what `work` gives out, without running it: the computing thread's tensor operations on the device, after
  /// steps of the same work that ran. Tensors that `work` drops leave their memory to the captured work, so long as it
  /// lives. Gives unused memory back before, and begins peak_reserved() anew. Throws std::logic_error on a device that
  /// cannot (the processor).
  virtual std::unique_ptr<CapturedWork> capture(const std::function<void()>& work) = 0;

  /// The optimizer's step, as it is fastest there.
  virtual void update(const OptimizerRule& rule, const std::vector<UpdateOperands>& parameters) = 0;

  /// Category of the tensors that the computing thread makes from now on.
  virtual void allocating(MemoryCategory category) = 0;
  /// Moves a tensor's block to another category.
  virtual void recategorise(const torch::Tensor& tensor, MemoryCategory category) = 0;
  /// Most bytes that the device's allocator has held for the rank since reset_peaks(); 0 on the processor.
  virtual std::int64_t peak_reserved() const = 0;
  virtual void reset_peaks() = 0;
  /// Lets the device's allocator give back what no tensor of the process uses.
  virtual void release_unused() = 0;
  /// Bytes in use on the device outside this process's allocator, now and when this object was made (the context): of
  /// all ranks and other processes there; 0 on the processor. Never negative.
  virtual std::int64_t outside_allocator() const = 0;
  /// Bytes in use on the device, by all that run there; 0 on the processor.
  virtual std::int64_t used() const = 0;
  virtual std::int64_t context_bytes() const = 0;

 private:
  virtual void enter_queue(bool computes) = 0;

  MemoryAccount& account_;
};

/// While in scope, tensors that the calling thread makes for `device` count under `category`.
class CountScope {
 public:
  CountScope(Device& device, MemoryCategory category);

 private:
  std::optional<AccountScope> host_;
};

}  // namespace parabench::exec
