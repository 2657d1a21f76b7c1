#include "base/choice.h"

#include <gmock/gmock.h>

#include <vector>

#include "base/error.h"

namespace parabench {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::StrEq;
using testing::ThrowsMessage;

std::vector<int> read(decltype(NamedChoice::parameters) given) {
  std::vector<ChoiceParameter> known{{"layers", 12, 2, 64}, {"hidden", 512, 1, 1024}};
  read_parameters({"net", std::move(given)}, known);
  return {known[0].value, known[1].value};
}

TEST(ReadParameters, KeepsTheDefaultOfWhatIsNotGiven) {
  EXPECT_THAT(read({}), ElementsAre(12, 512));
  EXPECT_THAT(read({{"hidden", "7"}}), ElementsAre(12, 7));
  EXPECT_THAT(read({{"hidden", "1024"}, {"layers", "02"}}), ElementsAre(2, 1024));
}

TEST(ReadParameters, RefusesWhatIsUnknownRepeatedOrOutOfRange) {
  const auto refused = [](decltype(NamedChoice::parameters) given, auto matcher) {
    EXPECT_THAT([&] { read(std::move(given)); }, ThrowsMessage<Error>(matcher));
  };
  refused({{"layer", "4"}},
          StrEq("parameter of net: got 'layer', expected one of layers, hidden; did you mean 'layers'?"));
  refused({{"vocabulary", "4"}}, StrEq("parameter of net: got 'vocabulary', expected one of layers, hidden"));
  refused({{"hidden", "0"}}, StrEq("hidden of net: got '0', expected an integer from 1 to 1024; try hidden=512"));
  refused({{"layers", "4"}, {"layers", "4"}}, HasSubstr("once"));
  for (const std::string value : {"1", "65", "-3", "1e1", "", "4x", "99999999999999"})
    refused({{"layers", value}}, AllOf(HasSubstr("layers"), HasSubstr("'" + value + "'"), HasSubstr("from 2 to 64")));
  EXPECT_THAT(
      [] {
        read_parameters({"net", {{"layers", "4"}}}, {});
      },
      ThrowsMessage<Error>(AllOf(HasSubstr("no parameters"), HasSubstr("write net"))));
}

TEST(ReadParameters, TakesWordsWhereTheyAreDeclared) {
  const auto read_switch = [](std::string text) {
    std::vector<ChoiceParameter> known{switch_parameter("tied", false)};
    read_parameters({"net", {{"tied", std::move(text)}}}, known);
    return value_text(known[0]) + std::to_string(known[0].value);
  };
  EXPECT_EQ(read_switch("on"), "on1");
  EXPECT_EQ(read_switch("off"), "off0");
  for (const std::string value : {"onn", "1", "true", ""})
    EXPECT_THAT([&] { read_switch(value); },
                ThrowsMessage<Error>(AllOf(HasSubstr("tied of net: got '" + value + "', expected one of off, on"))));
  EXPECT_THAT([&] { read_switch("onn"); }, ThrowsMessage<Error>(HasSubstr("did you mean 'on'?")));
}

}  // namespace
}  // namespace parabench
