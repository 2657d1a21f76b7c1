"""The parts of the check on a program that fails in every way."""
import os
import sys
import threading
import unittest

import aims
import budget
import cases
from fake_build import FakeBuild
import gtest_output
import parts
import processes
import results_file
import sitting


class RecordTest(FakeBuild):
    def outcome(self, what):
        self.behave({"a": what})
        try:
            return self.sitting().good_record("a", 30)["status"]
        except sitting.CaseFailed as reason:
            return str(reason)

    def test_a_record_or_the_reason_why_there_is_none(self):
        self.assertEqual(self.outcome("ok"), "ok")
        self.assertEqual(self.outcome("failed: diverged"), "failed: diverged")
        self.assertEqual(self.outcome("garbage"), "no record: exit code 0")
        self.assertEqual(self.outcome("silent"), "no record: exit code 0")
        self.assertIn("no record: exit code 1: terminate called", self.outcome("crash"))

    def test_a_case_that_hangs_costs_its_limit(self):
        self.addCleanup(setattr, budget, "STOP_S", budget.STOP_S)
        budget.STOP_S = 0.2
        self.behave({"a": "hang"})
        with self.assertRaisesRegex(sitting.CaseFailed, "no record: no end within 1 s"):
            self.sitting().record("a", 1)


class ResultsFileTest(FakeBuild):
    def test_cases_are_on_disk_as_they_come(self):
        file = self.sitting().file
        file.begin("gate", {})
        file.keep("gate", "a", {"status": "ok"})
        self.assertEqual(self.parts()["gate"], {"state": "running", "note": None, "cases": {"a": {"status": "ok"}}})
        self.assertEqual(os.listdir(self.build).count("out.json"), 1)

    def test_an_unfinished_part_goes_on_and_a_complete_one_begins_anew(self):
        kept = {"a": {"status": "ok"}}
        self.assertEqual(results_file.left_by({"state": "unfinished", "cases": kept}), kept)
        self.assertEqual(results_file.left_by({"state": "running", "cases": kept}), kept)
        self.assertEqual(results_file.left_by({"state": "complete", "cases": kept}), {})
        self.assertEqual(results_file.left_by(None), {})

    def test_figures_of_other_programs_and_gpus_are_not_mixed_in(self):
        old = results_file.fresh("one", ["H100"], [])
        old["parts"] = {"gate": {}}
        same = results_file.continued(old, results_file.fresh("one", ["H100"], ["new"]))
        self.assertEqual((same["parts"], same["doctor"]), ({"gate": {}}, ["new"]))
        for other in (results_file.fresh("two", ["H100"], []), results_file.fresh("one", ["H200"], [])):
            with self.assertRaises(results_file.ForeignFile):
                results_file.continued(old, other)
        for foreign in (None, [], {"format": "else"}):
            with self.assertRaises(results_file.ForeignFile):
                results_file.continued(foreign, old)


class PartTest(FakeBuild):
    def part(self, work):
        self.one = self.sitting()
        return self.quietly(self.one.run_part, "gate", work)

    def each(self, measure, names=("a", "b", "c")):
        return lambda one, budget: one.each("gate", names, budget, measure)

    def test_out_of_time_keeps_what_is_measured_and_the_next_sitting_measures_the_rest(self):
        def until_b(case, _):
            if case >= "b":
                raise budget.OutOfTime
            return {}

        self.assertIn("out of time", self.part(self.each(until_b)))
        self.assertEqual((self.parts()["gate"]["state"], [*self.parts()["gate"]["cases"]]), ("unfinished", ["a"]))
        seen = []
        self.part(self.each(lambda case, _: seen.append(case) or {}))
        self.assertEqual(seen, ["b", "c"])
        self.assertEqual(self.parts()["gate"]["state"], "complete")
        self.part(self.each(lambda case, _: seen.append(case) or {}))
        self.assertEqual(seen, ["b", "c", "a", "b", "c"])

    def test_a_part_that_is_begun_again_in_a_sitting_has_what_is_left_of_its_time(self):
        one, left = self.sitting(), []
        for used in (50, 30):
            self.quietly(one.run_part, "gate", lambda _, given: left.append(given.left_s()))
            one.used_s["gate"] += used
        self.quietly(one.run_part, "gate", lambda _, given: left.append(given.left_s()))
        whole = budget.BUDGET_S["gate"] - budget.STOP_S
        for seconds, expected in zip(left, (whole, whole - 50, whole - 80)):
            self.assertAlmostEqual(seconds, expected, delta=5)

    def test_cases_run_beside_each_other_where_the_part_says_so_and_are_stopped_together(self):
        both = threading.Barrier(2, timeout=30)
        self.part(lambda one, given: one.each("gate", ("a", "b"), given, lambda *_: {"n": both.wait()}, at_once=2))
        self.assertEqual(self.parts()["gate"]["state"], "complete")

        def measure(case, _):
            both.wait()
            if case == "a":
                raise KeyboardInterrupt
            return {"code": processes.run([sys.executable, "-c", "import time; time.sleep(1000)"], 1000).code}

        with self.assertRaises(KeyboardInterrupt):
            self.part(lambda one, given: one.each("gate", ("a", "b"), given, measure, at_once=2))
        self.assertEqual(self.parts()["gate"]["cases"], {})
        self.assertFalse(processes.ending.is_set())

    def test_a_case_that_fails_stops_no_other(self):
        def measure(case, _):
            if case == "a":
                raise sitting.CaseFailed("because")
            return {"figure": 1}

        self.part(self.each(measure))
        self.assertEqual(self.parts()["gate"]["cases"], {"a": {"status": "failed", "reason": "because"},
                                                         "b": {"status": "ok", "figure": 1},
                                                         "c": {"status": "ok", "figure": 1}})

    def test_a_case_that_the_end_of_the_part_cut_short_has_not_failed(self):
        self.addCleanup(budget.BUDGET_S.update, gate=budget.BUDGET_S["gate"])
        budget.BUDGET_S["gate"] = budget.STOP_S + budget.LEAST_S + 0.2

        def slow(case, limit_s):
            self.one_budget._end = 0
            raise sitting.CaseFailed("no end")

        def work(one, given):
            self.one_budget = given
            one.each("gate", ["a"], given, slow)

        self.part(work)
        self.assertEqual((self.parts()["gate"]["state"], self.parts()["gate"]["cases"]), ("unfinished", {}))


class CalibrationTest(FakeBuild):
    def calibrate_for(self, part):
        """In a sitting of its own; what it said, and the cases that it calibrated."""
        before = len(self.calls())
        said = self.quietly(parts.make_calibration, self.sitting(), part)
        return said, [call.split()[1] for call in self.calls()[before:]]

    def test_what_a_part_needs_does_not_complete_the_calibration(self):
        said, tried = self.calibrate_for("peers")
        self.assertEqual(tried, list(cases.CALIBRATED["peers"]))
        rest = len(cases.CALIBRATE) - len(tried)
        self.assertIn(f"{rest} of {len(cases.CALIBRATE)} cases are left", said)
        self.assertEqual(self.parts()["calibrate"]["state"], "unfinished")
        [judged] = [one for one in aims.judge(self.parts()) if one["part"] == "calibrate"]
        self.assertEqual(judged["verdict"], aims.UNKNOWN)
        for part in ("predict", "memory"):
            rest -= len(self.calibrate_for(part)[1])
        self.assertEqual((rest, self.parts()["calibrate"]["state"]), (0, "complete"))

    def test_a_case_that_failed_is_tried_again_in_the_next_sitting_after_the_others(self):
        first, second = cases.CALIBRATED["peers"]
        self.behave({first: "crash"})
        self.assertEqual(self.calibrate_for("peers")[1], [first, second])
        self.assertEqual(self.parts()["calibrate"]["cases"][first]["status"], "failed")
        self.behave({})
        self.assertEqual(self.calibrate_for("predict")[1][-1], first)
        self.assertEqual(self.parts()["calibrate"]["cases"][first]["status"], "ok")
        self.assertEqual(self.calibrate_for("peers")[1], [])

    def test_a_case_that_failed_is_not_tried_again_in_the_same_sitting(self):
        self.behave({"*": "crash"})
        one = self.sitting()
        for part in ("peers", "predict", "peers"):
            self.quietly(parts.make_calibration, one, part)
        self.assertEqual(len(self.calls()), len(cases.PREDICT))

    def test_a_calibration_that_is_gone_is_made_again(self):
        tried = self.calibrate_for("peers")[1]
        self.sitting().calibration.unlink()
        self.assertEqual(self.calibrate_for("peers")[1], tried)

    def test_a_case_that_time_did_not_suffice_to_calibrate_is_not_measured(self):
        one = self.sitting()
        one.used_s["calibrate"] = budget.BUDGET_S["calibrate"]
        self.quietly(parts.make_calibration, one, "predict")
        self.assertIn("wait for their calibration", self.quietly(one.run_part, "predict", parts.predict))
        self.assertEqual((self.parts()["predict"]["state"], self.calls()), ("unfinished", []))


class GoogleTestTest(FakeBuild):
    LISTED = "Running main()\nClock.\n  Runs\n  DISABLED_Never\nSizes/Graph.\n  Replays/0  # GetParam() = 3\n"

    def test_reads_names_and_ends(self):
        self.assertEqual(gtest_output.listed(self.LISTED), ["Clock.Runs", "Sizes/Graph.Replays/0"])
        text = ("[ RUN      ] Clock.Runs\n[       OK ] Clock.Runs (12 ms)\n"
                "[ RUN      ] G.Replays/0\nfile.cpp:3: Failure\n[  FAILED  ] G.Replays/0, where GetParam() = 3 (7 ms)\n"
                "[ RUN      ] C.S\nx.cpp:1: Skipped\nno GPU\n[  SKIPPED ] C.S (0 ms)\n[ RUN      ] C.Dies\n")
        ends = gtest_output.ends(text)
        self.assertEqual(ends["Clock.Runs"], {"status": "ok", "seconds": 0.012})
        self.assertEqual(ends["G.Replays/0"], {"status": "failed", "seconds": 0.007, "reason": "file.cpp:3: Failure"})
        self.assertEqual(ends["C.S"], {"status": "skipped", "seconds": 0.0, "reason": "x.cpp:1: Skipped\nno GPU"})
        self.assertEqual(len(ends), 3)
        self.assertEqual(gtest_output.begun_last(text), "C.Dies")

    def test_a_test_that_takes_its_program_down_costs_no_other(self):
        self.program(self.build / "test-bin" / parts.RUNTIME_TESTS, r'''
import os, sys
if "--gtest_list_tests" in sys.argv:
    sys.exit(print("A.\n  One\n  Two\n  Three"))
for name in sys.argv[1].split("=")[1].split(":"):
    print(f"[ RUN      ] {name}", flush=True)
    if name == "A.Two":
        os.abort()
    print(f"[       OK ] {name} (1 ms)", flush=True)
''')
        self.program(self.build / "benchmarks" / parts.EVENT_BENCHMARK, r'''
import json
name = "chain/us:20/marks:%d/iterations:20/repeats:5/manual_time"
def row(marks, aggregate, device, host):
    return {"run_name": name % marks, "aggregate_name": aggregate, "us_per_operation": device,
            "host_us_per_operation": host}
rows = [row(0, "median", 20.0, 16.0), row(0, "mean", 30.0, 17.0), row(3, "median", 22.0, 18.0)]
print(json.dumps({"benchmarks": rows}))
''')
        one = self.sitting()
        self.quietly(one.run_part, "runtime", parts.runtime)
        entries = self.parts()["runtime"]["cases"]
        self.assertEqual({name: entry["status"] for name, entry in entries.items()},
                         {"A.One": "ok", "A.Two": "failed", "A.Three": "ok", parts.EVENT_BENCHMARK: "ok"})
        self.assertIn("ended its program", entries["A.Two"]["reason"])
        self.assertEqual(entries[parts.EVENT_BENCHMARK]["us_per_operation"], {"20": {"0": 20.0, "3": 22.0}})
        self.assertEqual(entries[parts.EVENT_BENCHMARK]["host_us_per_operation"], {"20": {"0": 16.0, "3": 18.0}})
        widened = [one for one in aims.judge(self.parts()) if one["part"] == "runtime"][1]
        self.assertEqual(widened["verdict"], aims.FALLS)
        self.assertIn("largest +10.0%", widened["figure"])

    def test_a_benchmark_without_figures_has_failed(self):
        self.program(self.build / "benchmarks" / parts.EVENT_BENCHMARK, "import sys; sys.exit('no GPU')")
        with self.assertRaisesRegex(sitting.CaseFailed, "no figures: exit code 1: no GPU"):
            parts.event_costs(self.sitting(), 30)

    def test_a_benchmark_that_measured_the_host_has_failed(self):
        self.program(self.build / "benchmarks" / parts.EVENT_BENCHMARK, """
import json
print(json.dumps({"benchmarks": [{"run_name": "chain/us:20/marks:0", "error_occurred": True,
                                  "error_message": "the device began before"}]}))
""")
        with self.assertRaisesRegex(sitting.CaseFailed, "chain/us:20/marks:0: the device began before"):
            parts.event_costs(self.sitting(), 30)

    def test_a_program_that_is_not_there_is_said(self):
        self.assertIn("no ", self.quietly(self.sitting().run_part, "runtime", parts.runtime))
        self.assertEqual(self.parts()["runtime"]["state"], "unfinished")


if __name__ == "__main__":
    unittest.main()
