#include "parallelism/comm/mpi/private_communicator.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <exception>
#include <optional>
#include <utility>

#include "parallelism/comm/mailbox.h"

namespace parabench {
namespace {

constexpr double shortest_pause_s = 20e-6;
constexpr double longest_pause_s = 10e-3;
constexpr double pause_growth =
    1.0625;                           // a pause is 1/16 of the wait so far: so much later a completion is seen at most
constexpr double idle_pause_s = 0.1;  // nothing in flight, but another rank may fail
constexpr std::chrono::seconds look_interval{1};
constexpr std::int64_t largest_piece = 1 << 30;  // MPI counts in int
constexpr int failure_tag = channel_count;

MPI_Datatype mpi_type(ElementType type) {
  switch (type) {
    case ElementType::f32: return MPI_FLOAT;
    case ElementType::f64: return MPI_DOUBLE;
    case ElementType::byte: return MPI_BYTE;
  }
  return MPI_BYTE;
}

/// By rank, the processes of this node but this one; the others unknown.
std::vector<ProcessId> processes_of_node(Rank rank, int size) {
  MPI_Comm node = MPI_COMM_NULL;
  check_mpi(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node), "MPI_Comm_split_type");
  struct Place {
    ProcessId process;
    std::int64_t leader;
  };
  Place own{this_process(), rank.value};
  check_mpi(MPI_Bcast(&own.leader, 1, MPI_INT64_T, 0, node), "MPI_Bcast");
  check_mpi(MPI_Comm_free(&node), "MPI_Comm_free");
  std::vector<Place> places(size);
  check_mpi(MPI_Allgather(&own, sizeof own, MPI_BYTE, places.data(), sizeof own, MPI_BYTE, MPI_COMM_WORLD),
            "MPI_Allgather");
  std::vector<ProcessId> processes(size);
  for (int r = 0; r < size; ++r) {
    if (Rank(r) != rank && places[r].leader == own.leader) processes[r] = places[r].process;
  }
  return processes;
}

/// By group, a communicator of its members. Collective over all members of each, group by group.
std::vector<MPI_Comm> communicators_of(const RankGroups& groups, Rank rank) {
  std::vector<MPI_Comm> comms(groups.count(), MPI_COMM_NULL);
  check_mpi(MPI_Comm_dup(MPI_COMM_WORLD, &comms[0]), "MPI_Comm_dup");
  check_mpi(MPI_Comm_set_errhandler(comms[0], MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
  MPI_Group everybody = MPI_GROUP_NULL;
  check_mpi(MPI_Comm_group(comms[0], &everybody), "MPI_Comm_group");
  for (int group = 1; group < groups.count(); ++group) {
    if (groups.position(group, rank) < 0) continue;
    std::vector<int> members;
    for (const Rank member : groups.members(group)) members.push_back(member.value);
    MPI_Group some = MPI_GROUP_NULL;
    check_mpi(MPI_Group_incl(everybody, static_cast<int>(members.size()), members.data(), &some), "MPI_Group_incl");
    check_mpi(MPI_Comm_create_group(comms[0], some, group, &comms[group]), "MPI_Comm_create_group");
    check_mpi(MPI_Comm_set_errhandler(comms[group], MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
    check_mpi(MPI_Group_free(&some), "MPI_Group_free");
  }
  check_mpi(MPI_Group_free(&everybody), "MPI_Group_free");
  return comms;
}

/// Calls `post(data, bytes)` for parts of the buffer that MPI can count.
template <class Post>
void for_each_piece(BufferView buffer, Post post) {
  for (std::int64_t begin = 0; begin < buffer.bytes; begin += largest_piece) {
    const std::int64_t bytes = std::min(largest_piece, buffer.bytes - begin);
    post(static_cast<std::byte*>(buffer.data) + begin, static_cast<int>(bytes));
  }
}

}  // namespace

/// Requests that complete together. All are posted at the start, since MPI pairs messages and collectives in
/// that order.
class MpiWork final : public WorkState {
 public:
  explicit MpiWork(PrivateCommunicator& comm) : comm_(comm) {
    const std::lock_guard lock(comm_.mutex_);
    ++comm_.in_flight_;
  }

  ~MpiWork() override {
    const std::lock_guard lock(comm_.mutex_);
    --comm_.in_flight_;
    comm_.pause_s_ = shortest_pause_s;
    if (!expected_) return;
    // Dropped on the way out of a failure: nothing may be written into the caller's buffer any more.
    for (MPI_Request& request : requests_) {
      if (request == MPI_REQUEST_NULL) continue;
      MPI_Cancel(&request);
      MPI_Request_free(&request);
    }
  }

  bool advance() override {
    const std::lock_guard lock(comm_.mutex_);
    comm_.throw_if_failed();
    int done = 0;
    if (expected_ && !paired_) {
      check_mpi(MPI_Test(requests_.data(), &done, MPI_STATUS_IGNORE), "MPI_Test");
      if (!done) return false;
      check_pairing(header_, *expected_, from_, comm_.rank(), channel_);
      paired_ = true;
    }
    check_mpi(MPI_Testall(static_cast<int>(requests_.size()), requests_.data(), &done, MPI_STATUSES_IGNORE),
              "MPI_Testall");
    return done != 0;
  }

  void sum(BufferView buffer, MPI_Comm members) {
    const int element = buffer.type == ElementType::f64 ? 8 : 4;
    for_each_piece(buffer, [&](void* data, int bytes) {
      check_mpi(MPI_Iallreduce(MPI_IN_PLACE, data, bytes / element, mpi_type(buffer.type), MPI_SUM, members, add()),
                "MPI_Iallreduce");
    });
  }

  void meet() { check_mpi(MPI_Ibarrier(comm_.world(), add()), "MPI_Ibarrier"); }

  void send(BufferView buffer, Rank to, Message message) {
    header_ = {message.tag, buffer.bytes};
    const auto post = [&](void* data, int bytes) {
      check_mpi(MPI_Isend(data, bytes, MPI_BYTE, to.value, static_cast<int>(message.channel), comm_.world(), add()),
                "MPI_Isend");
    };
    post(&header_, sizeof header_);
    for_each_piece(buffer, post);
  }

  void receive(BufferView buffer, Rank from, Message message) {
    expected_ = {message.tag, buffer.bytes};
    from_ = from;
    channel_ = message.channel;
    const auto post = [&](void* data, int bytes) {
      check_mpi(MPI_Irecv(data, bytes, MPI_BYTE, from.value, static_cast<int>(message.channel), comm_.world(), add()),
                "MPI_Irecv");
    };
    post(&header_, sizeof header_);
    for_each_piece(buffer, post);
  }

 private:
  MPI_Request* add() { return &requests_.emplace_back(MPI_REQUEST_NULL); }

  PrivateCommunicator& comm_;
  std::vector<MPI_Request> requests_;      // of a message: its header's first
  MessageHeader header_;                   // sent, or as it arrived
  std::optional<MessageHeader> expected_;  // of a receive
  bool paired_ = false;
  Rank from_;
  Channel channel_ = Channel::control;
};

PrivateCommunicator::PrivateCommunicator(Rank rank, RankGroups groups, std::string note)
    : Communicator(rank, std::move(groups)),
      note_(std::move(note)),
      comms_(communicators_of(this->groups(), rank)),
      neighbours_(processes_of_node(rank, size())),
      pause_s_(shortest_pause_s),
      next_look_(std::chrono::steady_clock::now() + look_interval),
      exceptions_(std::uncaught_exceptions()) {
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
    if (in_flight_ > 0) {
      pause_s = pause_s_;
      pause_s_ = std::min(pause_growth * pause_s_, longest_pause_s);
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

std::unique_ptr<WorkState> PrivateCommunicator::start_all_reduce(BufferView buffer, int group) {
  // The least that any algorithm moves; the library does not tell what it did.
  const std::int64_t members = std::ssize(groups().members(group));
  const std::int64_t moved = 2 * (members - 1) * buffer.bytes / members;
  traffic_.sent += moved;
  traffic_.received += moved;
  auto work = std::make_unique<MpiWork>(*this);
  const std::lock_guard lock(mutex_);
  work->sum(buffer, comms_[group]);
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

}  // namespace parabench
