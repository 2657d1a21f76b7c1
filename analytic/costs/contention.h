// How much longer passes take beside each other than shares of the cores explain: memory and caches are shared, too.
#pragma once

#include "parallelism/plan/plan.h"

namespace parabench::analytic {

/// All ranks of the fullest host, with which passes were measured beside one alone; and how many times as long a pass
/// takes while all compute as while one does, by its share of the cores alone (1 or more).
struct Crowd {
  int ranks = 1;
  double by_cores = 1;
};

/// Where each host has so many cores.
Crowd crowd_of(const plan::Plan& plan, int cores);

/// How many times as long as alone a pass takes by its share of the cores while so many ranks compute, of the crowd at
/// most: on a line from one to all, as measurements are interpolated (MeasuredLayers::at).
double times_by_cores(const Crowd& crowd, int busy);

/// What a pass takes in a crowd, in two parts.
struct Contended {
  double by_cores_s = 0;  ///< with its share of the cores, and the memory as if to itself
  double excess = 0;      ///< what it takes longer beside its like, as a share of that
};

/// Of a pass that takes `alone_s` by itself and `crowded_s` while so many of its like run. Where it takes no longer
/// than by cores alone, all of `crowded_s` counts as that.
Contended contended(double alone_s, double crowded_s, const Crowd& crowd, int busy);

/// Seconds of a pass beside others whose excess is `others_excess` in the mean, where `at_once` of them, itself
/// included, have a core at a time (1 or more): it takes longer by the mean excess of these. So it is where a memory
/// that is in full use serves each in proportion to what it asks for: of n passes that ask for u of its rate when alone
/// each takes n u times as long beside its like, and beside others as many times as all of them together ask for more
/// than there is.
double seconds_beside(const Contended& pass, double others_excess, double at_once);

}  // namespace parabench::analytic
