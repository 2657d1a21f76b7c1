// Completion of the command line in a shell.
#pragma once

#include <string>

namespace CLI {
class App;
}

namespace parabench::suite {

/// A script for bash and zsh: commands, the options of each, the values of options that name a few, else files. Derived
/// from what `app` accepts.
std::string completion_script(const CLI::App& app);

}  // namespace parabench::suite
