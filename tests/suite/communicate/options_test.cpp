#include "suite/communicate/options.h"

#include <gmock/gmock.h>

#include <functional>

#include "base/case_text.h"
#include "base/error.h"

namespace parabench::suite {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::string refusal(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::usage);
    return error.what();
  }
  return "";
}

TEST(Sizes, AreRangesWithAFactorAndSingleOnes) {
  EXPECT_THAT(read_sizes("1KiB:64KiB:4", 4), ElementsAre(1024, 4096, 16384, 65536));
  EXPECT_THAT(read_sizes("1KiB:4KiB", 4), ElementsAre(1024, 2048, 4096));
  EXPECT_THAT(read_sizes("1000", 4), ElementsAre(1000));
  EXPECT_THAT(read_sizes("4MB,8:32", 8), ElementsAre(8, 16, 32, 4'000'000));
}

TEST(Sizes, EndAtTheLastThatIsNotBeyondTheEndAndAppearOnce) {
  EXPECT_THAT(read_sizes("1KiB:63KiB:4", 4), ElementsAre(1024, 4096, 16384));
  EXPECT_THAT(read_sizes("4:16,8", 4), ElementsAre(4, 8, 16));
}

TEST(Sizes, UpToTheLargestNumberOverflowNothing) {
  const auto sizes = read_sizes("8:9223372036854775800", 8);
  ASSERT_FALSE(sizes.empty());
  for (const std::int64_t bytes : sizes) EXPECT_GT(bytes, 0);
  EXPECT_EQ(sizes.back(), std::int64_t{1} << 62);
}

TEST(Sizes, ThatAreNoneAreRefused) {
  const auto of = [](const char* text, int element) { return refusal([=] { read_sizes(text, element); }); };
  EXPECT_THAT(of("6", 4), AllOf(HasSubstr("'6'"), HasSubstr("a multiple of 4 bytes")));
  EXPECT_THAT(of("4", 8), HasSubstr("a multiple of 8 bytes"));
  EXPECT_THAT(of("0", 4), HasSubstr("not 0"));
  EXPECT_THAT(of("8:4:2", 4), HasSubstr("an end that is not before the begin"));
  EXPECT_THAT(of("4:8:1", 4), AllOf(HasSubstr("factor of --sizes"), HasSubstr("an integer from 2"),
                                    HasSubstr("; try --sizes 1KiB:64MiB:4")));
  EXPECT_THAT(of("4:8:2:2", 4), HasSubstr("BEGIN:END:FACTOR"));
  EXPECT_NE(of("", 4), "");
  EXPECT_NE(of("4,,8", 4), "");
  EXPECT_NE(of("many", 4), "");
  EXPECT_NE(of("-4", 4), "");
}

TEST(Names, AreReadOnceEachInTheOrderGiven) {
  EXPECT_THAT(read_names<ReduceKind>("--reduce", "ring,auto,ring"),
              ElementsAre(ReduceKind::ring, ReduceKind::automatic));
  EXPECT_THAT(refusal([] { read_names<ExchangeKind>("--collective", "all-to-all"); }),
              AllOf(HasSubstr("--collective"), HasSubstr("all-to-all"), HasSubstr("all-reduce")));
  EXPECT_THAT(refusal([] { read_names<ReduceKind>("--reduce", "rnig"); }), HasSubstr("did you mean 'ring'?"));
}

TEST(Groups, AreSizesFromTwoOn) {
  EXPECT_THAT(read_groups("all"), IsEmpty());
  EXPECT_THAT(read_groups("4,2,4"), ElementsAre(2, 4));
  EXPECT_THAT(refusal([] { read_groups("1"); }), HasSubstr("an integer from 2"));
}

TEST(Exchanges, ThatCannotBeAreRefusedBeforeAnythingRuns) {
  EXPECT_EQ(refusal([] { check_exchanges({}); }), "");
  EXPECT_THAT(refusal([] {
                check_exchanges({.np = 4, .groups = {2, 3}});
              }),
              AllOf(HasSubstr("--groups: got '3'"), HasSubstr("divides the 4 ranks")));
  EXPECT_THAT(refusal([] { check_exchanges({.precision = Precision::bf16}); }), HasSubstr("summed as fp32"));
  EXPECT_THAT(refusal([] { check_exchanges({.comm = CommKind::nccl}); }), HasSubstr("mpi or threads"));
  EXPECT_THAT(refusal([] { check_exchanges({.sizes = "4", .precision = Precision::fp64}); }), HasSubstr("of 8 bytes"));
}

}  // namespace
}  // namespace parabench::suite
