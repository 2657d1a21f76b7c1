// How the members of a group divide a buffer among themselves.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace parabench::comm {

/// [begin, end) in bytes of a buffer.
struct Share {
  std::int64_t begin = 0, end = 0;
  std::int64_t bytes() const { return end - begin; }
  bool operator==(const Share&) const = default;
};

/// The part of an even division that belongs to the member at `position` of `members`: consecutive, whole 64-byte lines
/// but for the buffer's end; sizes differ by one line at most.
Share share_of(std::int64_t bytes, int members, int position);

/// Who owns which part of a buffer: slices in the order of the members, one after the other, which cover the buffer. A
/// slice may be empty.
class Shares {
 public:
  /// Of nobody.
  Shares() = default;
  /// `bytes`: of each member's slice, by position. Throws std::invalid_argument naming the first that is negative.
  explicit Shares(std::span<const std::int64_t> bytes);
  /// By share_of(); all of the same size where `bytes` is a multiple of 64 times `members`.
  static Shares even(std::int64_t bytes, int members);

  int members() const { return static_cast<int>(ends_.size()); }
  /// Of the whole buffer.
  std::int64_t bytes() const { return ends_.empty() ? 0 : ends_.back(); }
  Share of(int position) const;
  /// Whether all are of the same size.
  bool equal() const;
  /// Where each slice ends, by position.
  std::span<const std::int64_t> ends() const { return ends_; }
  bool operator==(const Shares&) const = default;

 private:
  std::vector<std::int64_t> ends_;
};

/// "16, 0 and 48", in bytes, for messages; `ends` as Shares has them.
std::string share_sizes(std::span<const std::int64_t> ends);

}  // namespace parabench::comm
