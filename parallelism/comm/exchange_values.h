// The numbers that ranks exchange while they are timed: small integers, so that fp32 holds their sums exactly, in an
// order in which one that is out of place, missing, twice there or from the iteration before is seen.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "base/case.h"

namespace parabench::comm {

/// Element i of a buffer is the one at i % size. 251 is prime, so that no power of two has the same numbers again.
using ValuePeriod = std::array<double, 251>;

/// What the member at `position` begins `iteration` with: 0 to 250.
ValuePeriod own_values(int position, int iteration);
/// The sum of those of all members; exact in fp32 up to 60,000 of them.
ValuePeriod summed_values(int members, int iteration);
/// What no member begins with: what a receiver's memory holds before.
ValuePeriod no_values();

/// Elements [first, first + buffer.size() / element) of a whole, of which `buffer` is that part. `precision`: fp32 or
/// fp64.
void write_values(std::span<std::byte> buffer, Precision precision, std::int64_t first, const ValuePeriod& values);
/// "element 17 is 3, expected 4": the first that differs; "" where none does.
std::string first_wrong_value(std::span<const std::byte> buffer, Precision precision, std::int64_t first,
                              const ValuePeriod& expected);

}  // namespace parabench::comm
