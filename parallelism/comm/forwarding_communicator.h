// A communicator in front of another one.
#pragma once

#include <memory>

#include "parallelism/comm/communicator.h"
#include "parallelism/comm/host_work.h"

namespace parabench::comm {

/// Everything is `inner`'s, which outlives it; what changes some of it derives from it and overrides that.
class ForwardingCommunicator : public Communicator {
 public:
  explicit ForwardingCommunicator(Communicator& inner) : Communicator(inner.rank(), inner.groups()), inner_(inner) {}

  Capabilities capabilities() const override { return inner_.capabilities(); }
  Arena allocate(std::int64_t bytes) override { return inner_.allocate(bytes); }
  std::uint32_t events() const override { return inner_.events(); }
  void sleep(std::uint32_t seen, double limit_s) override { inner_.sleep(seen, limit_s); }
  void notify() override { inner_.notify(); }
  void abort(std::string_view cause) noexcept override { inner_.abort(cause); }

 protected:
  std::unique_ptr<WorkState> start_collective(const CollectiveCall& call) override {
    return collective_on_host(inner_, call, traffic_);
  }
  std::unique_ptr<WorkState> start_send(BufferView buffer, Rank to, Message message) override {
    return forward_to_host(inner_.send(buffer, to, message));
  }
  std::unique_ptr<WorkState> start_recv(BufferView buffer, Rank from, Message message) override {
    return forward_to_host(inner_.recv(buffer, from, message));
  }
  std::unique_ptr<WorkState> start_barrier() override { return forward_to_host(inner_.barrier()); }

 private:
  Communicator& inner_;
};

}  // namespace parabench::comm
