#include "parallelism/comm/cuda/direct_messages.h"

#include <mutex>

#include "parallelism/comm/mailbox.h"

namespace parabench::comm {

DirectSend::DirectSend(DirectResources& resources, const MessageLane& lane, BufferView buffer, std::uint64_t tag)
    : DirectWork(resources, resources.messages(lane), buffer), offer_(std::make_shared<MessageOffer>()) {
  offer_->header = {tag, buffer.bytes};
  offer_->data = buffer.data;
  offer_->ready = buffer.ready;
  resources.exchange().post(lane, offer_);
}

DirectSend::~DirectSend() {
  if (ended_) return;
  const std::lock_guard lock(offer_->mutex);
  offer_->withdrawn = true;
  if (offer_->copied) cudaEventSynchronize(cuda_event(offer_->copied));
}

bool DirectSend::give_out() {
  const std::lock_guard lock(offer_->mutex);
  if (!offer_->copied) return false;
  // The span's events are of this rank's own GPU: times of another GPU's events cannot be compared with them.
  wait_for(stream(), buffer_.ready);
  span_.start = record();
  wait_for(stream(), offer_->copied.get());
  span_.end = record();
  return true;
}

DirectReceive::DirectReceive(DirectResources& resources, const MessageLane& lane, BufferView buffer, std::uint64_t tag)
    : DirectWork(resources, resources.messages(lane), buffer), lane_(lane), tag_(tag) {}

DirectReceive::~DirectReceive() {
  if (!ended_ && span_.end) cudaEventSynchronize(cuda_event(span_.end));
}

bool DirectReceive::give_out() {
  const std::shared_ptr<MessageOffer> offer = resources_.exchange().take(lane_);
  if (!offer) return false;
  check_pairing(offer->header, {tag_, buffer_.bytes}, lane_.from, lane_.to, lane_.channel);
  {
    const std::lock_guard lock(offer->mutex);
    if (offer->withdrawn) return false;  // the next sleep throws
    wait_for(stream(), buffer_.ready);
    wait_for(stream(), offer->ready);
    span_.start = record();
    if (buffer_.bytes > 0)
      check_cuda(cudaMemcpyAsync(buffer_.data, offer->data, static_cast<std::size_t>(buffer_.bytes), cudaMemcpyDefault,
                                 stream().get()),
                 "cudaMemcpyAsync");
    offer->copied = span_.end = record();
  }
  resources_.exchange().wake(lane_.from);
  return true;
}

}  // namespace parabench::comm
