// CUDA as far as communicators use it, on memory of the host: linked in its place, it lets their code run without a
// GPU. Each thread chooses which GPU it uses, as with CUDA. What is started on a stream happens when somebody looks at
// any of them, in whatever thread: each task after those before it on its stream, and after the events that the stream
// waits for. As with CUDA an error, and cudaErrorNotReady as well, stays the thread's last one until somebody asks for
// it with cudaGetLastError.
#pragma once

#include <cuda_runtime_api.h>

#include <deque>
#include <functional>
#include <mutex>

/// Tasks run in order; one that returns false has to wait for others. Under fake_cuda_mutex().
struct CUstream_st {
  int gpu = 0;
  std::deque<std::function<bool()>> tasks;
  bool left_to_nccl = false;  ///< a thread of NCCL may use it until the process ends: destroying it ends the program
  bool destroyed = false;     ///< it goes once its tasks are done
  /// This stream alone goes on as far as it can.
  void look();
};

namespace parabench::comm {

/// Of all that the GPUs do.
std::recursive_mutex& fake_cuda_mutex();

/// Puts a task of the test's own on a stream.
void fake_cuda_enqueue(cudaStream_t stream, std::function<bool()> task);

/// Memory that a thread of NCCL may use until the process ends: freeing it ends the program.
void fake_cuda_leave_to_nccl(const void* memory);

/// Whether the fake offers peer access, from now on and for all threads.
void set_fake_cuda_peer_access(bool offered);
/// Ends the program when the memory is another GPU's than the stream's, and peer access to that was not enabled. For
/// what stands in for kernels.
void fake_cuda_require_access(cudaStream_t stream, const void* data);

/// Events that exist, of all threads.
int fake_cuda_events();

/// What events are timed with, in seconds; else the host's monotonic clock. For all threads.
void set_fake_cuda_clock(double (*seconds)());

/// A number of looks, at random, that something takes which ends by itself.
int fake_cuda_looks();

}  // namespace parabench::comm
