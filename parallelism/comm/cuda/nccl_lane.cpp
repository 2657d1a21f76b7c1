#include "parallelism/comm/cuda/nccl_lane.h"

#include <fmt/format.h>

#include <utility>

namespace parabench {
namespace {

std::string in_words(const NcclOperation& operation) {
  const auto bytes = operation.buffer.bytes;
  switch (operation.kind) {
    case NcclOperation::Kind::all_reduce: return fmt::format("all_reduce of {} bytes", bytes);
    case NcclOperation::Kind::send: return fmt::format("send of {} bytes to rank {}", bytes, operation.peer.value);
    case NcclOperation::Kind::recv: return fmt::format("recv of {} bytes from rank {}", bytes, operation.peer.value);
  }
  return "";
}

}  // namespace

void check_nccl(ncclResult_t code, std::string_view call) {
  if (code == ncclSuccess || code == ncclInProgress) return;
  throw NcclFailure(fmt::format("{}: {}: {}", call, ncclGetErrorString(code), ncclGetLastError(nullptr)));
}

NcclLane::NcclLane(const ncclUniqueId& id, int position, int members) : position_(position), stream_(make_stream()) {
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.blocking = 0;
  const ncclResult_t code = ncclCommInitRankConfig(&comm_, members, id, position, &config);
  if (code != ncclSuccess && code != ncclInProgress) abort();
  check_nccl(code, "ncclCommInitRankConfig");
}

NcclLane::~NcclLane() {
  if (finishing_) {
    ncclCommDestroy(comm_);
  } else {
    abort();
  }
}

bool NcclLane::settled() {
  if (!comm_) throw NcclFailure("the communicator was ended");
  ncclResult_t state = ncclSuccess;
  check_nccl(ncclCommGetAsyncError(comm_, &state), "ncclCommGetAsyncError");
  check_nccl(state, "NCCL");
  return state == ncclSuccess;
}

std::uint64_t NcclLane::start(NcclOperation operation) {
  waiting_.push_back(operation);
  return started_++;
}

void NcclLane::drive(double limit_s) {
  if (completed_ == started_) return;
  if (!oldest_since_) oldest_since_ = Clock::now();
  if (record_last() && launched_ < released_) {
    launch();
    record_last();
  }
  while (!groups_.empty() && groups_.front().recorded && has_passed(groups_.front().passed.get())) {
    completed_ = groups_.front().end;
    spare_events_.push_back(std::move(groups_.front().passed));
    groups_.pop_front();
    oldest_since_ = Clock::now();
  }
  if (completed_ == started_) {
    oldest_since_.reset();
  } else if (Clock::now() - *oldest_since_ > std::chrono::duration<double>(limit_s)) {
    throw NcclFailure(
        fmt::format("{} over NCCL has not ended within {:g} s: another rank stands still, or has started "
                    "something else",
                    groups_.empty() ? in_words(waiting_.front()) : groups_.front().first, limit_s));
  }
}

bool NcclLane::record_last() {
  if (!settled()) return false;
  if (!groups_.empty() && !groups_.back().recorded) {
    check_cuda(cudaEventRecord(groups_.back().passed.get(), stream_.get()), "cudaEventRecord");
    groups_.back().recorded = true;
  }
  return true;
}

void NcclLane::launch() {
  Event passed;
  if (spare_events_.empty()) {
    passed = make_event();
  } else {
    passed = std::move(spare_events_.back());
    spare_events_.pop_back();
  }
  groups_.push_back({.end = released_, .first = in_words(waiting_.front()), .passed = std::move(passed)});
  check_nccl(ncclGroupStart(), "ncclGroupStart");
  ncclResult_t refused = ncclSuccess;
  for (; launched_ < released_; ++launched_) {
    const ncclResult_t code = enqueue(waiting_.front());
    if (code != ncclInProgress && refused == ncclSuccess) refused = code;
    waiting_.pop_front();
  }
  const ncclResult_t ended = ncclGroupEnd();  // in any case: no later call would leave the group
  check_nccl(refused, groups_.back().first);
  check_nccl(ended, "ncclGroupEnd");
}

ncclResult_t NcclLane::enqueue(const NcclOperation& operation) {
  void* const data = operation.buffer.data;
  const auto bytes = static_cast<std::size_t>(operation.buffer.bytes);
  const int peer = 1 - position_;
  const bool wide = operation.buffer.type == ElementType::f64;
  switch (operation.kind) {
    case NcclOperation::Kind::all_reduce:
      return ncclAllReduce(data, data, bytes / (wide ? 8 : 4), wide ? ncclFloat64 : ncclFloat32, ncclSum, comm_,
                           stream_.get());
    case NcclOperation::Kind::send: return ncclSend(data, bytes, ncclUint8, peer, comm_, stream_.get());
    case NcclOperation::Kind::recv: return ncclRecv(data, bytes, ncclUint8, peer, comm_, stream_.get());
  }
  return ncclInternalError;
}

void NcclLane::finish() {
  check_nccl(ncclCommFinalize(comm_), "ncclCommFinalize");
  finishing_ = true;
}

void NcclLane::abort() noexcept {
  if (comm_) ncclCommAbort(std::exchange(comm_, nullptr));
  finishing_ = false;
}

}  // namespace parabench
