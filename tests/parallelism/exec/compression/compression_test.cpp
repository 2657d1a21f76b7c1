// Compressed sums: their arithmetic, and what ranks make of gradients together.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <random>

#include "parallelism/comm/reduce.h"
#include "parallelism/exec/compression/compressor.h"
#include "parallelism/exec/compression/formulas.h"
#include "parallelism/exec/compression/low_rank.h"
#include "parallelism/exec/compression/selection.h"
#include "tests/parallelism/exec/small_network.h"

namespace parabench::exec {
namespace {

torch::Tensor normal(std::int64_t vectors, std::int64_t n, torch::ScalarType type = torch::kFloat64) {
  torch::Tensor matrix = torch::empty({vectors, n}, type);
  draw_factor(matrix, "normal", static_cast<std::uint64_t>(n * 1000 + vectors));
  return matrix;
}

double largest(const torch::Tensor& tensor) { return tensor.abs().max().item<double>(); }

TEST(Orthonormalise, MakesAnOrthonormalBasisOfTheSameSpace) {
  for (const auto type : {torch::kFloat32, torch::kFloat64}) {
    const double close = type == torch::kFloat64 ? 1e-13 : 1e-5;
    for (const std::int64_t n : {1, 5, 64, 1000}) {
      for (std::int64_t vectors = 1; vectors <= std::min<std::int64_t>(n, 8); ++vectors) {
        const torch::Tensor given = normal(vectors, n, type);
        torch::Tensor basis = given.clone();
        orthonormalise(basis);
        EXPECT_LT(largest(basis.matmul(basis.t()) - torch::eye(vectors, type)), close);
        EXPECT_LT(largest(given - given.matmul(basis.t()).matmul(basis)), 100 * close) << vectors << " of " << n;
      }
    }
  }
}

TEST(Orthonormalise, LeavesNothingOfVectorsThatDependOnOthers) {
  torch::Tensor vectors = normal(4, 50);
  vectors[2].copy_(2 * vectors[0] - 3 * vectors[1]);
  vectors[3].add_(1e9 * vectors[1]);  // nearly, but not
  orthonormalise(vectors);
  EXPECT_EQ(largest(vectors[2]), 0);
  const torch::Tensor others = vectors.index_select(0, torch::tensor({0, 1, 3}));
  EXPECT_LT(largest(others.matmul(others.t()) - torch::eye(3, torch::kFloat64)), 1e-13);
  torch::Tensor zeros = torch::zeros({2, 7}, torch::kFloat64);
  orthonormalise(zeros);
  EXPECT_EQ(largest(zeros), 0);
}

TEST(PowerSgd, IsExactWithAsManyVectorsAsTheMatrixHasDimensions) {
  for (const auto& [rows, columns] : {std::pair(6, 20), std::pair(20, 6), std::pair(9, 9), std::pair(1, 5)}) {
    const torch::Tensor matrix = normal(rows, columns);
    torch::Tensor right = normal(std::min(rows, columns), columns), left = right.matmul(matrix.t());
    orthonormalise(left);
    right = left.matmul(matrix);
    EXPECT_LT(largest(left.t().matmul(right) - matrix), 1e-10 * largest(matrix)) << rows << " x " << columns;
  }
}

TEST(PowerSgd, DrawsVectorsOfZerosAnewAndNoOthers) {
  torch::Tensor factor = normal(3, 30);
  const torch::Tensor before = factor.clone();
  revive_vectors(factor, "normal", 30 * 1000 + 3);
  EXPECT_TRUE(factor.equal(before));
  factor[1].zero_();
  revive_vectors(factor, "normal", 30 * 1000 + 3);
  EXPECT_TRUE(factor.equal(before)) << "as they were drawn at first";
}

template <class T>
void expect_largest_taken(std::vector<T> values, std::size_t kept) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), 0);
  const auto magnitude = [&](std::size_t i) {
    return std::isnan(values[i]) ? std::numeric_limits<T>::infinity() : std::abs(values[i]);
  };
  std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) { return magnitude(a) > magnitude(b); });
  order.resize(kept);
  std::sort(order.begin(), order.end());
  std::vector<T> left = values, room(values.size()), chosen(kept);
  std::vector<std::int32_t> places(kept);
  take_largest<T>(left, room, 1000, chosen, places);
  for (std::size_t i = 0; i < kept; ++i) {
    ASSERT_EQ(places[i], static_cast<std::int32_t>(1000 + order[i]));
    ASSERT_TRUE(chosen[i] == values[order[i]] || std::isnan(chosen[i]));
    values[order[i]] = 0;
  }
  for (std::size_t i = 0; i < values.size(); ++i) ASSERT_EQ(left[i], values[i]) << "what is not sent stays";
}

TEST(TopK, TakesTheLargestAndOfEqualOnesTheFirst) {
  std::mt19937 random(5);
  for (int round = 0; round < 300; ++round) {
    const std::size_t count = 1 + random() % 400, kept = 1 + random() % count;
    std::vector<double> values(count);
    const int sizes = 1 + static_cast<int>(random() % 30);  // few, so that many are equal
    for (double& value : values) value = (static_cast<int>(random() % (2 * sizes + 1)) - sizes) / 4.0;
    expect_largest_taken<double>(values, kept);
    expect_largest_taken<float>({values.begin(), values.end()}, kept);
  }
}

TEST(TopK, SendsWhatIsNoNumber) { expect_largest_taken<float>({1, std::numeric_limits<float>::quiet_NaN(), -3, 2}, 2); }

/// The ranks of a small case side by side in one thread: their collectives are sums and copies between their arenas.
class Ranks {
 public:
  Ranks(const std::string& compress, int members)
      : plan_(small_plan("data-parallel/bucket:4KiB/precision:fp64/compress:" + compress +
                         "/np:" + std::to_string(members) + "/batch:" + std::to_string(2 * members))),
        layout_(plan::state_layout(plan_, plan::ParameterSizes(model_), Rank(0))) {
    const auto zeros = [&](plan::StateRole role, torch::ScalarType type) {
      for (const plan::StateArena& arena : layout_.arenas)
        if (arena.role == role) return torch::zeros({arena.elements}, type);
      return torch::Tensor();
    };
    for (int i = 0; i < members; ++i) {
      arenas_.push_back({zeros(plan::StateRole::gradients, torch::kFloat64),
                         zeros(plan::StateRole::errors, torch::kFloat64), zeros(plan::StateRole::encoded, torch::kByte),
                         zeros(plan::StateRole::projected, torch::kByte)});
    }
    for (const CompressionArenas& arenas : arenas_) compressors_.emplace_back(plan_, model_, layout_, arenas);
  }

  /// New gradients of the tensors, different on all ranks; padding stays zero.
  void draw(std::mt19937& random) {
    std::normal_distribution<double> any;
    for (CompressionArenas& arenas : arenas_) {
      for_each_tensor([&](const plan::ParameterSlice& slice) {
        for (std::int64_t i = 0; i < slice.range.count; ++i)
          arenas.gradients.data_ptr<double>()[slice.range.first + i] = any(random);
      });
    }
  }

  void sum() {
    const int members = static_cast<int>(arenas_.size());
    for (const plan::Op& op : plan_.ranks[0].compute()) {
      if (op.kind != plan::OpKind::encode) continue;
      const SegmentId first = op.segment;
      const int segments = op.segments;
      for (int i = 0; i < members; ++i) compressors_[i].encode(first, segments, {i, members});
      combine([&](Compressor& one) { return one.encoded(first, segments, members); });
      for (Compressor& one : compressors_) one.project(first, segments);
      combine([&](Compressor& one) { return one.projected(first, segments); });
      for (int i = 0; i < members; ++i) compressors_[i].decode(first, segments, {i, members});
    }
  }

  torch::Tensor sum_of(torch::Tensor CompressionArenas::*arena) const {
    torch::Tensor total = torch::zeros_like(arenas_.front().*arena);
    for (const CompressionArenas& arenas : arenas_) total += arenas.*arena;
    return total;
  }
  const std::vector<CompressionArenas>& arenas() const { return arenas_; }
  template <class Visit>
  void for_each_tensor(Visit visit) const {
    for (const SegmentId s : layout_.segments)
      for (const plan::ParameterSlice& slice : plan::parameter_slices(layout_, plan_, model_, s)) visit(slice);
  }
  const plan::Plan& plan() const { return plan_; }

 private:
  template <class ViewOf>
  void combine(ViewOf view_of) {
    std::vector<comm::BufferView> views;
    for (Compressor& one : compressors_) views.push_back(view_of(one));
    const std::int64_t bytes = views.front().bytes;
    std::vector<std::byte*> data;
    for (const comm::BufferView& view : views) data.push_back(static_cast<std::byte*>(view.data));
    if (bytes == 0) return;
    if (views.front().type == comm::ElementType::byte) {
      const std::int64_t share = bytes / std::ssize(views);
      for (std::size_t to = 0; to < data.size(); ++to)
        for (std::size_t from = 0; from < data.size(); ++from)
          if (to != from) std::memcpy(data[to] + from * share, data[from] + from * share, share);
      return;
    }
    comm::sum_in_place(data, {0, bytes}, views.front().type);
  }

  models::ModelSpec model_ = small_network();
  plan::Plan plan_;
  plan::StateLayout layout_;
  std::vector<CompressionArenas> arenas_;
  std::vector<Compressor> compressors_;
};

class EveryCompression : public testing::TestWithParam<const char*> {};

// Two accounts of one paper: the executor's on arenas, the reference's tensor by tensor.
TEST_P(EveryCompression, SumsAsItsFormulasSay) {
  for (const int members : {2, 3}) {
    Ranks ranks(GetParam(), members);
    std::mt19937 random(members);
    const Compression by = compression(ranks.plan().spec);
    std::vector<CompressedSum> sums;
    ranks.for_each_tensor([&](const plan::ParameterSlice& slice) {
      sums.emplace_back(by, slice.tensor.name, members, ranks.plan().spec.seed);
    });
    for (int step = 0; step < 5; ++step) {
      ranks.draw(random);
      std::vector<torch::Tensor> expected;
      ranks.for_each_tensor([&](const plan::ParameterSlice& slice) {
        std::vector<torch::Tensor> gradients;
        for (const CompressionArenas& arenas : ranks.arenas())
          gradients.push_back(
              arenas.gradients.narrow(0, slice.range.first, slice.range.count).view(slice.tensor.shape).clone());
        expected.push_back(sums[expected.size()].next(gradients));
      });
      ranks.sum();
      std::size_t place = 0;
      ranks.for_each_tensor([&](const plan::ParameterSlice& slice) {
        const torch::Tensor& wanted = expected[place++];
        for (const CompressionArenas& arenas : ranks.arenas()) {
          const torch::Tensor made =
              arenas.gradients.narrow(0, slice.range.first, slice.range.count).view(slice.tensor.shape);
          ASSERT_LE(largest(made - wanted), 1e-11 * largest(wanted)) << slice.tensor.name << ", step " << step;
        }
      });
    }
  }
}

// What comes out and what is kept for later is what went in, but for rounding.
class EveryFeedback : public testing::TestWithParam<const char*> {};

TEST_P(EveryFeedback, LosesNothing) {
  for (const int members : {2, 4}) {
    Ranks ranks(GetParam(), members);
    std::mt19937 random(members);
    for (int step = 0; step < 4; ++step) {
      const torch::Tensor kept = ranks.sum_of(&CompressionArenas::errors);
      ranks.draw(random);
      const torch::Tensor given = ranks.sum_of(&CompressionArenas::gradients);
      ranks.sum();
      const torch::Tensor result = ranks.arenas().front().gradients;
      EXPECT_LT(largest(result + ranks.sum_of(&CompressionArenas::errors) - given - kept), 1e-12 * largest(given));
    }
  }
}

TEST_P(EveryCompression, LeavesThePaddingBetweenTensorsAlone) {
  Ranks ranks(GetParam(), 2);
  std::mt19937 random(1);
  ranks.draw(random);
  ranks.sum();
  torch::Tensor rest = ranks.arenas().front().gradients.clone();
  ranks.for_each_tensor(
      [&](const plan::ParameterSlice& slice) { rest.narrow(0, slice.range.first, slice.range.count).zero_(); });
  EXPECT_EQ(largest(rest), 0);
}

INSTANTIATE_TEST_SUITE_P(Ways, EveryFeedback,
                         testing::Values("powersgd[rank=1]", "powersgd", "topk", "topk[ratio=0.2]"));
INSTANTIATE_TEST_SUITE_P(Ways, EveryCompression,
                         testing::Values("bf16", "powersgd[rank=1]", "powersgd", "powersgd[rank=7]", "topk",
                                         "topk[ratio=0.2]", "topk[ratio=1]"));

TEST(TopK, OfAllValuesIsTheSum) {
  Ranks ranks("topk[ratio=1]", 3);
  std::mt19937 random(2);
  for (int step = 0; step < 3; ++step) {
    ranks.draw(random);
    const torch::Tensor given = ranks.sum_of(&CompressionArenas::gradients);
    ranks.sum();
    EXPECT_TRUE(ranks.arenas().back().gradients.equal(given));
    EXPECT_EQ(largest(ranks.sum_of(&CompressionArenas::errors)), 0);
  }
}

// A gradient of low rank is found at once, and found again: what is drawn anew for it does no harm.
TEST(PowerSgd, SumsMatricesOfLowRankExactly) {
  CompressedSum sum({.kind = CompressionKind::powersgd, .rank = 4}, "w", 2, 1);
  std::mt19937 random(3);
  for (int step = 0; step < 4; ++step) {
    const torch::Tensor left = normal(40, 2), right = normal(30 + step, 2).narrow(0, 0, 30);
    const torch::Tensor one = left.matmul(right.t()), other = left.flip(1).matmul(right.t());
    EXPECT_LT(largest(sum.next({one, other}) - one - other), 1e-10) << step;
  }
}

}  // namespace
}  // namespace parabench::exec
