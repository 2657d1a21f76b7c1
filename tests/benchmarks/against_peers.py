#!/usr/bin/env python3
"""Times our cases and what a user would pick instead, alternating in one sitting; prints one JSON line per pair.

  against_peers.py --parabench build/default/bin/parabench --peer "python3 PATH/peer_step.py" [--rounds 10] [--only REGEX]

The peer program prints one JSON line with "median_ms" per run; without --peer, only networks that eager_step.py beside
this script times are compared, by the Python that runs this script. A round runs ours once and the peer once; both discard warm-up
steps and report the median over 10 steps of the slowest rank. The ratio is peer / ours: above 1, ours is faster.
"""
import argparse, json, os, re, shlex, socket, statistics, subprocess, sys, tempfile

SMALL = "resnet18/imagenet-synthetic[pixels=32,classes=10]"
SMALL50 = SMALL.replace("resnet18", "resnet50")
PIPELINE = "--variant small --batch 32 --ranks 2 --threads 1"
PEER_TRIES = 4  # torch's pipelining on Gloo aborts by itself now and then
PAIRS = [
    (f"{SMALL}/sequential/np:1/batch:32/threads:2", "eager --variant small --batch 32 --threads 2"),
    ("resnet18/cifar10-synthetic/sequential/np:1/batch:64/threads:2", "eager --variant cifar --batch 64 --threads 2"),
    (f"{SMALL}/data-parallel/np:2/batch:32", f"ddp {PIPELINE}"),
    (f"{SMALL}/gpipe/np:2/batch:32", f"gpipe {PIPELINE} --micro 4"),
    (f"{SMALL}/gpipe/np:2/batch:32/micro:8", f"gpipe {PIPELINE} --micro 8"),
    (f"{SMALL}/1f1b/np:2/batch:32", f"1f1b {PIPELINE} --micro 4"),
    (f"{SMALL}/1f1b/np:2/batch:32/micro:8", f"1f1b {PIPELINE} --micro 8"),
    (f"{SMALL50}/gpipe/np:2/batch:32", f"gpipe --model resnet50 {PIPELINE} --micro 4"),
    (f"{SMALL50}/gpipe/np:2/batch:32/micro:8", f"gpipe --model resnet50 {PIPELINE} --micro 8"),
    (f"{SMALL50}/1f1b/np:2/batch:32", f"1f1b --model resnet50 {PIPELINE} --micro 4"),
    (f"{SMALL50}/1f1b/np:2/batch:32/micro:8", f"1f1b --model resnet50 {PIPELINE} --micro 8"),
    (f"{SMALL}/gpipe/np:2/batch:32", "torchgpipe --variant small --batch 32 --threads 1 --micro 4"),
    (f"{SMALL}/gpipe/np:2/batch:32/micro:8", "torchgpipe --variant small --batch 32 --threads 1 --micro 8"),
]
EAGER_PAIRS = [
    ("transformer[layers=6,hidden=256,heads=8,sequence=128]/tokens-synthetic[sequence=128,vocabulary=1000]/sequential/np:1/batch:16/threads:2",
     "--model transformer --batch 16 --threads 2"),
    ("vgg16/cifar10-synthetic/sequential/np:1/batch:32/threads:2", "--model vgg16 --batch 32 --threads 2"),
    ("mobilenetv2/cifar10-synthetic/sequential/np:1/batch:32/threads:2", "--model mobilenetv2 --batch 32 --threads 2"),
]
EAGER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "eager_step.py")


def ours_ms(parabench, case):
    with tempfile.TemporaryDirectory() as folder:
        out = os.path.join(folder, "out.json")
        subprocess.run([parabench, "run", case, "--verify", "off", "--repetitions", "1", "--steps", "10", "--json", out],
                       check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        with open(out) as file:
            record = json.load(file)["records"][0]
    return record["measured"]["step_time_s"]["median"] * 1e3


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def peer_ms(command, arguments):
    """The figure of a run that came to its end, and how many broke off before it."""
    for failures in range(PEER_TRIES):
        # A port of its own for each run: the last one's may still be closing.
        port = [] if shlex.quote(EAGER) in command else ["--port", str(free_port())]
        run = subprocess.run(shlex.split(command) + shlex.split(arguments) + port, capture_output=True, text=True)
        if run.returncode == 0:
            return json.loads(run.stdout.strip().splitlines()[-1])["median_ms"], failures
    sys.exit(f"{PEER_TRIES} runs of {command} {arguments} failed, the last one with {run.returncode}: {run.stderr[-2000:]}")


def summary(samples):
    return {"median_ms": round(statistics.median(samples), 1), "min_ms": round(min(samples), 1),
            "max_ms": round(max(samples), 1)}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--parabench", required=True)
    parser.add_argument("--peer")
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--only", default="")
    arguments = parser.parse_args()
    eager = f"{shlex.quote(sys.executable)} {shlex.quote(EAGER)}"
    pairs = [(case, arguments.peer, peer) for case, peer in PAIRS if arguments.peer]
    for case, command, peer in pairs + [(case, eager, peer) for case, peer in EAGER_PAIRS]:
        if not re.search(arguments.only, f"{case} {peer}"):
            continue
        ours, theirs, broken = [], [], 0
        for _ in range(arguments.rounds):
            ours.append(ours_ms(arguments.parabench, case))
            milliseconds, failures = peer_ms(command, peer)
            theirs.append(milliseconds)
            broken += failures
        ratios = [t / o for t, o in zip(theirs, ours)]
        print(json.dumps({"case": case, "peer": peer, "rounds": arguments.rounds, "ours": summary(ours),
                          "theirs": summary(theirs), "peer_runs_that_failed": broken, "ratio": round(statistics.median(theirs) / statistics.median(ours), 2),
                          "ratio_range": [round(min(ratios), 2), round(max(ratios), 2)]}))
        sys.stdout.flush()


if __name__ == "__main__":
    main()
