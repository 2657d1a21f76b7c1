// How gradients are made smaller before ranks sum them, as a table: what each way is called and takes in brackets.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/case.h"
#include "base/enum_text.h"

namespace parabench {

enum class CompressionKind { none, bf16, powersgd, topk };
constexpr std::array<std::string_view, 4> names_of(CompressionKind) { return {"none", "bf16", "powersgd", "topk"}; }

/// What p ranks make of their gradients g_i, of which each has its own; e_i: what rank i has left out so far, zeros at
/// first, and h_i = g_i + e_i. The result takes the place of the sum of all g_i.
///  - bf16: each rounded to bfloat16, summed, the sum rounded to bfloat16 once more. Nothing is kept.
///  - powersgd (Vogels et al., NeurIPS'19, arXiv 1905.13727): of a matrix of n x m with (n + m) 2 rank < n m, which a
///    tensor is by its first dimension and all others, P = the sum of all h_i Q with orthonormal columns, Q' = the sum
///    of all h_i^T P; the result is P Q'^T, e_i' = h_i - P Q'^T / p, and Q' is the next Q. Other tensors are summed as
///    they are.
///  - topk: of every tensor each rank sends the ceil(ratio n) values of h_i of the largest magnitude, where these are
///    equal those that lie first; e_i' = h_i without them. The result is their sum, in the order of the ranks.
struct Compression {
  CompressionKind kind = CompressionKind::none;
  int rank = 0;      ///< powersgd
  double ratio = 0;  ///< topk

  bool is_on() const { return kind != CompressionKind::none; }
  /// Whether ranks keep what they left out.
  bool feeds_back() const { return kind == CompressionKind::powersgd || kind == CompressionKind::topk; }
  /// Whether a matrix of n x m is sent as two of `rank` columns.
  bool factors(std::int64_t n, std::int64_t m) const {
    return kind == CompressionKind::powersgd && (n + m) * 2 * rank < n * m;
  }
  /// Of so many values those that top-k sends.
  std::int64_t kept(std::int64_t values) const;
  bool operator==(const Compression&) const = default;
};

/// What a case says. Throws usage_error as canonical_compression() does.
Compression compression(const Case& spec);

/// The choice with its parameters as shortest text, defaults left out. Throws usage_error for an unknown way or
/// parameter and for a value outside its range.
NamedChoice canonical_compression(const NamedChoice& choice);
/// Every way with its parameters at their defaults, for people: "none, bf16, powersgd[rank=4], ...".
std::string compressions_text();

}  // namespace parabench
