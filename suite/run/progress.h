// What happens now, on stderr: one line per phase, an estimate of the time left.
#pragma once

#include <chrono>
#include <functional>
#include <iosfwd>
#include <set>
#include <string>
#include <string_view>

#include "suite/run/time_left.h"

namespace parabench::suite {

/// Plain lines `[3/5] id measure 2/3 eta 12 s`; on a terminal the current line is redrawn with a bar. The estimate is
/// that of TimeLeft; where it has none, as of other products: eta unknown.
class Progress {
 public:
  /// `redraw`: the stream is a terminal on which lines may be rewritten.
  Progress(std::ostream& out, bool redraw) : out_(out), redraw_(redraw) {}
  ~Progress() { clear(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// Begins a run of `cases` that should take `expected_s` in all.
  void begin(int cases, double expected_s);
  /// The next case begins, of which the run expects `expected_s`.
  void begin_case(double expected_s);
  /// It is over; `is_typical`: it did all that was expected of it.
  void end_case(bool is_typical);
  /// A phase of case `index` (1-based) starts.
  void phase(int index, std::string_view id, std::string_view what);
  /// The case's last word, kept on the screen.
  void result(int index, std::string_view id, std::string_view outcome);
  /// A note of its own line: "note: ...". What was noted before is not noted again.
  void note(std::string_view text);

 private:
  void clear();
  double now_s() const;

  std::ostream& out_;
  bool redraw_;
  bool drawn_ = false;
  int cases_ = 0;
  TimeLeft left_;
  std::chrono::steady_clock::time_point begin_;
  std::set<std::string, std::less<>> noted_;
};

/// Whether stderr is a terminal that may be redrawn: never with NO_COLOR or CI.
bool stderr_redraws();

}  // namespace parabench::suite
