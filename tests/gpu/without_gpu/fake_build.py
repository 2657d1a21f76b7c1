"""A program that answers as parabench does, or as it must not, and a build folder to put it in."""
import contextlib
import io
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

import cases
import parts
import results_file
import sitting

CHECK = pathlib.Path(__file__).resolve().parent.parent / "check"

# Answers by what stands for a case in behaviour.json ("*": all others) and notes every call.
FAKE_PARABENCH = r'''
import json, os, pathlib, sys, time
here = pathlib.Path(__file__).parent
behaviour = json.loads((here / "behaviour.json").read_text())
words = sys.argv[1:]
with open(here / "calls", "a") as calls:
    print(*words[:2], file=calls)
def option(name):
    return words[words.index(name) + 1]
def ranks(count, reserved):
    peak = {"total_counted": 1000, "reserved": reserved, "device_used": None}
    return [{"arithmetic": {"matmul": "fp32"}, "peak_memory_bytes": peak}] * count
def record(case, status="ok", reason=None):
    return {"id": case, "status": status, "reason": reason,
            "equivalence": {"status": "pass", "reason": None, "max_relative_update_difference": 0.0},
            "measured": {"step_time_s": {"median": 0.010}, "throughput_samples_per_s": 1.0, "achieved_flops_per_s": 5.0,
                         "ranks": ranks(2, 2000)},
            "predicted": {"step_time_s": 0.0105, "terms": [{"cost_source": "calibrated"}], "ranks": ranks(2, 2100)}}
if words[0] == "--version":
    print("parabench 0.0 (fake)")
elif words[0] == "doctor":
    print(json.dumps(behaviour["doctor"]))
else:
    case = words[1]
    what = behaviour.get(case, behaviour["*"])
    if what == "hang":
        (here / "hangs.part").write_text(str(os.getpid()))
        (here / "hangs.part").rename(here / "hangs")
        time.sleep(1000)
    if what == "crash":
        sys.exit("terminate called after throwing")
    if words[0] == "calibrate":
        pathlib.Path(option("--out")).write_text("{}")
    elif what == "garbage":
        pathlib.Path(option("--json")).write_text('{"records": [')
    elif what != "silent":
        status, _, reason = what.partition(": ")
        pathlib.Path(option("--json")).write_text(json.dumps({"records": [record(case, status, reason or None)]}))
'''
DOCTOR = {"checks": [{"name": "CUDA driver", "status": "ok", "found": "580.1", "advice": None}],
          "gpus": [{"name": "Fake GPU"}], "runs": {"cpu": True, "cuda": True}}
BEHAVIOUR = {"doctor": DOCTOR, "*": "ok",
             cases.NCCL_TOO_FEW_GPUS: f"skipped: {parts.NO_GPU_FOR_RANK}: 2 ranks, 1 GPU here"}


class FakeBuild(unittest.TestCase):
    """A build folder with a fake parabench."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.build = pathlib.Path(folder.name)
        self.bin = self.build / "bin"
        self.bin.mkdir()
        self.program(self.bin / "parabench", FAKE_PARABENCH)
        self.out = self.build / "out.json"
        self.behave({})

    def program(self, path, text):
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"#!{sys.executable} -SE\n{text}")
        path.chmod(0o755)

    def behave(self, change):
        (self.bin / "behaviour.json").write_text(json.dumps({**BEHAVIOUR, **change}))

    def calls(self):
        file = self.bin / "calls"
        return file.read_text().splitlines() if file.exists() else []

    def sitting(self):
        return sitting.Sitting(self.build, results_file.ResultsFile(self.out, results_file.fresh("p", ["g"], [])))

    def quietly(self, work, *arguments, **options):
        with contextlib.redirect_stderr(io.StringIO()) as said:
            work(*arguments, **options)
        return said.getvalue()

    def command(self, *words):
        return [sys.executable, CHECK, "--build", self.build, "--out", self.out, *words]

    def check(self, *words):
        return subprocess.run(self.command(*words), capture_output=True, text=True)

    def parts(self):
        return json.loads(self.out.read_text())["parts"]
