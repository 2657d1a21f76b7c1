// The conformance suite's buffers as buffers of a device.
#pragma once

#include <memory>

#include "parallelism/comm/communicator.h"

namespace parabench {

/// Hands every buffer to `inner` as one of the device; everything else is `inner`'s.
class OnDevice final : public Communicator {
 public:
  explicit OnDevice(Communicator& inner) : Communicator(inner.rank(), inner.size()), inner_(inner) {}

  Capabilities capabilities() const override { return inner_.capabilities(); }
  Arena allocate(std::int64_t bytes) override { return inner_.allocate(bytes); }
  std::uint32_t events() const override { return inner_.events(); }
  void sleep(std::uint32_t seen, double limit_s) override { inner_.sleep(seen, limit_s); }
  void notify() override { inner_.notify(); }
  void abort(std::string_view cause) noexcept override { inner_.abort(cause); }

 private:
  std::unique_ptr<WorkState> start_all_reduce(BufferView buffer) override;
  std::unique_ptr<WorkState> start_send(BufferView buffer, Rank to, Message message) override;
  std::unique_ptr<WorkState> start_recv(BufferView buffer, Rank from, Message message) override;
  std::unique_ptr<WorkState> start_barrier() override;

  Communicator& inner_;
};

}  // namespace parabench
