// Files for readers that want a path.
#pragma once

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <span>
#include <string>

#include "tests/fuzz/target.h"

namespace parabench::fuzz {

/// A folder that goes at the end of the process.
class ScratchFolder {
 public:
  ScratchFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "parabench-fuzz-XXXXXX").string();
    require(::mkdtemp(name.data()) != nullptr, "a folder for temporary files can be made");
    path_ = name;
  }
  ~ScratchFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }
  /// Writes a file, whose folder is made; what there was under the name is replaced in its place, so that other names
  /// of the same file (link) change with it.
  void write(const std::string& name, std::span<const std::uint8_t> bytes) const {
    std::filesystem::create_directories((path_ / name).parent_path());
    std::ofstream file(path_ / name, std::ios::binary);
    file.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
    require(file.good(), "temporary files can be written");
  }
  void link(const std::string& name, const std::string& other) const {
    std::filesystem::create_directories((path_ / other).parent_path());
    std::filesystem::create_hard_link(path_ / name, path_ / other);
  }

 private:
  std::filesystem::path path_;
};

}  // namespace parabench::fuzz
