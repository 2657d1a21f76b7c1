#include "parallelism/comm/mpi/private_communicator.h"

#include <algorithm>
#include <cstring>
#include <exception>
#include <utility>

#include "base/clock.h"
#include "parallelism/comm/algorithms/choice.h"
#include "parallelism/comm/looks.h"
#include "parallelism/comm/mpi/check.h"
#include "parallelism/comm/mpi/work.h"
#include "parallelism/comm/traffic.h"

namespace parabench::comm {
namespace {

constexpr double idle_pause_s = 0.1;  // nothing in flight, but another rank may fail
constexpr std::chrono::seconds look_interval{1};
// Tags of the world's communicator; channels have those before.
constexpr int failure_tag = channel_count;
constexpr int first_lane_tag = failure_tag + 1;

/// MPI moves what it sends and receives when it is looked at, at each end: often, then. But looks take time from
/// whoever computes on this core, 50 us each where a virtual machine has to be woken: a long wait needs fewer of them.
double longest_pause_s(double waited_s) { return std::clamp(waited_s / 200, 1e-3, 10e-3); }

/// Where ranks live.
struct Place {
  ProcessId process;
  std::int32_t host = 0;  // the first rank there
};

/// By rank.
std::vector<Place> places_of(Rank rank, int size) {
  MPI_Comm node = MPI_COMM_NULL;
  check_mpi(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node), "MPI_Comm_split_type");
  Place own{this_process(), rank.value};
  check_mpi(MPI_Bcast(&own.host, 1, MPI_INT32_T, 0, node), "MPI_Bcast");
  check_mpi(MPI_Comm_free(&node), "MPI_Comm_free");
  std::vector<Place> places(size);
  check_mpi(MPI_Allgather(&own, sizeof own, MPI_BYTE, places.data(), sizeof own, MPI_BYTE, MPI_COMM_WORLD),
            "MPI_Allgather");
  return places;
}

/// By group, a communicator of its members. Collective over all members of each, group by group.
std::vector<MPI_Comm> communicators_of(const RankGroups& groups, Rank rank) {
  std::vector<MPI_Comm> comms(groups.count(), MPI_COMM_NULL);
  check_mpi(MPI_Comm_dup(MPI_COMM_WORLD, &comms[0]), "MPI_Comm_dup");
  check_mpi(MPI_Comm_set_errhandler(comms[0], MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
  MPI_Group everybody = MPI_GROUP_NULL;
  check_mpi(MPI_Comm_group(comms[0], &everybody), "MPI_Comm_group");
  for (CommGroupId group(1); groups.has(group); ++group) {
    if (groups.position(group, rank) < 0) continue;
    std::vector<int> members;
    for (const Rank member : groups.members(group)) members.push_back(member.value);
    MPI_Group some = MPI_GROUP_NULL;
    check_mpi(MPI_Group_incl(everybody, static_cast<int>(members.size()), members.data(), &some), "MPI_Group_incl");
    check_mpi(MPI_Comm_create_group(comms[0], some, group.value, &comms[group.value]), "MPI_Comm_create_group");
    check_mpi(MPI_Comm_set_errhandler(comms[group.value], MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
    check_mpi(MPI_Group_free(&some), "MPI_Group_free");
  }
  check_mpi(MPI_Group_free(&everybody), "MPI_Group_free");
  return comms;
}

}  // namespace

class PrivateCommunicator::GroupMessages final : public MemberMessages {
 public:
  GroupMessages(PrivateCommunicator& comm, MPI_Comm members) : comm_(comm), members_(members) {}

  Work send(int to, int lane, BufferView piece) override {
    auto work = std::make_unique<MpiWork>(comm_);
    const std::lock_guard lock(comm_.mutex_);
    work->send_piece(piece, to, first_lane_tag + lane, members_);
    return Work(std::move(work));
  }
  Work receive(int from, int lane, BufferView piece) override {
    auto work = std::make_unique<MpiWork>(comm_);
    const std::lock_guard lock(comm_.mutex_);
    work->receive_piece(piece, from, first_lane_tag + lane, members_);
    return Work(std::move(work));
  }
  void come_again() override { comm_.notify(); }

 private:
  PrivateCommunicator& comm_;
  MPI_Comm members_;
};

struct PrivateCommunicator::GroupEnd {
  GroupMessages messages;
  std::vector<int> hosts;  // by position
  int position;
  MessageQueue queue;
};

PrivateCommunicator::PrivateCommunicator(Rank rank, RankGroups groups, std::string note, ReduceKind reduce)
    : Communicator(rank, std::move(groups)),
      note_(std::move(note)),
      reduce_(reduce),
      comms_(communicators_of(this->groups(), rank)),
      neighbours_(size()),
      next_look_(std::chrono::steady_clock::now() + look_interval),
      exceptions_(std::uncaught_exceptions()) {
  const std::vector<Place> places = places_of(rank, size());
  for (int r = 0; r < size(); ++r) {
    if (Rank(r) != rank && places[r].host == places[rank.value].host) neighbours_[r] = places[r].process;
  }
  for (CommGroupId group = world_group; this->groups().has(group); ++group) {
    std::vector<int> hosts;
    for (const Rank member : this->groups().members(group)) hosts.push_back(places[member.value].host);
    if (group == world_group) reduction_ = reduction_text(reduce_, hosts);
    const int position = this->groups().position(group, rank);
    ends_.push_back(position < 0 ? nullptr
                                 : std::unique_ptr<GroupEnd>(
                                       new GroupEnd{{*this, comms_[group.value]}, std::move(hosts), position, {}}));
  }
  check_mpi(MPI_Irecv(&incoming_failure_, sizeof incoming_failure_, MPI_BYTE, MPI_ANY_SOURCE, failure_tag, world(),
                      &failure_request_),
            "MPI_Irecv");
}

PrivateCommunicator::~PrivateCommunicator() {
  if (std::uncaught_exceptions() > exceptions_) abort("an exception ended it");
  if (failure_request_ != MPI_REQUEST_NULL) {
    MPI_Cancel(&failure_request_);
    MPI_Request_free(&failure_request_);
  }
  if (failed_) return;
  for (MPI_Comm& comm : comms_) {
    if (comm != MPI_COMM_NULL) MPI_Comm_free(&comm);
  }
}

Arena PrivateCommunicator::allocate(std::int64_t bytes) {
  const std::int64_t size = std::max<std::int64_t>(bytes, 1);
  Region& region = arenas_.emplace_back(Region::in_process(size));
  region.commit(0, size);
  return {region.data(), bytes, false};
}

void PrivateCommunicator::sleep(std::uint32_t seen, double limit_s) {
  double pause_s = idle_pause_s;
  {
    const std::lock_guard lock(mutex_);
    receive_failure();
    look_for_dead();
    throw_if_failed();
    if (!in_flight_since_.empty()) {
      const double waited_s = now_s() - *in_flight_since_.rbegin();
      pause_s = pause_after(waited_s, longest_pause_s(waited_s));
    }
  }
  sleep_on(bell_, seen, std::min(pause_s, limit_s));
}

void PrivateCommunicator::abort(std::string_view cause) noexcept {
  const std::lock_guard lock(mutex_);
  tell_failure(rank(), cause);
}

void PrivateCommunicator::tell_failure(Rank failed, std::string_view cause) noexcept {
  if (failed_) return;
  failure_.rank = failed.value;
  std::memcpy(failure_.cause, cause.data(), std::min(cause.size(), sizeof failure_.cause - 1));
  failed_ = true;
  for (int r = 0; r < size(); ++r) {
    if (Rank(r) == rank() || Rank(r) == failed) continue;
    MPI_Request request = MPI_REQUEST_NULL;
    // Small enough to leave at once; it is the last message of this communicator.
    if (MPI_Isend(&failure_, sizeof failure_, MPI_BYTE, r, failure_tag, world(), &request) == MPI_SUCCESS) {
      MPI_Request_free(&request);
    }
  }
  ring(bell_);
}

void PrivateCommunicator::receive_failure() {
  if (failed_) return;
  int arrived = 0;
  check_mpi(MPI_Test(&failure_request_, &arrived, MPI_STATUS_IGNORE), "MPI_Test");
  if (!arrived) return;
  failure_ = incoming_failure_;
  failed_ = true;
}

void PrivateCommunicator::look_for_dead() {
  const auto now = std::chrono::steady_clock::now();
  if (now < next_look_) return;
  next_look_ = now + look_interval;
  for (int r = 0; r < size(); ++r) {
    if (alive(neighbours_[r])) continue;
    receive_failure();  // it may have told why it stops before it did
    tell_failure(Rank(r), ended_unexpectedly(neighbours_[r]));
  }
}

void PrivateCommunicator::throw_if_failed() const {
  if (failed_) throw PeerFailure(Rank(failure_.rank), failure_.cause);
}

std::unique_ptr<WorkState> PrivateCommunicator::start_collective(const CollectiveCall& call) {
  GroupEnd& end = *ends_[call.group.value];
  const int members = static_cast<int>(end.hosts.size());
  if (call.kind != CollectiveKind::broadcast) {
    if (const auto algorithm = algorithm_for(reduce_, call.kind, call.buffer.bytes, end.hosts)) {
      const Shares shares =
          call.kind == CollectiveKind::all_reduce ? Shares::even(call.buffer.bytes, members) : call.shares;
      Transfers transfers = transfers_of(*algorithm, call.kind, shares, end.hosts, end.position);
      traffic_ += traffic_of(transfers);
      return start_transfers(end.messages, end.queue, std::move(transfers), call.buffer);
    }
  }
  // The library does not tell what it moved.
  traffic_ += moved_by_library(call, members, rank());
  auto work = std::make_unique<MpiWork>(*this);
  const std::lock_guard lock(mutex_);
  work->start(call, end.position, comms_[call.group.value], groups().position(call.group, call.root));
  return work;
}

std::unique_ptr<WorkState> PrivateCommunicator::start_barrier() {
  auto work = std::make_unique<MpiWork>(*this);
  const std::lock_guard lock(mutex_);
  work->meet();
  return work;
}

std::unique_ptr<WorkState> PrivateCommunicator::start_send(BufferView buffer, Rank to, Message message) {
  auto work = std::make_unique<MpiWork>(*this);
  const std::lock_guard lock(mutex_);
  work->send(buffer, to, message);
  return work;
}

std::unique_ptr<WorkState> PrivateCommunicator::start_recv(BufferView buffer, Rank from, Message message) {
  auto work = std::make_unique<MpiWork>(*this);
  const std::lock_guard lock(mutex_);
  work->receive(buffer, from, message);
  return work;
}

}  // namespace parabench::comm
