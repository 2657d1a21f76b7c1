#!/usr/bin/env python3
"""How right predictions are on hosts that links of 1 Gbit/s join.

  accuracy_on_hosts.py BUILD_FOLDER FOLDER [CASE...] [--hosts N] [--ranks-per-host N] [option of parabench accuracy]...

The hosts are namespaces of this machine, each with an equal part of its cores (tests/hosts/cluster.py; needs root, mpirun
and iproute2). Runs `parabench accuracy --out FOLDER` there, of as many ranks as fit (without cases those of the set) and
prints its judgement, which `parabench accuracy --judge --out FOLDER` prints again. Ends with 77 where this machine cannot
have such hosts.
"""
import argparse
import os
import pathlib
import shutil
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "hosts"))
import cluster


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build")
    parser.add_argument("folder")
    parser.add_argument("cases", nargs="*")
    parser.add_argument("--hosts", type=int, default=2)
    parser.add_argument("--ranks-per-host", type=int, default=1)
    arguments, options = parser.parse_known_args()
    program = str(pathlib.Path(arguments.build).resolve() / "bin" / "parabench")
    each = max(1, (os.cpu_count() or 1) // arguments.hosts)
    cases = arguments.cases
    if not cases and "--where" not in options:
        cases = ["--where", f"np={arguments.hosts * arguments.ranks_per_host}"]
    folder = pathlib.Path(arguments.folder).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    # The launcher names it: always the same place, so that a run that was stopped goes on.
    place = folder / "cluster"
    shutil.rmtree(place, ignore_errors=True)
    with cluster.Cluster(str(place), arguments.hosts, bound=True, slurm=False, cores_each=each) as hosts:
        ended = hosts.run("head", [program, "accuracy", *cases, "--out", str(folder), "--launcher",
                                   hosts.launcher(arguments.ranks_per_host), *options], check=False, capture_output=False)
    return ended.returncode


if __name__ == "__main__":
    sys.exit(cluster.skipping(main))
