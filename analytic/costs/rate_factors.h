// How many times faster than it is a device is taken to be.
#pragma once

namespace parabench::analytic {

struct RateFactors {
  double flops = 1;   ///< arithmetic
  double memory = 1;  ///< traffic between the device and its memory
};

}  // namespace parabench::analytic
