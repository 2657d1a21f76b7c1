// What a rank's network reads, and where it lies.
#include "parallelism/exec/input.h"

#include <gtest/gtest.h>

#include <set>

#include "datasets/order.h"
#include "parallelism/comm/threads/world.h"
#include "parallelism/exec/device_cpu.h"
#include "parallelism/exec/executor.h"
#include "parallelism/exec/reference.h"
#include "parallelism/exec/segment_runner.h"
#include "parallelism/plan/routes.h"
#include "tests/datasets/label_of.h"
#include "tests/parallelism/exec/forwarding_device.h"
#include "tests/parallelism/exec/recording_device.h"
#include "tests/parallelism/exec/small_network.h"

namespace parabench::exec {
namespace {

constexpr int steps = 5;

plan::Plan test_plan(const std::string& keys, InputKind input) {
  plan::Plan plan = plan::unroll(small_plan(keys, steps), steps);
  plan.spec.input = input;
  return plan;
}

/// The labels and images of a piece, straight from the source.
PieceTensors expected(const plan::Plan& plan, const plan::InputPiece& piece) {
  const auto source = small_source();
  datasets::SampleOrder order(source->size(), plan.spec.seed);
  std::vector<torch::Tensor> images;
  std::vector<std::int64_t> labels;
  for (int i = 0; i < plan::samples_of(plan, piece); ++i) {
    const auto [index, epoch] = order.at(plan::first_position(plan, piece) + i);
    images.push_back(torch::empty({3, 8, 8}));
    source->read(index, epoch, std::span(images.back().data_ptr<float>(), 3 * 8 * 8));
    labels.push_back(datasets::label_of(*source, index));
  }
  return {torch::stack(images), torch::tensor(labels, torch::kInt64)};
}

TEST(PieceFeed, GivesEveryForwardItsSamplesInTypeAndLayoutOfTheCase) {
  static MemoryAccount account;
  const std::unique_ptr<Device> device = cpu_device(account);
  for (const InputKind kind : {InputKind::host, InputKind::resident}) {
    for (const char* keys : {"gpipe/np:1/batch:7/micro:3", "1f1b/np:1/batch:7/micro:3/precision:fp64",
                             "sequential/np:1/batch:6/precision:bf16/layout:channels_last"}) {
      const plan::Plan plan = test_plan(keys, kind);
      const RankInput input = open_input(plan, Rank(0), small_source(), {}, *device);
      EXPECT_EQ(input.labels, nullptr);
      EXPECT_EQ(input.images->is_resident(), kind == InputKind::resident);
      for (const plan::InputPiece& piece : plan::input_pieces(plan, Rank(0)).images) {
        input.images->await();
        const auto [images, labels] = input.images->take();
        const auto [pixels, classes] = expected(plan, piece);
        EXPECT_EQ(images.scalar_type(), plan.spec.precision == Precision::fp64 ? torch::kFloat64 : torch::kFloat32);
        EXPECT_TRUE(images.is_contiguous(memory_format(plan.spec.layout)));
        EXPECT_TRUE(torch::equal(images, pixels.to(images.scalar_type()))) << keys << " step " << piece.step.value;
        EXPECT_TRUE(torch::equal(labels, classes));
      }
    }
  }
}

TEST(PieceFeed, WritesAPieceIntoTheTensorsOfOneBefore) {
  static MemoryAccount account;
  const std::unique_ptr<Device> device = cpu_device(account);
  const plan::Plan plan = test_plan("sequential/np:1/batch:6", InputKind::host);
  const RankInput input = open_input(plan, Rank(0), small_source(), {}, *device);
  input.images->await();
  const PieceTensors tensors = input.images->take();
  const void* const place = tensors.images.data_ptr();
  input.images->await();
  input.images->take_into(tensors);
  EXPECT_EQ(tensors.images.data_ptr(), place);
  EXPECT_TRUE(torch::equal(tensors.images, expected(plan, {StepId(1), ReplicaId(0), MicroBatchId(0)}).images));
  EXPECT_TRUE(torch::equal(tensors.labels, expected(plan, {StepId(1), ReplicaId(0), MicroBatchId(0)}).labels));
}

/// Counts the samples that are read.
class CountingSource final : public datasets::SampleSource {
 public:
  std::int64_t size() const override { return source_->size(); }
  TensorSpec shape() const override { return source_->shape(); }
  void read_labels(std::int64_t index, std::span<std::int64_t> labels) const override {
    source_->read_labels(index, labels);
  }
  void read(std::int64_t index, std::int64_t epoch, datasets::SampleValues values) const override {
    const std::lock_guard lock(mutex_);
    indices.insert(index);
    source_->read(index, epoch, values);
  }
  mutable std::set<std::int64_t> indices;

 private:
  std::shared_ptr<const datasets::SampleSource> source_ = small_source();
  mutable std::mutex mutex_;
};

/// Counts the pieces that come from the host.
class UploadingDevice final : public ForwardingDevice {
 public:
  using ForwardingDevice::ForwardingDevice;
  std::unique_ptr<Upload> upload(const LargestPiece& largest) override {
    return std::make_unique<Counted>(ForwardingDevice::upload(largest), arrived);
  }
  int arrived = 0;

 private:
  class Counted final : public Upload {
   public:
    Counted(std::unique_ptr<Upload> upload, int& arrived) : upload_(std::move(upload)), arrived_(arrived) {}
    datasets::HostMemory host_memory() const override { return upload_->host_memory(); }
    PieceTensors arrive(datasets::LoadedPiece piece) override {
      ++arrived_;
      return upload_->arrive(std::move(piece));
    }
    void taken() override { upload_->taken(); }

   private:
    std::unique_ptr<Upload> upload_;
    int& arrived_;
  };
};

TEST(PieceFeed, ResidentPiecesAreLoadedOnceAndLieInOnePlace) {
  static MemoryAccount account;
  const plan::Plan plan = test_plan("gpipe/np:1/batch:7/micro:3", InputKind::resident);
  UploadingDevice device(account);
  const auto source = std::make_shared<CountingSource>();
  const RankInput input = open_input(plan, Rank(0), source, {}, device);
  EXPECT_EQ(device.arrived, 3);
  EXPECT_EQ(source->indices.size(), 7u);
  std::map<int, const void*> places;
  for (const plan::InputPiece& piece : plan::input_pieces(plan, Rank(0)).images) {
    input.images->await();
    const void* const place = input.images->take().images.data_ptr();
    EXPECT_EQ(places.try_emplace(piece.micro_batch.value, place).first->second, place);
  }
  EXPECT_EQ(places.size(), 3u);
  EXPECT_EQ(device.arrived, 3);
}

TEST(PieceFeed, ResidentPiecesCountAsActivationsAllTheTime) {
  static MemoryAccount account;
  const std::unique_ptr<Device> device = cpu_device(account);
  const std::int64_t before = account.live();
  {
    const RankInput input =
        open_input(test_plan("gpipe/np:1/batch:7/micro:3", InputKind::resident), Rank(0), small_source(), {}, *device);
    EXPECT_EQ(account.live() - before, 7 * (3 * 8 * 8 * 4 + 8));
    account.reset_peak();
    EXPECT_EQ(account.peak()[MemoryCategory::activations], account.live());
  }
  EXPECT_EQ(account.live(), before);
}

struct Outcome {
  std::vector<double> losses = std::vector<double>(steps);
  std::vector<plan::Span> spans;  ///< of rank 0
};

Outcome run(const plan::Plan& plan) {
  static MemoryAccount accounts[4];
  Outcome result;
  std::mutex mutex;
  comm::run_thread_ranks({plan.spec.np, plan::collective_groups(plan).declared}, [&](comm::Communicator& comm) {
    const std::unique_ptr<Device> device = recording_device(accounts[comm.rank().value]);
    StageState state(plan, small_network(), comm, *device);
    RankInput input = open_input(plan, comm.rank(), small_source(), {}, *device);
    const Execution execution = execute(plan, small_network(), state, comm, input, *device, StepId(0));
    const std::lock_guard lock(mutex);
    for (int s = 0; s < steps; ++s) result.losses[s] += execution.losses[s];
    if (comm.rank() == Rank(0)) result.spans = execution.spans[plan::compute_lane];
  });
  return result;
}

class Resident : public testing::TestWithParam<const char*> {};

TEST_P(Resident, StepsTrainAsTheReferenceDoesOnTheFirstStepsSamples) {
  const plan::Plan plan = test_plan(GetParam(), InputKind::resident);
  const Outcome resident = run(plan);
  const ReferenceState reference = train_reference(plan, small_network(), steps, small_source(), {});
  const ReferenceState others =
      train_reference(test_plan(GetParam(), InputKind::host), small_network(), steps, small_source(), {});
  for (int s = 0; s < steps; ++s) EXPECT_NEAR(resident.losses[s], reference.losses[s], 1e-9 * reference.losses[s]) << s;
  EXPECT_DOUBLE_EQ(reference.losses[0], others.losses[0]);
  EXPECT_GT(std::abs(reference.losses[1] - others.losses[1]), 1e-3) << "other samples";
  for (const plan::Span& span : resident.spans) EXPECT_EQ(span.data_wait, 0);
}

INSTANTIATE_TEST_SUITE_P(Cases, Resident,
                         testing::Values("sequential/np:1/batch:6/precision:fp64",
                                         "gpipe/np:1/batch:7/micro:3/precision:fp64/device:cuda/graph:on",
                                         "data-parallel/np:2/batch:8/precision:fp64",
                                         "1f1b/np:2/batch:9/precision:fp64/recompute:all",
                                         "chimera/np:2/batch:8/precision:fp64", "zb-v/np:2/batch:8/precision:fp64",
                                         "pipedream[replicas=2-1]/np:3/batch:4/precision:fp64"));

}  // namespace
}  // namespace parabench::exec
