#include "suite/rank/compute_beside.h"

#include <ATen/Parallel.h>
#include <torch/types.h>

#include <atomic>
#include <exception>
#include <thread>

#include "base/short_slices.h"

namespace parabench::rank {
namespace {

constexpr std::int64_t matrix_size = 192, pass_elements = 1 << 20;
constexpr int products_per_pass = 10;

}  // namespace

void compute_beside(const std::function<void()>& exchange) {
  const int threads = at::get_num_threads();
  at::set_num_threads(1);
  const torch::Tensor left = torch::full({matrix_size, matrix_size}, 0.5), right = torch::ones_like(left);
  torch::Tensor product = torch::empty_like(left), passed = torch::zeros({pass_elements}),
                pass = torch::zeros_like(passed);
  std::atomic<bool> done = false;
  std::exception_ptr error;
  std::thread beside([&] {
    try {
      ask_for_short_slices();
      exchange();
    } catch (...) {
      error = std::current_exception();
    }
    done = true;
  });
  while (!done) {
    for (int i = 0; i < products_per_pass && !done; ++i) at::mm_out(product, left, right);
    at::add_out(pass, pass, passed, 0.5);
  }
  beside.join();
  at::set_num_threads(threads);
  if (error) std::rethrow_exception(error);
}

}  // namespace parabench::rank
