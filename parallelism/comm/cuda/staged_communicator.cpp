#include "parallelism/comm/cuda/staged_communicator.h"

#include <algorithm>
#include <bit>
#include <functional>
#include <optional>
#include <utility>

#include "parallelism/comm/host_work.h"

namespace parabench::comm {
namespace {

constexpr std::int64_t smallest_pinned = 4096;

int index_of(Rank peer, Channel channel) { return peer.value * channel_count + static_cast<int>(channel); }

/// What of a buffer the host needs before an operation, and the device after it.
struct StagedParts {
  Share out = {};
  std::vector<Share> in = {};
};

StagedParts parts_of(const CollectiveCall& call, int position, bool is_root) {
  const Share whole{0, call.buffer.bytes};
  switch (call.kind) {
    case CollectiveKind::all_reduce: return {whole, {whole}};
    case CollectiveKind::reduce_scatter: return {whole, {call.shares.of(position)}};
    case CollectiveKind::all_gather: {
      const Share own = call.shares.of(position);
      return {own, {{0, own.begin}, {own.end, whole.end}}};
    }
    case CollectiveKind::broadcast: return is_root ? StagedParts{.out = whole} : StagedParts{.in = {whole}};
  }
  return {};
}

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
    if (phase_ == Phase::leaving && !copies_.empty()) comm_.polling_.count_awaited(-1);
    const auto in_flight = std::ssize(copies_);
    copies_.clear();
    end_copies(in_flight);
    if (pinned_) comm_.idle_.push_back(*pinned_);
  }

  /// `in_place`: where the host has the same bytes already; else pinned memory is taken.
  void stage(std::byte* in_place, StagedParts parts) {
    if (!in_place) {
      pinned_ = comm_.take_pinned(buffer_.bytes);
      in_place = pinned_->data;
    }
    host_.data = in_place;
    host_.on_device = false;
    parts_ = std::move(parts);
    std::erase_if(parts_.in, [](Share part) { return part.bytes() == 0; });
    if (parts_.out.bytes() == 0) return;
    begin_copy(comm_.device_->copy_out(host(parts_.out), device(parts_.out), parts_.out.bytes(), buffer_.ready));
    span_.start = copies_.back().device_span().start;
    comm_.polling_.count_awaited(1);
  }

  /// As far as it goes at once, so that the host hears early of what it can start.
  void begin() {
    if (phase_ == Phase::leaving && copied()) {
      if (parts_.out.bytes() > 0) comm_.polling_.count_awaited(-1);
      phase_ = Phase::waiting;
    }
    if (phase_ == Phase::waiting && queue_.handed_over == turn_) hand_over();
  }

  bool queued() override {
    begin();
    if (phase_ == Phase::moving) {
      if (!moving_.test()) return false;
      phase_ = Phase::arriving;
      for (const Share part : parts_.in) copy_in(part);
    }
    return phase_ == Phase::arriving && !parts_.in.empty();
  }

  bool advance() override {
    queued();
    return phase_ == Phase::arriving && copied();
  }

  DeviceSpan device_span() const override { return span_; }

 private:
  enum class Phase { leaving, waiting, moving, arriving };

  std::byte* device(Share part) const { return static_cast<std::byte*>(buffer_.data) + part.begin; }
  std::byte* host(Share part) const { return static_cast<std::byte*>(host_.data) + part.begin; }

  void copy_in(Share part) {
    // What was copied out was ready.
    void* const ready = parts_.out.bytes() > 0 ? nullptr : buffer_.ready;
    begin_copy(comm_.device_->copy_in(device(part), host(part), part.bytes(), ready));
    span_.end = copies_.back().device_span().end;  // copies of one direction end in their order
  }

  void begin_copy(Work copy) {
    copies_.push_back(std::move(copy));
    comm_.polling_.count_in_flight(1);
  }

  void end_copies(std::ptrdiff_t count) {
    if (count > 0) comm_.polling_.count_in_flight(-static_cast<int>(count));
  }

  bool copied() {
    end_copies(std::erase_if(copies_, [](Work& copy) { return copy.test(); }));
    return copies_.empty();
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
  StagedParts parts_;
  Phase phase_ = Phase::leaving;
  std::vector<Work> copies_;  // in flight
  Work moving_;
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

std::unique_ptr<WorkState> StagedCommunicator::start_collective(const CollectiveCall& call) {
  auto work =
      std::make_unique<StagedWork>(*this, collectives_[call.group.value], call.buffer, [this, call](BufferView host) {
        CollectiveCall on_host = call;
        on_host.buffer = host;
        return Work(collective_on_host(host_, on_host, traffic_));
      });
  if (call.buffer.on_device) {
    work->stage(behind(call.buffer), parts_of(call, groups().position(call.group, rank()), rank() == call.root));
  }
  work->begin();
  return work;
}

std::unique_ptr<WorkState> StagedCommunicator::start_send(BufferView buffer, Rank to, Message message) {
  auto work = std::make_unique<StagedWork>(*this, outgoing_[index_of(to, message.channel)], buffer,
                                           [=, this](BufferView host) { return host_.send(host, to, message); });
  if (buffer.on_device) work->stage(nullptr, {.out = {0, buffer.bytes}});
  work->begin();
  return work;
}

std::unique_ptr<WorkState> StagedCommunicator::start_recv(BufferView buffer, Rank from, Message message) {
  auto work = std::make_unique<StagedWork>(*this, incoming_[index_of(from, message.channel)], buffer,
                                           [=, this](BufferView host) { return host_.recv(host, from, message); });
  if (buffer.on_device) work->stage(nullptr, {.in = {{0, buffer.bytes}}});
  work->begin();
  return work;
}

std::unique_ptr<WorkState> StagedCommunicator::start_barrier() {
  auto work = std::make_unique<StagedWork>(*this, collectives_[0], BufferView{},
                                           [this](BufferView) { return host_.barrier(); });
  work->begin();
  return work;
}

}  // namespace parabench::comm
