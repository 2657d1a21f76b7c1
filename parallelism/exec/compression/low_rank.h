// The arithmetic of PowerSGD (Vogels et al., NeurIPS'19, arXiv 1905.13727).
#pragma once

#include <torch/types.h>

#include <cstdint>
#include <string_view>

namespace parabench::exec {

/// A column of which so small a share is left without its part along those before it counts as dependent on them: what
/// is left is rounding. eps^(3/4) of the type.
double dependent_share(torch::ScalarType type);

/// Makes the columns of an n x r matrix (f32 or f64, contiguous, of the processor) orthonormal, from the first on, by
/// Gram-Schmidt's method run twice; dependent ones become zeros. O(n r^2).
void orthonormalise(torch::Tensor columns);

/// The first Q of a tensor, m x r, or one column of it: standard normal draws of (seed, the tensor's name), the same on
/// all ranks.
void draw_column(torch::Tensor factor, std::int64_t column, std::string_view tensor, std::uint64_t seed);
void draw_factor(torch::Tensor factor, std::string_view tensor, std::uint64_t seed);

/// Draws anew the columns that are all zeros: products with them would stay zeros for ever.
void revive_columns(torch::Tensor factor, std::string_view tensor, std::uint64_t seed);

}  // namespace parabench::exec
