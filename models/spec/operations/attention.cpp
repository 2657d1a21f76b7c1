#include "models/spec/operations/attention.h"

#include <fmt/format.h>

#include "base/error.h"
#include "models/spec/operations/checks.h"

namespace parabench::models {

TensorSpec Attention::output(const std::string& name, std::span<const TensorSpec> in) const {
  require_real(name, in[0]);
  if (in[0].rank() != 2 || in[0][1] % 3 != 0)
    throw usage_error(name, to_text(in[0]), "a sequence of queries, keys and values beside each other");
  const std::int64_t features = in[0][1] / 3;
  if (heads < 1 || features % heads != 0)
    throw usage_error(name, std::to_string(heads), fmt::format("a number of heads that divides {} features", features));
  return {in[0][0], features};
}

// Two products forward; backward computes the scores again and four more. A causal one has half of the pairs. The
// scores stay in cache (FlashAttention, Dao et al. 2022, arXiv 2205.14135).
void Attention::count(Tally& tally) const {
  const std::int64_t length = tally.out()[0], features = tally.out()[1];
  const std::int64_t pairs = causal ? length * (length + 1) / 2 : length * length;
  const bool back = tally.needs_gradient();
  tally.flops(4 * pairs * features, back ? 10 * pairs * features : 0);
  tally.moved(4 * length * features, back ? 8 * length * features : 0);
  if (!back) return;
  tally.keep_input();
  tally.keep_output();
  tally.keep_bytes(length * heads * tally.parameter_bytes());  // logarithms of the sums of exponentials
}

std::string Attention::text() const { return fmt::format("attention({}{})", heads, causal ? ",causal" : ""); }

}  // namespace parabench::models
