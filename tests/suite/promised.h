// What calibrations of cases would hold.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "analytic/calibration/combine.h"
#include "analytic/calibration/scope.h"
#include "base/case_id.h"
#include "suite/run/forecast.h"

namespace parabench::suite {

/// What launches for these cases bring, all times being made up.
inline analytic::Calibration promised_for(const std::vector<std::string>& ids, const analytic::MachineInfo& machine,
                                          const std::string& date, const std::map<int, Placement>& placements = {}) {
  analytic::Calibration calibration;
  for (const std::string& id : ids) {
    const Subject subject = look_up(parse_case(id));
    const Forecast forecast = make_forecast(subject, {.machine = machine, .placements = placements}, 5, 20);
    analytic::merge(calibration, analytic::promised_calibration(forecast.plan, subject.model, machine));
  }
  calibration.machine = machine;
  calibration.date = date;
  return calibration;
}

}  // namespace parabench::suite
