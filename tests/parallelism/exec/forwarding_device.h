// A device for tests that is the processor but for what they override.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "parallelism/exec/device_cpu.h"

namespace parabench::exec {

class ForwardingDevice : public Device {
 public:
  explicit ForwardingDevice(MemoryAccount& account) : Device(account), processor_(cpu_device(account)) {}

  torch::Device where() const override { return processor_->where(); }
  std::string name() const override { return processor_->name(); }
  void expect_marks(int count) override { processor_->expect_marks(count); }
  Mark mark() override { return processor_->mark(); }
  bool reached(const Mark& mark) const override { return processor_->reached(mark); }
  void wait(const comm::DeviceEvent& event) override { processor_->wait(event); }
  comm::DeviceEvent copy(torch::Tensor& to, const torch::Tensor& from, void* ready) override {
    return processor_->copy(to, from, ready);
  }
  void synchronise() override { processor_->synchronise(); }
  double seconds(const Mark& mark) const override { return processor_->seconds(mark); }
  double event_seconds(const comm::DeviceEvent& event) const override { return processor_->event_seconds(event); }
  std::unique_ptr<Upload> upload(const LargestPiece& largest) override { return processor_->upload(largest); }
  void adopt(const torch::Tensor& tensor) override { processor_->adopt(tensor); }
  std::unique_ptr<CapturedWork> capture(const std::function<void()>& work) override {
    return processor_->capture(work);
  }
  void update(const OptimizerRule& rule, const std::vector<UpdateOperands>& parameters) override {
    processor_->update(rule, parameters);
  }
  void allocating(MemoryCategory category) override { processor_->allocating(category); }
  void recategorise(const torch::Tensor& tensor, MemoryCategory category) override {
    processor_->recategorise(tensor, category);
  }
  std::int64_t peak_reserved() const override { return processor_->peak_reserved(); }
  void reset_peaks() override { processor_->reset_peaks(); }
  void release_unused() override { processor_->release_unused(); }
  std::int64_t outside_allocator() const override { return processor_->outside_allocator(); }
  std::int64_t used() const override { return processor_->used(); }
  std::int64_t context_bytes() const override { return processor_->context_bytes(); }

 private:
  void enter_queue(bool computes) override { processor_->enter(computes); }

  std::unique_ptr<Device> processor_;
};

}  // namespace parabench::exec
