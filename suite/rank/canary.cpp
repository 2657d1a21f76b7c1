#include "suite/rank/canary.h"

#include <ATen/Parallel.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <torch/types.h>
#include <unistd.h>

#include <algorithm>
#include <functional>
#include <new>
#include <nlohmann/json.hpp>
#include <numeric>
#include <set>
#include <vector>

#include "base/canary_json.h"
#include "base/clock.h"
#include "base/host_name.h"
#include "base/statistics.h"
#include "parallelism/comm/gather.h"
#include "suite/rank/resident.h"

namespace parabench::rank {
namespace {

constexpr std::int64_t matrix_size = 192, array_elements = 4 << 20;
constexpr double product_budget_s = 0.010, triad_budget_s = 0.010;
constexpr int fewest_repetitions = 3, product_warmup = 2;

/// Memory that goes back to the system at once and that no account counts. It is there from the start: what was never
/// written would be one page of zeros, which stays in every cache.
class Pages {
 public:
  explicit Pages(std::size_t bytes)
      : bytes_(bytes),
        data_(mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0)) {
    if (data_ == MAP_FAILED) throw std::bad_alloc();
  }
  Pages(const Pages&) = delete;
  Pages& operator=(const Pages&) = delete;
  ~Pages() { munmap(data_, bytes_); }
  float* data() const { return static_cast<float*>(data_); }

 private:
  std::size_t bytes_;
  void* data_;
};

/// Three tensors of one shape, side by side.
struct Operands {
  explicit Operands(const std::vector<std::int64_t>& dims)
      : elements(std::accumulate(dims.begin(), dims.end(), std::int64_t{1}, std::multiplies<>())),
        pages(3 * elements * sizeof(float)) {
    for (int i = 0; i < 3; ++i) tensors[i] = torch::from_blob(pages.data() + i * elements, dims, torch::kFloat32);
  }
  std::int64_t elements;
  Pages pages;
  torch::Tensor tensors[3];
};

template <class Work>
double median_s(double budget_s, Work work) {
  std::vector<double> seconds;
  for (double start = now_s(), last = start; last - start < budget_s || std::ssize(seconds) < fewest_repetitions;) {
    work();
    const double now = now_s();
    seconds.push_back(now - last);
    last = now;
  }
  return median(seconds);
}

double matrix_product_s() {
  Operands of({matrix_size, matrix_size});
  for (torch::Tensor& tensor : of.tensors) tensor.fill_(0.5);
  const auto multiply = [&] { at::mm_out(of.tensors[0], of.tensors[1], of.tensors[2]); };
  for (int i = 0; i < product_warmup; ++i) multiply();  // the library's threads and buffers
  return median_s(product_budget_s, multiply);
}

double triad_s() {
  Operands of({array_elements});
  return median_s(triad_budget_s, [&] { at::add_out(of.tensors[0], of.tensors[1], of.tensors[2], 0.25); });
}

std::int64_t involuntary_switches() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_nivcsw;
}

}  // namespace

Canary canary_of(std::span<const RankCanary> ranks) {
  Canary all = ranks.front().canary;
  std::set<std::string> processes = {ranks.front().process};
  for (const RankCanary& rank : ranks.subspan(1)) {
    all.matrix_product_s = std::max(all.matrix_product_s, rank.canary.matrix_product_s);
    all.triad_s = std::max(all.triad_s, rank.canary.triad_s);
    all.steal_share = std::max(all.steal_share, rank.canary.steal_share);
    all.matrix_product_spread = std::max(all.matrix_product_spread, rank.canary.matrix_product_spread);
    if (processes.insert(rank.process).second) all.involuntary_switches += rank.canary.involuntary_switches;
  }
  return all;
}

std::pair<double, double> mean_and_spread(std::span<const double> products_s) {
  const auto [fastest_s, slowest_s] = std::ranges::minmax(products_s);
  return {mean(products_s), slowest_s / fastest_s};
}

CanaryWatch::CanaryWatch(const Case& spec, comm::Communicator& comm)
    : comm_(comm), is_on_(spec.device != DeviceKind::cuda), threads_(threads_of_operation(spec)) {
  if (!is_on_) return;
  time_product();
  time_triad();
  reset_resident_peak();
  ticks_ = processor_ticks();
  switches_ = involuntary_switches();
}

void CanaryWatch::time_product() {
  at::set_num_threads(threads_);
  comm_.wait(comm_.barrier());
  products_s_.push_back(matrix_product_s());
  comm_.wait(comm_.barrier());
}

void CanaryWatch::time_triad() {
  triads_s_.push_back(triad_s());
  comm_.wait(comm_.barrier());
}

void CanaryWatch::between() {
  if (is_on_) time_product();
}

std::optional<Canary> CanaryWatch::end() {
  if (!is_on_) return std::nullopt;
  const std::int64_t switches = involuntary_switches() - switches_;
  const std::optional<double> stolen = stolen_share(ticks_, processor_ticks());
  time_product();
  time_triad();
  const auto [product_s, spread] = mean_and_spread(products_s_);
  const Canary mine{.matrix_product_s = product_s,
                    .triad_s = mean(triads_s_),
                    .steal_share = stolen,
                    .involuntary_switches = switches,
                    .matrix_product_spread = spread};
  const nlohmann::json told = {{"process", fmt::format("{} {}", host_name(), getpid())}, {"canary", to_json(mine)}};
  std::vector<RankCanary> ranks;
  for (const std::string& text : comm::gather_to_root(comm_, told.dump())) {
    const nlohmann::json document = nlohmann::json::parse(text);
    const JsonReader reader(document, "canary of rank " + std::to_string(ranks.size()));
    ranks.push_back({reader.get<std::string>("process"), canary_from_json(reader.at("canary"))});
  }
  return ranks.empty() ? std::nullopt : std::optional(canary_of(ranks));
}

}  // namespace parabench::rank
