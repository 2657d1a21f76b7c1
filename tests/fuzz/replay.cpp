// Runs the files of a folder through a target, as libFuzzer would, in the order of their names: the corpus as a test
// for builds without clang. Argument: the folder.
#include <algorithm>
#include <filesystem>
#include <iostream>
#include <vector>

#include "base/file.h"
#include "tests/fuzz/target.h"

int main(int argc, char** argv) {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(argc > 1 ? argv[1] : ".")) files.push_back(entry.path());
  std::ranges::sort(files);
  for (const auto& file : files) {
    std::cout << file.filename().string() << std::endl;  // flushed: the last name is that of the input that crashed
    const std::string bytes = parabench::read_text(file);
    LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
  }
  return files.empty() ? 1 : 0;
}
