#include "tests/parallelism/comm/cuda/fake_nccl.h"

#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "parallelism/comm/bf16.h"
#include "tests/parallelism/comm/cuda/fake_cuda.h"

namespace {

using parabench::comm::Bf16;

struct Letter {
  std::vector<char> content;
  bool taken = false;
};

/// A collective: sums, or what its root has.
struct Meeting {
  std::vector<double> values;
  std::vector<char> bytes;
  int arrived = 0;
};

/// What the ranks of one communicator share.
struct World {
  int ranks = 0, joined = 0, finalized = 0;
  std::map<std::pair<int, int>, std::deque<std::shared_ptr<Letter>>> mail;
  std::map<int, Meeting> meetings;
};

std::recursive_mutex& mutex = parabench::comm::fake_cuda_mutex();
std::map<std::string, std::shared_ptr<World>> worlds;
parabench::comm::FakeNccl state;
int unique_ids = 0;

}  // namespace

struct ncclComm {
  std::shared_ptr<World> world;
  int rank = 0;
  int collectives = 0;
  bool finalizing = false;
  std::shared_ptr<bool> aborted = std::make_shared<bool>(false);
  // A group that was ended, until NCCL's own thread has put it on the stream.
  int looks_until_launched = 0;
  std::function<void()> launch;
  // What threads of NCCL's own may go on using when it is aborted.
  std::set<CUstream_st*> streams;
  std::set<const void*> memory;
};

namespace {

/// Returns true once done.
using Operation = std::function<bool()>;

thread_local int group_depth = 0;

/// What was started between ncclGroupStart and ncclGroupEnd, on one communicator and stream.
struct Group {
  ncclComm* comm = nullptr;
  CUstream_st* stream = nullptr;
  std::vector<Operation> operations;
};
thread_local Group group;

/// A group of operations, which go on side by side, or one by itself.
ncclResult_t launch_group(ncclComm* comm, CUstream_st* stream, Operation operation) {
  if (comm->launch) return ncclInvalidUsage;
  if (cudaGetLastError() != cudaSuccess) return ncclUnhandledCudaError;  // whoever launches a kernel looks
  comm->streams.insert(stream);
  comm->looks_until_launched = parabench::comm::fake_cuda_looks();
  comm->launch = [=, aborted = comm->aborted]() {
    ++state.launched;
    parabench::comm::fake_cuda_enqueue(stream, [=]() mutable { return *aborted || operation(); });
  };
  return ncclInProgress;
}

ncclResult_t launch(ncclComm* comm, CUstream_st* stream, const void* data, Operation operation) {
  const std::lock_guard lock(mutex);
  comm->memory.insert(data);
  if (group_depth == 0) return launch_group(comm, stream, std::move(operation));
  if (group.comm && (group.comm != comm || group.stream != stream)) return ncclInvalidUsage;
  group.comm = comm;
  group.stream = stream;
  group.operations.push_back(std::move(operation));
  return ncclInProgress;
}

std::size_t bytes_of(ncclDataType_t type) {
  if (type == ncclFloat64) return 8;
  if (type == ncclFloat32) return 4;
  return type == ncclBfloat16 ? 2 : 1;
}

/// Elements of a buffer.
struct Kept {
  std::size_t begin, end;
};

/// What a sum is rounded to before it is stored: no bf16 can be made from a double at once.
template <class Element, class Value = std::remove_reference_t<Element>>
using Stored = std::conditional_t<std::is_same_v<Value, Bf16>, float, Value>;

/// Replaces what is kept of the buffer by the sum over all ranks, and writes nonsense over the rest.
Operation sum_of_all(void* data, std::size_t count, ncclDataType_t type, Kept kept, ncclComm* comm) {
  const auto each = [=](auto apply) {
    for (std::size_t i = 0; i < count; ++i) {
      if (type == ncclFloat32) apply(i, static_cast<float*>(data)[i]);
      if (type == ncclFloat64) apply(i, static_cast<double*>(data)[i]);
      if (type == ncclBfloat16) apply(i, static_cast<Bf16*>(data)[i]);
    }
  };
  return [=, given = false, world = comm->world, number = comm->collectives++]() mutable {
    Meeting& sum = world->meetings[number];
    sum.values.resize(count);
    if (!std::exchange(given, true)) {
      each([&](std::size_t i, auto& value) { sum.values[i] += value; });
      ++sum.arrived;
    }
    if (sum.arrived < world->ranks) return false;
    each([&](std::size_t i, auto& value) {
      const bool mine = kept.begin <= i && i < kept.end;
      value = static_cast<Stored<decltype(value)>>(mine ? sum.values[i] : -1e9);
    });
    return true;
  };
}

/// Replaces the buffer by what the root has in its own.
Operation content_of_root(char* data, std::size_t bytes, int root, ncclComm* comm) {
  return [=, is_root = comm->rank == root, world = comm->world, number = comm->collectives++] {
    Meeting& meeting = world->meetings[number];
    if (is_root && std::exchange(meeting.arrived, 1) == 0) meeting.bytes.assign(data, data + bytes);
    if (meeting.arrived == 0) return false;
    if (bytes > 0) std::memcpy(data, meeting.bytes.data(), bytes);
    return true;
  };
}

}  // namespace

namespace parabench::comm {

FakeNccl fake_nccl() {
  const std::lock_guard lock(mutex);
  return state;
}

void set_fake_nccl_error(ncclResult_t error) {
  const std::lock_guard lock(mutex);
  state.error = error;
}

}  // namespace parabench::comm

extern "C" {

const char* ncclGetErrorString(ncclResult_t) { return "an error of the fake"; }
const char* ncclGetLastError(ncclComm_t) { return "the fake's last"; }

ncclResult_t ncclGetVersion(int* version) {
  *version = NCCL_VERSION_CODE;
  return ncclSuccess;
}

ncclResult_t ncclGetUniqueId(ncclUniqueId* id) {
  const std::lock_guard lock(mutex);
  std::memset(id, 0, sizeof *id);
  const int number = ++unique_ids;
  std::memcpy(id->internal, &number, sizeof number);
  return ncclSuccess;
}

ncclResult_t ncclCommInitRankConfig(ncclComm_t* comm, int ranks, ncclUniqueId id, int rank, ncclConfig_t* config) {
  if (config->blocking != 0) return ncclInvalidUsage;
  const std::lock_guard lock(mutex);
  std::shared_ptr<World>& world = worlds[std::string(id.internal, sizeof id.internal)];
  if (!world) world = std::make_shared<World>();
  world->ranks = ranks;
  ++world->joined;
  ++state.communicators;
  *comm = new ncclComm{.world = world, .rank = rank};
  return ncclInProgress;
}

ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t* error) {
  const std::lock_guard lock(mutex);
  const World& world = *comm->world;
  *error = state.error;
  if (comm->launch && comm->looks_until_launched-- == 0) std::exchange(comm->launch, nullptr)();
  const bool busy = comm->launch || world.joined < world.ranks || (comm->finalizing && world.finalized < world.ranks);
  if (*error == ncclSuccess && busy) *error = ncclInProgress;
  return ncclSuccess;
}

ncclResult_t ncclCommFinalize(ncclComm_t comm) {
  const std::lock_guard lock(mutex);
  comm->finalizing = true;
  ++comm->world->finalized;
  return ncclInProgress;
}

ncclResult_t ncclCommDestroy(ncclComm_t comm) {
  const std::lock_guard lock(mutex);
  if (comm->world->finalized < comm->world->ranks) std::abort();
  --state.communicators;
  delete comm;
  return ncclSuccess;
}

/// Like the end of a group of them, it does not block: who knows how long NCCL's threads go on.
ncclResult_t ncclCommAbort(ncclComm_t comm) {
  const std::lock_guard lock(mutex);
  *comm->aborted = true;
  for (CUstream_st* stream : comm->streams) stream->left_to_nccl = true;
  for (const void* data : comm->memory) parabench::comm::fake_cuda_leave_to_nccl(data);
  --state.communicators;
  ++state.aborted;
  delete comm;
  return ncclInProgress;
}

ncclResult_t ncclGroupStart() {
  ++group_depth;
  return ncclSuccess;
}

ncclResult_t ncclGroupEnd() {
  const std::lock_guard lock(mutex);
  ++state.groups;
  if (--group_depth > 0 || !group.comm) return ncclInProgress;
  Group ended = std::exchange(group, {});
  return launch_group(ended.comm, ended.stream, [operations = std::move(ended.operations)]() mutable {
    std::erase_if(operations, [](Operation& operation) { return operation(); });
    return operations.empty();
  });
}

ncclResult_t ncclAllReduce(const void* from, void* to, std::size_t count, ncclDataType_t type, ncclRedOp_t op,
                           ncclComm_t comm, cudaStream_t stream) {
  if (op != ncclSum || from != to) return ncclInvalidArgument;
  return launch(comm, stream, to, sum_of_all(to, count, type, {0, count}, comm));
}

ncclResult_t ncclReduce(const void* from, void* to, std::size_t count, ncclDataType_t type, ncclRedOp_t op, int root,
                        ncclComm_t comm, cudaStream_t stream) {
  if (op != ncclSum || from != to || root >= comm->world->ranks) return ncclInvalidArgument;
  const std::size_t kept = comm->rank == root ? count : 0;
  return launch(comm, stream, to, sum_of_all(to, count, type, {0, kept}, comm));
}

/// In place alone, and what a rank does not keep is lost.
ncclResult_t ncclReduceScatter(const void* from, void* to, std::size_t count, ncclDataType_t type, ncclRedOp_t op,
                               ncclComm_t comm, cudaStream_t stream) {
  const std::size_t begin = count * static_cast<std::size_t>(comm->rank);
  if (op != ncclSum || static_cast<const char*>(from) + begin * bytes_of(type) != to) return ncclInvalidArgument;
  void* const whole = const_cast<void*>(from);
  return launch(
      comm, stream, whole,
      sum_of_all(whole, count * static_cast<std::size_t>(comm->world->ranks), type, {begin, begin + count}, comm));
}

/// In place alone.
ncclResult_t ncclAllGather(const void* from, void* to, std::size_t count, ncclDataType_t type, ncclComm_t comm,
                           cudaStream_t stream) {
  const std::size_t bytes = count * bytes_of(type);
  char* const whole = static_cast<char*>(to);
  if (from != whole + bytes * static_cast<std::size_t>(comm->rank)) return ncclInvalidArgument;
  std::vector<Operation> shares;
  for (int root = 0; root < comm->world->ranks; ++root)
    shares.push_back(content_of_root(whole + bytes * static_cast<std::size_t>(root), bytes, root, comm));
  return launch(comm, stream, to, [=]() mutable {
    std::erase_if(shares, [](Operation& share) { return share(); });
    return shares.empty();
  });
}

ncclResult_t ncclBroadcast(const void* from, void* to, std::size_t count, ncclDataType_t type, int root,
                           ncclComm_t comm, cudaStream_t stream) {
  if (from != to || root >= comm->world->ranks) return ncclInvalidArgument;
  return launch(comm, stream, to, content_of_root(static_cast<char*>(to), count * bytes_of(type), root, comm));
}

/// Leaves when it is taken: NCCL has buffers, but promises none.
ncclResult_t ncclSend(const void* data, std::size_t count, ncclDataType_t, int peer, ncclComm_t comm,
                      cudaStream_t stream) {
  std::shared_ptr<Letter> letter;
  return launch(comm, stream, data, [=, world = comm->world, rank = comm->rank]() mutable {
    if (!letter) {
      const char* const begin = static_cast<const char*>(data);
      letter = std::make_shared<Letter>(Letter{.content = {begin, begin + count}});
      world->mail[{rank, peer}].push_back(letter);
    }
    return letter->taken;
  });
}

ncclResult_t ncclRecv(void* data, std::size_t count, ncclDataType_t, int peer, ncclComm_t comm, cudaStream_t stream) {
  return launch(comm, stream, data, [=, world = comm->world, rank = comm->rank] {
    auto& letters = world->mail[{peer, rank}];
    if (letters.empty() || letters.front()->content.size() != count) return false;
    if (count > 0) std::memcpy(data, letters.front()->content.data(), count);
    letters.front()->taken = true;
    letters.pop_front();
    return true;
  });
}

ncclResult_t ncclMemAlloc(void** data, std::size_t bytes) {
  return cudaMalloc(data, bytes) == cudaSuccess ? ncclSuccess : ncclUnhandledCudaError;
}

ncclResult_t ncclMemFree(void* data) {
  cudaFree(data);
  return ncclSuccess;
}

ncclResult_t ncclCommRegister(const ncclComm_t comm, void* data, std::size_t, void** handle) {
  const std::lock_guard lock(mutex);
  comm->memory.insert(data);
  *handle = data;
  return ncclSuccess;
}

ncclResult_t ncclCommDeregister(const ncclComm_t, void*) { return ncclSuccess; }

}  // extern "C"
