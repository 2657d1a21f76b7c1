#include "parallelism/comm/cuda/nccl_communicator.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <exception>
#include <map>
#include <thread>
#include <utility>

#include "base/error.h"
#include "parallelism/comm/cuda/host_work.h"
#include "parallelism/comm/mailbox.h"

namespace parabench {
namespace {

using Clock = std::chrono::steady_clock;

/// A message between GPUs takes some 10 us, being woken takes longer: so long a wait only yields the core.
constexpr double watch_s = 50e-6;
constexpr double shortest_pause_s = 20e-6;
constexpr double longest_pause_s = 10e-3;
constexpr double pause_share = 1.0 / 16;  // of the wait so far: so much later a completion is seen at most
constexpr double settle_pause_s = 1e-3;

/// How long the host gets to find out that a rank has died before NCCL's own complaint counts as the cause.
constexpr std::chrono::seconds look_for_dead{2};

constexpr std::uint64_t header_tag = 0x6e63636c5f686561;  // "nccl_hea"

std::string own_gpu(int gpu) {
  cudaDeviceProp properties{};
  check_cuda(cudaGetDeviceProperties(&properties, gpu), "cudaGetDeviceProperties");
  char name[256] = {};
  gethostname(name, sizeof name - 1);
  return fmt::format("{} {}", to_text(properties.uuid), name);
}

/// NCCL would refuse, too, but only after a while and in fewer words.
void require_distinct(const std::vector<std::string>& gpus) {
  std::map<std::string, int> owners;
  for (int rank = 0; rank < std::ssize(gpus); ++rank) {
    const auto [owner, first] = owners.emplace(gpus[rank].substr(0, gpus[rank].find(' ')), rank);
    if (first) continue;
    throw environment_error("comm:nccl", fmt::format("ranks {} and {} both on {}", owner->second, rank, gpus[rank]),
                            "a GPU for each rank",
                            "comm:mpi and comm:threads let ranks share a GPU; else fewer ranks or more GPUs");
  }
}

}  // namespace

/// One operation on a lane; of a message also its header over the host.
class NcclWork final : public WorkState {
 public:
  NcclWork(NcclCommunicator& comm, NcclLane& lane, NcclOperation operation)
      : comm_(comm), lane_(lane), operation_(operation), number_(lane.start(operation)) {
    ++comm_.in_flight_;
    comm_.last_change_ = Clock::now();
  }

  ~NcclWork() override {
    --comm_.in_flight_;
    comm_.last_change_ = Clock::now();
    header_work_ = {};
    // Dropped on the way out of a failure: nothing may be written into the caller's buffer any more.
    if (!lane_.done(number_)) comm_.give_up();
  }

  void send_header(Message message) {
    message_ = message;
    header_ = {message.tag, operation_.buffer.bytes};
    header_work_ = comm_.host_.send({&header_, sizeof header_}, operation_.peer, {message.channel, header_tag});
  }

  void receive_header(Message message) {
    message_ = message;
    paired_ = false;
    header_work_ = comm_.host_.recv({&header_, sizeof header_}, operation_.peer, {message.channel, header_tag});
  }

  bool advance() override {
    if (!header_work_.test()) {
      drive();
      return false;
    }
    if (!paired_) {
      check_pairing(header_, {message_.tag, operation_.buffer.bytes}, operation_.peer, comm_.rank(), message_.channel);
      paired_ = true;
    }
    if (!lane_.done(number_)) drive();
    return lane_.done(number_);
  }

 private:
  void drive() {
    try {
      comm_.use_gpu();
      lane_.drive(comm_.options_.time_limit_s);
    } catch (const std::runtime_error& error) {
      comm_.fail(error.what());
    }
  }

  NcclCommunicator& comm_;
  NcclLane& lane_;
  NcclOperation operation_;
  std::uint64_t number_;
  Message message_;
  MessageHeader header_;  // sent, or as it arrived
  bool paired_ = true;
  Work header_work_;
};

NcclCommunicator::NcclCommunicator(Communicator& host, int gpu, NcclOptions options)
    : Communicator(host.rank(), host.groups()),
      host_(host),
      gpu_(gpu),
      options_(options),
      collectives_(groups().count()),
      last_change_(Clock::now()),
      exceptions_(std::uncaught_exceptions()) {
  use_gpu();
  require_distinct(all_gather(host_, own_gpu(gpu_)));
  make_lanes();
}

void NcclCommunicator::make_lanes() {
  try {
    // The same order on every rank, so that nobody waits for one who waits for another.
    std::vector<int> group_of_lane(channel_count, 0);
    for (int group = 0; group < groups().count(); ++group) group_of_lane.push_back(group);
    const auto first_of = [&](int group) { return groups().members(group).front(); };
    ncclUniqueId id{};
    std::string own_ids;
    for (const int group : group_of_lane) {
      if (first_of(group) != rank()) continue;
      check_nccl(ncclGetUniqueId(&id), "ncclGetUniqueId");
      own_ids.append(id.internal, sizeof id.internal);
    }
    const std::vector<std::string> ids = all_gather(host_, own_ids);
    std::vector<std::size_t> used(ids.size());  // bytes of each rank's
    for (const int group : group_of_lane) {
      const int first = first_of(group).value;
      ids[first].copy(id.internal, sizeof id.internal, used[first]);
      used[first] += sizeof id.internal;
      const int position = groups().position(group, rank());
      if (position < 0) continue;
      const int members = static_cast<int>(groups().members(group).size());
      lanes_.push_back(std::make_unique<NcclLane>(id, position, members));
      collectives_[group] = lanes_.back().get();  // of group 0 the last one
      wait_until_settled(options_.time_limit_s);
    }
  } catch (const NcclFailure& failure) {
    throw environment_error("comm:nccl", failure.what(), "NCCL communicators of all groups",
                            "NCCL_DEBUG=WARN says more; comm:mpi does without NCCL");
  }
}

NcclCommunicator::~NcclCommunicator() {
  if (std::uncaught_exceptions() > exceptions_) abort("an exception ended it");
  cudaSetDevice(gpu_);
  if (!finish_in_good_order()) give_up();
  lanes_.clear();
  for (void* const arena : arenas_) ncclMemFree(arena);
}

void NcclCommunicator::give_up() noexcept {
  failed_ = true;
  cudaSetDevice(gpu_);
  ncclGroupStart();
  for (const auto& lane : lanes_) lane->abort();
  ncclGroupEnd();
}

bool NcclCommunicator::finish_in_good_order() noexcept {
  try {
    if (failed_) host_.abort("an operation over NCCL was given up");
    host_.sleep(host_.events(), 0);  // throws when a rank has failed
    for (const auto& [comm, handle] : registrations_) ncclCommDeregister(comm, handle);
    for (const auto& lane : lanes_) lane->finish();
    wait_until_settled(options_.time_limit_s);
    return true;
  } catch (const std::exception&) {
    return false;
  }
}

void NcclCommunicator::wait_until_settled(double limit_s) {
  const auto begin = Clock::now();
  for (;;) {
    const std::uint32_t seen = host_.events();
    if (std::ranges::all_of(lanes_, [](const auto& lane) { return lane->settled(); })) return;
    if (Clock::now() - begin > std::chrono::duration<double>(limit_s)) {
      throw NcclFailure(fmt::format("other ranks did not come within {:g} s", limit_s));
    }
    host_.sleep(seen, settle_pause_s);
  }
}

void NcclCommunicator::use_gpu() const { check_cuda(cudaSetDevice(gpu_), "cudaSetDevice"); }

Capabilities NcclCommunicator::capabilities() const {
  int version = 0;
  ncclGetVersion(&version);
  return {false, fmt::format("NCCL {}.{}.{} between the memories of the GPUs", version / 10000, version % 10000 / 100,
                             version % 100)};
}

Arena NcclCommunicator::allocate(std::int64_t bytes) {
  use_gpu();
  const auto size = static_cast<std::size_t>(std::max<std::int64_t>(bytes, 1));
  void* data = nullptr;
  if (const ncclResult_t code = ncclMemAlloc(&data, size); code != ncclSuccess) {
    cudaGetLastError();
    throw environment_error("memory of the GPU", fmt::format("{} bytes ({})", bytes, ncclGetErrorString(code)),
                            "that much memory", "a smaller model or batch, or more ranks");
  }
  arenas_.push_back(data);
  check_cuda(cudaMemsetAsync(data, 0, size, collectives(0).stream().get()), "cudaMemsetAsync");
  check_cuda(cudaStreamSynchronize(collectives(0).stream().get()), "cudaStreamSynchronize");
  for (const NcclLane* lane : collectives_) {
    if (!lane) continue;
    void* handle = nullptr;
    check_nccl(ncclCommRegister(lane->handle(), data, size, &handle), "ncclCommRegister");
    if (handle) registrations_.push_back({lane->handle(), handle});
  }
  return {static_cast<std::byte*>(data), bytes, false};
}

void NcclCommunicator::sleep(std::uint32_t seen, double limit_s) {
  if (in_flight_ > 0) {
    const double waited_s = std::chrono::duration<double>(Clock::now() - last_change_).count();
    if (waited_s < watch_s) {
      std::this_thread::yield();
      limit_s = 0;
    } else {
      limit_s = std::min(limit_s, std::clamp(pause_share * waited_s, shortest_pause_s, longest_pause_s));
    }
  }
  host_.sleep(seen, limit_s);
}

void NcclCommunicator::fail(const std::string& cause) {
  const auto end = Clock::now() + look_for_dead;
  while (!failed_ && Clock::now() < end) host_.sleep(host_.events());  // throws when it knows
  failed_ = true;
  host_.abort(cause);
  throw PeerFailure(rank(), cause);
}

std::unique_ptr<WorkState> NcclCommunicator::start_all_reduce(BufferView buffer, int group) {
  if (!buffer.on_device) return reduce_on_host(host_, buffer, group, traffic_);
  const std::int64_t members = std::ssize(groups().members(group));
  const std::int64_t moved = 2 * (members - 1) * buffer.bytes / members;
  traffic_.sent += moved;
  traffic_.received += moved;
  return std::make_unique<NcclWork>(*this, collectives(group), NcclOperation{.buffer = buffer});
}

std::unique_ptr<WorkState> NcclCommunicator::start_send(BufferView buffer, Rank to, Message message) {
  if (!buffer.on_device) return forward_to_host(host_.send(buffer, to, message));
  auto work =
      std::make_unique<NcclWork>(*this, lane(message.channel), NcclOperation{NcclOperation::Kind::send, buffer, to});
  work->send_header(message);
  return work;
}

std::unique_ptr<WorkState> NcclCommunicator::start_recv(BufferView buffer, Rank from, Message message) {
  if (!buffer.on_device) return forward_to_host(host_.recv(buffer, from, message));
  auto work =
      std::make_unique<NcclWork>(*this, lane(message.channel), NcclOperation{NcclOperation::Kind::recv, buffer, from});
  work->receive_header(message);
  return work;
}

std::unique_ptr<WorkState> NcclCommunicator::start_barrier() { return forward_to_host(host_.barrier()); }

std::unique_ptr<Communicator> make_nccl_communicator(Communicator& host, int gpu, NcclOptions options) {
  return std::make_unique<NcclCommunicator>(host, gpu, options);
}

}  // namespace parabench
