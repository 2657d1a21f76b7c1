// CUDA and NCCL as far as communicators use them, on memory of the host: linked in their place, it lets their code run
// without a GPU. GPUs of the process are threads' say; what is started on a stream happens when somebody looks, each
// operation after those before it, and a message when it has been started at both ends.
#pragma once

#include <nccl.h>

namespace parabench {

struct FakeNccl {
  int communicators = 0;  ///< alive
  int aborted = 0;
  int launched = 0;                  ///< groups of operations put on a stream
  ncclResult_t error = ncclSuccess;  ///< what every communicator reports from now on
};
/// A copy of its state.
FakeNccl fake_nccl();
void set_fake_nccl_error(ncclResult_t error);

}  // namespace parabench
