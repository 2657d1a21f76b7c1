#include "suite/rank/compute_beside.h"

#include <ATen/Parallel.h>
#include <torch/types.h>

#include <array>
#include <exception>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/short_slices.h"
#include "base/statistics.h"

namespace parabench::rank {
namespace {

constexpr std::int64_t matrix_size = 192, pass_elements = 1 << 20;
// A pass is made in pieces about as long as a product: so finely is known what was done in a time.
constexpr int products = 10, pieces = 16, timed_rounds = 5;

/// Work by turns of products and of a pass.
class Work {
 public:
  /// Calls done(kind) after each piece, until it returns false.
  template <class Done>
  bool round(const Done& done) {
    for (int i = 0; i < products; ++i) {
      at::mm_out(product_, left_, right_);
      if (!done(of_product)) return false;
    }
    for (int i = 0; i < pieces; ++i) {
      at::add_out(pass_[i], pass_[i], passed_[i], 0.5);
      if (!done(of_pass)) return false;
    }
    return true;
  }

  enum Kind { of_product, of_pass, kinds };

 private:
  torch::Tensor left_ = torch::full({matrix_size, matrix_size}, 0.5), right_ = torch::ones_like(left_),
                product_ = torch::empty_like(left_);
  std::vector<torch::Tensor> passed_ = torch::zeros({pass_elements}).chunk(pieces),
                             pass_ = torch::zeros({pass_elements}).chunk(pieces);
};

/// Median seconds of each kind.
std::array<double, Work::kinds> seconds_of(Work& work) {
  std::array<std::vector<double>, Work::kinds> seconds;
  double last = now_s();
  for (int i = 0; i < timed_rounds; ++i) {
    work.round([&](Work::Kind kind) {
      seconds[kind].push_back(now_s() - last);
      last += seconds[kind].back();
      return true;
    });
  }
  return {median(seconds[Work::of_product]), median(seconds[Work::of_pass])};
}

}  // namespace

void compute_beside(const std::function<void(const std::atomic<double>&)>& exchange) {
  const int threads = at::get_num_threads();
  at::set_num_threads(1);
  Work work;
  const auto seconds = seconds_of(work);
  std::atomic<double> done_s = 0;
  std::atomic<bool> ended = false;
  std::exception_ptr error;
  std::thread beside([&] {
    try {
      ask_for_short_slices();
      exchange(done_s);
    } catch (...) {
      error = std::current_exception();
    }
    ended = true;
  });
  while (work.round([&](Work::Kind kind) {
    done_s = done_s + seconds[kind];
    return !ended;
  })) {
  }
  beside.join();
  at::set_num_threads(threads);
  if (error) std::rethrow_exception(error);
}

}  // namespace parabench::rank
