#include "parallelism/comm/cuda/direct_collective.h"

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <mutex>
#include <span>

#include "parallelism/comm/cuda/sum_buffers.h"
#include "parallelism/comm/traffic.h"

namespace parabench::comm {

DirectCollective::DirectCollective(DirectResources& resources, const CollectiveCall& call, Traffic& traffic)
    : DirectWork(resources, resources.collectives(call.group), call.buffer),
      call_(call),
      traffic_(traffic),
      common_(resources.exchange().collective(call.group, turn())) {
  bool last = false;
  {
    const std::lock_guard lock(common_->mutex);
    seat(position()) = {.post = {.kind = Post::Kind::data,
                                 .moves = call.kind,
                                 .type = buffer_.type,
                                 .root = call.root,
                                 .bytes = buffer_.bytes},
                        .shares = call.shares,
                        .data = buffer_.data,
                        .ready = buffer_.ready};
    last = ++common_->posted == std::ssize(common_->seats);
  }
  if (last) resources.exchange().wake_members(call.group);
}

DirectCollective::~DirectCollective() {
  if (ended_) return;
  const std::lock_guard lock(common_->mutex);
  common_->broken = true;
  for (const CommonCollective::Seat& seat : common_->seats) {
    if (seat.moved) cudaEventSynchronize(cuda_event(seat.moved));
  }
}

PostOfRank DirectCollective::said_by(int position) {
  return {members()[position], seat(position).post, seat(position).shares.ends()};
}

bool DirectCollective::give_out() {
  const std::unique_lock lock(common_->mutex);
  const int members = static_cast<int>(common_->seats.size());
  if (common_->posted < members) return false;
  for (int i = 0; i < members; ++i) check_same(turn(), call_.group, said_by(position()), said_by(i));
  if (common_->broken) return false;  // the next sleep throws
  if (!seat(position()).moved) {
    give_out_part();
    if (++common_->given_out == members) resources_.exchange().wake_members(call_.group);
  }
  if (common_->given_out < members) return false;
  for (const CommonCollective::Seat& seat : common_->seats) wait_for(stream(), seat.moved.get());
  span_.end = record();
  return true;
}

void DirectCollective::give_out_part() {
  const int members = static_cast<int>(common_->seats.size());
  for (const CommonCollective::Seat& seat : common_->seats) wait_for(stream(), seat.ready);
  span_.start = record();
  Share part;
  switch (call_.kind) {
    case CollectiveKind::all_reduce:
      part = share_of(buffer_.bytes, members, position());
      sum(part, true);
      break;
    case CollectiveKind::reduce_scatter:
      part = call_.shares.of(position());
      sum(part, false);
      break;
    case CollectiveKind::all_gather:
      part = call_.shares.of(position());
      for (int i = 0; i < members; ++i) copy(i, position(), part);
      break;
    case CollectiveKind::broadcast:
      if (call_.root == resources_.host().rank()) break;
      part = {0, buffer_.bytes};
      copy(position(), resources_.host().groups().position(call_.group, call_.root), part);
      break;
  }
  traffic_ += moved_in_memory(call_.kind, part.bytes(), members);
  seat(position()).moved = record();
}

void DirectCollective::sum(Share share, bool for_all) {
  if (share.bytes() == 0) return;
  const int members = static_cast<int>(common_->seats.size());
  const auto bytes = static_cast<std::size_t>(share.bytes());
  const auto copy_bytes = [&](void* to, const void* from) {
    check_cuda(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, stream().get()), "cudaMemcpyAsync");
  };
  std::vector<void*> theirs, here;
  for (int i = 0; i < members; ++i) {
    theirs.push_back(data_of(i) + share.begin);
    const bool reachable = resources_.reaches(this->members()[i]);
    here.push_back(reachable ? theirs.back() : resources_.scratch(call_.group, i, share.bytes()));
    if (!reachable) copy_bytes(here.back(), theirs.back());
  }
  const std::span<void* const> all = here;
  sum_buffers(all, for_all ? all : all.subspan(static_cast<std::size_t>(position()), 1),
              share.bytes() / element_bytes(buffer_.type), buffer_.type, stream().get());
  for (std::size_t i = 0; for_all && i < here.size(); ++i) {
    if (here[i] != theirs[i]) copy_bytes(theirs[i], here[i]);
  }
}

void DirectCollective::copy(int to, int from, Share share) {
  if (to == from || share.bytes() == 0) return;
  check_cuda(cudaMemcpyAsync(data_of(to) + share.begin, data_of(from) + share.begin,
                             static_cast<std::size_t>(share.bytes()), cudaMemcpyDefault, stream().get()),
             "cudaMemcpyAsync");
}

}  // namespace parabench::comm
