// The declarations of keys, and what is derived from them.
#include "base/case_key.h"

#include <gmock/gmock.h>

#include <set>

#include "base/error.h"
#include "base/sum_order.h"
#include "tests/base/random_case.h"

namespace parabench {
namespace {

TEST(CaseKeys, AreDeclaredOnceAndInFull) {
  std::set<std::string_view> names;
  for (const CaseKey& key : case_keys()) {
    EXPECT_TRUE(names.insert(key.name).second) << key.name;
    EXPECT_FALSE(key.help.empty()) << key.name;
    EXPECT_NE(accepted_text(key), "") << key.name;
    EXPECT_EQ(!key.choices.empty() + !key.expected.empty() + key.least.has_value(), 1) << key.name << ": one range";
  }
}

TEST(CaseKeys, ReadEveryValueThatTheyPrint) {
  std::mt19937 random(3);
  std::set<std::string_view> varied;
  for (int i = 0; i < 500; ++i) {
    const Case spec = random_case(random);
    for (const CaseKey& key : case_keys()) {
      const std::string text = value_text(spec, key);
      Case copy;
      if (!text.empty()) set_value(copy, key, text);
      EXPECT_TRUE(key.compare(spec, copy) == 0) << key.name << ':' << text;
      EXPECT_TRUE(key.optional || !text.empty()) << key.name;
      if (key.compare(spec, Case{}) != 0) varied.insert(key.name);
    }
  }
  for (const CaseKey& key : case_keys()) EXPECT_TRUE(varied.contains(key.name)) << key.name << ": random_case.h";
}

TEST(CaseKeys, RefuseTheirOwnRangeFromJustOutside) {
  const std::vector<std::pair<std::string, std::string>> outside = {
      {"np", "0"},    {"warmup", "-1"},  {"bucket", "0"},
      {"lr", "0"},    {"momentum", "1"}, {"weight_decay", "-1"},
      {"seed", "-1"}, {"shard", "0"},    {"compress", "topk[ratio=0]"},
      {"tp", "0"}};
  for (const auto& [name, text] : outside) {
    Case spec;
    EXPECT_THROW(set_value(spec, find_case_key(name), text), Error) << name << ':' << text;
    EXPECT_EQ(spec, Case{}) << name;
  }
}

TEST(CaseKeys, MayHaveAWordForNoValue) {
  const CaseKey& shard = find_case_key("shard");
  EXPECT_EQ(accepted_text(shard), "an integer from 1 to 2147483647, or all");
  Case spec;
  set_value(spec, shard, "4");
  EXPECT_EQ(spec.shard, 4);
  set_value(spec, shard, "all");
  EXPECT_EQ(spec, Case{});
  EXPECT_THROW(set_value(spec, find_case_key("warmup"), "all"), Error);
}

TEST(CaseKeys, ChoicesKeepTheirParametersInOneForm) {
  const CaseKey& order = find_case_key("order");
  EXPECT_EQ(accepted_text(order), "backward, priority[partition=4MiB]");
  Case spec;
  set_value(spec, order, "priority[partition=4096KiB]");
  EXPECT_EQ(value_text(spec, order), "priority");
  set_value(spec, order, "priority[partition=1024KiB]");
  EXPECT_EQ(value_text(spec, order), "priority[partition=1MiB]");
  EXPECT_EQ(sum_order(spec).partition, Bytes(1 << 20));
}

TEST(CaseKeys, IntegersReachToTheEndOfTheirType) {
  EXPECT_EQ(accepted_text(find_case_key("np")), "an integer from 1 to 2147483647");
  EXPECT_EQ(accepted_text(find_case_key("warmup")), "an integer from 0 to 2147483647");
  EXPECT_EQ(accepted_text(find_case_key("seed")), "an integer from 0 to 18446744073709551615");
  Case spec;
  set_value(spec, find_case_key("np"), "2147483647");
  set_value(spec, find_case_key("seed"), "18446744073709551615");
  EXPECT_EQ(spec.np, 2147483647);
  EXPECT_EQ(spec.seed, 18446744073709551615U);
  EXPECT_THROW(set_value(spec, find_case_key("np"), "2147483648"), Error);
}

TEST(CaseKeys, DefaultsMayFollowOtherKeys) {
  Case spec;
  spec.device = DeviceKind::cuda;
  EXPECT_EQ(default_text(find_case_key("comm")), "mpi");
  EXPECT_EQ(default_text(find_case_key("comm"), spec), "nccl");
  EXPECT_EQ(default_text(find_case_key("np"), spec), "") << "every id names it";
}

}  // namespace
}  // namespace parabench
