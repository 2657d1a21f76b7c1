#include "suite/machine/listing_cache.h"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <random>

#include "base/file.h"
#include "suite/launch/launch.h"

namespace parabench::suite {
namespace {

class ListingCache : public testing::Test {
 protected:
  std::filesystem::path path() const { return scratch_.path() / "deep" / "list"; }
  const ListedById lines_ = {
      {"possible", {.model_parameters = 11, .forecast = ListedForecast{0.1 + 0.2, 1LL << 40, 3e12, "data-sheet"}}},
      {"impossible", {.model_parameters = 0, .impossible = "np: got '5', \"quoted\"\n"}}};

 private:
  ScratchFolder scratch_;
};

TEST_F(ListingCache, GivesBackWhatItKeptToTheLastBit) {
  std::mt19937_64 random(1);
  std::uniform_real_distribution<double> exponent(-300, 300);
  ListedById many = lines_;
  for (int i = 0; i < 500; ++i) {
    const auto bytes = static_cast<std::int64_t>(random() >> 2);
    many["case" + std::to_string(i)] = {.model_parameters = i,
                                        .forecast = ListedForecast{std::pow(10, exponent(random)), bytes,
                                                                   std::pow(10, exponent(random)), "calibrated"}};
  }
  keep_listing(path(), "key", many);
  EXPECT_EQ(read_listing(path(), "key"), many);
}

TEST_F(ListingCache, IsEmptyWithoutAFileAndUnderAnotherKey) {
  EXPECT_TRUE(read_listing(path(), "key").empty());
  keep_listing(path(), "key", lines_);
  EXPECT_TRUE(read_listing(path(), "another").empty());
  keep_listing(path(), "another", {});
  EXPECT_TRUE(read_listing(path(), "key").empty()) << "the newest listing alone is kept";
}

TEST_F(ListingCache, ADamagedFileIsNoListingAndIsWrittenAnew) {
  keep_listing(path(), "key", lines_);
  const std::string whole = read_text(path());
  const auto write = [&](const std::string& text) { std::ofstream(path(), std::ios::trunc) << text; };
  for (std::size_t i = 0; i < whole.size(); ++i) {
    write(whole.substr(0, i));
    EXPECT_TRUE(read_listing(path(), "key").empty()) << "cut at " << i;
    std::string changed = whole;
    changed[i] = changed[i] == '7' ? '8' : '7';
    write(changed);
    EXPECT_TRUE(read_listing(path(), "key").empty()) << "changed at " << i;
  }
  write(R"({"possible": [1, 2, 3, 4, "calibrated"]})");
  EXPECT_TRUE(read_listing(path(), "key").empty());
  keep_listing(path(), "key", lines_);
  EXPECT_EQ(read_listing(path(), "key"), lines_);
}

TEST_F(ListingCache, AFolderThatCannotBeWrittenIsNoError) {
  keep_listing("/proc/none/list", "key", lines_);
  EXPECT_TRUE(read_listing("/proc/none/list", "key").empty());
}

TEST_F(ListingCache, TheKeyFollowsMachineAndCalibration) {
  const analytic::MachineInfo machine{.id = "m", .cores = 2};
  analytic::MachineInfo larger = machine;
  larger.cores = 4;
  CalibrationFile none, one{path(), analytic::Calibration{}};
  std::filesystem::create_directories(path().parent_path());
  std::ofstream(path()) << "first";
  const std::string key = listing_key(machine, one);
  EXPECT_EQ(listing_key(machine, one), key);
  EXPECT_NE(listing_key(larger, one), key);
  EXPECT_NE(listing_key(machine, none), key);
  std::ofstream(path()) << "other";
  EXPECT_NE(listing_key(machine, one), key);
}

}  // namespace
}  // namespace parabench::suite
