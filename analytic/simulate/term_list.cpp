#include "analytic/simulate/term_list.h"

#include <fmt/format.h>

#include <utility>

namespace parabench::analytic {
namespace {

std::string beside(std::string origin, const std::string& assumption) {
  return assumption.empty() ? origin : fmt::format("{}; {}", origin, assumption);
}

}  // namespace

TermList::TermList(const plan::Plan& plan_, const Sizes& sizes_, const TimeModel& time_, const plan::Plan& counted_)
    : plan(plan_),
      sizes(sizes_),
      time(time_),
      counted(counted_),
      holders(plan::holders(plan_)),
      source(time_.source()) {}

void TermList::add(std::string name, double value, std::string unit, std::string formula, std::string origin) {
  terms.push_back({std::move(name), value, std::move(unit), std::move(formula), std::move(origin), source});
}

void TermList::add_transfer(std::string name, double seconds, std::string formula, std::string origin, Rank rank,
                            const plan::Op& op) {
  const std::string links = time.link_source();
  if (links == source) origin = beside(std::move(origin), time.link_assumption(plan, rank, op));
  terms.push_back({std::move(name), seconds, "s", std::move(formula), std::move(origin), links});
}

std::string TermList::with_assumption(std::string origin) const {
  return beside(std::move(origin), time.assumption(plan));
}

}  // namespace parabench::analytic
