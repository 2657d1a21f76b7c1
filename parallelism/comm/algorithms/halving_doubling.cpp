#include "parallelism/comm/algorithms/halving_doubling.h"

#include <bit>
#include <utility>

namespace parabench::comm {
namespace {

/// The 2^k that halve and double: single members, or pairs of which the first acts.
struct Actors {
  explicit Actors(int members)
      : count(static_cast<int>(std::bit_floor(static_cast<unsigned>(members)))), pairs(members - count) {}
  int of(int position) const { return position < 2 * pairs ? position / 2 : position - pairs; }
  /// Of the actor's first member.
  int position(int actor) const { return actor < pairs ? 2 * actor : actor + pairs; }

  int count, pairs;
};

class Writer {
 public:
  Writer(const Shares& shares, int position)
      : shares_(shares), actors_(shares.members()), position_(position), actor_(actors_.of(position)) {}

  bool acts() const { return actors_.position(actor_) == position_; }
  bool paired() const { return actor_ < actors_.pairs; }
  int partner() const { return acts() ? position_ + 1 : position_ - 1; }
  Share whole() const { return {0, shares_.bytes()}; }
  /// The share of the second of the pair, of nobody where there is none.
  Share second() const { return paired() ? shares_.of(acts() ? position_ + 1 : position_) : Share{}; }

  void send(int to, Share part) { add(Transfer::Kind::send, to, part); }
  void receive(int from, Share part, Transfer::Kind kind) { add(kind, from, part); }

  /// From the second of a pair to the first, before all else, or back, after it.
  void between_pair(bool to_first, Share part, Transfer::Kind receipt) {
    if (actors_.pairs == 0) return;
    if (paired() && part.bytes() > 0) {
      if (acts() == to_first)
        receive(partner(), part, receipt);
      else
        send(partner(), part);
    }
    ++round_;
  }

  void halve() {
    for (int distance = actors_.count / 2; distance > 0; distance /= 2) {
      exchange(distance, range(actor_ ^ distance, distance), range(actor_, distance), Transfer::Kind::add);
    }
  }

  void double_up() {
    for (int distance = 1; distance < actors_.count; distance *= 2) {
      exchange(distance, range(actor_, distance), range(actor_ ^ distance, distance), Transfer::Kind::store);
    }
  }

  Transfers take() { return std::move(transfers_); }

 private:
  void add(Transfer::Kind kind, int peer, Share part) {
    if (part.bytes() > 0) transfers_.push_back({kind, round_, peer, 0, part});
  }

  void exchange(int distance, Share sent, Share received, Transfer::Kind receipt) {
    if (acts()) {
      const int peer = actors_.position(actor_ ^ distance);
      send(peer, sent);
      receive(peer, received, receipt);
    }
    ++round_;
  }

  /// The shares of the `count` actors, a power of two, that stand in one block with `actor`.
  Share range(int actor, int count) const {
    const int first = actor / count * count, last = first + count - 1;
    const int last_position = actors_.position(last) + (last < actors_.pairs ? 1 : 0);
    return {shares_.of(actors_.position(first)).begin, shares_.of(last_position).end};
  }

  const Shares& shares_;
  Actors actors_;
  int position_, actor_;
  int round_ = 0;
  Transfers transfers_;
};

}  // namespace

Transfers halving_doubling(CollectiveKind kind, const Shares& shares, int position) {
  Writer writer(shares, position);
  const bool sums = kind != CollectiveKind::all_gather, gathers = kind != CollectiveKind::reduce_scatter;
  writer.between_pair(true, sums ? writer.whole() : writer.second(),
                      sums ? Transfer::Kind::add : Transfer::Kind::store);
  if (sums) writer.halve();
  if (gathers) writer.double_up();
  writer.between_pair(false, gathers ? writer.whole() : writer.second(), Transfer::Kind::store);
  return writer.take();
}

}  // namespace parabench::comm
