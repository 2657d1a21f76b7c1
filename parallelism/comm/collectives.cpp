#include "parallelism/comm/collectives.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <vector>

#include "parallelism/comm/reduce.h"

namespace parabench {
namespace {

/// Bytes of every buffer that one call of advance() sums at most, so that the other lanes of the thread get their turn.
constexpr std::int64_t bytes_per_turn = 1 << 20;

std::string to_text(const Post& post) {
  const std::string_view types[] = {"f32", "f64", "byte"};
  switch (post.kind) {
    case CollectiveKind::barrier: return "a barrier";
    case CollectiveKind::allocate: return fmt::format("allocate of {} bytes", post.bytes);
    case CollectiveKind::all_reduce:
      return fmt::format("all_reduce of {} bytes of {}", post.bytes, types[static_cast<int>(post.type)]);
  }
  return "";
}

/// What all collectives share: the post, the turn, and rounds.
class Collective : public WorkState {
 public:
  Collective(CollectiveEnd& end, Post post) : end_(end), post_(post), number_(end.started++) {}

 protected:
  const std::vector<Rank>& members() const { return end_.fabric.groups().members(end_.group); }
  int size() const { return static_cast<int>(members().size()); }

  /// Posts and enters the first round, once the rank's earlier collectives of the group are complete.
  bool begin() {
    if (end_.completed != number_) return blocked();
    post_of(end_.position) = post_;
    enter_round();
    return true;
  }

  void enter_round() {
    target_ = ++end_.rounds * static_cast<std::uint64_t>(size());
    const std::uint64_t before = board().entries.fetch_add(1, std::memory_order_acq_rel);
    if (before + 1 == target_) end_.fabric.ring_members(end_.group);
  }

  bool round_complete() const { return board().entries.load(std::memory_order_acquire) >= target_ || blocked(); }

  /// After the first round. Every member sees the same posts, hence all of them throw or none.
  void check_posts() const {
    for (int i = 0; i < size(); ++i) check_same(number_, end_.group, end_.rank, post_, members()[i], post_of(i));
  }

  bool finish() {
    ++end_.completed;
    if (end_.started != end_.completed) end_.fabric.ring_rank(end_.rank);
    return true;
  }

  bool blocked() const {
    end_.fabric.throw_if_aborted();
    return false;
  }

  Post& post_of(int position) const { return end_.fabric.posts(end_.group, position).by_parity[number_ % 2]; }

  CollectiveEnd& end_;
  Post post_;

 private:
  Board& board() const { return end_.fabric.board(end_.group); }

  std::uint64_t number_;
  std::uint64_t target_ = 0;
};

class Meeting final : public Collective {
 public:
  using Collective::Collective;

  bool advance() override {
    if (!begun_ && !(begun_ = begin())) return false;
    if (!round_complete()) return false;
    check_posts();
    return finish();
  }

 private:
  bool begun_ = false;
};

class AllReduce final : public Collective {
 public:
  AllReduce(CollectiveEnd& end, BufferView buffer, std::int64_t offset)
      : Collective(end, {CollectiveKind::all_reduce, buffer.type, buffer.bytes, offset}),
        buffer_(static_cast<std::byte*>(buffer.data)) {}

  bool advance() override {
    for (;;) {
      switch (phase_) {
        case Phase::queued:
          if (!begin()) return false;
          phase_ = Phase::posted;
          break;
        case Phase::posted:
          if (!round_complete()) return false;
          check_posts();
          choose_place();
          break;
        case Phase::filled:
          if (!round_complete()) return false;
          start_piece();
          break;
        case Phase::summing:
          if (!sum_some()) return false;
          enter_round();
          phase_ = Phase::summed;
          break;
        case Phase::summed:
          if (!round_complete()) return false;
          if (staged_) std::memcpy(buffer_ + done_, own_scratch(), piece_bytes_);
          done_ += piece_bytes_;
          if (done_ == post_.bytes) return finish();
          fill();
          break;
      }
    }
  }

 private:
  enum class Phase { queued, posted, filled, summing, summed };

  void choose_place() {
    for (int i = 0; i < size(); ++i) staged_ = staged_ || post_of(i).offset < 0;
    for (int i = 0; i < size(); ++i) {
      buffers_.push_back(staged_ ? end_.fabric.scratch(end_.group, i)
                                 : end_.fabric.arena(members()[i]) + post_of(i).offset);
    }
    if (staged_ && post_.bytes > 0) {
      fill();
    } else {
      piece_bytes_ = post_.bytes;
      start_piece();
    }
  }

  void fill() {
    piece_bytes_ = std::min(post_.bytes - done_, end_.fabric.places().scratch_bytes);
    std::memcpy(own_scratch(), buffer_ + done_, piece_bytes_);
    enter_round();
    phase_ = Phase::filled;
  }

  void start_piece() {
    share_ = share_of(piece_bytes_, size(), end_.position);
    const std::int64_t remote = (size() - 1) * share_.bytes();
    end_.traffic.received += remote;
    end_.traffic.sent += remote;
    phase_ = Phase::summing;
  }

  std::byte* own_scratch() const { return end_.fabric.scratch(end_.group, end_.position); }

  bool sum_some() {
    const Share part{share_.begin, std::min(share_.end, share_.begin + bytes_per_turn)};
    sum_in_place(buffers_, part, post_.type);
    share_.begin = part.end;
    if (share_.bytes() == 0) return true;
    end_.fabric.ring_rank(end_.rank);  // there is more to do: nobody may fall asleep on it
    return false;
  }

  std::byte* buffer_;
  Phase phase_ = Phase::queued;
  bool staged_ = false;
  std::vector<std::byte*> buffers_;  // by member: where the pieces are summed
  std::int64_t done_ = 0;            // bytes of the buffer
  std::int64_t piece_bytes_ = 0;
  Share share_;  // of the piece, what is left to sum
};

}  // namespace

void check_same(std::uint64_t number, int group, Rank rank, const Post& own, Rank other_rank, const Post& other) {
  if (other.kind == own.kind && other.type == own.type && other.bytes == own.bytes) return;
  throw std::logic_error(fmt::format("collective {} of group {}: rank {} started {}, rank {} started {}", number, group,
                                     rank.value, to_text(own), other_rank.value, to_text(other)));
}

std::unique_ptr<WorkState> start_meeting(CollectiveEnd& end, Post post) { return std::make_unique<Meeting>(end, post); }

std::unique_ptr<WorkState> start_all_reduce(CollectiveEnd& end, BufferView buffer) {
  const std::byte* arena = end.fabric.arena(end.rank);
  const std::byte* data = static_cast<const std::byte*>(buffer.data);
  const bool inside = data >= arena && data + buffer.bytes <= arena + end.fabric.places().arena_bytes;
  return std::make_unique<AllReduce>(end, buffer, inside ? data - arena : -1);
}

}  // namespace parabench
