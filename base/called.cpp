#include "base/called.h"

#include <cstdlib>

namespace parabench {

std::string called() {
  const char* name = std::getenv(called_variable);
  return name && *name ? name : "parabench";
}

std::string to_type(std::string_view words) {
  std::string text = called();
  text += ' ';
  text += words;
  return text;
}

}  // namespace parabench
