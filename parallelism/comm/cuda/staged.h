// Ranks on GPUs over a communicator that knows host memory alone.
#pragma once

#include <memory>

#include "parallelism/comm/communicator.h"

namespace parabench::comm {

/// Device buffers travel through pinned host memory: copied out, sent or reduced by `host`, copied in; host buffers
/// go to `host` as they are. allocate() hands out memory of GPU `gpu` with a staging arena of `host` behind it,
/// pinned while the communicator lives; groups, capabilities and Arena::shared are those of `host`. Several ranks may
/// share one GPU. Traffic counts what `host` moved. `host` must outlive it. Throws environment_error for a build
/// without CUDA.
std::unique_ptr<Communicator> make_staged_communicator(Communicator& host, int gpu);

}  // namespace parabench::comm
