#include "parallelism/exec/device_cpu.h"

#include <stdexcept>
#include <utility>

#include "base/clock.h"
#include "parallelism/exec/optimizer/fused_loops.h"

namespace parabench::exec {
namespace {

/// A piece arrives where it was loaded.
class NoUpload final : public Upload {
 public:
  explicit NoUpload(const LargestPiece& largest) : sample_(largest.sample), labels_(largest.labels) {}
  datasets::HostMemory host_memory() const override { return datasets::plain_memory; }
  PieceTensors arrive(datasets::LoadedPiece piece) override {
    piece_ = std::move(piece);
    return tensors_of(piece_, sample_, labels_);
  }
  void taken() override { piece_ = {}; }

 private:
  TensorSpec sample_, labels_;
  datasets::LoadedPiece piece_;
};

/// Work is done when the call returns: a mark is a look at the clock.
class CpuDevice final : public Device {
 public:
  using Device::Device;

  torch::Device where() const override { return torch::kCPU; }
  std::string name() const override { return "cpu"; }
  void expect_marks(int) override {}
  Mark mark() override { return {now_s()}; }
  bool reached(const Mark&) const override { return true; }
  void wait(const comm::DeviceEvent&) override { throw std::logic_error("the processor has no events to wait for"); }
  comm::DeviceEvent copy(torch::Tensor& to, const torch::Tensor& from, void*) override {
    to.copy_(from);
    return {};
  }
  void synchronise() override {}
  double seconds(const Mark& mark) const override { return mark.host_s; }
  double event_seconds(const comm::DeviceEvent&) const override {
    throw std::logic_error("the processor has no events");
  }
  std::unique_ptr<Upload> upload(const LargestPiece& largest) override { return std::make_unique<NoUpload>(largest); }
  void adopt(const torch::Tensor&) override {}
  std::unique_ptr<CapturedWork> capture(const std::function<void()>&) override {
    throw std::logic_error("the processor captures no graph");
  }
  void update(const OptimizerRule& rule, const std::vector<UpdateOperands>& parameters) override {
    update_by_loops(rule, parameters);
  }
  void allocating(MemoryCategory) override {}
  void recategorise(const torch::Tensor& tensor, MemoryCategory category) override {
    exec::recategorise(tensor.storage().data(), category);
  }
  std::int64_t peak_reserved() const override { return 0; }
  void reset_peaks() override {}
  void release_unused() override {}
  std::int64_t outside_allocator() const override { return 0; }
  std::int64_t used() const override { return 0; }
  std::int64_t context_bytes() const override { return 0; }

 private:
  void enter_queue(bool) override {}
};

}  // namespace

std::unique_ptr<Device> cpu_device(MemoryAccount& account) { return std::make_unique<CpuDevice>(account); }

}  // namespace parabench::exec
