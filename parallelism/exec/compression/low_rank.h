// The arithmetic of PowerSGD (Vogels et al., NeurIPS'19, arXiv 1905.13727).
#pragma once

#include <torch/types.h>

#include <cstdint>
#include <string_view>

namespace parabench::exec {

/// A vector of which so small a share is left without its part along those before it counts as dependent on them: what
/// is left is rounding. eps^(3/4) of the type.
double dependent_share(torch::ScalarType type);

// A factor of a matrix is r vectors, one after the other: r x n. Products of such rows with a whole matrix read it
// along its own rows, which takes a quarter to a sixteenth of the time that ATen needs for n x r (f32, r = 4, 1024 x
// 3072).

/// Makes the rows of an r x n matrix (f32 or f64, contiguous, of the processor) orthonormal, from the first on, by
/// Gram-Schmidt's method run twice; dependent ones become zeros. O(n r^2).
void orthonormalise(torch::Tensor vectors);

/// The first Q of a tensor, r x m, or one of its vectors: standard normal draws of (seed, the tensor's name), the same
/// on all ranks.
void draw_vector(torch::Tensor factor, std::int64_t index, std::string_view tensor, std::uint64_t seed);
void draw_factor(torch::Tensor factor, std::string_view tensor, std::uint64_t seed);

/// Draws anew the vectors that are all zeros: products with them would stay zeros for ever.
void revive_vectors(torch::Tensor factor, std::string_view tensor, std::uint64_t seed);

}  // namespace parabench::exec
