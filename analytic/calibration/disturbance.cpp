#include "analytic/calibration/disturbance.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/counted.h"
#include "base/units_text.h"

namespace parabench::analytic {

std::string disturbance(const Calibration& known, const Calibration& launch) {
  if (!launch.canary) return "";
  const double own_s = launch.canary->matrix_product_s, steal = launch.canary->steal_share.value_or(0);
  double fastest_s = own_s;
  for (const Calibration& other : launches_in(known))
    if (other.canary && other.ranks && other.ranks == launch.ranks)
      fastest_s = std::min(fastest_s, other.canary->matrix_product_s);
  if (own_s > largest_drift * fastest_s) {
    return fmt::format("its matrix product took {}, that of another launch of {} took {}", human_seconds(own_s),
                       counted(*launch.ranks, "rank"), human_seconds(fastest_s));
  }
  if (steal > largest_steal_share) return fmt::format("others had {:.0f} % of the cores' time", 100 * steal);
  return "";
}

}  // namespace parabench::analytic
