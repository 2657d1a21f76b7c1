#!/usr/bin/env python3
"""What the executor adds to a plan, and every schedule's bubble, on emulated devices.

  emulated_schedules.py --parabench build/default/bin/parabench [--rounds 5] [--unit-ms 10]

First table: time of a step over the simulated one, messages taking no time: whatever the executor adds on the critical
path. Second table, P = 4, F = I = W = 1 unit, B = 2: the share of a rank's time that its passes leave idle, in a step
alone and in steps without a barrier between them, beside the formula. Medians over the rounds; a round is a launch.
"""
import argparse, json, os, statistics, subprocess, tempfile

MODEL = "mlp[layers=64,hidden=64]/cifar10-synthetic"
OVERHEAD = [("1f1b/np:4/batch:64/micro:8", "2ms", 10), ("1f1b/np:16/batch:64/micro:32", "10ms", 2),
            ("1f1b/np:64/batch:64/micro:64", "50ms", 1)]
P, V = 4, 2


def alone(idle, micro):
    return idle / (3 * micro + idle)


FLUSH, CHUNKED = 3 * (P - 1), 3 * (P - 1) / V
# Strategy, M, idle units of a step alone: Megatron-LM, SC'21 (flush, chunks); arXiv 2401.10241 (zb); DualPipeV's where the
# passes of a pair follow each other (parallelism/plan/schedules/makespan.h); Chimera, SC'21, for M = P alone.
BUBBLES = [("gpipe", 8, FLUSH), ("1f1b", 8, FLUSH), ("dapple", 8, FLUSH), ("interleaved", 8, CHUNKED),
           ("looped-bfs", 8, CHUNKED), ("zb-h1", 8, P - 1), ("zb-h2", 8, P - 1), ("zb-v", 8, (P - 1) / 2),
           ("dualpipev", 8, (P - 1) / 2), ("chimera", 4, 2 * (P - 2)), ("chimera", 8, None)]


def run(parabench, case, unit, steps, warmup):
    with tempfile.TemporaryDirectory() as folder:
        out = os.path.join(folder, "out.json")
        subprocess.run([parabench, "run", f"{MODEL}/{case}/device:emulated", "--emulate", f"unit:{unit}", "--steps",
                        str(steps), "--warmup", str(warmup), "--json", out],
                       check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        with open(out) as file:
            return json.load(file)["records"][0]


def bubble(times, micro, unit):
    return 100 * (1 - 3 * micro * unit / times)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--parabench", required=True)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--unit-ms", default="10", help="of the second table")
    arguments = parser.parse_args()

    print(f"{'case':<32} {'unit':>6} {'simulated s':>12} {'measured / simulated: median':>30} {'least':>8} {'most':>8}")
    for case, unit, steps in OVERHEAD:
        ratios = []
        for _ in range(arguments.rounds):
            record = run(arguments.parabench, case, unit, steps, 1)
            ratios.append(record["measured"]["step_time_s"]["median"] / record["predicted"]["step_time_s"])
        print(f"{case:<32} {unit:>6} {record['predicted']['step_time_s']:>12.3f} {statistics.median(ratios):>30.4f}"
              f" {min(ratios):>8.4f} {max(ratios):>8.4f}", flush=True)

    unit = float(arguments.unit_ms) / 1e3
    print(f"\n{f'P = {P}, unit {arguments.unit_ms} ms':<20} {'M':>2} {'formula %':>10} {'simulated %':>12}"
          f" {'measured %':>11} {'range':>11}   {'steady: simulated %':>20} {'measured %':>11}")
    for strategy, micro, idle in BUBBLES:
        records = [run(arguments.parabench, f"{strategy}/np:{P}/batch:64/micro:{micro}", f"{arguments.unit_ms}ms", 5, 1)
                   for _ in range(arguments.rounds)]
        isolated = [bubble(r["measured"]["isolated_step_time_s"]["median"], micro, unit) for r in records]
        steady = [bubble(r["measured"]["step_time_s"]["median"], micro, unit) for r in records]
        expected = records[0]["predicted"]
        print(f"{strategy:<20} {micro:>2} {'-' if idle is None else format(100 * alone(idle, micro), '.1f'):>10}"
              f" {bubble(expected['isolated_step_time_s'], micro, unit):>12.1f} {statistics.median(isolated):>11.1f}"
              f" {min(isolated):>5.1f}-{max(isolated):<5.1f}   {bubble(expected['step_time_s'], micro, unit):>20.1f}"
              f" {statistics.median(steady):>11.1f}", flush=True)


if __name__ == "__main__":
    main()
