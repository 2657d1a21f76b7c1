"""Time limits of the check, and of the programs that it starts."""
import pathlib
import time
import unittest

import budget
import cases
from fake_build import FakeBuild
import processes


class BudgetTest(unittest.TestCase):
    def test_all_parts_fit_into_the_whole_and_each_into_its_own(self):
        self.assertLessEqual(sum(budget.BUDGET_S.values()), budget.WHOLE_S)
        for part in budget.BUDGET_S.keys() - {"doctor"}:
            lines = {"doctor", part} | ({"calibrate"} if part in cases.CALIBRATED else set())
            self.assertLessEqual(sum(budget.BUDGET_S[line] for line in lines), budget.PART_S, part)

    def test_a_program_gets_its_own_limit_then_what_is_left_then_none(self):
        now = [0.0]
        one = budget.Budget(100, now=lambda: now[0])
        self.assertEqual(one.limit_s(30), 30)
        now[0] = 70
        self.assertEqual(one.limit_s(30), 30 - budget.STOP_S)
        now[0] = 100 - budget.STOP_S - budget.LEAST_S + 0.1
        with self.assertRaises(budget.OutOfTime):
            one.limit_s(30)

    def test_what_is_reserved_is_left_to_no_program(self):
        one = budget.Budget(100, now=lambda: 0.0)
        one.reserve(2 * budget.STOP_S)
        self.assertEqual(one.left_s(), 100 - 3 * budget.STOP_S)


class ProcessTest(FakeBuild):
    def setUp(self):
        super().setUp()
        self.addCleanup(setattr, budget, "STOP_S", budget.STOP_S)
        budget.STOP_S = 0.3

    def test_a_program_that_ignores_its_end_is_killed_with_what_it_started(self):
        self.program(self.bin / "stubborn", "import os, signal, time\n"
                     "signal.signal(signal.SIGTERM, signal.SIG_IGN)\nos.fork()\nprint(os.getpid(), flush=True)\n"
                     "time.sleep(1000)\n")
        ended = processes.run([self.bin / "stubborn"], 0.5)
        self.assertIsNone(ended.code)
        self.assertIn("no end within", ended.why())
        both = [int(line) for line in ended.output.split()]
        self.assertEqual(len(both), 2)
        for _ in range(100):  # whoever adopts the orphan has to look at it
            alive = [pid for pid in both if "Z" not in self.state(pid)]
            if not alive:
                break
            time.sleep(0.05)
        self.assertEqual(alive, [])

    def state(self, pid):
        try:
            return pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
        except OSError:
            return "Z"

    def test_bytes_that_are_no_text_are_read(self):
        self.program(self.bin / "noise", r"import sys; sys.stdout.buffer.write(b'\xff\xfe{'); sys.exit(3)")
        ended = processes.run([self.bin / "noise"], 30)
        self.assertEqual(ended.code, 3)
        self.assertIsNone(processes.read_json(ended.output))
        self.assertIn("exit code 3", ended.why())


if __name__ == "__main__":
    unittest.main()
