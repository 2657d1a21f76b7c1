#include "parallelism/comm/host_work.h"

#include <utility>

namespace parabench::comm {
namespace {

class HostWork final : public WorkState {
 public:
  explicit HostWork(Work work) : work_(std::move(work)) {}
  bool advance() override { return work_.test(); }
  bool queued() override { return work_.queued(); }
  DeviceSpan device_span() const override { return work_.device_span(); }

 private:
  Work work_;
};

class HostCollective final : public WorkState {
 public:
  HostCollective(Communicator& host, const CollectiveCall& call, Traffic& traffic) : host_(host), traffic_(traffic) {
    counted([&] { work_ = host_.collective(call); });
  }

  bool advance() override {
    bool done = false;
    counted([&] { done = work_.test(); });
    return done;
  }
  bool queued() override {
    bool queued = false;
    counted([&] { queued = work_.queued(); });
    return queued;
  }
  DeviceSpan device_span() const override { return work_.device_span(); }

 private:
  /// The host counts when it moves bytes, that is at the start or on the way.
  template <class Call>
  void counted(Call call) {
    const Traffic before = host_.traffic();
    call();
    traffic_.sent += host_.traffic().sent - before.sent;
    traffic_.received += host_.traffic().received - before.received;
  }

  Communicator& host_;
  Traffic& traffic_;
  Work work_;
};

}  // namespace

std::unique_ptr<WorkState> forward_to_host(Work work) { return std::make_unique<HostWork>(std::move(work)); }

std::unique_ptr<WorkState> collective_on_host(Communicator& host, const CollectiveCall& call, Traffic& traffic) {
  return std::make_unique<HostCollective>(host, call, traffic);
}

}  // namespace parabench::comm
