#include "suite/sweep/toml.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>
#include <string>

#include "base/error.h"

namespace parabench::suite {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;

std::string times(int count, const std::string& text) {
  std::string all;
  for (int i = 0; i < count; ++i) all += text;
  return all;
}

std::string refusal(const std::string& text) {
  try {
    toml_to_json(text, "sweep.toml");
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::usage);
    return error.what();
  }
  return "accepted";
}

TEST(Toml, BecomesTheSameJson) {
  EXPECT_EQ(toml_to_json("a.b = [1, 2.5, true]\nc = \"x\"\nd = 1979-05-27\n[[e]]\nf = {}\n", "t"),
            json::parse(R"({"a": {"b": [1, 2.5, true]}, "c": "x", "d": "1979-05-27", "e": [{"f": {}}]})"));
}

TEST(Toml, TablesTooDeepInOneAnotherAreRefusedWithTheirLine) {
  const auto too_deep = [](const std::string& line) {
    return AllOf(HasSubstr(std::string("sweep.toml: got \'line ") + line + "\'"),
                 HasSubstr("at most 200 lists and tables"));
  };
  // Each would be taken down by recursion, level by level. (GCC 12 warns of a literal in front of a string: bug
  // 105651.)
  EXPECT_THAT(refusal(std::string("b = 1\na") + times(100000, ".a") + " = 1\n"), too_deep("2"));
  EXPECT_THAT(refusal(std::string("[a") + times(100000, " . \"]=\"") + "]\n"), too_deep("1"));
  EXPECT_THAT(refusal(std::string("a = [\n") + times(150, "{b" + times(150, ".c") + " = ")), too_deep("2"));
  EXPECT_THAT(refusal(std::string("s = \"\"\"\n\\\"\"\"\"\"\nt") + times(300, ".'x'") + " = 1\n"), too_deep("3"));
  EXPECT_THAT(refusal(std::string("a = ") + times(250, "[") + times(250, "]") + "\n"), too_deep("1"));
}

TEST(Toml, DotsThatOpenNoTableAreNotCounted) {
  const std::string dots(300, '.');
  EXPECT_EQ(refusal(std::string("a = \"") + dots + "\" # " + dots + "\nb = '''\n" + dots + "''''\nc = [" +
                    times(300, "1.5, ") + "]\n" + times(300, "[[d.e]]\n") + "s = \"\\\"" + dots + "\"\n"),
            "accepted");
  EXPECT_EQ(refusal(std::string("a") + times(199, ".a") + " = 1\n"), "accepted");
}

}  // namespace
}  // namespace parabench::suite
