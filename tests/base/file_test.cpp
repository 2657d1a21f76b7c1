#include "base/file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "base/error.h"
#include "base/json_text.h"

namespace parabench {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;

class File : public testing::Test {
 protected:
  File() : folder_(fs::path(testing::TempDir()) / ("parabench-file-" + std::to_string(::getpid()))) {
    fs::create_directories(folder_);
  }
  ~File() override { fs::remove_all(folder_); }

  long entries() const { return std::distance(fs::directory_iterator(folder_), fs::directory_iterator()); }

  fs::path folder_;
};

template <class F>
std::string complaint(ExitCode code, F&& act) {
  try {
    act();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), code) << error.what();
    return error.what();
  }
  return "no complaint";
}

TEST_F(File, ReadsBackWhatWasWritten) {
  const std::string text("a\0b\n", 4);
  write_atomically(folder_ / "x", text);
  EXPECT_EQ(read_text(folder_ / "x"), text);
  write_atomically(folder_ / "x", "");
  EXPECT_EQ(read_text(folder_ / "x"), "");
  EXPECT_EQ(entries(), 1) << "the temporary stayed behind";
}

TEST_F(File, ReplacesTheFileInsteadOfWritingIntoIt) {
  write_atomically(folder_ / "x", "old");
  fs::create_hard_link(folder_ / "x", folder_ / "witness");
  write_atomically(folder_ / "x", "new");
  EXPECT_EQ(read_text(folder_ / "witness"), "old");
  EXPECT_EQ(read_text(folder_ / "x"), "new");
}

TEST_F(File, FollowsASymbolicLink) {
  write_atomically(folder_ / "x", "old");
  fs::create_symlink("x", folder_ / "link");
  write_atomically(folder_ / "link", "new");
  EXPECT_TRUE(fs::is_symlink(folder_ / "link"));
  EXPECT_EQ(read_text(folder_ / "x"), "new");
}

TEST_F(File, WritesStraightIntoADevice) {
  write_atomically("/dev/null", "gone");
  EXPECT_TRUE(fs::is_character_file("/dev/null"));
}

TEST_F(File, NamesThePathThatCannotBeWritten) {
  const fs::path nowhere = folder_ / "absent" / "x.json";
  EXPECT_THAT(complaint(ExitCode::usage, [&] { write_atomically(nowhere, "x"); }),
              AllOf(HasSubstr(nowhere.string()), HasSubstr("make its folder first")));
  EXPECT_THAT(complaint(ExitCode::usage, [&] { write_atomically(folder_, "x"); }), HasSubstr("it is a folder"));
  EXPECT_THAT(complaint(ExitCode::usage, [&] { write_atomically("", "x"); }), HasSubstr("output file"));
  EXPECT_THAT(complaint(ExitCode::environment, [&] { write_atomically("/dev/full", "x"); }),
              AllOf(HasSubstr("/dev/full"), HasSubstr("No space left")));
  EXPECT_EQ(entries(), 0);
}

TEST_F(File, NamesThePathThatCannotBeRead) {
  EXPECT_THAT(complaint(ExitCode::usage, [&] { read_text(folder_ / "absent"); }),
              AllOf(HasSubstr((folder_ / "absent").string()), HasSubstr("No such file")));
  EXPECT_THAT(complaint(ExitCode::usage, [&] { read_text(folder_); }), HasSubstr("Is a directory"));
}

TEST_F(File, SaysWhereAFileStopsBeingJson) {
  write_atomically(folder_ / "good.json", R"({"a": [1, 2]})");
  EXPECT_EQ(read_json(folder_ / "good.json"), nlohmann::json::parse(R"({"a": [1, 2]})"));
  write_atomically(folder_ / "cut.json", R"({"a": [1, 2)");
  EXPECT_THAT(complaint(ExitCode::usage, [&] { read_json(folder_ / "cut.json"); }),
              AllOf(HasSubstr("cut.json"), HasSubstr("after byte 11"), HasSubstr("ends too early")));
  write_atomically(folder_ / "bad.json", R"({"a": nan})");
  EXPECT_THAT(complaint(ExitCode::usage, [&] { read_json(folder_ / "bad.json"); }),
              AllOf(HasSubstr("bad.json"), HasSubstr("byte 8 of 10")));
  write_atomically(folder_ / "latin.json", "{\"a\": \"\xe9\"}");
  EXPECT_THAT(complaint(ExitCode::usage, [&] { read_json(folder_ / "latin.json"); }), HasSubstr("latin.json"));
}

TEST_F(File, RefusesJsonThatIsNestedTooDeep) {
  const auto nested = [](int levels) {
    return R"({"a": "[[\"[[", "b": )" + std::string(levels, '[') + std::string(levels, ']') + "}";
  };
  write_atomically(folder_ / "deep.json", nested(most_json_levels - 1));
  EXPECT_EQ(read_json(folder_ / "deep.json").at("a"), "[[\"[[");
  write_atomically(folder_ / "deeper.json", nested(most_json_levels));
  EXPECT_THAT(complaint(ExitCode::usage, [&] { read_json(folder_ / "deeper.json"); }),
              AllOf(HasSubstr("deeper.json"), HasSubstr("byte 221 of"), HasSubstr("at most 200")));
  write_atomically(folder_ / "endless.json", std::string(1'000'000, '['));
  EXPECT_THAT(complaint(ExitCode::usage, [&] { read_json(folder_ / "endless.json"); }), HasSubstr("byte 201 of"));
}

}  // namespace
}  // namespace parabench
