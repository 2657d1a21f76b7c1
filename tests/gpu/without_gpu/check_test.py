"""The whole check, with a program that only answers."""
import os
import pathlib
import signal
import subprocess
import time
import unittest

import cases
from fake_build import FakeBuild


class CheckTest(FakeBuild):
    PARTS = "gate,calibrate,memory,predict,nccl"

    def test_good_answers_hold_every_aim(self):
        ended = self.check("--only", self.PARTS)
        self.assertEqual(ended.returncode, 0, ended.stdout + ended.stderr)
        self.assertEqual(list(self.parts()), self.PARTS.split(","))
        self.assertEqual({part["state"] for part in self.parts().values()}, {"complete"})
        self.assertEqual(self.parts()["gate"]["cases"].keys(), set(cases.GATE))
        self.assertIn("holds          predict    step time predicted within 10%: largest +5.0%", ended.stdout)
        self.assertNotIn("torch", ended.stdout)

    def test_a_case_that_fails_is_told_and_the_exit_code_is_1(self):
        self.behave({cases.PREDICT[3]: "crash"})
        ended = self.check("--only", "predict")
        self.assertEqual(ended.returncode, 1)
        self.assertIn(f"does not hold  predict    every case of the prediction part runs: "
                      f"{len(cases.PREDICT) - 1} of {len(cases.PREDICT)}", ended.stdout)
        self.assertIn("terminate called", self.parts()["predict"]["cases"][cases.PREDICT[3]]["reason"])

    def test_a_refusal_that_does_not_come_is_a_failure(self):
        self.behave({cases.NCCL_TOO_FEW_GPUS: "ok"})
        self.assertEqual(self.check("--only", "nccl").returncode, 1)

    def test_a_part_makes_the_calibration_that_it_needs_and_says_so(self):
        ended = self.check("--only", "predict")
        self.assertEqual(ended.returncode, 0, ended.stderr)
        self.assertIn(f"predict: measuring first what {len(cases.PREDICT)} of its cases need", ended.stderr)
        self.assertTrue((self.build / "out.calibration.json").exists())
        calls = self.calls()
        again = self.check("--only", "predict,memory")
        self.assertNotIn("predict: measuring first", again.stderr)
        calibrated = [call for call in self.calls()[len(calls):] if call.startswith("calibrate")]
        self.assertEqual(calibrated, [f"calibrate {case}" for case in cases.MEMORY if case not in cases.PREDICT])

    def hanging(self, case):
        """A check of the part nccl that has come as far as `case`, and the process that it waits for."""
        self.behave({case: "hang"})
        running = subprocess.Popen(self.command("--only", "nccl"), stderr=subprocess.DEVNULL)
        self.addCleanup(running.kill)
        while not (self.bin / "hangs").exists() and running.poll() is None:
            time.sleep(0.02)
        self.behave({})
        return running, int((self.bin / "hangs").read_text())

    def expect_rest(self, first):
        """The next call measures the cases from the one numbered `first` on, and no other."""
        calls = len(self.calls())
        ended = self.check("--only", "nccl")
        self.assertEqual(ended.returncode, 0, ended.stderr)
        self.assertEqual([call.split()[1] for call in self.calls()[calls:] if call.startswith("run")],
                         [*cases.NCCL[first:], cases.NCCL_TOO_FEW_GPUS])
        self.assertEqual(self.parts()["predict"]["state"], "complete")

    def test_killed_it_has_lost_nothing_and_goes_on_where_it_stopped(self):
        self.check("--only", "predict")
        running, orphan = self.hanging(cases.NCCL[2])
        running.kill()
        running.wait()
        os.kill(orphan, signal.SIGKILL)
        self.assertEqual(list(self.parts()["nccl"]["cases"]), list(cases.NCCL[:2]))
        self.expect_rest(2)

    def test_asked_to_end_it_ends_its_program_and_says_how_far_it_came(self):
        self.check("--only", "predict")
        running, program = self.hanging(cases.NCCL[3])
        running.terminate()
        self.assertEqual(running.wait(), 128 + signal.SIGTERM)
        self.assertFalse(pathlib.Path(f"/proc/{program}").exists())
        self.assertEqual((self.parts()["nccl"]["state"], self.parts()["nccl"]["note"]), ("unfinished", "stopped"))
        self.expect_rest(3)

    def test_without_a_gpu_it_says_so_and_leaves_no_file(self):
        lacking = {"name": "CUDA driver", "status": "missing", "found": "none", "advice": "install the NVIDIA driver"}
        self.behave({"doctor": {"checks": [lacking], "gpus": [], "runs": {"cpu": True, "cuda": False}}})
        ended = self.check()
        self.assertEqual(ended.returncode, 4)
        self.assertIn("CUDA driver: none; install the NVIDIA driver", ended.stderr)
        self.assertFalse(self.out.exists())

    def test_bad_usage_is_told_with_the_value_and_what_was_expected(self):
        self.out.write_text("[]")
        for words, message in ((["--only", "gate,speed"], "got 'speed', expected some of: runtime, gate"),
                               (["--build", "/nowhere"], "got /nowhere, expected a folder with bin/parabench"),
                               (["--out", "/nowhere/out.json"], "got /nowhere/out.json, expected a file in a folder"),
                               ([], "expected a new file or one to go on with")):
            ended = self.check(*words)
            self.assertEqual(ended.returncode, 2)
            self.assertIn(message, ended.stderr)


if __name__ == "__main__":
    unittest.main()
