#include "suite/run/progress.h"

#include <fmt/format.h>
#include <fmt/ostream.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <ostream>
#include <string>

namespace parabench::suite {
namespace {

std::string clock_text(double seconds) {
  const int whole = static_cast<int>(std::max(1.0, seconds + 0.5));
  if (whole < 120) return fmt::format("{} s", whole);
  if (whole < 7200) return fmt::format("{} min", (whole + 30) / 60);
  return fmt::format("{:.1f} h", whole / 3600.0);
}

}  // namespace

double Progress::now_s() const {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
}

void Progress::begin(int cases, double expected_s) {
  cases_ = cases;
  left_ = TimeLeft(expected_s);
  begin_ = std::chrono::steady_clock::now();
}

void Progress::begin_case(double expected_s) { left_.begin_case(expected_s, now_s()); }

void Progress::end_case(bool is_typical) { left_.end_case(now_s(), is_typical); }

void Progress::phase(int index, std::string_view id, std::string_view what) {
  const double elapsed = now_s();
  const std::optional<double> left = left_.seconds(elapsed);
  const std::string eta = left ? clock_text(*left) : "unknown";
  if (!redraw_) {
    fmt::print(out_, "[{}/{}] {} {} eta {}\n", index, cases_, id, what, eta);
  } else {
    clear();
    const int filled = left && *left > 0 ? static_cast<int>(20 * elapsed / (elapsed + *left)) : 20;
    fmt::print(out_, "{:#>{}}{:.>{}} [{}/{}] {} {} eta {}", "", filled, "", 20 - filled, index, cases_, id, what, eta);
    drawn_ = true;
  }
  out_.flush();
}

void Progress::result(int index, std::string_view id, std::string_view outcome) {
  clear();
  fmt::print(out_, "[{}/{}] {} {}\n", index, cases_, id, outcome);
  out_.flush();
}

void Progress::note(std::string_view text) {
  if (!noted_.emplace(text).second) return;
  clear();
  fmt::print(out_, "note: {}\n", text);
  out_.flush();
}

void Progress::clear() {
  if (drawn_) fmt::print(out_, "\r\033[K");
  drawn_ = false;
}

bool stderr_redraws() { return isatty(STDERR_FILENO) && !std::getenv("NO_COLOR") && !std::getenv("CI"); }

}  // namespace parabench::suite
