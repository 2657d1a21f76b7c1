#!/usr/bin/env python3
"""Predicted and measured steps on hosts that links of 1 Gbit/s join.

  two_hosts_prediction.py BUILD_FOLDER CASE... [--hosts N] [--ranks-per-host N] [option of parabench run]...

The hosts are namespaces of this machine, each with an equal part of its cores (tests/hosts/cluster.py; needs root, mpirun
and iproute2). Calibrates on them, then runs the cases, and prints a line of JSON for each. Ends with 77 where this machine
cannot have such hosts.
"""
import argparse
import json
import os
import pathlib
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "hosts"))
import cluster


def breakdown(ranks):
    """Of the rank that computes most, in milliseconds."""
    parts = max((rank["breakdown_s"] for rank in ranks), key=lambda part: part["forward"] + part["backward"])
    return {name: round(1000 * seconds, 1) for name, seconds in parts.items() if seconds}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build")
    parser.add_argument("cases", nargs="+")
    parser.add_argument("--hosts", type=int, default=2)
    parser.add_argument("--ranks-per-host", type=int, default=1)
    arguments, options = parser.parse_known_args()
    program = str(pathlib.Path(arguments.build).resolve() / "bin" / "parabench")
    each = max(1, (os.cpu_count() or 1) // arguments.hosts)
    with tempfile.TemporaryDirectory(prefix="parabench-hosts-") as scratch:
        hosts = cluster.Cluster(os.path.join(scratch, "cluster"), arguments.hosts, bound=True, slurm=False, cores_each=each)
        results = pathlib.Path(scratch, "results.json")
        try:
            hosts.up()
            ended = hosts.run("head", [program, "run", *arguments.cases, "--launcher",
                                       hosts.launcher(arguments.ranks_per_host), "--calibration",
                                       os.path.join(scratch, "calibration.json"), "--json", str(results), *options],
                              check=False)
        except cluster.Unavailable as reason:
            print(f"skipped: {reason}", file=sys.stderr)
            return cluster.SKIP
        finally:
            hosts.down()
        if not results.exists():
            print(ended.stderr, file=sys.stderr)
            return 1
        records = json.loads(results.read_text())["records"]
    for record in records:
        if record["status"] != "ok":
            print(json.dumps({name: record[name] for name in ("id", "status", "reason")}))
            continue
        predicted, measured = record["predicted"], record["measured"]
        print(json.dumps({"id": record["id"], "cores_of_a_host": each,
                          "predicted_ms": round(1000 * predicted["step_time_s"], 1),
                          "measured_ms": round(1000 * measured["step_time_s"]["median"], 1),
                          "error": round(record["error"]["step_time_relative"], 4),
                          "paired_error": record["error"].get("paired_step_time_relative"),
                          "predicted_parts_ms": breakdown(predicted["ranks"]),
                          "measured_parts_ms": breakdown(measured["ranks"])}))
    return ended.returncode


if __name__ == "__main__":
    sys.exit(main())
