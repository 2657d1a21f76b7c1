#include "suite/run/what_if_option.h"

#include <gmock/gmock.h>

#include "base/error.h"
#include "tests/base/case_of.h"

namespace parabench::suite {
namespace {

using testing::AllOf;
using testing::HasSubstr;

std::string refusal(const std::string& text) {
  try {
    parse_what_if(text);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::usage) << text;
    return error.what();
  }
  return "accepted";
}

TEST(WhatIfOption, ReadsFactorsAndValues) {
  const analytic::WhatIf what_if = parse_what_if("bandwidth=100Gbit/s,latency=10us,flops=x1.5,memory=x0.5,cores=64");
  EXPECT_EQ(what_if.bandwidth, (analytic::Change{.value = 12.5e9}));
  EXPECT_EQ(what_if.latency, (analytic::Change{.value = 1e-5}));
  EXPECT_EQ(what_if.device.flops, 1.5);
  EXPECT_EQ(what_if.device.memory, .5);
  EXPECT_EQ(what_if.cores, (analytic::Change{.value = 64}));
  EXPECT_EQ(parse_what_if("bandwidth=x2").bandwidth, (analytic::Change{.factor = 2}));
  EXPECT_EQ(parse_what_if("bandwidth=50GB/s").bandwidth, (analytic::Change{.value = 50e9}));
  EXPECT_EQ(parse_what_if("latency=0").latency, (analytic::Change{.value = 0}));
}

TEST(WhatIfOption, ItsTextsReadBack) {
  for (const std::string text : {"bandwidth=x2", "bandwidth=400Gbit", "latency=1e-05s", "latency=x0.1", "flops=x3",
                                 "memory=x1.25", "cores=64", "cores=x2"}) {
    const auto texts = what_if_texts(parse_what_if(text));
    ASSERT_EQ(texts.size(), 1u) << text;
    EXPECT_EQ(texts.begin()->first + "=" + texts.begin()->second, text);
  }
  EXPECT_TRUE(what_if_texts({}).empty());
}

TEST(WhatIfOption, RefusesWhatIsNoChange) {
  EXPECT_THAT(refusal("bandwith=x2"), AllOf(HasSubstr("bandwith"), HasSubstr("'bandwidth'")));
  EXPECT_THAT(refusal("bandwidth"), HasSubstr("try bandwidth=x2"));
  EXPECT_THAT(refusal("flops=x2,flops=x3"), HasSubstr("at most once"));
  EXPECT_THAT(refusal("flops=20"), AllOf(HasSubstr("--what-if flops: got '20'"), HasSubstr("--hardware")));
  for (const std::string text : {"",
                                 ",",
                                 "=x2",
                                 "flops=",
                                 "flops=x",
                                 "flops=x0",
                                 "flops=x-2",
                                 "flops=xnan",
                                 "flops=xinf",
                                 "flops=x1e400",
                                 "flops=x2x",
                                 "memory=x0",
                                 "bandwidth=0Gbit",
                                 "bandwidth=-1Gbit",
                                 "bandwidth=2",
                                 "bandwidth=1e300Gbit",
                                 "latency=-1us",
                                 "latency=fast",
                                 "latency=inf",
                                 "cores=0",
                                 "cores=-4",
                                 "cores=2.5",
                                 "cores=many",
                                 "cores=99999999999",
                                 "cores=x0"})
    EXPECT_NE(refusal(text), "accepted") << text;
}

TEST(WhatIfOption, CoresAreThoseOfCasesThatComputeOnThem) {
  Case spec = case_of("sequential", 1, 8);
  const analytic::WhatIf cores = parse_what_if("cores=64");
  EXPECT_NO_THROW(check_what_if(spec, cores, {}));
  for (const DeviceKind device : {DeviceKind::cuda, DeviceKind::emulated}) {
    spec.device = device;
    EXPECT_THROW(check_what_if(spec, cores, {}), Error);
    EXPECT_NO_THROW(check_what_if(spec, parse_what_if("flops=x2"), {}));
  }
}

TEST(WhatIfOption, UplinksAreThoseOfASheetWithRacks) {
  const Case spec = case_of("sequential", 1, 8);
  const analytic::WhatIf uplink = parse_what_if("uplink=x0.5");
  EXPECT_EQ(what_if_texts(uplink).at("uplink"), "x0.5");
  analytic::MachineInfo machine;
  EXPECT_THROW(check_what_if(spec, uplink, machine), Error);
  machine.sheet = analytic::HardwareSheet{.name = "mine", .network = analytic::HostNetwork{}};
  EXPECT_THROW(check_what_if(spec, uplink, machine), Error);
  machine.sheet->network->racks = analytic::HostRacks{};
  EXPECT_NO_THROW(check_what_if(spec, uplink, machine));
  EXPECT_NE(refusal("uplink=100Gbit"), "accepted") << "a rate of its own stands in the sheet";
}

}  // namespace
}  // namespace parabench::suite
