// Bytes, seconds and shares as people write and read them.
#pragma once

#include <string>
#include <string_view>

#include "base/strong.h"

namespace parabench {

/// "64MiB", "1.5GB", "4096": B, kB, MB, GB, TB, KiB, MiB, GiB, TiB in any case; no unit means bytes. A fraction is
/// rounded to the byte. Throws usage_error for anything else, a negative size included; `subject` names what was read.
Bytes parse_bytes(std::string_view subject, std::string_view text);
/// "500us", "1.5s": ns, us, ms, s, min, h; no unit means seconds. Throws usage_error for anything else.
Seconds parse_seconds(std::string_view subject, std::string_view text);

/// Bytes per second of "1Gbit", "100Mbit/s", "64kbit", or of "50GB/s", in any case. Throws usage_error for anything
/// else.
double parse_rate(std::string_view subject, std::string_view text);
/// Its inverse: "1Gbit".
std::string print_rate(double bytes_per_s);

/// "5%", "5 %" or "0.05": a share of the whole, not below 0; it may be above 1. Throws usage_error for anything else.
double parse_share(std::string_view subject, std::string_view text);

/// Exact and canonical: in the largest binary or the largest decimal unit that divides, whichever takes fewer digits
/// ("25MiB", "8GB"; the binary one of two as short), else plain bytes. parse_bytes is its inverse.
std::string print_bytes(Bytes bytes);
/// The shortest of s, ms, us and ns that reads back as the same time: "1ms", "0.5s". parse_seconds is its inverse.
std::string print_seconds(Seconds time);
/// The shortest text that reads back as the same number: "0.01", "1e-05".
std::string print_number(double value);

/// Three significant digits with a unit, for tables: "25.0 MiB", "128 B", "12.3 ms".
std::string human_bytes(double bytes);
std::string human_seconds(double seconds);
/// A share of the whole in percent: "12.3 %".
std::string human_share(double share);

}  // namespace parabench
