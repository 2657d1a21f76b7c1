#include "suite/launch/allocation.h"

#include <gmock/gmock.h>

#include <cstdlib>
#include <fstream>

#include "base/error.h"
#include "suite/launch/launch.h"

namespace parabench::suite {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

/// Variables that are set until the test's end.
class AllocationTest : public testing::Test {
 protected:
  ~AllocationTest() override {
    for (const auto& name : names_) unsetenv(name.c_str());
  }
  void set(const std::string& name, const std::string& value) {
    setenv(name.c_str(), value.c_str(), 1);
    names_.push_back(name);
  }

 private:
  std::vector<std::string> names_;
};

TEST(HostList, AsSlurmWritesIt) {
  EXPECT_THAT(expand_host_list("n1"), ElementsAre("n1"));
  EXPECT_THAT(expand_host_list("n[1-3,07],login"), ElementsAre("n1", "n2", "n3", "n07", "login"));
  EXPECT_THAT(expand_host_list("n[08-11]"), ElementsAre("n08", "n09", "n10", "n11"));
  EXPECT_THAT(expand_host_list("r[1-2]n[1-2]x,a-b.c"), ElementsAre("r1n1x", "r1n2x", "r2n1x", "r2n2x", "a-b.c"));
}

TEST(HostList, RefusesWhatIsNone) {
  for (const char* list : {"", "n[1-", "n1-3]", "n[3-1]", "n[]", "n[a]", "n[1-2],,m", "n[0-99999999]", "n[[1]]"}) {
    EXPECT_THROW(expand_host_list(list), Error) << list;
  }
}

TEST(NumbersOfNodes, AreSummed) {
  EXPECT_EQ(sum_of_nodes("X", "4"), 4);
  EXPECT_EQ(sum_of_nodes("X", "2(x3),1"), 7);
  for (const char* numbers : {"", "2(x", "2(x3", "x", "2(3)", "-1", "2(x)"}) {
    EXPECT_THROW(sum_of_nodes("X", numbers), Error) << numbers;
  }
}

TEST_F(AllocationTest, OutsideOfAJobItIsThisHost) {
  const Allocation allocation = this_allocation();
  EXPECT_EQ(allocation.job, "");
  EXPECT_EQ(allocation.hosts.size(), 1U);
  EXPECT_EQ(allocation.slots, 0);
  EXPECT_TRUE(is_this_host_alone(allocation));
}

TEST_F(AllocationTest, OfSlurm) {
  set("SLURM_JOB_ID", "12");
  set("SLURM_JOB_NODELIST", "n[1-2]");
  set("SLURM_TASKS_PER_NODE", "2(x2)");
  set("SLURM_JOB_CPUS_PER_NODE", "16(x2)");
  const Allocation allocation = this_allocation();
  EXPECT_EQ(allocation.job, "Slurm job 12");
  EXPECT_THAT(allocation.hosts, ElementsAre("n1", "n2"));
  EXPECT_EQ(allocation.slots, 4);
  EXPECT_EQ(allocation.cpus, 32);
  EXPECT_FALSE(is_this_host_alone(allocation));
  set("SLURM_JOB_NODELIST", "n1");
  EXPECT_FALSE(runs_here(this_allocation()));  // this test does not run on n1
  EXPECT_FALSE(is_this_host_alone(this_allocation()));
  set("SLURMD_NODENAME", "n1");
  EXPECT_TRUE(runs_here(this_allocation()));
  EXPECT_TRUE(is_this_host_alone(this_allocation()));
}

TEST_F(AllocationTest, OfPbsAndLsfEachHostOnce) {
  const ScratchFolder folder;
  std::ofstream(folder.path() / "nodes") << "n2\nn2\nn1\nn1\n";
  set("PBS_NODEFILE", folder.path() / "nodes");
  set("PBS_JOBID", "7.head");
  const Allocation pbs = this_allocation();
  EXPECT_EQ(pbs.job, "PBS job 7.head");
  EXPECT_THAT(pbs.hosts, ElementsAre("n2", "n1"));
  EXPECT_EQ(pbs.slots, 4);
  set("PBS_NODEFILE", "");
  set("LSB_HOSTS", "n1 n1 n3");
  const Allocation lsf = this_allocation();
  EXPECT_THAT(lsf.hosts, ElementsAre("n1", "n3"));
  EXPECT_EQ(lsf.slots, 3);
}

TEST_F(AllocationTest, NamesTheVariableThatCannotBeRead) {
  set("PBS_NODEFILE", "/nowhere/nodes");
  try {
    this_allocation();
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), testing::AllOf(HasSubstr("PBS_NODEFILE"), HasSubstr("/nowhere/nodes")));
  }
}

}  // namespace
}  // namespace parabench::suite
