// Ranks on GPUs over NCCL.
#pragma once

#include <memory>
#include <vector>

#include "parallelism/comm/communicator.h"

namespace parabench::comm {

struct NcclOptions {
  double time_limit_s = 60;  ///< of one operation; then every rank is made to stop
};

/// One NCCL communicator of all members for the collectives of each group, and one of two ranks for each of `lanes`,
/// the lanes on which buffers of a GPU will be sent (any other is refused with std::invalid_argument; buffers of the
/// host need none). Each has a stream of its own, so a receive that waits holds up neither the sends of its rank nor
/// other receives; on one communicator for all peers it would, and ranks that receive first would wait for each other
/// forever (nccl#584). All are made here and used, for a message of a byte or a sum and a broadcast of a number, in an
/// order that is the same on all ranks: making or connecting one later could wait for kernels that wait for other ranks
/// (nccl#787). The sum takes NCCL's algorithm of small ones; a broadcast is always a ring, which reduce-scatter and
/// all-gather mostly are, too. What a larger collective connects besides, by another algorithm, is connected here where
/// the environment says NCCL_RUNTIME_CONNECT=0. `lanes` are in any order, repeated or not; usage_error unless they are
/// the same on all ranks.
///
/// The host runs ahead: an operation is given to its stream at once, where it waits for the buffer's `ready` event, and
/// a receive as soon as the sender's host has given the message out. A kernel of NCCL then takes its place on the GPU
/// (a block for each channel) and waits there for the other ranks; a receive's while the sender's GPU still does what
/// it was given before the message. How long that can be, the caller bounds by how far his hosts run ahead.
///
/// Memory of the GPU: each lane takes what NCCL takes for a pair of ranks, by its maintainers' account (nccl#986, not
/// measured here) linear in NCCL's channels between the two, of which there are more the faster the link, with buffers
/// of about 4 MiB each (NCCL_BUFFSIZE); NCCL_MAX_P2P_NCHANNELS bounds them. An inner rank of a pipeline has four lanes,
/// eight where the stages turn back (V, Chimera), and one for each pair of ranks with replicated stages. Each stream
/// wants a hardware queue of its own: where a rank has more lanes and groups than CUDA_DEVICE_MAX_CONNECTIONS (8 unless
/// set, at most 32), some share one, and may wait for each other after all.
///
/// The collectives of a group must be started in one common order. Operations do not wait for each other as long as the
/// GPU has room for the kernels of all that are in flight. `host` carries unique ids, tags, host buffers, barriers and
/// failures: a rank that fails, or an asynchronous NCCL error, aborts the world there, and every waiting call throws
/// PeerFailure; then the communicators are aborted, and their streams and memory are kept until the process ends, since
/// threads of NCCL may still use them. allocate() hands out ncclMemAlloc memory, registered with the communicators of
/// all groups. Shares of equal size are one ncclReduceScatter or ncclAllGather; others, which these do not know, a
/// group of ncclReduce or ncclBroadcast, one for each share, so shares that divide evenly may be faster. Collective
/// over `host`, which must outlive it. Throws environment_error for a build without NCCL, and when two ranks share a
/// GPU (NCCL refuses), naming comm:mpi and comm:threads.
std::unique_ptr<Communicator> make_nccl_communicator(Communicator& host, int gpu, std::vector<MessageLane> lanes = {},
                                                     NcclOptions options = {});

}  // namespace parabench::comm
