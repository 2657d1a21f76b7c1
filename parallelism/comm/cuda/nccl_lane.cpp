#include "parallelism/comm/cuda/nccl_lane.h"

#include <fmt/format.h>

#include <utility>

namespace parabench::comm {
namespace {

std::string in_words(const NcclOperation& operation) {
  const auto bytes = operation.buffer.bytes;
  switch (operation.kind) {
    case NcclOperation::Kind::all_reduce: return fmt::format("all_reduce of {} bytes", bytes);
    case NcclOperation::Kind::reduce_scatter: return fmt::format("reduce_scatter of {} bytes", bytes);
    case NcclOperation::Kind::all_gather: return fmt::format("all_gather of {} bytes", bytes);
    case NcclOperation::Kind::broadcast: return fmt::format("broadcast of {} bytes", bytes);
    case NcclOperation::Kind::send: return fmt::format("send of {} bytes to rank {}", bytes, operation.peer.value);
    case NcclOperation::Kind::recv: return fmt::format("recv of {} bytes from rank {}", bytes, operation.peer.value);
  }
  return "";
}

/// As NCCL counts elements.
struct NcclElement {
  ncclDataType_t type;
  std::size_t bytes;
  std::size_t count(Share share) const { return static_cast<std::size_t>(share.bytes()) / bytes; }
};

NcclElement nccl_element(ElementType type) {
  switch (type) {
    case ElementType::f32: return {ncclFloat32, 4};
    case ElementType::f64: return {ncclFloat64, 8};
    case ElementType::bf16: return {ncclBfloat16, 2};
    case ElementType::byte: return {ncclUint8, 1};
  }
  return {ncclUint8, 1};
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
  if (left_to_nccl_) static_cast<void>(stream_.release());
}

bool NcclLane::settled() {
  if (!comm_) throw NcclFailure("the communicator was ended");
  ncclResult_t state = ncclSuccess;
  check_nccl(ncclCommGetAsyncError(comm_, &state), "ncclCommGetAsyncError");
  check_nccl(state, "NCCL");
  return state == ncclSuccess;
}

void NcclLane::start(std::shared_ptr<NcclOperation> operation) { waiting_.push_back(std::move(operation)); }

void NcclLane::drive(double limit_s) {
  if (waiting_.empty() && launched_.empty()) return;
  if (!oldest_since_) oldest_since_ = Clock::now();
  while (record_last() && !waiting_.empty() && waiting_.front()->released) {
    launched_.push_back(std::move(waiting_.front()));
    waiting_.pop_front();
    launch(*launched_.back());
  }
  while (!launched_.empty() && launched_.front()->span.end && has_passed(cuda_event(launched_.front()->span.end))) {
    launched_.front()->ended = true;
    launched_.pop_front();
    oldest_since_ = Clock::now();
  }
  if (waiting_.empty() && launched_.empty()) {
    oldest_since_.reset();
  } else if (Clock::now() - *oldest_since_ > std::chrono::duration<double>(limit_s)) {
    throw NcclFailure(
        fmt::format("{} over NCCL has not ended within {:g} s: another rank stands still, or has started "
                    "something else",
                    in_words(launched_.empty() ? *waiting_.front() : *launched_.front()), limit_s));
  }
}

bool NcclLane::record_last() {
  if (!settled()) return false;
  if (!launched_.empty() && !launched_.back()->span.end) launched_.back()->span.end = events_.record(stream_);
  return true;
}

void NcclLane::launch(NcclOperation& operation) {
  wait_for(stream_, operation.buffer.ready);
  operation.span.start = events_.record(stream_);
  check_nccl(enqueue(operation), in_words(operation));
}

ncclResult_t NcclLane::enqueue(const NcclOperation& operation) {
  auto* const data = static_cast<std::byte*>(operation.buffer.data);
  const NcclElement element = nccl_element(operation.buffer.type);
  const auto bytes = static_cast<std::size_t>(operation.buffer.bytes);
  const std::size_t count = bytes / element.bytes;
  const int peer = 1 - position_;
  switch (operation.kind) {
    case NcclOperation::Kind::all_reduce:
      return ncclAllReduce(data, data, count, element.type, ncclSum, comm_, stream_.get());
    case NcclOperation::Kind::reduce_scatter: {
      if (!operation.shares.equal()) return enqueue_shares(operation);
      const Share own = operation.shares.of(position_);
      return ncclReduceScatter(data, data + own.begin, element.count(own), element.type, ncclSum, comm_, stream_.get());
    }
    case NcclOperation::Kind::all_gather: {
      if (!operation.shares.equal()) return enqueue_shares(operation);
      const Share own = operation.shares.of(position_);
      return ncclAllGather(data + own.begin, data, element.count(own), element.type, comm_, stream_.get());
    }
    case NcclOperation::Kind::broadcast:
      return ncclBroadcast(data, data, count, element.type, operation.root, comm_, stream_.get());
    case NcclOperation::Kind::send: return ncclSend(data, bytes, ncclUint8, peer, comm_, stream_.get());
    case NcclOperation::Kind::recv: return ncclRecv(data, bytes, ncclUint8, peer, comm_, stream_.get());
  }
  return ncclInternalError;
}

ncclResult_t NcclLane::enqueue_shares(const NcclOperation& operation) {
  const NcclElement element = nccl_element(operation.buffer.type);
  ncclResult_t first = ncclGroupStart();
  for (int i = 0; i < operation.shares.members(); ++i) {
    const Share share = operation.shares.of(i);
    if (share.bytes() == 0) continue;
    std::byte* const data = static_cast<std::byte*>(operation.buffer.data) + share.begin;
    const ncclResult_t code =
        operation.kind == NcclOperation::Kind::reduce_scatter
            ? ncclReduce(data, data, element.count(share), element.type, ncclSum, i, comm_, stream_.get())
            : ncclBroadcast(data, data, element.count(share), element.type, i, comm_, stream_.get());
    if (first == ncclSuccess || first == ncclInProgress) first = code;
  }
  const ncclResult_t last = ncclGroupEnd();
  return first == ncclSuccess || first == ncclInProgress ? last : first;
}

void NcclLane::finish() {
  check_nccl(ncclCommFinalize(comm_), "ncclCommFinalize");
  finishing_ = true;
}

void NcclLane::abort() noexcept {
  if (comm_) ncclCommAbort(std::exchange(comm_, nullptr));
  left_to_nccl_ = true;
  finishing_ = false;
}

bool NcclLane::drained() const noexcept {
  const cudaError_t state = cudaStreamQuery(stream_.get());
  if (state != cudaSuccess) cudaGetLastError();
  return state != cudaErrorNotReady;
}

}  // namespace parabench::comm
