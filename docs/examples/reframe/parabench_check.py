"""Cases of parabench as ReFrame tests: each has to pass its equivalence check, and its step time, memory and
throughput go into ReFrame's performance log. Tried with ReFrame 4.10.4.

    reframe -c parabench_check.py -r --performance-report
    reframe -c parabench_check.py -S parabench=/path/to/bin/parabench -S launch=srun -r

parabench starts the ranks by itself; so each test is one task for ReFrame."""
import reframe as rfm
import reframe.utility.sanity as sn


@rfm.simple_test
class ParabenchCase(rfm.RunOnlyRegressionTest):
    case = parameter([
        "resnet18/imagenet-synthetic[pixels=32,classes=10]/data-parallel/np:2/batch:32",
        "resnet18/imagenet-synthetic[pixels=32,classes=10]/gpipe/np:2/batch:32",
    ])
    parabench = variable(str, value="parabench")
    launch = variable(str, value="mpirun")  # as run --launcher takes it
    valid_systems = ["*"]
    valid_prog_environs = ["*"]
    local = True

    @run_before("run")
    def make_command(self):
        self.executable = self.parabench
        self.executable_opts = ["run", f"'{self.case}'", "--launcher", f"'{self.launch}'", "--json", "result.json",
                                "--resume", "--fom"]

    @sanity_function
    def passed(self):
        return sn.assert_found(r"^PARABENCH_RESULT: PASS$", self.stdout)

    def figure(self, name):
        return sn.extractsingle(rf"^FOM {name}: (\S+)$", self.stdout, 1, float)

    @performance_function("s")
    def step_time(self):
        return self.figure("step_time_median_s")

    @performance_function("s")
    def predicted_step_time(self):
        return self.figure("predicted_step_time_s")

    @performance_function("samples/s")
    def throughput(self):
        return self.figure("throughput_samples_per_s")

    @performance_function("bytes")
    def peak_memory(self):
        return self.figure("peak_memory_bytes")
