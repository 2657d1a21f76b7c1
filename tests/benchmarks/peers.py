#!/usr/bin/env python3
"""Our strategies beside the products that share a batch in the same way, each pair launched by turns in one sitting.

  peers.py BUILD_FOLDER [--rounds 5] [--steps 20] [--only REGEX]

Wants the environment of ./parabench peers and an idle machine; other rows are skipped with their reason. A round launches
ours and the product's, in the other order in every second round, so that drift favours neither; the first one also
compares ours with its reference, and every launch of a product has to reach our losses. Prints a row of Markdown
for each pair: medians over rounds, the ratio product / ours as the median of the rounds' ratios with the least and the
largest, and the resident memory of the process that needs most.
"""
import argparse
import json
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile

RESNET = "resnet18/imagenet-synthetic[pixels=32]/{}/np:2/batch:32"
# 25.4 million parameters.
TRANSFORMER = ("transformer[layers=8,hidden=512,heads=8,sequence=64]/tokens-synthetic[sequence=64,vocabulary=256]/"
               "{}/np:2/batch:4")
PAIRS = [(RESNET, "data-parallel", "torch-ddp"), (TRANSFORMER, "data-parallel", "torch-ddp"),
         (RESNET, "zero1", "deepspeed-zero1"), (RESNET, "zero2", "deepspeed-zero2"), (RESNET, "zero3", "deepspeed-zero3"),
         (RESNET, "zero3", "fsdp2"), (TRANSFORMER, "zero1", "deepspeed-zero1"), (TRANSFORMER, "zero2", "deepspeed-zero2"),
         (TRANSFORMER, "zero3", "deepspeed-zero3"), (TRANSFORMER, "zero3", "fsdp2")]


def launch(program, case, steps, verify):
    """Median step in seconds and resident bytes of one launch, or why there is none."""
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder, "out.json")
        ended = subprocess.run([program, "run", case, "--steps", str(steps), "--retries", "1", "--verify", verify,
                                "--json", out],
                               capture_output=True, text=True)
        if not out.exists():
            return None, ended.stderr.strip().splitlines()[-1]
        record = json.loads(out.read_text())["records"][0]
    if record["status"] != "ok":
        return None, record["reason"]
    measured = record["measured"]
    return (measured["step_time_s"]["median"],
            max(rank["peak_memory_bytes"]["resident"] for rank in measured["ranks"])), None


def compare(program, pair, rounds, steps):
    form, ours, product = pair
    cases = [form.format(ours), form.format(f"peer[product={product}]")]
    rows = {case: [] for case in cases}
    for number in range(rounds):
        for case in cases if number % 2 == 0 else reversed(cases):
            verify = "on" if number == 0 or case is cases[1] else "off"
            result, why = launch(program, case, steps, verify)
            if result is None:
                return f"skipped: {why}"
            rows[case].append(result)
    mine, other = (rows[case] for case in cases)
    ratios = [b[0] / a[0] for a, b in zip(mine, other)]
    ms, mib = (lambda rows: f"{1e3 * statistics.median(r[0] for r in rows):.1f}"), \
        (lambda rows: f"{statistics.median(r[1] for r in rows) / 2**20:.0f}")
    return (f"{ms(mine)} | {ms(other)} | **{statistics.median(ratios):.2f}** ({min(ratios):.2f}-{max(ratios):.2f}) | "
            f"{mib(mine)} / {mib(other)}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--only", default="", help="pairs in which this is found")
    arguments = parser.parse_args()
    program = pathlib.Path(arguments.build).resolve() / "bin" / "parabench"
    print("| network | ours | product | ours, ms | product, ms | product / ours | resident, MiB |\n|---|---|---|---|---|---|---|")
    for form, ours, product in PAIRS:
        network = form.partition("[")[0] if form is TRANSFORMER else form.partition("/")[0]
        row = f"{network} | {ours} | {product}"
        if re.search(arguments.only, row):
            print(f"| {row} | {compare(program, (form, ours, product), arguments.rounds, arguments.steps)} |", flush=True)


if __name__ == "__main__":
    sys.exit(main())
