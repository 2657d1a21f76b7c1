// Errors that a user can act on: what was given, what was expected, what to try.
#pragma once

#include <span>
#include <stdexcept>
#include <string>
#include <string_view>

namespace parabench {

/// Process exit codes; the contract with job scripts.
enum class ExitCode : int {
  ok = 0,           ///< skipped cases included
  case_failed = 1,  ///< a case or an equivalence check failed
  usage = 2,        ///< bad input: wrong id, option, file
  nothing_matched = 3,
  environment = 4,  ///< the machine lacks something
  interrupted = 130,
};

/// An error with the offending value, the expectation and a hint. `what()` joins the three:
/// "micro: got '0', expected an integer >= 1; try micro:4".
class Error : public std::runtime_error {
 public:
  /// `subject` names the thing (an option, a key, a file); `hint` may be empty.
  Error(ExitCode code, std::string_view subject, std::string_view value, std::string_view expected,
        std::string_view hint = {});
  ExitCode code() const { return code_; }

 private:
  ExitCode code_;
};

/// Bad input (exit code 2).
Error usage_error(std::string_view subject, std::string_view value, std::string_view expected,
                  std::string_view hint = {});
/// The environment lacks something (exit code 4).
Error environment_error(std::string_view subject, std::string_view value, std::string_view expected,
                        std::string_view hint = {});

/// "did you mean 'resnet18'?" by Damerau-Levenshtein distance, or "known: a, b, c" where nothing is near.
std::string nearest_hint(std::string_view given, std::span<const std::string> known);

}  // namespace parabench
