#include "parallelism/comm/collectives.h"

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "parallelism/comm/reduce.h"
#include "parallelism/comm/traffic.h"

namespace parabench::comm {
namespace {

/// Bytes of every buffer that one call of advance() moves at most, so that the other lanes of the thread get their
/// turn.
constexpr std::int64_t bytes_per_turn = 1 << 20;

class Meeting final : public Collective {
 public:
  Meeting(CollectiveEnd& end, Post post) : Collective(end, post) {}

  bool advance() override {
    if (!begun_ && !(begun_ = begin())) return false;
    if (!round_complete()) return false;
    check_posts();
    return finish();
  }

 private:
  bool begun_ = false;
};

void copy_bytes(std::byte* to, const std::byte* from, std::int64_t bytes) {
  if (bytes > 0) std::memcpy(to, from, static_cast<std::size_t>(bytes));
}

/// A piece, which is the whole buffer where all members can reach it in the arenas: filled into scratch by its owner
/// unless it is there; a round; moved by each member in part; a round; drained from scratch by its owner.
class DataCollective : public Collective {
 public:
  DataCollective(CollectiveEnd& end, const CollectiveCall& call, std::int64_t offset)
      : Collective(end,
                   {.kind = Post::Kind::data,
                    .moves = call.kind,
                    .type = call.buffer.type,
                    .root = call.root,
                    .bytes = call.buffer.bytes,
                    .offset = offset},
                   call.shares),
        buffer_(static_cast<std::byte*>(call.buffer.data)) {}

  bool advance() final {
    for (;;) {
      switch (phase_) {
        case Phase::queued:
          if (!begin()) return false;
          phase_ = Phase::posted;
          break;
        case Phase::posted:
          if (!round_complete()) return false;
          check_posts();
          if (post_.bytes == 0) return finish();
          choose_place();
          break;
        case Phase::filled:
          if (!round_complete()) return false;
          part_ = own_part();
          start_moving();
          break;
        case Phase::moving:
          if (!move_some()) return false;
          enter_round();
          phase_ = Phase::moved;
          break;
        case Phase::moved:
          if (!round_complete()) return false;
          if (!staged_) return finish();
          drain();
          if (++piece_ == pieces()) return finish();
          start_piece();
          break;
      }
    }
  }

 protected:
  // Of a piece in scratch, the current one. Offsets are in the piece.
  virtual std::int64_t pieces() const = 0;
  virtual void fill() = 0;
  virtual void drain() = 0;
  /// What this member moves of it.
  virtual Share own_part() const = 0;
  /// Where it begins in the buffer, and in everybody's scratch.
  virtual std::int64_t place_in_buffer() const = 0;
  virtual std::int64_t place_in_scratch() const = 0;

  /// What this member moves of the whole buffer in the arenas.
  virtual Share own_part_of_whole() const = 0;

  /// Moves `part` between own() and theirs().
  virtual void move(Share part) = 0;

  /// Of the piece, or of the whole buffer in the arenas: in the caller's memory, and by position where all members
  /// reach it.
  std::byte* own() const { return own_; }
  std::span<std::byte* const> theirs() const { return theirs_; }

  std::byte* buffer() const { return buffer_; }
  std::byte* own_scratch() const { return end_.fabric.scratch(end_.group, end_.position); }
  std::int64_t scratch_bytes() const { return end_.fabric.places().scratch_bytes; }
  std::int64_t piece() const { return piece_; }

 private:
  enum class Phase { queued, posted, filled, moving, moved };

  void choose_place() {
    theirs_.resize(static_cast<std::size_t>(size()));
    for (int i = 0; i < size(); ++i) staged_ = staged_ || post_of(i).offset < 0;
    if (staged_) return start_piece();
    own_ = buffer_;
    for (int i = 0; i < size(); ++i) theirs_[i] = end_.fabric.arena(members()[i]) + post_of(i).offset;
    part_ = own_part_of_whole();
    start_moving();
  }

  void start_piece() {
    own_ = buffer_ + place_in_buffer();
    for (int i = 0; i < size(); ++i) theirs_[i] = end_.fabric.scratch(end_.group, i) + place_in_scratch();
    fill();
    enter_round();
    phase_ = Phase::filled;
  }

  void start_moving() {
    end_.traffic += moved_in_memory(post_.moves, part_.bytes(), size());
    phase_ = Phase::moving;
  }

  bool move_some() {
    const Share part{part_.begin, std::min(part_.end, part_.begin + bytes_per_turn)};
    move(part);
    part_.begin = part.end;
    if (part_.bytes() == 0) return true;
    end_.fabric.ring_rank(end_.rank);  // there is more to do: nobody may fall asleep on it
    return false;
  }

  std::byte* buffer_;
  Phase phase_ = Phase::queued;
  bool staged_ = false;
  std::int64_t piece_ = 0;
  std::byte* own_ = nullptr;
  std::vector<std::byte*> theirs_;
  Share part_;  // what is left to move
};

/// Pieces of the buffer as large as the scratch.
class InWholePieces : public DataCollective {
 public:
  using DataCollective::DataCollective;

 protected:
  std::int64_t pieces() const final { return (post_.bytes + scratch_bytes() - 1) / scratch_bytes(); }
  std::int64_t place_in_buffer() const final { return piece() * scratch_bytes(); }
  std::int64_t place_in_scratch() const final { return 0; }
  std::int64_t piece_bytes() const { return std::min(scratch_bytes(), post_.bytes - place_in_buffer()); }
};

/// The scratch has a slot for each share, so that all members are at work on every piece: as many bytes of each share.
class InSlots : public DataCollective {
 public:
  using DataCollective::DataCollective;

 protected:
  std::int64_t pieces() const final {
    std::int64_t most = 0;
    for (int i = 0; i < size(); ++i) most = std::max(most, shares_.of(i).bytes());
    return (most + slot_bytes() - 1) / slot_bytes();
  }
  std::int64_t place_in_buffer() const final { return slice(end_.position).begin; }
  std::int64_t place_in_scratch() const final { return slot(end_.position); }
  Share own_part() const final { return {0, slice(end_.position).bytes()}; }
  Share own_part_of_whole() const final { return shares_.of(end_.position); }

  /// Where a member's slot begins in the scratch, and what of its share it holds.
  std::int64_t slot(int position) const { return position * slot_bytes(); }
  Share slice(int position) const {
    const Share share = shares_.of(position);
    const std::int64_t begin = std::min(share.end, share.begin + piece() * slot_bytes());
    return {begin, std::min(share.end, begin + slot_bytes())};
  }

 private:
  std::int64_t slot_bytes() const { return scratch_bytes() / size() / 64 * 64; }
};

class AllReduce final : public InWholePieces {
 public:
  using InWholePieces::InWholePieces;

 private:
  void fill() override { copy_bytes(own_scratch(), own(), piece_bytes()); }
  void drain() override { copy_bytes(own(), own_scratch(), piece_bytes()); }
  Share own_part() const override { return share_of(piece_bytes(), size(), end_.position); }
  Share own_part_of_whole() const override { return share_of(post_.bytes, size(), end_.position); }
  void move(Share part) override { sum_in_place(theirs(), part, post_.type); }
};

class Broadcast final : public InWholePieces {
 public:
  using InWholePieces::InWholePieces;

 private:
  int root() const { return end_.fabric.groups().position(end_.group, post_.root); }
  bool is_root() const { return end_.rank == post_.root; }

  void fill() override {
    if (is_root()) copy_bytes(own_scratch(), own(), piece_bytes());
  }
  void drain() override {}
  Share own_part() const override { return {0, is_root() ? 0 : piece_bytes()}; }
  Share own_part_of_whole() const override { return {0, is_root() ? 0 : post_.bytes}; }
  void move(Share part) override { copy_bytes(own() + part.begin, theirs()[root()] + part.begin, part.bytes()); }
};

class ReduceScatter final : public InSlots {
 public:
  using InSlots::InSlots;

 private:
  void fill() override {
    for (int i = 0; i < size(); ++i) copy_bytes(own_scratch() + slot(i), buffer() + slice(i).begin, slice(i).bytes());
  }
  void drain() override {}
  void move(Share part) override { sum_into(own(), theirs(), part, post_.type); }
};

class AllGather final : public InSlots {
 public:
  using InSlots::InSlots;

 private:
  void fill() override {}  // the others may still drain the piece before: they are written to after the round
  void drain() override {
    for (int i = 0; i < size(); ++i) {
      if (i != end_.position) copy_bytes(buffer() + slice(i).begin, own_scratch() + slot(i), slice(i).bytes());
    }
  }
  void move(Share part) override {
    for (int i = 0; i < size(); ++i) {
      if (i != end_.position) copy_bytes(theirs()[i] + part.begin, own() + part.begin, part.bytes());
    }
  }
};

}  // namespace

std::unique_ptr<WorkState> start_meeting(CollectiveEnd& end, Post post) { return std::make_unique<Meeting>(end, post); }

std::unique_ptr<WorkState> start_collective(CollectiveEnd& end, const CollectiveCall& call) {
  const std::byte* const arena = end.fabric.arena(end.rank);
  const std::byte* const data = static_cast<const std::byte*>(call.buffer.data);
  const bool inside = data >= arena && data + call.buffer.bytes <= arena + end.fabric.places().arena_bytes;
  const std::int64_t offset = inside ? data - arena : -1;
  switch (call.kind) {
    case CollectiveKind::all_reduce: return std::make_unique<AllReduce>(end, call, offset);
    case CollectiveKind::reduce_scatter: return std::make_unique<ReduceScatter>(end, call, offset);
    case CollectiveKind::all_gather: return std::make_unique<AllGather>(end, call, offset);
    case CollectiveKind::broadcast: return std::make_unique<Broadcast>(end, call, offset);
  }
  return nullptr;
}

}  // namespace parabench::comm
