#!/usr/bin/env python3
"""Strategies side by side where communication dominates: devices that are emulated, links of a given rate and latency.

  emulated_links.py BUILD_FOLDER [--np 2,4,8,16] [--links rate:1Gbit,latency:50us ...] [--steps 5] [--only REGEX]

One case and one global batch for all; ranks are threads that wait out the time of each operation (docs/emulation.md).
Prints a Markdown table for each link: milliseconds of a step in real time, the median, and the share by which it exceeds
the predicted one. Passes take what `parabench calibrate` measured of them on this machine's processor, else its data
sheet; which of the two is printed.
"""
import argparse
import json
import pathlib
import re
import subprocess
import sys
import tempfile

SUBJECT = "resnet18/imagenet-synthetic[pixels=32]"
BATCH = 32
# Strategy with its keys; servers are ranks, too.
STRATEGIES = ["data-parallel", "data-parallel/bucket:4MiB", "horovod", "dear", "dear/bucket:4MiB", "zero1", "zero2", "zero3",
              "zero3/bucket:4MiB", "local-sgd", "local-sgd[every=16]", "parameter-server", "parameter-server[servers=HALF]",
              "gpipe", "1f1b"]


def case_id(strategy, ranks):
    name, _, keys = strategy.partition("/")
    name = name.replace("HALF", str(ranks // 2))
    return f"{SUBJECT}/{name}/np:{ranks}/batch:{BATCH}/{keys + '/' if keys else ''}device:emulated"


def run(program, case, link, steps):
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder, "out.json")
        ended = subprocess.run([program, "run", case, "--emulate", link, "--steps", str(steps), "--warmup", "1", "--json",
                                out], capture_output=True, text=True)
        if not out.exists():
            return None, ended.stderr.strip().splitlines()[-1]
        record = json.loads(out.read_text())["records"][0]
        if record["status"] != "ok":
            return None, record["reason"]
        return record, None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build")
    parser.add_argument("--np", default="2,4,8,16")
    parser.add_argument("--links", nargs="+", default=["rate:1Gbit,latency:50us", "rate:10Gbit,latency:10us"])
    parser.add_argument("--steps", type=int, default=5)
    parser.add_argument("--only", default="", help="strategies in which this is found")
    arguments = parser.parse_args()
    program = pathlib.Path(arguments.build).resolve() / "bin" / "parabench"
    ranks = [int(n) for n in arguments.np.split(",")]
    sources, refusals = set(), []
    for link in arguments.links:
        print(f"\n`--emulate {link}`\n\n| strategy |" + "".join(f" np {n} |" for n in ranks))
        print("|---|" + "---|" * len(ranks), flush=True)
        for strategy in STRATEGIES:
            if not re.search(arguments.only, strategy):
                continue
            cells = []
            for n in ranks:
                record, refusal = run(program, case_id(strategy, n), link, arguments.steps)
                if record is None:
                    cells.append("-")
                    refusals.append(f"{strategy}, np {n}: {refusal}")
                    continue
                predicted = record["predicted"]["step_time_s"]
                measured = record["measured"]["step_time_s"]["median"]
                sources.update(term["cost_source"] for term in record["predicted"]["terms"])
                cells.append(f"{1e3 * measured:.0f} ({100 * (measured / predicted - 1):+.1f} %)")
            print(f"| `{strategy.replace('HALF', 'np/2')}` | " + " | ".join(cells) + " |", flush=True)
    print(f"\nTimes of passes: {', '.join(sorted(sources))}.")
    for refusal in refusals:
        print(refusal)
    return 0


if __name__ == "__main__":
    sys.exit(main())
