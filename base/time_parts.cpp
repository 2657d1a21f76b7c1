#include "base/time_parts.h"

#include <algorithm>
#include <iterator>

namespace parabench {

TimeParts& operator+=(TimeParts& parts, const TimeParts& others) {
  for (const auto& [name, part] : time_part_fields) parts.*part += others.*part;
  return parts;
}

TimeParts operator*(double factor, TimeParts parts) {
  for (const auto& [name, part] : time_part_fields) parts.*part *= factor;
  return parts;
}

TimeParts with_total(const TimeParts& parts, double total) {
  if (parts.total() == total) return parts;
  const auto first =
      std::ranges::find_if(time_part_fields, [&](const auto& field) { return parts.*field.second != 0; });
  const auto rests = first == time_part_fields.end() ? time_part_fields.begin() : first;
  TimeParts result;
  double left = total;
  for (auto field = std::prev(time_part_fields.end()); field != rests; --field) {
    // Of the two differences one at least is exact (Sterbenz), and so is the sum of part and rest.
    const double rest = left - std::min(parts.*field->second, left);
    result.*field->second = left - rest;
    left = rest;
  }
  result.*rests->second = left;
  return result;
}

}  // namespace parabench
