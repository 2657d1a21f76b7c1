#include "base/units_text.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <string>

#include "base/error.h"

namespace parabench {
namespace {

std::int64_t bytes(const char* text) { return parse_bytes("size", text).value; }
double seconds(const char* text) { return parse_seconds("time", text).value; }

TEST(ParseBytes, KnowsBinaryAndDecimalUnits) {
  EXPECT_EQ(bytes("4096"), 4096);
  EXPECT_EQ(bytes("0"), 0);
  EXPECT_EQ(bytes("12B"), 12);
  EXPECT_EQ(bytes("64MiB"), 67108864);
  EXPECT_EQ(bytes("64 MiB"), 67108864);
  EXPECT_EQ(bytes("64mib"), 67108864);
  EXPECT_EQ(bytes("1.5GB"), 1500000000);
  EXPECT_EQ(bytes("0.5KiB"), 512);
  EXPECT_EQ(bytes("2kB"), 2000);
  EXPECT_EQ(bytes("1.3GiB"), 1395864371);
  EXPECT_EQ(bytes("1TB"), 1000000000000);
  EXPECT_EQ(bytes("9223372036854775807"), INT64_MAX);
}

TEST(ParseBytes, RefusesAnythingElse) {
  for (const char* text : {"", "MiB", "-1", "+1", ".5GB", "1,5GB", "1M", "1Mb it", "1 GB ", "nan", "inf", "1e300",
                           "0x10", "9223372036854775808", "9999999TiB"}) {
    EXPECT_THROW(bytes(text), Error) << text;
  }
}

TEST(PrintBytes, IsExactAndCanonical) {
  EXPECT_EQ(print_bytes(Bytes(26214400)), "25MiB");
  EXPECT_EQ(print_bytes(Bytes(1LL << 40)), "1TiB");
  EXPECT_EQ(print_bytes(Bytes(1500000000)), "1500MB");
  EXPECT_EQ(print_bytes(Bytes(8000000000)), "8GB") << "though 7812500KiB are as many";
  EXPECT_EQ(print_bytes(Bytes(1000LL << 20)), "1000MiB");
  EXPECT_EQ(print_bytes(Bytes(1536)), "1536");
  EXPECT_EQ(print_bytes(Bytes(0)), "0");
  std::mt19937_64 random(1);
  for (int i = 0; i < 2000; ++i) {
    const Bytes size(static_cast<std::int64_t>(random() >> (random() % 63 + 1)));
    EXPECT_EQ(parse_bytes("size", print_bytes(size)), size) << size.value;
  }
}

TEST(PrintSeconds, IsTheShortestThatReadsBackAsTheSame) {
  EXPECT_EQ(print_seconds(Seconds(1e-3)), "1ms");
  EXPECT_EQ(print_seconds(Seconds(0.5)), "0.5s");
  EXPECT_EQ(print_seconds(Seconds(25e-6)), "25us");
  EXPECT_EQ(print_seconds(Seconds(0)), "0s");
  std::mt19937_64 random(1);
  for (int i = 0; i < 2000; ++i) {
    const Seconds time(std::ldexp(static_cast<double>(random() >> 11), -static_cast<int>(random() % 90)));
    EXPECT_EQ(parse_seconds("time", print_seconds(time)), time) << time.value;
  }
}

TEST(ParseSeconds, KnowsItsUnits) {
  EXPECT_EQ(seconds("500us"), 500e-6);
  EXPECT_EQ(seconds("2s"), 2);
  EXPECT_EQ(seconds("2"), 2);
  EXPECT_EQ(seconds("1.5 ms"), 1.5e-3);
  EXPECT_EQ(seconds("3ns"), 3e-9);
  EXPECT_EQ(seconds("10min"), 600);
  EXPECT_EQ(seconds("1.5h"), 5400);
  for (const char* text : {"", "s", "-1s", "1S", "1 sec", "5m", "inf", "1s2"})
    EXPECT_THROW(seconds(text), Error) << text;
}

TEST(ParseShare, ReadsPercentAndFractions) {
  EXPECT_EQ(parse_share("--threshold", "5%"), 0.05);
  EXPECT_EQ(parse_share("--threshold", "5 %"), 0.05);
  EXPECT_EQ(parse_share("--threshold", "0.05"), 0.05);
  EXPECT_EQ(parse_share("--threshold", "250%"), 2.5);
  for (const char* text : {"", "%", "-1%", "5%%", "five", "nan", "inf", "1e400", "5ms"})
    EXPECT_THROW(parse_share("--threshold", text), Error) << text;
}

TEST(ParseRate, ReadsBitsPerSecondAndPrintsThemInTheLargestUnit) {
  EXPECT_EQ(parse_rate("--emulate", "1Gbit"), 125e6);
  EXPECT_EQ(parse_rate("--emulate", "2.5 gbit/s"), 312.5e6);
  EXPECT_EQ(parse_rate("--emulate", "100Mbit"), 12.5e6);
  EXPECT_EQ(parse_rate("--emulate", "0kbit"), 0);
  EXPECT_EQ(parse_rate("--emulate", "50GB/s"), 50e9);
  EXPECT_EQ(parse_rate("--emulate", "1 mib/s"), 1 << 20);
  for (const char* text : {"", "1", "1GB", "1Gb", "-1Gbit", "infGbit", "1Gbit/h", "Gbit", "1/s", "GB/s", "1GB/h"})
    EXPECT_THROW(parse_rate("--emulate", text), Error) << text;
  for (const char* text : {"1Gbit", "2.5Gbit", "400Gbit", "100Mbit", "64kbit", "1bit", "0.5bit"})
    EXPECT_EQ(print_rate(parse_rate("--emulate", text)), text);
}

TEST(PrintNumber, IsTheShortestThatReadsBack) {
  EXPECT_EQ(print_number(0.01), "0.01");
  EXPECT_EQ(print_number(0.1 + 0.2), "0.30000000000000004");
  EXPECT_EQ(print_number(1e-4), "0.0001");
  EXPECT_EQ(print_number(1e-5), "1e-05");
  EXPECT_EQ(print_number(0), "0");
  EXPECT_EQ(print_number(100), "100");
}

TEST(HumanText, KeepsThreeDigits) {
  EXPECT_EQ(human_bytes(0), "0 B");
  EXPECT_EQ(human_bytes(999), "999 B");
  EXPECT_EQ(human_bytes(1023), "1.00 KiB");
  EXPECT_EQ(human_bytes(25 << 20), "25.0 MiB");
  EXPECT_EQ(human_bytes(123456789), "118 MiB");
  EXPECT_EQ(human_bytes(-2048), "-2.00 KiB");
  EXPECT_EQ(human_seconds(0), "0 s");
  EXPECT_EQ(human_seconds(0.0123), "12.3 ms");
  EXPECT_EQ(human_seconds(0.9999), "1.00 s");
  EXPECT_EQ(human_seconds(123.4), "123 s");
  EXPECT_EQ(human_seconds(1.5e-6), "1.50 us");
  EXPECT_EQ(human_seconds(3e-8), "30.0 ns");
}

TEST(HumanText, SharesAreInPercentWithOneDecimal) {
  EXPECT_EQ(human_share(0.1234), "12.3 %");
  EXPECT_EQ(human_share(-0.5), "-50.0 %");
  EXPECT_EQ(human_share(2), "200.0 %");
}

}  // namespace
}  // namespace parabench
