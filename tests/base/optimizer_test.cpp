#include "base/optimizer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/case_id.h"
#include "base/case_text.h"
#include "base/error.h"

namespace parabench {
namespace {

using testing::AllOf;
using testing::HasSubstr;

Case case_with(const std::string& keys) { return parse_case("m/d/s/np:1/batch:1/" + keys); }

std::string complaint(const std::string& keys) {
  try {
    optimizer_rule(case_with(keys));
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::usage);
    return error.what();
  }
  return "no complaint";
}

TEST(Optimizer, IsPrintedOnlyWhereItIsNotTheDefault) {
  EXPECT_EQ(to_id(case_with("optimizer:sgd[nesterov=off]")), "m/d/s/np:1/batch:1");
  EXPECT_EQ(to_id(case_with("optimizer:sgd[nesterov=on]")), "m/d/s/np:1/batch:1/optimizer:sgd[nesterov=on]");
  EXPECT_EQ(to_id(case_with("lr:0.1/optimizer:adam")), "m/d/s/np:1/batch:1/optimizer:adam/lr:0.1");
}

TEST(Optimizer, ExtrasHaveOneOrderAndOneSpelling) {
  EXPECT_EQ(to_text(case_with("optimizer:adam[eps=1e-7,beta2=0.950,beta1=0.9]").optimizer),
            "adam[beta2=0.95,eps=1e-07]");
  EXPECT_EQ(case_with("optimizer:lars[eps=1e-9,trust=1e-3]"), case_with("optimizer:lars"));
}

TEST(Optimizer, DefaultsArePyTorchs) {
  const OptimizerRule adam = optimizer_rule(case_with("optimizer:adamw/weight_decay:0.01"));
  EXPECT_EQ(adam.kind, OptimizerKind::adamw);
  EXPECT_EQ(adam.beta1, 0.9);
  EXPECT_EQ(adam.beta2, 0.999);
  EXPECT_EQ(adam.eps, 1e-8);
  EXPECT_EQ(adam.weight_decay, 0.01);
  EXPECT_EQ(optimizer_rule(case_with("optimizer:lars")).trust, 0.001);
  EXPECT_EQ(optimizer_rule(case_with("optimizer:sgd[nesterov=on]")).nesterov, true);
}

TEST(Optimizer, StatesAreThoseThatTheRuleReads) {
  const auto states = [](const std::string& keys) { return state_count(optimizer_rule(case_with(keys))); };
  EXPECT_EQ(states("optimizer:sgd"), 1);
  EXPECT_EQ(states("optimizer:sgd/momentum:0"), 0);
  EXPECT_EQ(states("optimizer:adam"), 2);
  EXPECT_EQ(states("optimizer:adamw"), 2);
  EXPECT_EQ(states("optimizer:lars"), 1);
  EXPECT_EQ(states("optimizer:lars/momentum:0"), 0);
}

TEST(Optimizer, ImpossibleParametersAreRefusedWithValueExpectationAndHint) {
  EXPECT_EQ(complaint("optimizer:adma"),
            "optimizer: got 'adma', expected one of sgd, adam, adamw, lars; did you mean 'adam'?");
  EXPECT_EQ(complaint("optimizer:adam[beta=0.9]"),
            "parameter of adam: got 'beta', expected one of beta1, beta2, eps; did you mean 'beta1'?");
  EXPECT_EQ(complaint("optimizer:adam[beta1=1]"),
            "beta1 of adam: got '1', expected a number >= 0 and < 1; try beta1=0.9");
  EXPECT_EQ(complaint("optimizer:adam[eps=0]"), "eps of adam: got '0', expected a number > 0; try eps=1e-08");
  EXPECT_EQ(complaint("optimizer:lars[trust=-1]"), "trust of lars: got '-1', expected a number > 0; try trust=0.001");
  EXPECT_THAT(complaint("optimizer:sgd[nesterov=yes]"), AllOf(HasSubstr("'yes'"), HasSubstr("off, on")));
  EXPECT_THAT(complaint("optimizer:sgd[nesterov=on]/momentum:0"),
              AllOf(HasSubstr("sgd[nesterov=on]"), HasSubstr("momentum above 0"), HasSubstr("try momentum:0.9")));
  EXPECT_THAT(complaint("optimizer:adam/momentum:0.5"), AllOf(HasSubstr("'0.5'"), HasSubstr("adam does not use")));
  for (const char* bad : {"beta2=nan", "beta2=inf", "beta2=-0.1", "eps=-1e-8", "eps=inf", "eps=x",
                          "beta1=0.9,beta1=0.8", "nesterov=on"}) {
    EXPECT_NE(complaint("optimizer:adam[" + std::string(bad) + "]"), "no complaint") << bad;
  }
}

}  // namespace
}  // namespace parabench
