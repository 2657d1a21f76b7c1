#include "suite/rank/compute_beside.h"

#include <ATen/Parallel.h>
#include <torch/types.h>

#include <algorithm>
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
constexpr int products = 10, pieces = 16, discarded_rounds = 4, timed_rounds = 10;

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

/// Mean seconds of each kind, since ranks that share a core take turns on it. The first rounds find nothing in the
/// caches: with them passes seemed half as long again as they are, and exchanges to take less of computing.
std::array<double, Work::kinds> seconds_of(Work& work) {
  for (int i = 0; i < discarded_rounds; ++i) work.round([](Work::Kind) { return true; });
  std::array<double, Work::kinds> seconds{};
  double last = now_s();
  for (int i = 0; i < timed_rounds; ++i) {
    work.round([&](Work::Kind kind) {
      const double now = now_s();
      seconds[kind] += now - last;
      last = now;
      return true;
    });
  }
  return {seconds[Work::of_product] / (timed_rounds * products), seconds[Work::of_pass] / (timed_rounds * pieces)};
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

std::optional<double> lost_share(std::span<const ComputedBeside> ranks) {
  constexpr double long_enough_s = 2e-3;
  std::vector<double> shares;
  for (const auto& [passed_s, computed_s] : ranks)
    if (passed_s >= long_enough_s) shares.push_back(std::clamp(1 - computed_s / passed_s, 0.0, 1.0));
  return shares.empty() ? std::nullopt : std::optional(mean(shares));
}

}  // namespace parabench::rank
