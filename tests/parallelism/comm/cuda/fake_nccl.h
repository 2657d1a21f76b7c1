// NCCL as far as communicators use it, between threads and on streams of the fake CUDA: linked in its place. A message
// happens when it has been started at both ends.
#pragma once

#include <nccl.h>

namespace parabench::comm {

struct FakeNccl {
  int communicators = 0;  ///< alive
  int aborted = 0;
  int groups = 0;                    ///< of calls between ncclGroupStart and ncclGroupEnd
  int launched = 0;                  ///< groups of operations put on a stream
  ncclResult_t error = ncclSuccess;  ///< what every communicator reports from now on
};
/// A copy of its state.
FakeNccl fake_nccl();
void set_fake_nccl_error(ncclResult_t error);

}  // namespace parabench::comm
