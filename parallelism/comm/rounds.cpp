#include "parallelism/comm/rounds.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>
#include <string>
#include <utility>

namespace parabench::comm {
namespace {

bool has_shares(const Post& post) {
  return post.kind == Post::Kind::data &&
         (post.moves == CollectiveKind::reduce_scatter || post.moves == CollectiveKind::all_gather);
}

std::string to_text(const PostOfRank& said) {
  const Post& post = said.post;
  const std::string_view types[] = {"f32", "f64", "byte"};
  switch (post.kind) {
    case Post::Kind::barrier: return "a barrier";
    case Post::Kind::allocate: return fmt::format("allocate of {} bytes", post.bytes);
    case Post::Kind::data: break;
  }
  std::string text =
      fmt::format("{} of {} bytes of {}", name(post.moves), post.bytes, types[static_cast<int>(post.type)]);
  if (has_shares(post)) text += fmt::format(" in shares of {} bytes", share_sizes(said.shares));
  if (post.moves == CollectiveKind::broadcast) text += fmt::format(" from rank {}", post.root.value);
  return text;
}

}  // namespace

void check_same(std::uint64_t number, CommGroupId group, const PostOfRank& own, const PostOfRank& other) {
  const Post &a = own.post, &b = other.post;
  const bool same = a.kind == b.kind && a.moves == b.moves && a.type == b.type && a.root == b.root &&
                    a.bytes == b.bytes && (!has_shares(a) || std::ranges::equal(own.shares, other.shares));
  if (same) return;
  throw std::logic_error(fmt::format("collective {} of group {}: rank {} started {}, rank {} started {}", number,
                                     group.value, own.rank.value, to_text(own), other.rank.value, to_text(other)));
}

Collective::Collective(CollectiveEnd& end, Post post, Shares shares)
    : end_(end), post_(post), shares_(std::move(shares)), number_(end.started++) {}

bool Collective::begin() {
  if (end_.completed != number_) return blocked();
  post_of(end_.position) = post_;
  if (has_shares(post_)) {
    std::ranges::copy(shares_.ends(), end_.fabric.shares(end_.group, end_.position, parity()).begin());
  }
  enter_round();
  return true;
}

void Collective::enter_round() {
  target_ = ++end_.rounds * static_cast<std::uint64_t>(size());
  const std::uint64_t before = board().entries.fetch_add(1, std::memory_order_acq_rel);
  if (before + 1 == target_) end_.fabric.ring_members(end_.group);
}

bool Collective::round_complete() const {
  return board().entries.load(std::memory_order_acquire) >= target_ || blocked();
}

void Collective::check_posts() const {
  for (int i = 0; i < size(); ++i) check_same(number_, end_.group, said_by(end_.position), said_by(i));
}

bool Collective::finish() {
  ++end_.completed;
  if (end_.started != end_.completed) end_.fabric.ring_rank(end_.rank);
  return true;
}

bool Collective::blocked() const {
  end_.fabric.throw_if_aborted();
  return false;
}

PostOfRank Collective::said_by(int position) const {
  return {members()[position], post_of(position), end_.fabric.shares(end_.group, position, parity())};
}

}  // namespace parabench::comm
