// Pieces on their way to a real GPU.
#include <ATen/core/CachingHostAllocator.h>

#include <algorithm>
#include <vector>

#include "parallelism/plan/input_pieces.h"
#include "tests/gpu/runtime/gpu_test.h"

namespace parabench::exec {
namespace {

class GpuUpload : public GpuTest {};

constexpr TensorSpec sample{3, 224, 224};
constexpr int samples = 8;

/// A piece whose pixels are all `value` and whose labels count up from it.
datasets::LoadedPiece piece_of(const Upload& upload, int value, int count = samples) {
  const datasets::HostMemory memory = upload.host_memory();
  datasets::LoadedPiece piece;
  const auto pixels = static_cast<std::size_t>(count * sample.elements()), labels = static_cast<std::size_t>(count);
  piece.value_memory = memory(pixels * sizeof(float));
  piece.label_memory = memory(labels * sizeof(std::int64_t));
  piece.samples = count;
  const std::span<float> values{static_cast<float*>(piece.value_memory.get()), pixels};
  piece.values = values;
  piece.labels = {static_cast<std::int64_t*>(piece.label_memory.get()), labels};
  std::ranges::fill(values, static_cast<float>(value));
  for (std::size_t i = 0; i < labels; ++i) piece.labels[i] = value + static_cast<std::int64_t>(i);
  return piece;
}

TEST_F(GpuUpload, EveryPieceArrivesWholeInTheLayoutAndTypeOfTheNetwork) {
  MemoryAccount account;
  const auto device = first_gpu(account);
  device->enter(/*computes=*/true);
  const auto upload = device->upload({sample, {}, samples});
  Case spec;
  spec.layout = Layout::channels_last;
  spec.precision = Precision::fp64;
  std::vector<PieceTensors> read;
  for (int k = 0; k < 40; ++k) {
    // Work that the compute stream is still busy with when the next pieces come.
    torch::Tensor busy = torch::ones({2048, 2048}, torch::TensorOptions(device->where()));
    for (int i = 0; i < 4; ++i) busy = busy.mm(busy).clamp(0, 1);
    read.push_back(network_input(upload->arrive(piece_of(*upload, 100 * k, k % samples + 1)), spec));
    upload->taken();
  }
  device->synchronise();
  for (int k = 0; k < 40; ++k) {
    const auto& [images, labels] = read[static_cast<std::size_t>(k)];
    EXPECT_EQ(images.scalar_type(), torch::kFloat64);
    EXPECT_TRUE(images.is_contiguous(at::MemoryFormat::ChannelsLast));
    EXPECT_EQ(images.size(0), k % samples + 1);
    EXPECT_EQ(images.min().item<double>(), 100 * k);
    EXPECT_EQ(images.max().item<double>(), 100 * k);
    EXPECT_TRUE(torch::equal(labels.cpu(), torch::arange(100 * k, 100 * k + k % samples + 1)));
  }
}

TEST_F(GpuUpload, TakesTheMemoryOfItsSlots) {
  MemoryAccount account;
  const auto device = first_gpu(account);
  {
    const auto upload = device->upload({sample, {}, samples});
    const std::int64_t slots = account.peak()[MemoryCategory::communication];
    EXPECT_GE(slots, plan::upload_slots * samples * (sample.elements() * 4 + 8));
    EXPECT_LT(slots, plan::upload_slots * (samples * (sample.elements() * 4 + 8) + 2 * 512));
    EXPECT_GT(device->peak_reserved(), slots);
    for (int k = 0; k < 4; ++k) {
      upload->arrive(piece_of(*upload, k));
      upload->taken();
    }
    EXPECT_EQ(account.live(), slots);
  }
  EXPECT_EQ(account.live(), 0);
  device->synchronise();
}

TEST_F(GpuUpload, UsesItsHostMemoryAgainHoweverManyPiecesCome) {
  MemoryAccount account;
  const auto device = first_gpu(account);
  device->enter(/*computes=*/true);
  const auto upload = device->upload({sample, {}, samples});
  const auto come = [&](int pieces) {
    for (int k = 0; k < pieces; ++k) {
      upload->arrive(piece_of(*upload, k));
      upload->taken();
    }
  };
  come(8);
  const std::int64_t made = at::getHostAllocator(at::kCUDA)->get_stats().num_host_alloc;
  come(100);
  EXPECT_LE(at::getHostAllocator(at::kCUDA)->get_stats().num_host_alloc, made + 2 * (2 * plan::upload_slots));
  device->synchronise();
}

}  // namespace
}  // namespace parabench::exec
