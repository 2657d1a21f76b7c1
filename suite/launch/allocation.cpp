#include "suite/launch/allocation.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <sstream>

#include "base/error.h"
#include "base/host_name.h"
#include "base/split.h"

namespace parabench::suite {
namespace {

constexpr std::string_view node_list = "SLURM_JOB_NODELIST";

std::string variable(const char* name) {
  const char* text = std::getenv(name);
  return text ? text : "";
}

Error unreadable_list(std::string_view list) {
  return usage_error(node_list, list, "a list of hosts such as n[01-04,7],login",
                     "`scontrol show hostnames` reads what Slurm wrote");
}

bool read(std::string_view text, int& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() && value >= 0;
}

/// "07" or "1-3", with as many digits as the first number has.
std::vector<std::string> numbers_in(std::string_view range, std::string_view list) {
  const auto dash = range.find('-');
  const std::string_view from = range.substr(0, dash);
  const std::string_view to = dash == std::string_view::npos ? from : range.substr(dash + 1);
  int first = 0, last = 0;
  constexpr int most = 1 << 20;
  if (!read(from, first) || !read(to, last) || last < first || last - first > most) throw unreadable_list(list);
  std::vector<std::string> numbers;
  for (int i = first; i <= last; ++i) numbers.push_back(fmt::format("{:0{}}", i, from.size()));
  return numbers;
}

void add_names(const std::string& before, std::string_view rest, std::string_view list,
               std::vector<std::string>& names) {
  const auto open = rest.find('[');
  const auto close = rest.find(']');
  if (open == std::string_view::npos) {
    if (close != open || before.size() + rest.size() == 0) throw unreadable_list(list);
    names.push_back(before + std::string(rest));
    return;
  }
  if (close == std::string_view::npos || close < open) throw unreadable_list(list);
  const std::string_view inside = rest.substr(open + 1, close - open - 1);
  for (std::string_view range : split_at_commas(inside))
    for (const std::string& number : numbers_in(range, list))
      add_names(before + std::string(rest.substr(0, open)) + number, rest.substr(close + 1), list, names);
}

std::string_view without_domain(std::string_view name) { return name.substr(0, name.find('.')); }

/// An allocation that names its hosts once for each slot.
Allocation of_slots(std::string job, const std::vector<std::string>& names) {
  Allocation allocation{.job = std::move(job), .slots = static_cast<int>(names.size())};
  for (const std::string& name : names)
    if (std::ranges::find(allocation.hosts, name) == allocation.hosts.end()) allocation.hosts.push_back(name);
  return allocation;
}

std::vector<std::string> words_of(std::istream& text) {
  return {std::istream_iterator<std::string>(text), std::istream_iterator<std::string>()};
}

Allocation of_slurm(const std::string& job) {
  Allocation allocation{.job = "Slurm job " + job, .hosts = expand_host_list(variable("SLURM_JOB_NODELIST"))};
  const auto sum = [](const char* name) {
    const std::string numbers = variable(name);
    return numbers.empty() ? 0 : sum_of_nodes(name, numbers);
  };
  allocation.cpus = sum("SLURM_JOB_CPUS_PER_NODE");
  allocation.slots = sum("SLURM_TASKS_PER_NODE");
  if (allocation.slots == 0) allocation.slots = allocation.cpus;
  return allocation;
}

Allocation of_pbs(const std::string& path) {
  std::ifstream file(path);
  const auto names = words_of(file);
  if (names.empty()) throw usage_error("PBS_NODEFILE", path, "a file that names hosts");
  return of_slots("PBS job " + variable("PBS_JOBID"), names);
}

}  // namespace

std::vector<std::string> expand_host_list(std::string_view list) {
  std::vector<std::string> names;
  for (std::string_view part : split_at_commas(list)) add_names("", part, list, names);
  return names;
}

int sum_of_nodes(std::string_view variable_name, std::string_view numbers) {
  int sum = 0;
  for (std::string_view part : split_at_commas(numbers)) {
    const auto open = part.find("(x");
    int each = 0, nodes = 1;
    const bool repeated = open != std::string_view::npos;
    if (!read(part.substr(0, open), each) ||
        (repeated && (part.back() != ')' || !read(part.substr(open + 2, part.size() - open - 3), nodes)))) {
      throw usage_error(variable_name, numbers, "numbers of each node such as 2(x3),1");
    }
    sum += each * nodes;
  }
  return sum;
}

Allocation this_allocation() {
  const std::string job = variable("SLURM_JOB_ID");
  if (!job.empty() && std::getenv("SLURM_JOB_NODELIST")) return of_slurm(job);
  const std::string nodes = variable("PBS_NODEFILE");
  if (!nodes.empty()) return of_pbs(nodes);
  std::istringstream hosts(variable("LSB_HOSTS"));
  const auto names = words_of(hosts);
  if (!names.empty()) return of_slots("LSF job " + variable("LSB_JOBID"), names);
  return {.hosts = {host_name()}};
}

bool runs_here(const Allocation& allocation) {
  // Slurm's name of a host need not be the host's own; salloc's command runs where salloc was typed.
  const std::string node = allocation.job.starts_with("Slurm") ? variable("SLURMD_NODENAME") : "";
  const std::string here = node.empty() ? host_name() : node;
  return std::ranges::any_of(allocation.hosts,
                             [&](const std::string& host) { return without_domain(host) == without_domain(here); });
}

bool is_this_host_alone(const Allocation& allocation) {
  return allocation.hosts.size() <= 1 && (allocation.job.empty() || runs_here(allocation));
}

}  // namespace parabench::suite
