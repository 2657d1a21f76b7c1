#include "suite/run/listing.h"

#include <gtest/gtest.h>

#include "base/case_id.h"
#include "base/error.h"
#include "suite/protocol/command.h"

namespace parabench::suite {
namespace {

const Knowledge nothing_measured{{.cores = 2, .memory_bytes = 8LL << 30, .frequency_hz = 2.5e9, .vector_bits = 256},
                                 nullptr};

std::vector<SelectedCase> chosen(const std::vector<std::string>& ids, bool named) {
  std::vector<SelectedCase> cases;
  for (const std::string& id : ids) cases.push_back({parse_case(id), id, named});
  return cases;
}

const std::vector<std::string> some = {
    "mlp/cifar10-synthetic/sequential/np:1/batch:64",        "mlp/cifar10-synthetic/gpipe/np:2/batch:64",
    "mlp/cifar10-synthetic/data-parallel/np:4/batch:64",     "mlp/cifar10-synthetic/pipedream/np:2/batch:64",
    "mlp/cifar10-synthetic/zero1/np:2/batch:64/device:cuda", "mlp/cifar10-synthetic/chimera/np:2/batch:64",
    "mlp/cifar10-synthetic/model-parallel/np:1000/batch:64"};  // more stages than layers

TEST(Listing, SaysWhatThePredictionSaysInTheOrderOfTheCases) {
  ListedById known;
  const std::vector<Listed> lines = listed(chosen(some, false), nothing_measured, known);
  ASSERT_EQ(lines.size(), some.size());
  for (std::size_t i = 0; i + 1 < some.size(); ++i) {
    const Forecast forecast = make_forecast(make_subject(parse_case(some[i])), nothing_measured,
                                            protocol::default_warmup, protocol::default_steps);
    ASSERT_TRUE(lines[i].forecast) << lines[i].impossible;
    EXPECT_EQ(lines[i].forecast->step_time_s, forecast.predicted.step_time_s) << some[i];
    EXPECT_EQ(lines[i].forecast->all_bytes, total_bytes(forecast.predicted)) << some[i];
    EXPECT_EQ(lines[i].model_parameters, lines[0].model_parameters);
  }
  EXPECT_FALSE(lines.back().forecast);
  EXPECT_NE(lines.back().impossible.find("np"), std::string::npos) << lines.back().impossible;
}

TEST(Listing, TakesKnownLinesAsTheyAreAndLearnsTheOthers) {
  ListedById known;
  const std::vector<Listed> fresh = listed(chosen(some, false), nothing_measured, known);
  EXPECT_EQ(known.size(), some.size());
  EXPECT_EQ(listed(chosen(some, false), nothing_measured, known), fresh);
  known[some[1]].forecast->step_time_s = 42;
  known.erase(some[2]);
  std::vector<Listed> mixed = fresh;
  mixed[1].forecast->step_time_s = 42;
  EXPECT_EQ(listed(chosen(some, false), nothing_measured, known), mixed);
  EXPECT_TRUE(known.contains(some[2]));
}

TEST(Listing, OfNamedCasesIsNeitherTakenNorKept) {
  const std::vector<std::string> one = {some[1]};
  ListedById known = {{some[1], Listed{.impossible = "kept"}}};
  EXPECT_TRUE(listed(chosen(one, true), nothing_measured, known).front().forecast);
  known.clear();
  listed(chosen(one, true), nothing_measured, known);
  EXPECT_TRUE(known.empty());
}

TEST(Listing, ThrowsForTheFirstNamedCaseThatIsImpossible) {
  ListedById known;
  try {
    listed(chosen({some[0], "mlp/cifar10-synthetic/model-parallel/np:1000/batch:64",
                   "mlp/cifar10-synthetic/model-parallel/np:2000/batch:64"},
                  true),
           nothing_measured, known);
    FAIL() << "nothing thrown";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("1000"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace parabench::suite
