#include "parallelism/comm/cuda/nccl_work.h"

#include <cstdint>
#include <stdexcept>

namespace parabench::comm {
namespace {

constexpr std::uint64_t header_tag = 0x6e63636c5f686561;  // "nccl_hea"

}  // namespace

NcclWork::NcclWork(NcclCommunicator& comm, NcclLane& lane, NcclOperation operation)
    : comm_(comm), lane_(lane), operation_(std::make_shared<NcclOperation>(operation)) {
  lane_.start(operation_);
}

NcclWork::~NcclWork() {
  header_work_ = {};
  if (launching_) comm_.polling_.count_awaited(-1);
  if (operation_->released) comm_.polling_.count_in_flight(-1);
  // Dropped on the way out of a failure: nothing may be written into the caller's buffer any more.
  if (!operation_->ended) comm_.give_up();
}

void NcclWork::release() {
  operation_->released = launching_ = true;
  comm_.polling_.count_in_flight(1);
  comm_.polling_.count_awaited(1);
  drive();
}

void NcclWork::send_header(Message message) {
  header_ = {message.tag, operation_->buffer.bytes};
  header_work_ = comm_.host_.send({&header_, sizeof header_}, operation_->peer, {message.channel, header_tag});
  header_work_.test();  // on its way now, not when somebody looks
  release();
}

void NcclWork::receive_header(Message message) {
  message_ = message;
  header_work_ = comm_.host_.recv({&header_, sizeof header_}, operation_->peer, {message.channel, header_tag});
}

bool NcclWork::queued() {
  const bool header_moved = header_work_.test();
  if (header_moved && !operation_->released) {
    check_pairing(header_, {message_.tag, operation_->buffer.bytes}, operation_->peer, comm_.rank(), message_.channel);
    release();
  } else if (!operation_->ended) {
    drive();
  }
  return header_moved && operation_->span.end;
}

void NcclWork::drive() {
  try {
    comm_.use_gpu();
    lane_.drive(comm_.options_.time_limit_s);
  } catch (const std::runtime_error& error) {
    comm_.fail(error.what());
  }
  if (!launching_ || !operation_->span.end) return;
  launching_ = false;
  comm_.polling_.count_awaited(-1);
}

}  // namespace parabench::comm
