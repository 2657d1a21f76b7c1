#include "parallelism/comm/mpi/private_communicator.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <exception>
#include <optional>
#include <utility>

#include "parallelism/comm/mailbox.h"
#include "parallelism/comm/mpi/check.h"
#include "parallelism/comm/traffic.h"

namespace parabench::comm {
namespace {

constexpr double shortest_pause_s = 20e-6;
constexpr double longest_pause_s = 10e-3;
constexpr double pause_growth =
    1.0625;                           // a pause is 1/16 of the wait so far: so much later a completion is seen at most
constexpr double idle_pause_s = 0.1;  // nothing in flight, but another rank may fail
constexpr std::chrono::seconds look_interval{1};
constexpr std::int64_t largest_piece = 1 << 30;  // MPI counts in int
constexpr int failure_tag = channel_count;

struct MpiElement {
  MPI_Datatype type;
  int bytes;
};

MpiElement mpi_element(ElementType type) {
  switch (type) {
    case ElementType::f32: return {MPI_FLOAT, 4};
    case ElementType::f64: return {MPI_DOUBLE, 8};
    case ElementType::byte: return {MPI_BYTE, 1};
  }
  return {MPI_BYTE, 1};
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

/// Calls `post(piece)` for parts of so many bytes that MPI can count.
template <class Post>
void for_each_piece(std::int64_t bytes, Post post) {
  for (std::int64_t begin = 0; begin < bytes; begin += largest_piece) {
    post(Share{begin, std::min(bytes, begin + largest_piece)});
  }
}

/// What of a share lies in a piece of the buffer.
Share common(Share share, Share piece) {
  const std::int64_t begin = std::clamp(share.begin, piece.begin, piece.end);
  return {begin, std::clamp(share.end, begin, piece.end)};
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
    if (done) put_in_place();
    return done != 0;
  }

  void start(const CollectiveCall& call, int position, MPI_Comm members, int root) {
    const MpiElement element = mpi_element(call.buffer.type);
    for_each_piece(call.buffer.bytes, [&](Share piece) {
      void* const data = static_cast<std::byte*>(call.buffer.data) + piece.begin;
      const auto count = static_cast<int>(piece.bytes() / element.bytes);
      switch (call.kind) {
        case CollectiveKind::all_reduce:
          check_mpi(MPI_Iallreduce(MPI_IN_PLACE, data, count, element.type, MPI_SUM, members, add()), "MPI_Iallreduce");
          break;
        case CollectiveKind::reduce_scatter: {
          const Slices& slices = slices_.emplace_back(call.shares, piece, element.bytes);
          check_mpi(
              MPI_Ireduce_scatter(MPI_IN_PLACE, data, slices.counts.data(), element.type, MPI_SUM, members, add()),
              "MPI_Ireduce_scatter");
          const Share own = common(call.shares.of(position), piece);
          results_.push_back({static_cast<std::byte*>(call.buffer.data) + own.begin, data, own.bytes()});
          break;
        }
        case CollectiveKind::all_gather: {
          const Slices& slices = slices_.emplace_back(call.shares, piece, element.bytes);
          check_mpi(MPI_Iallgatherv(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, data, slices.counts.data(),
                                    slices.offsets.data(), element.type, members, add()),
                    "MPI_Iallgatherv");
          break;
        }
        case CollectiveKind::broadcast:
          check_mpi(MPI_Ibcast(data, count, element.type, root, members, add()), "MPI_Ibcast");
          break;
      }
    });
  }

  void meet() { check_mpi(MPI_Ibarrier(comm_.world(), add()), "MPI_Ibarrier"); }

  void send(BufferView buffer, Rank to, Message message) {
    header_ = {message.tag, buffer.bytes};
    const auto post = [&](void* data, std::int64_t bytes) {
      check_mpi(MPI_Isend(data, static_cast<int>(bytes), MPI_BYTE, to.value, static_cast<int>(message.channel),
                          comm_.world(), add()),
                "MPI_Isend");
    };
    post(&header_, sizeof header_);
    for_each_piece(buffer.bytes,
                   [&](Share piece) { post(static_cast<std::byte*>(buffer.data) + piece.begin, piece.bytes()); });
  }

  void receive(BufferView buffer, Rank from, Message message) {
    expected_ = {message.tag, buffer.bytes};
    from_ = from;
    channel_ = message.channel;
    const auto post = [&](void* data, std::int64_t bytes) {
      check_mpi(MPI_Irecv(data, static_cast<int>(bytes), MPI_BYTE, from.value, static_cast<int>(message.channel),
                          comm_.world(), add()),
                "MPI_Irecv");
    };
    post(&header_, sizeof header_);
    for_each_piece(buffer.bytes,
                   [&](Share piece) { post(static_cast<std::byte*>(buffer.data) + piece.begin, piece.bytes()); });
  }

 private:
  /// What each member's share has in a piece of the buffer, as MPI wants it: in elements, until the requests are
  /// complete.
  struct Slices {
    Slices(const Shares& shares, Share piece, int element) {
      for (int i = 0; i < shares.members(); ++i) {
        const Share slice = common(shares.of(i), piece);
        counts.push_back(static_cast<int>(slice.bytes() / element));
        offsets.push_back(static_cast<int>((slice.begin - piece.begin) / element));
      }
    }
    std::vector<int> counts, offsets;
  };
  /// MPI leaves what it reduces in place at the beginning of a piece.
  struct Result {
    void* to;
    const void* from;
    std::int64_t bytes;
  };

  MPI_Request* add() { return &requests_.emplace_back(MPI_REQUEST_NULL); }

  void put_in_place() {
    for (const Result& result : results_) {
      if (result.bytes > 0) std::memmove(result.to, result.from, static_cast<std::size_t>(result.bytes));
    }
    results_.clear();
  }

  PrivateCommunicator& comm_;
  std::vector<MPI_Request> requests_;      // of a message: its header's first
  std::deque<Slices> slices_;              // by piece of a collective with shares
  std::vector<Result> results_;            // of a reduce_scatter
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

std::unique_ptr<WorkState> PrivateCommunicator::start_collective(const CollectiveCall& call) {
  // The library does not tell what it moved.
  traffic_ += moved_by_library(call, static_cast<int>(groups().members(call.group).size()), rank());
  auto work = std::make_unique<MpiWork>(*this);
  const std::lock_guard lock(mutex_);
  work->start(call, groups().position(call.group, rank()), comms_[call.group.value],
              groups().position(call.group, call.root));
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
