#!/usr/bin/env python3
"""A data-parallel step on two hosts that a link of 1 Gbit/s joins, ours and DistributedDataParallel's on Gloo by turns.

  two_hosts_step.py BUILD_FOLDER PEERS [--case ID] [--rounds 3] [--steps 10]

The hosts are namespaces of this machine, each on a core of its own (tests/hosts/cluster.py; needs root, mpirun and
iproute2). PEERS is the environment
of ./parabench peers. Both train the case's network from the same weights on the same batches, by one thread a rank, and the
product's first losses have to be ours. Prints a line of JSON: medians over rounds, the ratio ours / DDP of each round, and
the exposed communication of our slowest rank. Ends with 77 where this machine cannot have such hosts.
"""
import argparse
import json
import os
import pathlib
import statistics
import sys
import tempfile

sys.dont_write_bytecode = True
ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path[:0] = [str(ROOT / "tests" / "hosts"), str(ROOT / "suite" / "peer")]
import cluster

WARMUP = 3


def ours(hosts, folder, program, case, steps):
    out = folder / "ours.json"
    out.unlink(missing_ok=True)
    ended = hosts.run("head", [program, "run", case, "--launcher", hosts.launcher(), "--steps", str(steps), "--warmup", str(WARMUP),
                               "--verify", "off", "--calibration", str(folder / "calibration.json"), "--json", str(out)],
                      check=False)
    record = json.loads(out.read_text())["records"][0] if out.exists() else {"status": "failed", "reason": ended.stderr}
    if record["status"] != "ok":
        sys.exit(f"ours: {record['reason']}")
    measured = record["measured"]
    return measured["step_time_s"]["median"], max(r["breakdown_s"]["communication_exposed"] for r in measured["ranks"])


def hand_over(hosts, folder, program, case):
    """The folder of what DDP gets, and the losses that it has to reach."""
    work, plan = folder / "work", folder / "plan.json"
    plan.write_text(hosts.run("head", [program, "plan", case, "--format", "json"]).stdout)
    hosts.run("head", [f"{program}-rank", "--plan", str(plan), "--phase", "hand-over", "--reply", str(work)])
    return work, json.loads((work / "reply.json").read_text())["hand_over"]["losses"]


def ddp(hosts, folder, python, work, losses, steps):
    reply = pathlib.Path(tempfile.mkdtemp(dir=folder))
    ranks = [hosts.start(host, ["env", "GLOO_SOCKET_IFNAME=" + hosts.interface(host), "OMP_NUM_THREADS=1", "WORLD_SIZE=2",
                                f"RANK={rank}", "LOCAL_RANK=0", python, "-sEB", str(ROOT / "suite" / "peer"), "--product",
                                "torch-ddp", "--work", str(work), "--reply", str(reply), "--steps", str(steps), "--warmup",
                                str(WARMUP), "--rank", str(rank)])
             for rank, host in enumerate(hosts.hosts)]
    if any(rank.wait() != 0 for rank in ranks):
        sys.exit("DDP: a rank failed; its message stands above")
    import replies

    replies.write_reply(str(reply), "", 2)
    measured = json.loads((reply / "reply.json").read_text())["measured"]
    for step, (found, expected) in enumerate(zip(measured["losses"], losses)):
        if abs(found - expected) > 1e-3 * abs(expected):
            sys.exit(f"DDP: loss of step {step} is {found}, ours {expected}")
    return statistics.median(measured["step_time_s"]["samples"][0])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build")
    parser.add_argument("peers")
    parser.add_argument("--case", default="resnet18/imagenet-synthetic[pixels=32]/data-parallel/np:2/batch:32")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--steps", type=int, default=10)
    arguments = parser.parse_args()
    program = str(pathlib.Path(arguments.build).resolve() / "bin" / "parabench")
    python = str(pathlib.Path(arguments.peers).absolute() / "bin" / "python")
    with tempfile.TemporaryDirectory(prefix="parabench-hosts-") as scratch:
        folder = pathlib.Path(scratch)
        with cluster.Cluster(str(folder / "cluster"), 2, bound=True, slurm=False, cores_each=1) as hosts:
            work, losses = hand_over(hosts, folder, program, arguments.case)
            rounds = []
            for number in range(arguments.rounds):
                arms = {"ours": lambda: ours(hosts, folder, program, arguments.case, arguments.steps),
                        "ddp": lambda: ddp(hosts, folder, python, work, losses, arguments.steps)}
                rounds.append({name: arms[name]() for name in (arms if number % 2 == 0 else reversed(arms))})
    print(json.dumps({"case": arguments.case, "ours_s": statistics.median(r["ours"][0] for r in rounds),
                      "exposed_s": statistics.median(r["ours"][1] for r in rounds),
                      "ddp_s": statistics.median(r["ddp"] for r in rounds),
                      "ours_of_ddp": [round(r["ours"][0] / r["ddp"], 3) for r in rounds]}))
    return 0


if __name__ == "__main__":
    sys.exit(cluster.skipping(main))
