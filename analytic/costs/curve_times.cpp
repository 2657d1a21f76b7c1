#include "analytic/costs/curve_times.h"

#include <algorithm>

#include "analytic/calibration/measurements.h"
#include "analytic/costs/interpolate.h"
#include "analytic/costs/time_model.h"

namespace parabench::analytic {
namespace {

TimeParts along(const Curve& curve, std::int64_t bytes) {
  const double total = at_bytes(curve, bytes), latency = std::min(total, curve.front().seconds);
  return with_total({.latency = latency, .transfer = total - latency}, total);
}

}  // namespace

TimeParts collective_times(const Calibration& calibration, const Case& spec, plan::OpKind collective, int members,
                           std::int64_t bytes) {
  return share_of_all_reduce(collective) * along(reduction_curve(calibration, spec, members), bytes);
}

TimeParts message_times(const Calibration& calibration, const Case& spec, std::int64_t bytes) {
  return along(message_curve(calibration, spec), bytes);
}

double exchange_seconds(const Calibration& calibration, const ExchangeSetting& setting, const Exchange& exchange) {
  const Case spec = case_of(setting);
  const auto collective = [&](plan::OpKind kind) {
    return collective_times(calibration, spec, kind, exchange.members, exchange.bytes).total();
  };
  switch (exchange.kind) {
    case ExchangeKind::all_reduce: return collective(plan::OpKind::all_reduce);
    case ExchangeKind::reduce_scatter: return collective(plan::OpKind::reduce_scatter);
    case ExchangeKind::all_gather: return collective(plan::OpKind::all_gather);
    case ExchangeKind::broadcast: return collective(plan::OpKind::broadcast);
    case ExchangeKind::send_receive:
    case ExchangeKind::ping_pong: return message_times(calibration, spec, exchange.bytes).total();
  }
  return 0;
}

const Curve& exchange_curve(const Calibration& calibration, const ExchangeSetting& setting, const Exchange& exchange) {
  const Case spec = case_of(setting);
  return is_message(exchange.kind) ? message_curve(calibration, spec)
                                   : reduction_curve(calibration, spec, exchange.members);
}

}  // namespace parabench::analytic
