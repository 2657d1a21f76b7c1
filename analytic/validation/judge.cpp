#include "analytic/validation/judge.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "analytic/validation/fact_models.h"
#include "analytic/validation/fit_constants.h"
#include "base/counted.h"
#include "base/error.h"
#include "base/statistics.h"

namespace parabench::analytic {
namespace {

struct Group {
  std::string source;
  Quantity quantity;
  const FactModel* model;
  std::vector<const Fact*> fit, test;
};

std::vector<Group> groups_of(std::span<const Fact> facts) {
  std::vector<Group> groups;
  for (const Fact& fact : facts) {
    for (const std::string& name : fact.models) {
      const FactModel& model = find_fact_model(fact.place, name);
      auto group = std::ranges::find_if(groups, [&](const Group& g) {
        return g.source == fact.source && g.quantity == fact.quantity && g.model == &model;
      });
      if (group == groups.end()) group = groups.insert(groups.end(), {fact.source, fact.quantity, &model, {}, {}});
      (fact.use == Use::fit ? group->fit : group->test).push_back(&fact);
    }
  }
  return groups;
}

/// A row, and where the constants of its prediction stand among those of the group.
struct Placed {
  const Fact* fact;
  std::vector<std::size_t> places;
};

/// A group's constants by name.
class Constants {
 public:
  explicit Constants(const Group& group) : model_(*group.model) {
    for (const Fact* fact : group.fit) {
      for (const Constant& constant : model_.constants(*fact)) {
        if (places_.emplace(constant.name, all_.size()).second) all_.push_back(constant);
      }
    }
  }

  const std::vector<Constant>& all() const { return all_; }

  Placed placed(const Fact& fact) const {
    Placed row{&fact, {}};
    for (const Constant& constant : model_.constants(fact)) {
      const auto found = places_.find(constant.name);
      if (found == places_.end())
        throw usage_error(
            fact.place + ": use", to_text(fact.use),
            fmt::format("a row of {} whose use is fit and tells {} its {}", fact.source, model_.name, constant.name));
      row.places.push_back(found->second);
    }
    return row;
  }

  double predicted(const Placed& row, std::span<const double> values) const {
    std::vector<double> own;
    for (const std::size_t place : row.places) own.push_back(values[place]);
    return model_.predict(*row.fact, own);
  }

 private:
  const FactModel& model_;
  std::vector<Constant> all_;
  std::map<std::string, std::size_t> places_;
};

/// The error of the time that a value stands for, or of the value where it is none.
double error_of(const Fact& fact, double predicted) {
  return is_rate(fact.quantity) ? fact.value / predicted - 1 : predicted / fact.value - 1;
}

void require_prediction(const Fact& fact, double predicted, std::string_view model) {
  if (!std::isfinite(predicted) || predicted <= 0 || !std::isfinite(error_of(fact, predicted)))
    throw usage_error(fact.place, fact.row, fmt::format("a configuration for which {} has a prediction", model),
                      "are its numbers in the units of their columns?");
}

std::vector<double> fitted(const Group& group, const Constants& constants) {
  if (constants.all().empty()) return {};
  if (group.fit.size() < constants.all().size()) {
    throw usage_error(group.fit.front()->place + ": use", counted(group.fit.size(), "row"),
                      fmt::format("at least {} of {} whose use is fit, one for each constant of {}",
                                  constants.all().size(), group.source, group.model->name));
  }
  std::vector<Placed> rows;
  for (const Fact* fact : group.fit) rows.push_back(constants.placed(*fact));
  std::vector<double> start;
  for (const Constant& constant : constants.all()) start.push_back(constant.start);
  for (const Placed& row : rows) require_prediction(*row.fact, constants.predicted(row, start), group.model->name);
  return fit_constants(start, [&](std::span<const double> values) {
    std::vector<double> log_ratios;
    for (const Placed& row : rows) log_ratios.push_back(std::log(constants.predicted(row, values) / row.fact->value));
    return log_ratios;
  });
}

std::optional<double> known(const std::vector<double>& values, double (*of)(std::span<const double>)) {
  return values.empty() ? std::nullopt : std::optional(of(values));
}

void add_statistics(Judgement& judgement, const Group& group) {
  std::vector<double> absolute, ratios, predicted, published, uncertainties, source_errors;
  for (const JudgedRow& row : judgement.tests) {
    absolute.push_back(std::abs(row.error));
    ratios.push_back(1 + row.error);
    predicted.push_back(row.predicted);
    published.push_back(row.published);
  }
  for (const Fact* fact : group.test) {
    if (fact->uncertainty > 0) uncertainties.push_back(fact->uncertainty / fact->value);
    if (fact->source_error) source_errors.push_back(std::abs(*fact->source_error));
  }
  judgement.mean = mean(absolute);
  judgement.median = median(absolute);
  judgement.p90 = quantile(absolute, 0.9);
  judgement.max = quantile(absolute, 1);
  judgement.median_ratio = median(ratios);
  judgement.rank_correlation = rank_correlation(predicted, published);
  judgement.uncertainty = known(uncertainties, median);
  judgement.source_mean = known(source_errors, mean);
}

Judgement judged(const Group& group) {
  if (group.test.empty()) {
    throw usage_error(
        group.fit.front()->place + ": use", "fit",
        fmt::format("a row of {} whose use is test, too, to judge {} by", group.source, group.model->name));
  }
  const Constants constants(group);
  Judgement judgement{.source = group.source, .quantity = group.quantity, .model = std::string(group.model->name)};
  const std::vector<double> values = fitted(group, constants);
  for (std::size_t i = 0; i < values.size(); ++i) judgement.constants.emplace_back(constants.all()[i].name, values[i]);
  if (!values.empty())
    for (const Fact* fact : group.fit) judgement.fit_rows.push_back(fact->row);
  for (const Fact* fact : group.test) {
    const double predicted = constants.predicted(constants.placed(*fact), values);
    require_prediction(*fact, predicted, group.model->name);
    judgement.tests.push_back({fact->row, fact->quality, fact->value, predicted, error_of(*fact, predicted)});
  }
  add_statistics(judgement, group);
  return judgement;
}

void require_something_to_fit(const Fact& fact) {
  const auto has_constants = [&](const std::string& name) {
    return !find_fact_model(fact.place, name).constants(fact).empty();
  };
  if (fact.use == Use::fit && std::ranges::none_of(fact.models, has_constants))
    throw usage_error(fact.place + ": use", "fit", "test, as none of the row's models has constants");
}

}  // namespace

std::vector<Judgement> judge(std::span<const Fact> facts) {
  for (const Fact& fact : facts) require_something_to_fit(fact);
  std::vector<Judgement> judgements;
  for (const Group& group : groups_of(facts)) judgements.push_back(judged(group));
  return judgements;
}

}  // namespace parabench::analytic
