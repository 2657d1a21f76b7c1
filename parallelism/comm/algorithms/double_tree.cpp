#include "parallelism/comm/algorithms/double_tree.h"

#include <algorithm>
#include <bit>

namespace parabench::comm {
namespace {

/// Number 0 is the root. Below it, number n with the lowest bit b has the numbers n - b/2 and n + b/2 as children, or,
/// where there is no number n + b/2, the first of the smaller steps b/4, b/8, ... that leads to one.
int parent_of(int number, int members) {
  if (number == 0) return -1;
  const int bit = number & -number;
  const int upper = (number ^ bit) | (bit << 1);
  return upper < members ? upper : number ^ bit;
}

std::vector<int> children_of(int number, int members) {
  std::vector<int> children;
  const int bit = number == 0 ? static_cast<int>(std::bit_ceil(static_cast<unsigned>(members))) : number & -number;
  if (number != 0 && bit > 1) children.push_back(number - bit / 2);
  for (int step = bit / 2; step > 0; step /= 2) {
    if (number + step >= members) continue;
    children.push_back(number + step);
    break;
  }
  return children;
}

}  // namespace

TreePlace tree_place(int tree, int members, int position) {
  const bool mirrored = members % 2 == 0;
  const auto swap = [&](int i) { return members - 1 - i; };
  const auto number_of = [&](int p) { return tree == 0 ? p : mirrored ? swap(p) : (p + members - 1) % members; };
  const auto position_of = [&](int n) { return tree == 0 ? n : mirrored ? swap(n) : (n + 1) % members; };
  const int number = number_of(position);
  TreePlace place;
  if (const int parent = parent_of(number, members); parent >= 0) place.parent = position_of(parent);
  for (const int child : children_of(number, members)) place.children.push_back(position_of(child));
  for (int above = parent_of(number, members); above >= 0; above = parent_of(above, members)) ++place.level;
  return place;
}

Transfers double_tree(std::int64_t bytes, int members, int position) {
  Transfers transfers;
  if (members == 1) return transfers;
  const int depth = std::bit_width(static_cast<unsigned>(members - 1));
  for (int tree = 0; tree < 2; ++tree) {
    const Share part = share_of(bytes, 2, tree);
    if (part.bytes() == 0) continue;
    const TreePlace place = tree_place(tree, members, position);
    // What crosses the step from level l to l - 1 goes up in round depth - l and down in round depth + l - 1.
    const auto add = [&](Transfer::Kind kind, int round, int peer) {
      transfers.push_back({kind, round, peer, tree, part});
    };
    for (const int child : place.children) add(Transfer::Kind::add, depth - place.level - 1, child);
    if (place.parent >= 0) {
      add(Transfer::Kind::send, depth - place.level, place.parent);
      add(Transfer::Kind::store, depth + place.level - 1, place.parent);
    }
    for (const int child : place.children) add(Transfer::Kind::send, depth + place.level, child);
  }
  return transfers;
}

}  // namespace parabench::comm
