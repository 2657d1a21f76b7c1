"""parabench as a Ramble application: `ramble repo add docs/examples/ramble`, then the workspace of ramble.yaml."""
from ramble.appkit import *


class Parabench(ExecutableApplication):
    """Training strategies of deep networks: measured on real ranks, beside their prediction."""

    name = "parabench"

    tags("deep-learning", "mpi", "benchmark")

    # parabench starts the ranks by itself: no MPI launcher around it.
    executable("run", "{parabench} run '{case}' {run_options} --json {experiment_run_dir}/result.json --resume --fom",
               use_mpi=False)

    workload("case", executables=["run"])

    workload_variable("parabench", default="parabench", description="The program", workloads=["case"])
    workload_variable("case", default="resnet18/imagenet-synthetic[pixels=32,classes=10]/gpipe/np:2/batch:32",
                      description="Case id; parabench list shows the catalogue", workloads=["case"])
    workload_variable("run_options", default="", description="Options of parabench run", workloads=["case"])

    for fom, unit in (("step_time_median", "s"), ("predicted_step_time", "s"), ("throughput", "samples_per_s"),
                      ("peak_memory", "bytes")):
        figure_of_merit(fom, fom_regex=rf"^FOM {fom}_{unit}: (?P<value>\S+)$", group_name="value", units=unit)

    success_criteria("passed", mode="string", match=r"^PARABENCH_RESULT: PASS$")
