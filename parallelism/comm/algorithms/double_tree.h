// Two binary trees at once (Sanders, Speck and Traeff 2009): each sums half of the buffer up to its root and hands the
// sum down again. Who has children in one of them is a leaf of the other, so that everybody sends and receives all the
// time, in a number of rounds that grows with the logarithm of the members.
#pragma once

#include "parallelism/comm/algorithms/transfers.h"

namespace parabench::comm {

/// A member's place in a tree, by positions.
struct TreePlace {
  int parent = -1;            ///< -1: it is the root
  std::vector<int> children;  ///< at most two
  int level = 0;              ///< steps from the root
};

/// `tree`: 0 or 1. The first numbers the members in order, so that odd ones are its leaves (the tree of the paper's
/// section 3); the second is the first mirrored, where `members` is even, or else moved on by one: then the first
/// member may have children in both. Root, parents and leaves of a tree are at most ceil(log2 members) apart. O(log
/// members).
TreePlace tree_place(int tree, int members, int position);

/// Of an all_reduce of so many bytes.
Transfers double_tree(std::int64_t bytes, int members, int position);

}  // namespace parabench::comm
