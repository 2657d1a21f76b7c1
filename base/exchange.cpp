#include "base/exchange.h"

#include <fmt/format.h>

#include "base/case_text.h"

namespace parabench {
namespace {

double factor(ExchangeKind kind, double ranks) {
  switch (kind) {
    case ExchangeKind::all_reduce: return 2 * (ranks - 1) / ranks;
    case ExchangeKind::reduce_scatter:
    case ExchangeKind::all_gather: return (ranks - 1) / ranks;
    case ExchangeKind::broadcast:
    case ExchangeKind::send_receive:
    case ExchangeKind::ping_pong: return 1;
  }
  return 0;
}

}  // namespace

bool is_message(ExchangeKind kind) { return kind == ExchangeKind::send_receive || kind == ExchangeKind::ping_pong; }

std::string exchange_id(const ExchangeSetting& setting, const Exchange& exchange) {
  const ExchangeSetting usual;
  std::string id = fmt::format("communicate/{}", to_text(exchange.kind));
  if (!is_message(exchange.kind)) id += fmt::format("/{}", to_text(setting.reduce));
  id += fmt::format("/np:{}/bytes:{}", setting.np, exchange.bytes);
  if (exchange.members != setting.np) id += fmt::format("/group:{}", exchange.members);
  if (setting.precision != usual.precision) id += fmt::format("/precision:{}", to_text(setting.precision));
  if (setting.comm != usual.comm) id += fmt::format("/comm:{}", to_text(setting.comm));
  return id;
}

Case case_of(const ExchangeSetting& setting) {
  Case spec;
  spec.np = setting.np;
  spec.reduce = setting.reduce;
  spec.precision = setting.precision;
  spec.comm = setting.comm;
  return spec;
}

double bus_bandwidth(ExchangeKind kind, std::int64_t bytes, int ranks, double seconds) {
  return factor(kind, ranks) * static_cast<double>(bytes) / seconds;
}

}  // namespace parabench
