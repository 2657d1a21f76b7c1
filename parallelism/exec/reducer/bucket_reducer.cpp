#include "parallelism/exec/reducer/bucket_reducer.h"

#include <algorithm>
#include <numeric>
#include <stdexcept>
#include <string>
#include <torch/csrc/distributed/c10d/Backend.hpp>
#include <torch/csrc/distributed/c10d/HashStore.hpp>
#include <torch/csrc/distributed/c10d/reducer.hpp>
#include <utility>

#include "parallelism/exec/reducer/collective_thread.h"

namespace parabench::exec {
namespace {

comm::ElementType element_type(const torch::Tensor& tensor, comm::CollectiveKind kind) {
  if (kind == comm::CollectiveKind::broadcast) return comm::ElementType::byte;
  if (tensor.scalar_type() == torch::kFloat32) return comm::ElementType::f32;
  if (tensor.scalar_type() == torch::kFloat64) return comm::ElementType::f64;
  throw std::invalid_argument(std::string("a sum of ") + c10::toString(tensor.scalar_type()));
}

/// What the reducer asks of a process group.
class ThreadBackend final : public c10d::Backend {
 public:
  ThreadBackend(Rank rank, int ranks) : Backend(rank.value, ranks) {}

  void use(CollectiveThread& thread, CommGroupId group) {
    thread_ = &thread;
    group_ = group;
  }
  const std::string getBackendName() const override { return "parabench"; }
  c10::intrusive_ptr<c10d::Work> allreduce(std::vector<torch::Tensor>& tensors,
                                           const c10d::AllreduceOptions& options) override {
    if (options.reduceOp != c10d::ReduceOp::SUM) throw std::invalid_argument("an all-reduce that is no sum");
    return start(tensors, {.kind = comm::CollectiveKind::all_reduce});
  }
  c10::intrusive_ptr<c10d::Work> broadcast(std::vector<torch::Tensor>& tensors,
                                           const c10d::BroadcastOptions& options) override {
    return start(tensors, {.kind = comm::CollectiveKind::broadcast, .root = Rank(static_cast<int>(options.rootRank))});
  }

 private:
  c10::intrusive_ptr<c10d::Work> start(std::vector<torch::Tensor>& tensors, comm::CollectiveCall call) {
    if (tensors.size() != 1 || !tensors.front().is_contiguous())
      throw std::invalid_argument("a collective of other than one contiguous tensor");
    const torch::Tensor& tensor = tensors.front();
    call.group = group_;
    call.buffer = {tensor.data_ptr(), static_cast<std::int64_t>(tensor.nbytes()), element_type(tensor, call.kind)};
    auto future = c10::make_intrusive<c10::ivalue::Future>(c10::ListType::create(c10::TensorType::get()));
    thread_->give(std::move(call), [future, tensors](const std::exception_ptr& error) {
      if (error)
        future->setError(error);
      else
        future->markCompleted(c10::IValue(tensors));
    });
    return c10d::Work::create_from_future(future);
  }

  CollectiveThread* thread_ = nullptr;
  CommGroupId group_ = comm::world_group;
};

}  // namespace

struct BucketReducer::Parts {
  std::vector<torch::Tensor> parameters;
  c10::intrusive_ptr<ThreadBackend> backend;
  std::unique_ptr<c10d::Reducer> reducer;
};

BucketReducer::BucketReducer(std::vector<torch::Tensor> parameters, Rank rank, int ranks,
                             const plan::BucketLimits& limits)
    : parts_(std::make_unique<Parts>()) {
  const std::size_t count = parameters.size();
  std::vector<std::size_t> all(count);
  std::iota(all.begin(), all.end(), std::size_t{0});
  parts_->backend = c10::make_intrusive<ThreadBackend>(rank, ranks);
  // The store is for agreements between backends; ours needs none.
  auto group = c10::make_intrusive<c10d::ProcessGroup>(c10::make_intrusive<c10d::HashStore>(), rank.value, ranks);
  group->setBackend(c10::DeviceType::CPU, c10d::ProcessGroup::BackendType::CUSTOM, parts_->backend);
  group->setDefaultBackend(c10d::ProcessGroup::BackendType::CUSTOM);
  parts_->parameters = parameters;
  parts_->reducer = std::make_unique<c10d::Reducer>(
      std::move(parameters), std::vector<std::vector<std::size_t>>{std::move(all)}, std::move(group),
      std::vector<bool>(count, false), limits.others.value, /*find_unused_parameters=*/false,
      /*gradient_as_bucket_view=*/false, std::unordered_map<std::size_t, std::string>{}, limits.first.value,
      /*skip_all_reduce_unused_params=*/false, /*use_python_reducer=*/false, std::vector<std::int64_t>{});
}

BucketReducer::~BucketReducer() = default;

void BucketReducer::use(CollectiveThread& thread, CommGroupId group) { parts_->backend->use(thread, group); }

bool BucketReducer::prepare_forward() {
  parts_->reducer->prepare_for_forward();
  return parts_->reducer->rebuild_buckets();
}

void BucketReducer::prepare_backward() { parts_->reducer->prepare_for_backward({}); }

std::vector<std::vector<std::size_t>> BucketReducer::buckets() const {
  std::vector<std::vector<std::size_t>> buckets;
  for (const c10d::GradBucket& bucket : parts_->reducer->get_grad_buckets()) {
    std::vector<std::size_t>& places = buckets.emplace_back();
    for (const torch::Tensor& parameter : bucket.getParameters()) {
      const auto same = [&](const torch::Tensor& one) { return one.is_same(parameter); };
      places.push_back(std::ranges::find_if(parts_->parameters, same) - parts_->parameters.begin());
    }
  }
  return buckets;
}

}  // namespace parabench::exec
