#include "parallelism/comm/mpi/work.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "base/clock.h"
#include "parallelism/comm/bf16.h"
#include "parallelism/comm/mpi/check.h"
#include "parallelism/comm/mpi/private_communicator.h"
#include "parallelism/comm/reduce.h"

namespace parabench::comm {
namespace {

constexpr std::int64_t largest_piece = 1 << 30;  // MPI counts in int

struct MpiElement {
  MPI_Datatype type;
  int bytes;
  MPI_Op sum = MPI_SUM;
};

/// MPI knows no bf16.
void add_bf16(void* from, void* to, int* count, MPI_Datatype*) {
  const std::array addends = {static_cast<std::byte*>(from), static_cast<std::byte*>(to)};
  sum_into(addends[1], addends, {0, *count * std::int64_t{sizeof(Bf16)}}, ElementType::bf16);
}
MPI_Op bf16_sum() {
  static const MPI_Op sum = [] {
    MPI_Op made = MPI_OP_NULL;
    check_mpi(MPI_Op_create(add_bf16, /*commute=*/1, &made), "MPI_Op_create");
    return made;
  }();
  return sum;
}

MpiElement mpi_element(ElementType type) {
  switch (type) {
    case ElementType::f32: return {MPI_FLOAT, 4};
    case ElementType::f64: return {MPI_DOUBLE, 8};
    case ElementType::bf16: return {MPI_UINT16_T, sizeof(Bf16), bf16_sum()};
    case ElementType::byte: return {MPI_BYTE, 1};
  }
  return {MPI_BYTE, 1};
}

/// Calls `post(piece)` for parts of so many bytes that MPI can count.
template <class Post>
void for_each_piece(std::int64_t bytes, Post post) {
  for (std::int64_t begin = 0; begin < bytes; begin += largest_piece) {
    post(Share{begin, std::min(bytes, begin + largest_piece)});
  }
}

/// Calls `post(data, bytes)` for a message's header, then for its payload.
template <class Post>
void post_message(MessageHeader& header, BufferView buffer, Post post) {
  post(static_cast<void*>(&header), static_cast<std::int64_t>(sizeof header));
  for_each_piece(buffer.bytes,
                 [&](Share piece) { post(static_cast<std::byte*>(buffer.data) + piece.begin, piece.bytes()); });
}

/// What of a share lies in a piece of the buffer.
Share common(Share share, Share piece) {
  const std::int64_t begin = std::clamp(share.begin, piece.begin, piece.end);
  return {begin, std::clamp(share.end, begin, piece.end)};
}

}  // namespace

MpiWork::MpiWork(PrivateCommunicator& comm) : comm_(comm) {
  const std::lock_guard lock(comm_.mutex_);
  in_flight_ = comm_.in_flight_since_.insert(now_s());
}

MpiWork::~MpiWork() {
  const std::lock_guard lock(comm_.mutex_);
  comm_.in_flight_since_.erase(in_flight_);
  if (!receives_) return;
  // Dropped on the way out of a failure: nothing may be written into the caller's buffer any more.
  for (MPI_Request& request : requests_) {
    if (request == MPI_REQUEST_NULL) continue;
    MPI_Cancel(&request);
    MPI_Request_free(&request);
  }
}

bool MpiWork::advance() {
  const std::lock_guard lock(comm_.mutex_);
  comm_.throw_if_failed();
  int done = 0;
  if (expected_ && !paired_) {
    check_mpi(MPI_Test(requests_.data(), &done, MPI_STATUS_IGNORE), "MPI_Test");
    if (!done) return false;
    check_pairing(header_, *expected_, from_, comm_.rank(), channel_);
    paired_ = true;
    // The payload is on its way only now: its sender computed before.
    comm_.in_flight_since_.erase(in_flight_);
    in_flight_ = comm_.in_flight_since_.insert(now_s());
  }
  check_mpi(MPI_Testall(static_cast<int>(requests_.size()), requests_.data(), &done, MPI_STATUSES_IGNORE),
            "MPI_Testall");
  if (done) put_in_place();
  return done != 0;
}

void MpiWork::start(const CollectiveCall& call, int position, MPI_Comm members, int root) {
  const MpiElement element = mpi_element(call.buffer.type);
  for_each_piece(call.buffer.bytes, [&](Share piece) {
    void* const data = static_cast<std::byte*>(call.buffer.data) + piece.begin;
    const auto count = static_cast<int>(piece.bytes() / element.bytes);
    switch (call.kind) {
      case CollectiveKind::all_reduce:
        check_mpi(MPI_Iallreduce(MPI_IN_PLACE, data, count, element.type, element.sum, members, add()),
                  "MPI_Iallreduce");
        break;
      case CollectiveKind::reduce_scatter: {
        const Slices& slices = slices_.emplace_back(call.shares, piece, element.bytes);
        check_mpi(
            MPI_Ireduce_scatter(MPI_IN_PLACE, data, slices.counts.data(), element.type, element.sum, members, add()),
            "MPI_Ireduce_scatter");
        const Share own = common(call.shares.of(position), piece);
        results_.push_back({static_cast<std::byte*>(call.buffer.data) + own.begin, data, own.bytes()});
        break;
      }
      case CollectiveKind::all_gather: {
        const Slices& slices = slices_.emplace_back(call.shares, piece, element.bytes);
        check_mpi(MPI_Iallgatherv(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, data, slices.counts.data(), slices.offsets.data(),
                                  element.type, members, add()),
                  "MPI_Iallgatherv");
        break;
      }
      case CollectiveKind::broadcast:
        check_mpi(MPI_Ibcast(data, count, element.type, root, members, add()), "MPI_Ibcast");
        break;
    }
  });
}

void MpiWork::meet() { check_mpi(MPI_Ibarrier(comm_.world(), add()), "MPI_Ibarrier"); }

void MpiWork::send(BufferView buffer, Rank to, Message message) {
  header_ = {message.tag, buffer.bytes};
  post_message(header_, buffer, [&](void* data, std::int64_t bytes) {
    check_mpi(MPI_Isend(data, static_cast<int>(bytes), MPI_BYTE, to.value, static_cast<int>(message.channel),
                        comm_.world(), add()),
              "MPI_Isend");
  });
}

void MpiWork::receive(BufferView buffer, Rank from, Message message) {
  expected_ = {message.tag, buffer.bytes};
  receives_ = true;
  from_ = from;
  channel_ = message.channel;
  post_message(header_, buffer, [&](void* data, std::int64_t bytes) {
    check_mpi(MPI_Irecv(data, static_cast<int>(bytes), MPI_BYTE, from.value, static_cast<int>(message.channel),
                        comm_.world(), add()),
              "MPI_Irecv");
  });
}

void MpiWork::send_piece(BufferView piece, int to, int tag, MPI_Comm members) {
  check_mpi(MPI_Isend(piece.data, static_cast<int>(piece.bytes), MPI_BYTE, to, tag, members, add()), "MPI_Isend");
}

void MpiWork::receive_piece(BufferView piece, int from, int tag, MPI_Comm members) {
  receives_ = true;
  check_mpi(MPI_Irecv(piece.data, static_cast<int>(piece.bytes), MPI_BYTE, from, tag, members, add()), "MPI_Irecv");
}

MpiWork::Slices::Slices(const Shares& shares, Share piece, int element) {
  for (int i = 0; i < shares.members(); ++i) {
    const Share slice = common(shares.of(i), piece);
    counts.push_back(static_cast<int>(slice.bytes() / element));
    offsets.push_back(static_cast<int>((slice.begin - piece.begin) / element));
  }
}

void MpiWork::put_in_place() {
  for (const Result& result : results_) {
    if (result.bytes > 0) std::memmove(result.to, result.from, static_cast<std::size_t>(result.bytes));
  }
  results_.clear();
}

}  // namespace parabench::comm
