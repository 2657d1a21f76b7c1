// What a batch system has given to this program, as its environment tells.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace parabench::suite {

struct Allocation {
  std::string job;                 ///< "Slurm job 12", "PBS job 7.head", "LSF job 3"; "" outside of one
  std::vector<std::string> hosts;  ///< each once, in the batch system's order; outside of a job this host
  int slots = 0;                   ///< processes that it was asked to hold; 0 outside of a job
  int cpus = 0;                    ///< processors that it holds; 0 where it does not tell
};

/// From SLURM_JOB_ID, SLURM_JOB_NODELIST, SLURM_TASKS_PER_NODE and SLURM_JOB_CPUS_PER_NODE, else PBS_NODEFILE, else
/// LSB_HOSTS. Throws usage_error, naming the variable, where one cannot be read.
Allocation this_allocation();

/// Whether this program runs on one of the allocation's hosts, or outside of a job.
bool runs_here(const Allocation& allocation);

/// Whether this program runs on the allocation's only host, or outside of a job.
bool is_this_host_alone(const Allocation& allocation);

/// The names of a list as Slurm writes it: "n[1-3,07],login" is n1, n2, n3, n07, login. Throws usage_error.
std::vector<std::string> expand_host_list(std::string_view list);

/// The sum of numbers as Slurm writes them for each node: "2(x3),1" is 7. Throws usage_error.
int sum_of_nodes(std::string_view variable, std::string_view numbers);

}  // namespace parabench::suite
