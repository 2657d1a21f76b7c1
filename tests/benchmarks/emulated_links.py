#!/usr/bin/env python3
"""Strategies side by side where communication dominates: devices that are emulated, links of a given rate and latency.

  emulated_links.py BUILD_FOLDER [--np 2,4,8,16] [--links rate:1Gbit,latency:50us ...] [--steps 3] [--only REGEX]
                    [--jobs 1] [--json FILE]

One case and one global batch for all; ranks are threads that wait out the time of each operation (docs/emulation.md), so
that other work may run beside, and several cells at a time (--jobs). Prints one Markdown table, milliseconds of a step in
real time, the median of the steps, then where they differ most from the predicted ones, and why a cell is empty. Passes
take what `parabench calibrate` measured of them on this machine's processor, else its data sheet; which of the two is
printed. With --json every cell is also kept in FILE, and a later call goes on where the last one was stopped.
"""
import argparse
import concurrent.futures
import json
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile

SUBJECT = "resnet18/imagenet-synthetic[pixels=32]"
BATCH = 32
# Strategy with its keys; HALF: half of the ranks. Servers are ranks, too.
STRATEGIES = [
    "data-parallel", "data-parallel/bucket:4MiB", "data-parallel/reduce:halving-doubling",
    "data-parallel/bucket:4MiB/reduce:halving-doubling", "data-parallel/reduce:double-tree",
    "data-parallel/order:priority", "data-parallel/compress:bf16", "data-parallel/compress:powersgd[rank=4]",
    "data-parallel/compress:topk[ratio=0.01]", "data-parallel/sync_bn:on",
    "data-parallel/sync_bn:on/reduce:halving-doubling", "c10d", "horovod", "dear", "dear/bucket:4MiB",
    "zero1", "zero1/bucket:4MiB", "zero1/shard:HALF", "zero2", "zero3", "zero3/bucket:4MiB", "zero3/shard:HALF",
    "local-sgd", "local-sgd[every=16]",
    "parameter-server", "parameter-server[servers=HALF]", "parameter-server[servers=HALF,cut=tensors]",
    "parameter-server[servers=HALF,mode=backup,k=1]", "parameter-server[mode=stale,k=1]",
    "parameter-server[mode=async]",
    "gpipe", "1f1b",
]


def case_id(strategy, ranks):
    """Sums are by a ring where the strategy makes some and names no algorithm."""
    name, _, keys = strategy.replace("HALF", str(ranks // 2)).partition("/")
    if "reduce:" not in keys and not name.startswith(("parameter-server", "gpipe", "1f1b")):
        keys += ("/" if keys else "") + "reduce:ring"
    return f"{SUBJECT}/{name}/np:{ranks}/batch:{BATCH}/{keys + '/' if keys else ''}device:emulated"


def run(program, case, link, steps):
    """What a cell holds."""
    # Where steps run into each other it takes some until they are alike, as many as are predicted.
    window = [] if "mode=stale" in case or "mode=async" in case else ["--steps", str(steps), "--warmup", "1"]
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder, "out.json")
        ended = subprocess.run([program, "run", case, "--emulate", link, "--json", out, *window], capture_output=True,
                               text=True)
        if not out.exists():
            return {"refused": ended.stderr.strip().splitlines()[-1]}
        record = json.loads(out.read_text())["records"][0]
    if record["status"] != "ok":
        return {"refused": record["reason"]}
    return {"measured_s": record["measured"]["step_time_s"]["median"],
            "predicted_s": record["predicted"]["step_time_s"],
            "sources": sorted({term["cost_source"] for term in record["predicted"]["terms"]})}


class Cells:
    """By strategy, ranks and link; kept in a file, where one is given."""

    def __init__(self, path):
        self.path = pathlib.Path(path) if path else None
        self.cells = json.loads(self.path.read_text()) if self.path and self.path.exists() else {}

    def add(self, key, cell):
        self.cells[key] = cell
        if self.path:
            self.path.write_text(json.dumps(self.cells, indent=1))


def key_of(strategy, ranks, link, steps):
    return f"{case_id(strategy, ranks)} {link} {steps} steps"


def measure(cells, wanted, arguments, program):
    missing = [one for one in wanted if key_of(*one, arguments.steps) not in cells.cells]
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        running = {pool.submit(run, program, case_id(*one[:2]), one[2], arguments.steps): one for one in missing}
        for ended in concurrent.futures.as_completed(running):
            key = key_of(*running[ended], arguments.steps)
            cells.add(key, ended.result())
            print(key, json.dumps(ended.result()), file=sys.stderr, flush=True)


def milliseconds(cell):
    return f"{1e3 * cell['measured_s']:.0f}" if "measured_s" in cell else "-"


def print_table(cells, strategies, ranks, links, steps):
    heads = [f"{link} np {n}" if n == ranks[0] else f"np {n}" for link in links for n in ranks]
    print("| strategy | " + " | ".join(heads) + " |\n|---|" + "---|" * len(heads))
    for strategy in strategies:
        row = [milliseconds(cells[key_of(strategy, n, link, steps)]) for link in links for n in ranks]
        print(f"| `{strategy.replace('HALF', 'np/2')}` | " + " | ".join(row) + " |")


def print_notes(cells, wanted, steps):
    chosen = {one: cells[key_of(*one, steps)] for one in wanted}
    excess = {one: cell["measured_s"] / cell["predicted_s"] - 1 for one, cell in chosen.items() if "measured_s" in cell}
    if excess:
        most = max(excess, key=lambda one: abs(excess[one]))
        median = statistics.median(map(abs, excess.values()))
        print(f"\nMeasured against predicted, {len(excess)} cells: {100 * median:.2f} % in the median, most"
              f" {100 * excess[most]:+.1f} % ({most[0]}, np {most[1]}, {most[2]}).")
    print("Times of passes:", ", ".join(sorted({s for cell in chosen.values() for s in cell.get("sources", [])})) + ".")
    for reason in sorted({f"{one[0]}, np {one[1]}: {cell['refused']}" for one, cell in chosen.items() if "refused" in cell}):
        print(reason)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build")
    parser.add_argument("--np", default="2,4,8,16")
    parser.add_argument("--links", nargs="+", default=["rate:1Gbit,latency:50us", "rate:10Gbit,latency:10us"])
    parser.add_argument("--steps", type=int, default=3)
    parser.add_argument("--only", default="", help="strategies in which this is found")
    parser.add_argument("--jobs", type=int, default=1, help="cells at a time")
    parser.add_argument("--json", help="keeps the cells")
    arguments = parser.parse_args()
    program = pathlib.Path(arguments.build).resolve() / "bin" / "parabench"
    ranks = [int(n) for n in arguments.np.split(",")]
    strategies = [one for one in STRATEGIES if re.search(arguments.only, one)]
    wanted = [(strategy, n, link) for strategy in strategies for link in arguments.links for n in ranks]
    cells = Cells(arguments.json)
    measure(cells, wanted, arguments, program)
    print_table(cells.cells, strategies, ranks, arguments.links, arguments.steps)
    print_notes(cells.cells, wanted, arguments.steps)
    return 0


if __name__ == "__main__":
    sys.exit(main())
