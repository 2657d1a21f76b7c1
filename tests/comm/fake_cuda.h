// CUDA as far as communicators use it, on memory of the host: linked in its place, it lets their code run without a
// GPU. GPUs of the process are threads' say; what is started on a stream happens when somebody looks, each task after
// those before it. As with CUDA an error, and cudaErrorNotReady as well, stays the thread's last one until somebody asks
// for it with cudaGetLastError.
#pragma once

#include <cuda_runtime_api.h>

#include <deque>
#include <functional>

/// Tasks run in order; one that returns false has to wait for others.
struct CUstream_st {
  int gpu = 0;
  std::deque<std::function<bool()>> tasks;
  bool looking = false;
  void look();
};

namespace parabench {

/// Events that exist, of all threads.
int fake_cuda_events();

/// What events are timed with, in seconds; else the host's monotonic clock. For all threads.
void set_fake_cuda_clock(double (*seconds)());

/// A number of looks, at random, that something takes which ends by itself.
int fake_cuda_looks();

}  // namespace parabench
