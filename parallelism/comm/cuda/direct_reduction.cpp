#include "parallelism/comm/cuda/direct_reduction.h"

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <mutex>

#include "parallelism/comm/cuda/sum_buffers.h"

namespace parabench {

DirectReduction::DirectReduction(DirectResources& resources, int group, BufferView buffer, Traffic& traffic)
    : DirectWork(resources, resources.collectives(group), buffer),
      group_(group),
      traffic_(traffic),
      reduction_(resources.exchange().reduction(group, turn())) {
  bool last = false;
  {
    const std::lock_guard lock(reduction_->mutex);
    own_seat() = {
        .post = {CollectiveKind::all_reduce, buffer.type, buffer.bytes}, .data = buffer.data, .ready = buffer.ready};
    last = ++reduction_->posted == std::ssize(reduction_->seats);
  }
  if (last) resources.exchange().wake_members(group_);
}

DirectReduction::~DirectReduction() {
  if (ended_) return;
  const std::lock_guard lock(reduction_->mutex);
  reduction_->broken = true;
  for (const Reduction::Seat& seat : reduction_->seats) {
    if (seat.summed) cudaEventSynchronize(cuda_event(seat.summed));
  }
}

bool DirectReduction::give_out() {
  const std::unique_lock lock(reduction_->mutex);
  const int members = static_cast<int>(reduction_->seats.size());
  if (reduction_->posted < members) return false;
  for (int i = 0; i < members; ++i)
    check_same(turn(), group_, resources_.host().rank(), own_seat().post, this->members()[i],
               reduction_->seats[i].post);
  if (reduction_->broken) return false;  // the next sleep throws
  if (!own_seat().summed) {
    give_out_share();
    if (++reduction_->given_out == members) resources_.exchange().wake_members(group_);
  }
  if (reduction_->given_out < members) return false;
  for (const Reduction::Seat& seat : reduction_->seats) wait_for(stream(), seat.summed.get());
  span_.end = record();
  return true;
}

void DirectReduction::give_out_share() {
  const auto& seats = reduction_->seats;
  for (const Reduction::Seat& seat : seats) wait_for(stream(), seat.ready);
  span_.start = record();
  const Share share = share_of(buffer_.bytes, static_cast<int>(seats.size()), position());
  const auto remote = static_cast<std::int64_t>(seats.size() - 1) * share.bytes();
  traffic_.received += remote;
  traffic_.sent += remote;
  if (share.bytes() > 0) sum(share);
  own_seat().summed = record();
}

void DirectReduction::sum(Share share) {
  const auto& seats = reduction_->seats;
  const auto bytes = static_cast<std::size_t>(share.bytes());
  const auto copy = [&](void* to, const void* from) {
    check_cuda(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, stream().get()), "cudaMemcpyAsync");
  };
  std::vector<void*> theirs, here;
  for (std::size_t i = 0; i < seats.size(); ++i) {
    theirs.push_back(static_cast<std::byte*>(seats[i].data) + share.begin);
    const bool reachable = resources_.reaches(members()[i]);
    here.push_back(reachable ? theirs[i] : resources_.scratch(group_, static_cast<int>(i), share.bytes()));
    if (!reachable) copy(here[i], theirs[i]);
  }
  sum_buffers(here, share.bytes() / (buffer_.type == ElementType::f64 ? 8 : 4), buffer_.type, stream().get());
  for (std::size_t i = 0; i < seats.size(); ++i) {
    if (here[i] != theirs[i]) copy(theirs[i], here[i]);
  }
}

}  // namespace parabench
