// What happens now, on stderr: one line per phase, an estimate of the time left.
#pragma once

#include <chrono>
#include <functional>
#include <iosfwd>
#include <set>
#include <string>
#include <string_view>

namespace parabench::suite {

/// Plain lines `[3/5] id measure 2/3 eta 12 s`; on a terminal the current line is redrawn with a bar. The estimate
/// scales what is left of the expected seconds by how the expectation has fared so far.
class Progress {
 public:
  /// `redraw`: the stream is a terminal on which lines may be rewritten.
  Progress(std::ostream& out, bool redraw) : out_(out), redraw_(redraw) {}
  ~Progress() { clear(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// Begins a run of `cases` that should take `expected_s` in all.
  void begin(int cases, double expected_s);
  /// A phase of case `index` (1-based) starts.
  void phase(int index, std::string_view id, std::string_view what);
  /// A phase that was expected to take `expected_s` is over.
  void done(double expected_s);
  /// The case's last word, kept on the screen.
  void result(int index, std::string_view id, std::string_view outcome);
  /// A note of its own line: "note: ...". What was noted before is not noted again.
  void note(std::string_view text);

 private:
  void clear();

  std::ostream& out_;
  bool redraw_;
  bool drawn_ = false;
  int cases_ = 0;
  double expected_s_ = 0, done_s_ = 0;
  std::chrono::steady_clock::time_point begin_;
  std::set<std::string, std::less<>> noted_;
};

/// Whether stderr is a terminal that may be redrawn: never with NO_COLOR or CI.
bool stderr_redraws();

}  // namespace parabench::suite
