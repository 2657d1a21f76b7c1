// A calibration of the chain of fixtures.h with made-up figures.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "analytic/calibration/calibration.h"
#include "base/error.h"
#include "tests/analytic/fixtures.h"

namespace parabench::analytic {

inline constexpr MicroBatchId m0{0};

/// Two layers measured at 2 and 4 samples, alone and with two busy ranks.
inline Calibration measured(const models::ModelSpec& model) {
  Calibration c;
  c.machine.cores = 2;
  for (int l = 0; l < static_cast<int>(model.layers.size()); ++l) {
    for (const int busy : {1, 3}) {
      const double f = (l == 0 ? 10.0 : 20.0) * busy;
      c.layers[layer_key(model.layers[l], model.input, l == 0, {}, busy)] = {
          {.samples = 2, .forward_s = f, .backward_s = 2 * f, .forward_mad_s = .1, .backward_mad_s = .2},
          {.samples = 4, .forward_s = 1.5 * f, .backward_s = 3 * f, .forward_mad_s = .1, .backward_mad_s = .2}};
    }
  }
  c.all_reduce[{"mpi", 2}] = {{0, 1}, {128, 3}};
  c.point_to_point[{"mpi", 2}] = {{0, 1}, {256, 5}};
  c.update_s_per_parameter = {{{DeviceKind::cpu, "sgd"}, {{1, 1}, {2, 3}}}};
  c.step_overhead_s[DeviceKind::cpu] = .5;
  return c;
}

/// What a cost that was never measured is refused with.
inline std::string error_of(const TimeModel& time, const plan::Plan& plan, const plan::Op& op, int busy) {
  try {
    time.seconds(plan, Rank(0), op, busy);
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ExitCode::environment);
    return e.what();
  }
  return "no error";
}

}  // namespace parabench::analytic
