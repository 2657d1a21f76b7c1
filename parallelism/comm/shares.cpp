#include "parallelism/comm/shares.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

namespace parabench::comm {
namespace {

constexpr std::int64_t line = 64;

}  // namespace

Share share_of(std::int64_t bytes, int members, int position) {
  const std::int64_t lines = (bytes + line - 1) / line;
  const auto bound = [&](int p) { return std::min(lines * p / members * line, bytes); };
  return {bound(position), bound(position + 1)};
}

Shares::Shares(std::span<const std::int64_t> bytes) {
  std::int64_t end = 0;
  for (const std::int64_t own : bytes) {
    if (own < 0) {
      throw std::invalid_argument(
          fmt::format("share {} of a buffer has {} bytes; expected none or more", ends_.size(), own));
    }
    ends_.push_back(end += own);
  }
}

Shares Shares::even(std::int64_t bytes, int members) {
  Shares shares;
  for (int i = 0; i < members; ++i) shares.ends_.push_back(share_of(bytes, members, i).end);
  return shares;
}

Share Shares::of(int position) const {
  const auto i = static_cast<std::size_t>(position);
  return {i == 0 ? 0 : ends_[i - 1], ends_[i]};
}

bool Shares::equal() const {
  for (int i = 1; i < members(); ++i) {
    if (of(i).bytes() != of(0).bytes()) return false;
  }
  return true;
}

std::string share_sizes(std::span<const std::int64_t> ends) {
  std::string text;
  std::int64_t begin = 0;
  for (std::size_t i = 0; i < ends.size(); begin = ends[i++]) {
    const std::string_view before = i == 0 ? "" : i + 1 == ends.size() ? " and " : ", ";
    text += fmt::format("{}{}", before, ends[i] - begin);
  }
  return text;
}

}  // namespace parabench::comm
