"""Our steps against torch's, in turns in one sitting: ours, then every peer, then the other way round.

A peer is a process that waits between its turns with next to nothing on the GPU, so that compiling costs it one start.
"""
import contextlib
import os
import pathlib
import select
import statistics
import subprocess
import sys
import tempfile
import time

import cases
import processes
from budget import STOP_S
from parts import torch_figure
from sitting import CASE_S, CaseFailed

SCRIPT = pathlib.Path(__file__).resolve().parent / "torch_peer.py"
ARMS = {"resnet18": ("eager", "compile"), "resnet50": ("eager",)}
FIRST_TURN_S = 150  # torch's import, cuDNN's search, compiling
LEAST_ROUNDS, MOST_ROUNDS = 3, 5


class Peer:
    """Takes turns when asked; a context manager that ends its process."""

    def __init__(self, network, arm):
        self.errors = tempfile.TemporaryFile()
        self.process = subprocess.Popen([sys.executable, SCRIPT, network, arm], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=self.errors, bufsize=0, start_new_session=True)
        self.name = f"torch {arm}"

    def __enter__(self):
        return self

    def __exit__(self, *_):
        processes.stop(self.process)
        for file in (self.process.stdin, self.process.stdout, self.errors):
            file.close()

    def seconds(self, source, limit_s):
        """The median step of one turn. Throws CaseFailed where none comes."""
        try:
            self.process.stdin.write(f"{source}\n".encode())
        except OSError:
            raise self.failed("ended") from None
        steps = processes.read_json(self.line(limit_s))
        if not isinstance(steps, list) or not steps:
            raise self.failed(f"answered {steps!r}")
        return statistics.median(steps)

    def line(self, limit_s):
        end, text = time.monotonic() + limit_s, b""
        while not text.endswith(b"\n"):
            ready, _, _ = select.select([self.process.stdout], [], [], max(0, end - time.monotonic()))
            if not ready:
                raise self.failed(f"no answer within {limit_s:.0f} s")
            piece = os.read(self.process.stdout.fileno(), 65536)
            if not piece:
                raise self.failed("ended")
            text += piece
        return text.decode(errors="replace")

    def failed(self, how):
        self.errors.seek(0)
        said = self.errors.read().decode(errors="replace").strip()
        return CaseFailed(f"{self.name}: {how}: {said[-500:]}")


class Comparison:
    """One network: the arms' samples per input, and the arms that came to none."""

    def __init__(self, network):
        self.network, self.inputs = network, cases.PEERS[network]
        self.arms = ("ours", *ARMS[network])
        self.samples = {source: {arm: [] for arm in self.arms} for source in self.inputs}
        self.flops = {source: [] for source in self.inputs}
        self.broken = {source: {} for source in self.inputs}
        self.rounds = 0

    def entries(self):
        """{case: entry} as they stand now."""
        return {f"{self.network}/{source}": {
            "status": "unfinished" if self.rounds < LEAST_ROUNDS else "failed" if self.broken[source] else "ok",
            "reason": "; ".join(self.broken[source].values()) or None, "case": case,
            "step_time_s": {arm: list(seconds) for arm, seconds in self.samples[source].items()},
            "achieved_flops_per_s": list(self.flops[source])} for source, case in self.inputs.items()}

    def turn(self, source, arm, take):
        """`take()` returns the seconds of a step. An arm that fails is out, and with ours all others."""
        if arm in self.broken[source] or "ours" in self.broken[source]:
            return
        try:
            self.samples[source][arm].append(take())
        except CaseFailed as reason:
            self.broken[source][arm] = str(reason)

    def forget(self):
        """Drops the samples so far, not the arms that are out."""
        for arms in self.samples.values():
            for seconds in arms.values():
                seconds.clear()

    def round(self, take):
        """`take(source, arm)` measures; every other round the other way round."""
        for source in self.inputs:
            for arm in self.arms[:: 1 if self.rounds % 2 == 0 else -1]:
                self.turn(source, arm, lambda: take(source, arm))
        self.rounds += 1


def finished(entry):
    return entry is not None and entry["status"] != "unfinished"


def compare(sitting, budget):
    budget.reserve(STOP_S * max(len(arms) for arms in ARMS.values()))  # a network's peers are stopped one by one
    sitting.each("peers", ["card"], budget, lambda _, limit_s: torch_figure("product", limit_s))
    known = sitting.file.part("peers")["cases"]
    left = [network for network in cases.PEERS
            if not all(finished(known.get(f"{network}/{source}")) for source in cases.PEERS[network])]
    for place, network in enumerate(left):
        leave_s = budget.left_s() * (1 - 1 / (len(left) - place))
        compare_network(sitting, budget, Comparison(network), leave_s)


def compare_network(sitting, budget, comparison, leave_s):
    """MOST_ROUNDS, or fewer where only `leave_s` seconds are left, but LEAST_ROUNDS at any rate."""

    def keep():
        for case, entry in comparison.entries().items():
            sitting.file.keep("peers", case, entry)

    with contextlib.ExitStack() as stack:
        peers = {arm: stack.enter_context(Peer(comparison.network, arm)) for arm in ARMS[comparison.network]}

        def take(source, arm):
            if arm != "ours":
                return peers[arm].seconds(source, budget.limit_s(CASE_S))
            record = sitting.good_record(comparison.inputs[source], budget.limit_s(CASE_S), "--verify", "off",
                                         *sitting.calibrated())
            comparison.flops[source].append(record["measured"]["achieved_flops_per_s"])
            return record["measured"]["step_time_s"]["median"]

        for source in comparison.inputs:  # not counted: starts, compiles, tunes
            for arm in peers:
                limit_s = budget.limit_s(FIRST_TURN_S)
                comparison.turn(source, arm, lambda: peers[arm].seconds(source, limit_s))
        comparison.forget()
        while comparison.rounds < MOST_ROUNDS:
            if comparison.rounds >= LEAST_ROUNDS and budget.left_s() < leave_s:
                break
            comparison.round(take)
            keep()
            sitting.note(f"peers: {comparison.network}: round {comparison.rounds}")
