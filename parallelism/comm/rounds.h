// What collectives through the boards of the fabric share: the turn, the post, and rounds that every member enters.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "parallelism/comm/communicator.h"
#include "parallelism/comm/fabric.h"

namespace parabench::comm {

/// A rank's own end of a group's board: where it stands, and whose turn it is.
struct CollectiveEnd {
  Fabric& fabric;
  Rank rank;
  CommGroupId group;
  int position;                 ///< of the rank among the members
  Traffic& traffic;             ///< of the rank; what it moves is added
  std::uint64_t rounds = 0;     ///< entered so far
  std::uint64_t started = 0;    ///< collectives
  std::uint64_t completed = 0;  ///< collectives
};

/// What a member has said about its collective.
struct PostOfRank {
  Rank rank;
  Post post;
  std::span<const std::int64_t> shares;  ///< where slices end, by member; of a collective with shares
};

/// Throws std::logic_error naming both ranks, the group and what they started, as its collective of this `number`,
/// unless kind, type, bytes, shares and root are the same.
void check_same(std::uint64_t number, CommGroupId group, const PostOfRank& own, const PostOfRank& other);

/// A collective in flight; each kind moves its data between rounds.
class Collective : public WorkState {
 public:
  Collective(CollectiveEnd& end, Post post, Shares shares = {});

 protected:
  const std::vector<Rank>& members() const { return end_.fabric.groups().members(end_.group); }
  int size() const { return static_cast<int>(members().size()); }

  /// Posts and enters the first round, once the rank's earlier collectives of the group are complete.
  bool begin();
  void enter_round();
  bool round_complete() const;
  /// After the first round. Every member sees the same posts, hence all of them throw or none.
  void check_posts() const;
  bool finish();

  Post& post_of(int position) const { return end_.fabric.posts(end_.group, position).by_parity[parity()]; }

  CollectiveEnd& end_;
  Post post_;
  Shares shares_;

 private:
  int parity() const { return static_cast<int>(number_ % 2); }
  Board& board() const { return end_.fabric.board(end_.group); }
  /// False, unless it throws.
  bool blocked() const;
  PostOfRank said_by(int position) const;

  std::uint64_t number_;
  std::uint64_t target_ = 0;
};

}  // namespace parabench::comm
