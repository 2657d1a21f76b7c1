// How much longer passes take beside each other than shares of the cores explain: memory and caches are shared, too.
#pragma once

namespace parabench::analytic {

/// Ranks of a host that compute, of all that it has, whose threads together want so many times its cores (1 or more).
struct Crowd {
  int busy = 1, all = 1;
  double wanted = 1;
};

/// What a pass takes in a crowd, in two parts.
struct Contended {
  double by_cores_s = 0;  ///< with its share of the cores, and the memory as if to itself
  double excess = 0;      ///< what it takes longer beside its like, as a share of that
};

/// Of a pass that takes `alone_s` by itself and `crowded_s` in a crowd of its like. Where it takes no longer than by
/// cores alone, all of `crowded_s` counts as that.
Contended contended(double alone_s, double crowded_s, const Crowd& crowd);

/// Seconds of a pass beside others of this excess in the mean: it takes longer by the mean of theirs and its own. So it
/// is where a memory that is in full use serves each in proportion to what it asks for: of passes that ask for u and v
/// of its rate when alone, two of the first take 2 u times as long, two of the second 2 v times, and one of each u + v.
double seconds_beside(const Contended& pass, double others_excess);

}  // namespace parabench::analytic
