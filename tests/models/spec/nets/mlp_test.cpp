#include "models/spec/nets/mlp.h"

#include <gmock/gmock.h>

#include "base/error.h"
#include "models/spec/model.h"

namespace parabench::models {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::ThrowsMessage;

ModelSpec mlp(decltype(NamedChoice::parameters) parameters, TensorSpec input = {3, 32, 32}) {
  return make_model({"mlp", std::move(parameters)}, input, 10, true);
}

TEST(Mlp, HasAsManyLayersAsItsParameterSays) {
  EXPECT_EQ(mlp({}).layers.size(), 12u);
  EXPECT_EQ(mlp({{"layers", "2"}}).layers.size(), 2u);
  EXPECT_EQ(mlp({{"layers", "64"}, {"hidden", "8"}}).layers.size(), 64u);
}

TEST(Mlp, NameSaysWhatIsNotTheDefault) {
  EXPECT_EQ(mlp({}).name, "mlp");
  EXPECT_EQ(mlp({{"hidden", "512"}, {"layers", "064"}}).name, "mlp[layers=64]");
  EXPECT_EQ(mlp({{"hidden", "8"}, {"layers", "3"}}).name, "mlp[layers=3,hidden=8]");
}

TEST(Mlp, ParametersAndShapesFollowFromTheWidths) {
  const std::int64_t first = 3072 * 512 + 3 * 512, middle = 512 * 512 + 3 * 512, last = 512 * 10 + 10;
  EXPECT_EQ(parameter_count(mlp({})), first + 10 * middle + last);
  for (const TensorSpec& input : {TensorSpec{1, 28, 28}, TensorSpec{3, 32, 32}, TensorSpec{3, 224, 224}}) {
    const std::vector<TensorSpec> all = boundaries(mlp({{"hidden", "24"}}, input));
    EXPECT_EQ(all.front(), input);
    for (std::size_t i = 1; i + 1 < all.size(); ++i) EXPECT_EQ(all[i], (TensorSpec{24}));
    EXPECT_EQ(all.back(), (TensorSpec{10}));
  }
}

TEST(Mlp, MiddleLayersAreEqualWork) {
  const ModelSpec model = mlp({});
  for (std::size_t i = 2; i + 1 < model.layers.size(); ++i)
    EXPECT_EQ(signature(model.layers[i], {512}), signature(model.layers[1], {512}));
  EXPECT_EQ(signature(model.layers[1], {512}), "linear(512,512)-ln(512)-add<1,x>-relu@512");
}

TEST(Mlp, BadParametersSayWhatIsKnown) {
  const auto message = [](decltype(NamedChoice::parameters) parameters, auto matcher) {
    EXPECT_THAT([&] { mlp(std::move(parameters)); }, ThrowsMessage<Error>(matcher));
  };
  message({{"layer", "4"}}, AllOf(HasSubstr("mlp"), HasSubstr("'layer'"), HasSubstr("layers, hidden")));
  message({{"layers", "4"}, {"layers", "4"}}, HasSubstr("once"));
  for (const std::string value : {"1", "0", "-1", "1e3", "", "4x", "99999999999999"})
    message({{"layers", value}}, AllOf(HasSubstr("'" + value + "'"), HasSubstr("an integer from 2")));
  message({{"hidden", "0"}}, AllOf(HasSubstr("hidden"), HasSubstr("an integer from 1")));
}

}  // namespace
}  // namespace parabench::models
