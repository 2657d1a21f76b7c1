#include "parallelism/exec/compression/formulas.h"

#include <algorithm>
#include <utility>

#include "parallelism/exec/compression/low_rank.h"

namespace parabench::exec {
namespace {

/// n x everything else, as it lies in memory.
torch::Tensor as_matrix(const torch::Tensor& gradient) {
  const bool last =
      gradient.dim() == 4 && gradient.is_contiguous(at::MemoryFormat::ChannelsLast) && !gradient.is_contiguous();
  const torch::Tensor dense = last ? gradient.permute({0, 2, 3, 1}) : gradient;
  return dense.reshape({gradient.dim() == 0 ? 1 : gradient.size(0), -1});
}

torch::Tensor like(const torch::Tensor& matrix, const torch::Tensor& gradient) {
  if (gradient.dim() != 4 || gradient.is_contiguous()) return matrix.reshape(gradient.sizes());
  const auto n = gradient.sizes();
  return matrix.reshape({n[0], n[2], n[3], n[1]}).permute({0, 3, 1, 2});
}

torch::Tensor sum(const std::vector<torch::Tensor>& terms) {
  torch::Tensor total = terms.front().clone();
  for (std::size_t i = 1; i < terms.size(); ++i) total += terms[i];
  return total;
}

/// What rounding alone would leave of a column does not count.
torch::Tensor orthonormal(const torch::Tensor& columns) {
  const double dependent = dependent_share(columns.scalar_type());
  std::vector<torch::Tensor> basis;
  for (std::int64_t j = 0; j < columns.size(1); ++j) {
    torch::Tensor rest = columns.select(1, j).clone();
    const double before = rest.norm().item<double>();
    for (int again = 0; again < 2; ++again)
      for (const torch::Tensor& other : basis) rest = rest - other * at::dot(other, rest);
    const double left = rest.norm().item<double>();
    basis.push_back(left > dependent * before ? rest / left : torch::zeros_like(rest));
  }
  return at::stack(basis, 1);
}

}  // namespace

CompressedSum::CompressedSum(const Compression& by, std::string tensor, int members, std::uint64_t seed, int first_term)
    : by_(by), tensor_(std::move(tensor)), seed_(seed), first_term_(first_term), errors_(members) {}

torch::Tensor CompressedSum::next(const std::vector<torch::Tensor>& gradients) {
  torch::NoGradGuard no_grad;
  const torch::ScalarType type = gradients.front().scalar_type();
  if (by_.kind == CompressionKind::bf16) {
    std::vector<torch::Tensor> rounded;
    for (const torch::Tensor& g : gradients) rounded.push_back(g.to(torch::kBFloat16));
    if (first_term_ < 0) {
      for (torch::Tensor& g : rounded) g = g.to(torch::kFloat32);
    } else {
      std::ranges::rotate(rounded, rounded.begin() + first_term_);
    }
    return sum(rounded).to(torch::kBFloat16).to(type);
  }
  std::vector<torch::Tensor> fed;
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    const torch::Tensor matrix = as_matrix(gradients[i]);
    fed.push_back(errors_[i].defined() ? matrix + errors_[i] : matrix.clone());
  }
  if (by_.kind == CompressionKind::topk) return like(largest(fed), gradients.front());
  const torch::Tensor& shape = fed.front();
  if (!by_.factors(shape.size(0), shape.size(1))) return sum(gradients);
  return like(low_rank(fed), gradients.front());
}

torch::Tensor CompressedSum::low_rank(const std::vector<torch::Tensor>& matrices) {
  if (!factor_.defined()) {
    factor_ = torch::empty({matrices.front().size(1), by_.rank}, matrices.front().options());
    draw_factor(factor_.t(), tensor_, seed_);
  }
  std::vector<torch::Tensor> left, right;
  for (const torch::Tensor& matrix : matrices) left.push_back(matrix.matmul(factor_));
  const torch::Tensor basis = orthonormal(sum(left));
  for (const torch::Tensor& matrix : matrices) right.push_back(matrix.t().matmul(basis));
  factor_ = sum(right);
  const torch::Tensor result = basis.matmul(factor_.t());
  for (std::size_t i = 0; i < matrices.size(); ++i)
    errors_[i] = matrices[i] - result / static_cast<double>(matrices.size());
  revive_vectors(factor_.t(), tensor_, seed_);
  return result;
}

torch::Tensor CompressedSum::largest(const std::vector<torch::Tensor>& matrices) {
  torch::Tensor result = torch::zeros_like(matrices.front()).reshape(-1);
  for (std::size_t i = 0; i < matrices.size(); ++i) {
    const torch::Tensor flat = matrices[i].reshape(-1);
    const auto [sorted, order] = at::sort(flat.abs(), /*stable=*/true, /*dim=*/0, /*descending=*/true);
    const torch::Tensor places = order.narrow(0, 0, by_.kept(flat.numel()));
    const torch::Tensor sent = torch::zeros_like(flat).index_copy_(0, places, flat.index_select(0, places));
    result += sent;
    errors_[i] = (flat - sent).reshape(matrices[i].sizes());
  }
  return result.reshape(matrices.front().sizes());
}

}  // namespace parabench::exec
