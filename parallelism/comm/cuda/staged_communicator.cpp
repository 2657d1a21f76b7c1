#include "parallelism/comm/cuda/staged_communicator.h"

#include <algorithm>
#include <bit>
#include <functional>
#include <optional>
#include <utility>

#include "parallelism/comm/cuda/host_work.h"

namespace parabench {
namespace {

constexpr std::int64_t smallest_pinned = 4096;

int index_of(Rank peer, Channel channel) { return peer.value * channel_count + static_cast<int>(channel); }

}  // namespace

/// One operation: copied out (unless it only receives), handed over in its turn, copied in (unless it only sends).
/// For a buffer of the host only the turn remains.
class StagedWork final : public WorkState {
 public:
  using Operation = std::function<Work(BufferView)>;

  StagedWork(StagedCommunicator& comm, StagedCommunicator::Queue& queue, BufferView buffer, Operation operation)
      : comm_(comm), queue_(queue), turn_(queue.started++), buffer_(buffer), host_(buffer), operation_(operation) {}

  ~StagedWork() override {
    moving_ = {};
    if (phase_ == Phase::leaving && copying_) comm_.polling_.count_awaited(-1);
    if (copying_) end_copy();
    if (pinned_) comm_.idle_.push_back(*pinned_);
  }

  /// `in_place`: where the host has the same bytes already; else pinned memory is taken.
  void stage(std::byte* in_place, bool out, bool in) {
    if (!in_place) {
      pinned_ = comm_.take_pinned(buffer_.bytes);
      in_place = pinned_->data;
    }
    host_.data = in_place;
    host_.on_device = false;
    in_ = in;
    out_ = out;
    if (!out) return;
    begin_copy(comm_.device_->copy_out(in_place, device(), buffer_.bytes, buffer_.ready));
    span_.start = copy_.device_span().start;
    comm_.polling_.count_awaited(1);
  }

  /// As far as it goes at once, so that the host hears early of what it can start.
  void begin() {
    if (phase_ == Phase::leaving && copied()) {
      if (out_) comm_.polling_.count_awaited(-1);
      phase_ = Phase::waiting;
    }
    if (phase_ == Phase::waiting && queue_.handed_over == turn_) hand_over();
  }

  bool queued() override {
    begin();
    if (phase_ == Phase::moving) {
      if (!moving_.test()) return false;
      phase_ = Phase::arriving;
      if (in_) copy_in();
    }
    return phase_ == Phase::arriving && in_;
  }

  bool advance() override {
    queued();
    return phase_ == Phase::arriving && copied();
  }

  DeviceSpan device_span() const override { return span_; }

 private:
  enum class Phase { leaving, waiting, moving, arriving };

  std::byte* device() const { return static_cast<std::byte*>(buffer_.data); }

  void copy_in() {
    // What was copied out was ready.
    void* const ready = out_ ? nullptr : buffer_.ready;
    begin_copy(comm_.device_->copy_in(device(), static_cast<std::byte*>(host_.data), buffer_.bytes, ready));
    span_.end = copy_.device_span().end;
  }

  void begin_copy(Work copy) {
    copy_ = std::move(copy);
    copying_ = true;
    comm_.polling_.count_in_flight(1);
  }

  bool copied() {
    if (copying_ && copy_.test()) end_copy();
    return !copying_;
  }

  void end_copy() {
    copy_ = {};
    copying_ = false;
    comm_.polling_.count_in_flight(-1);
  }

  void hand_over() {
    moving_ = operation_(host_);
    phase_ = Phase::moving;
    if (++queue_.handed_over != queue_.started) comm_.notify();  // the next one may have been looked at before
  }

  StagedCommunicator& comm_;
  StagedCommunicator::Queue& queue_;
  std::uint64_t turn_;
  BufferView buffer_, host_;
  Operation operation_;
  std::optional<StagedCommunicator::Pinned> pinned_;
  bool out_ = false, in_ = false;
  bool copying_ = false;
  Phase phase_ = Phase::leaving;
  Work copy_, moving_;
  DeviceSpan span_;
};

StagedCommunicator::StagedCommunicator(Communicator& host, std::unique_ptr<StagingDevice> device)
    : Communicator(host.rank(), host.groups()),
      host_(host),
      device_(std::move(device)),
      collectives_(groups().count()),
      outgoing_(size() * channel_count),
      incoming_(size() * channel_count) {}

Arena StagedCommunicator::allocate(std::int64_t bytes) {
  const Arena host = host_.allocate(bytes);
  device_->pin(host.data, bytes);
  const Arena device{device_->allocate(bytes), bytes, host.shared};
  arenas_.push_back({device, host});
  return device;
}

void StagedCommunicator::sleep(std::uint32_t seen, double limit_s) {
  host_.sleep(seen, polling_.pause_s(limit_s, waits_for_end()));
}

std::byte* StagedCommunicator::behind(BufferView buffer) const {
  const auto* data = static_cast<const std::byte*>(buffer.data);
  for (const StagedArena& arena : arenas_) {
    const std::less_equal<> before;
    if (before(arena.device.data, data) && before(data + buffer.bytes, arena.device.data + arena.device.bytes)) {
      return arena.host.data + (data - arena.device.data);
    }
  }
  return nullptr;
}

StagedCommunicator::Pinned StagedCommunicator::take_pinned(std::int64_t bytes) {
  const auto size = static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(bytes)));
  const std::int64_t wanted = std::max(size, smallest_pinned);
  const auto found = std::find_if(idle_.begin(), idle_.end(), [&](const Pinned& p) { return p.bytes == wanted; });
  if (found == idle_.end()) return {device_->allocate_pinned(wanted), wanted};
  const Pinned pinned = *found;
  idle_.erase(found);
  return pinned;
}

std::unique_ptr<WorkState> StagedCommunicator::start_all_reduce(BufferView buffer, int group) {
  auto work = std::make_unique<StagedWork>(*this, collectives_[group], buffer, [=, this](BufferView host) {
    return Work(reduce_on_host(host_, host, group, traffic_));
  });
  if (buffer.on_device) work->stage(behind(buffer), true, true);
  work->begin();
  return work;
}

std::unique_ptr<WorkState> StagedCommunicator::start_send(BufferView buffer, Rank to, Message message) {
  auto work = std::make_unique<StagedWork>(*this, outgoing_[index_of(to, message.channel)], buffer,
                                           [=, this](BufferView host) { return host_.send(host, to, message); });
  if (buffer.on_device) work->stage(nullptr, true, false);
  work->begin();
  return work;
}

std::unique_ptr<WorkState> StagedCommunicator::start_recv(BufferView buffer, Rank from, Message message) {
  auto work = std::make_unique<StagedWork>(*this, incoming_[index_of(from, message.channel)], buffer,
                                           [=, this](BufferView host) { return host_.recv(host, from, message); });
  if (buffer.on_device) work->stage(nullptr, false, true);
  work->begin();
  return work;
}

std::unique_ptr<WorkState> StagedCommunicator::start_barrier() {
  auto work = std::make_unique<StagedWork>(*this, collectives_[0], BufferView{},
                                           [this](BufferView) { return host_.barrier(); });
  work->begin();
  return work;
}

}  // namespace parabench
