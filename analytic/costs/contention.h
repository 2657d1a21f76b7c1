// How much longer passes take beside each other than shares of the cores explain: memory and caches are shared, too.
#pragma once

namespace parabench::analytic {

/// Ranks of a host that compute, `busy` of `all` with which passes were measured; and how many times as long as while
/// one computes a pass takes while all do, by its share of the cores alone (1 or more). Precondition: 1 <= busy <= all.
struct Crowd {
  int busy = 1, all = 1;
  double wanted = 1;
};

/// Of ranks that use so many threads each on a host of so many cores.
Crowd crowd_of(int busy, int all, int threads, int cores);

/// How many times as long as alone a pass takes by its share of the cores: on a line from one busy rank to all, as
/// measurements are interpolated (MeasuredLayers::at).
double times_by_cores(const Crowd& crowd);

/// What a pass takes in a crowd, in two parts.
struct Contended {
  double by_cores_s = 0;  ///< with its share of the cores, and the memory as if to itself
  double excess = 0;      ///< what it takes longer beside its like, as a share of that
};

/// Of a pass that takes `alone_s` by itself and `crowded_s` in a crowd of its like. Where it takes no longer than by
/// cores alone, all of `crowded_s` counts as that.
Contended contended(double alone_s, double crowded_s, const Crowd& crowd);

/// Seconds of a pass beside others whose excess is `others_excess` in the mean, where `at_once` of them, itself
/// included, have a core at a time (1 or more): it takes longer by the mean excess of these. So it is where a memory
/// that is in full use serves each in proportion to what it asks for: of n passes that ask for u of its rate when alone
/// each takes n u times as long beside its like, and beside others as many times as all of them together ask for more
/// than there is.
double seconds_beside(const Contended& pass, double others_excess, double at_once);

}  // namespace parabench::analytic
