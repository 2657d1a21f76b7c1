#include "suite/run/case_file.h"

#include <algorithm>
#include <cctype>

#include "base/hash.h"

namespace parabench::suite {

std::string file_name(const std::string& id) {
  constexpr std::size_t most = 200;
  std::string name = id;
  std::ranges::replace_if(
      name, [](unsigned char c) { return !std::isalnum(c) && c != '-' && c != '.' && c != '='; }, '_');
  return name.size() <= most ? name : name.substr(0, most) + "-" + hex16(fnv1a64(id));
}

}  // namespace parabench::suite
