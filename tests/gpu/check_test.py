"""The check without a GPU: a program that answers as parabench does, or as it must not, stands in its place.

check_test.py PARABENCH [unittest options]: PARABENCH, the real program, is asked whether it knows the cases.
"""
import contextlib
import io
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import unittest

sys.dont_write_bytecode = True

import aims
import budget
import cases
import google_test
import parts
import peers
import processes
import results_file
import sitting

HERE = pathlib.Path(__file__).resolve().parent
PARABENCH = None  # set by main

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
    return [{"peak_memory_bytes": {"total_counted": 1000, "reserved": reserved, "device_used": None}}] * count
def record(case, status="ok", reason=None):
    graph, resident = "graph:on" in case, "resident" in case
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


class Fake(unittest.TestCase):
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
        return [sys.executable, HERE / "check", "--build", self.build, "--out", self.out, *words]

    def check(self, *words):
        return subprocess.run(self.command(*words), capture_output=True, text=True)

    def parts(self):
        return json.loads(self.out.read_text())["parts"]


class BudgetTest(unittest.TestCase):
    def test_all_parts_fit_into_the_whole_and_each_into_its_own(self):
        self.assertLessEqual(sum(budget.BUDGET_S.values()), budget.WHOLE_S)
        for part in cases.CALIBRATED:
            self.assertLessEqual(budget.BUDGET_S["doctor"] + budget.BUDGET_S["calibrate"] + budget.BUDGET_S[part],
                                 budget.PART_S + budget.STOP_S * 4, part)
        for part in ("runtime", "gate", "calibrate", "nccl"):
            self.assertLessEqual(budget.BUDGET_S["doctor"] + budget.BUDGET_S[part], budget.PART_S, part)

    def test_a_program_gets_its_own_limit_then_what_is_left_then_none(self):
        now = [0.0]
        one = budget.Budget(100, now=lambda: now[0])
        self.assertEqual(one.limit_s(30), 30)
        now[0] = 70
        self.assertEqual(one.limit_s(30), 30 - budget.STOP_S)
        now[0] = 100 - budget.STOP_S - budget.LEAST_S + 0.1
        with self.assertRaises(budget.OutOfTime):
            one.limit_s(30)


class ProcessTest(Fake):
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


class RecordTest(Fake):
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


class ResultsFileTest(Fake):
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


class PartTest(Fake):
    def part(self, work):
        self.one = self.sitting()
        return self.quietly(self.one.run_part, "gate", work)

    def each(self, measure, names=("a", "b", "c")):
        return lambda one, budget: one.each("gate", names, budget, measure)

    def test_out_of_time_keeps_what_is_measured_and_the_next_sitting_measures_the_rest(self):
        def until_b(case, _):
            if case == "b":
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


class GoogleTestTest(Fake):
    LISTED = "Running main()\nClock.\n  Runs\n  DISABLED_Never\nSizes/Graph.\n  Replays/0  # GetParam() = 3\n"

    def test_reads_names_and_ends(self):
        self.assertEqual(google_test.listed(self.LISTED), ["Clock.Runs", "Sizes/Graph.Replays/0"])
        text = ("[ RUN      ] Clock.Runs\n[       OK ] Clock.Runs (12 ms)\n"
                "[ RUN      ] G.Replays/0\nfile.cpp:3: Failure\n[  FAILED  ] G.Replays/0, where GetParam() = 3 (7 ms)\n"
                "[ RUN      ] C.S\nx.cpp:1: Skipped\nno GPU\n[  SKIPPED ] C.S (0 ms)\n[ RUN      ] C.Dies\n")
        ends = google_test.ends(text)
        self.assertEqual(ends["Clock.Runs"], {"status": "ok", "seconds": 0.012})
        self.assertEqual(ends["G.Replays/0"], {"status": "failed", "seconds": 0.007, "reason": "file.cpp:3: Failure"})
        self.assertEqual(ends["C.S"], {"status": "skipped", "seconds": 0.0, "reason": "x.cpp:1: Skipped\nno GPU"})
        self.assertEqual(len(ends), 3)
        self.assertEqual(google_test.begun_last(text), "C.Dies")

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
        one = self.sitting()
        self.quietly(one.run_part, "runtime", parts.runtime)
        entries = self.parts()["runtime"]["cases"]
        self.assertEqual({name: entry["status"] for name, entry in entries.items()},
                         {"A.One": "ok", "A.Two": "failed", "A.Three": "ok"})
        self.assertIn("ended its program", entries["A.Two"]["reason"])

    def test_a_program_that_is_not_there_is_said(self):
        self.assertIn("no ", self.quietly(self.sitting().run_part, "runtime", parts.runtime))
        self.assertEqual(self.parts()["runtime"]["state"], "unfinished")


class PeersTest(Fake):
    def test_a_round_takes_every_arm_and_the_next_the_other_way_round(self):
        one, seen = peers.Comparison("resnet18"), []
        for _ in range(2):
            one.round(lambda source, arm: seen.append((source, arm)) or 1.0)
        there = [("resident", arm) for arm in ("ours", "eager", "compile")]
        self.assertEqual(seen[:3] + seen[6:9], there + there[::-1])
        self.assertEqual({entry["status"] for entry in one.entries().values()}, {"unfinished"})
        one.round(lambda *_: 1.0)
        self.assertEqual({entry["status"] for entry in one.entries().values()}, {"ok"})

    def test_an_arm_that_fails_is_out_and_ours_takes_all_along(self):
        one, seen = peers.Comparison("resnet18"), []

        def take(source, arm):
            seen.append((source, arm))
            if (source, arm) in (("resident", "compile"), ("uploaded", "ours")):
                raise sitting.CaseFailed(f"{arm} fell")
            return 1.0

        for _ in range(3):
            one.round(take)
        resident, uploaded = (one.entries()[f"resnet18/{source}"] for source in ("resident", "uploaded"))
        self.assertEqual((resident["status"], resident["reason"]), ("failed", "compile fell"))
        self.assertEqual({arm: len(seconds) for arm, seconds in resident["step_time_s"].items()},
                         {"ours": 3, "eager": 3, "compile": 0})
        self.assertEqual(seen.count(("resident", "compile")), 1)
        self.assertEqual([pair for pair in seen if pair[0] == "uploaded"], [("uploaded", "ours")])

    ANSWERS = ("import sys\nfor line in sys.stdin:\n"
               "  print([0.03, 0.01, 0.02] if line == 'resident\\n' else [0.05], flush=True)\n")

    def script(self, text):
        """Stands for torch's."""
        file = self.bin / "torch_peer.py"
        file.write_text(text)
        self.addCleanup(setattr, peers, "SCRIPT", peers.SCRIPT)
        peers.SCRIPT = file

    def peer(self, text):
        self.script(text)
        one = peers.Peer("resnet18", "eager")
        self.addCleanup(one.__exit__)
        return one

    def test_a_peer_answers_every_turn(self):
        one = self.peer(self.ANSWERS)
        self.assertEqual([one.seconds("resident", 30), one.seconds("uploaded", 30)], [0.02, 0.05])

    def compare(self, work):
        self.script(self.ANSWERS)
        self.addCleanup(setattr, peers, "torch_figure", peers.torch_figure)
        peers.torch_figure = lambda *_: {"bf16_product_flops_per_s": 10.0}
        self.quietly(self.sitting().run_part, "peers", work)
        return self.parts()["peers"]

    def test_both_networks_are_compared_in_rounds(self):
        part = self.compare(peers.compare)
        self.assertEqual(part["state"], "complete", part["note"])
        self.assertEqual(list(part["cases"]), ["card", *(f"{network}/{source}" for network in cases.PEERS
                                                         for source in ("resident", "uploaded"))])
        rounds = peers.MOST_ROUNDS
        self.assertEqual(part["cases"]["resnet18/uploaded"]["step_time_s"],
                         {"ours": [0.010] * rounds, "eager": [0.05] * rounds, "compile": [0.05] * rounds})
        judged = [one for one in aims.judge({"peers": part}) if one["part"] == "peers"]
        self.assertEqual({one["verdict"] for one in judged}, {aims.HOLDS})

    def test_where_time_is_short_the_least_rounds_are_done(self):
        class Short(budget.Budget):
            def left_s(self):
                return 99

        def work(one, _):
            peers.compare_network(one, Short(0), peers.Comparison("resnet50"), leave_s=100)

        entry = self.compare(work)["cases"]["resnet50/resident"]
        self.assertEqual((entry["status"], len(entry["step_time_s"]["ours"])), ("ok", peers.LEAST_ROUNDS))

    def test_a_peer_that_is_silent_ends_or_talks_nonsense_has_failed(self):
        for text, reason in (("import time; time.sleep(1000)", "no answer within 1 s"),
                             ("import sys; sys.exit('no module named torch')", "ended: no module named torch"),
                             ("import sys\nfor line in sys.stdin: print('hello', flush=True)", "answered None")):
            with self.assertRaisesRegex(sitting.CaseFailed, reason):
                self.peer(text).seconds("resident", 1 if "sleep" in text else 30)


class AimsTest(unittest.TestCase):
    def verdicts(self, parts_, part):
        return [one["verdict"] for one in aims.judge(parts_) if one["part"] == part]

    def part(self, cases_, state="complete"):
        return {"state": state, "note": None, "cases": cases_}

    def test_nothing_measured_holds_nothing(self):
        judged = aims.judge({})
        self.assertEqual({one["verdict"] for one in judged}, {aims.UNKNOWN})
        self.assertEqual(aims.exit_code(judged, ["gate"]), 1)

    def test_a_part_holds_where_it_is_complete_and_all_its_cases_are_good(self):
        good, bad, skipped = {"status": "ok"}, {"status": "failed", "reason": ""}, {"status": "skipped", "reason": ""}
        self.assertEqual(self.verdicts({"gate": self.part({"a": good})}, "gate"), [aims.HOLDS])
        self.assertEqual(self.verdicts({"gate": self.part({"a": good}, "unfinished")}, "gate"), [aims.UNKNOWN])
        self.assertEqual(self.verdicts({"gate": self.part({"a": good, "b": bad}, "unfinished")}, "gate"), [aims.FALLS])
        self.assertEqual(self.verdicts({"gate": self.part({"a": skipped})}, "gate"), [aims.UNKNOWN])

    def test_only_the_parts_asked_for_decide(self):
        judged = aims.judge({"gate": self.part({"a": {"status": "ok"}})})
        self.assertEqual(aims.exit_code(judged, ["gate"]), 0)
        self.assertEqual(aims.exit_code(judged, ["gate", "nccl"]), 1)
        self.assertEqual(len(aims.summary(judged, ["gate"])), 1)

    def test_the_largest_error_decides(self):
        def step(predicted):
            return {"status": "ok", "predicted_s": predicted, "measured_s": {"median": 1.0}}
        near = {"predict": self.part({"a": step(1.09), "b": step(0.91)})}
        far = {"predict": self.part({"a": step(1.09), "b": step(0.89)})}
        self.assertEqual(self.verdicts(near, "predict"), [aims.HOLDS, aims.HOLDS])
        self.assertEqual(self.verdicts(far, "predict"), [aims.HOLDS, aims.FALLS])
        self.assertIn("-11.0% (b)", [one["figure"] for one in aims.judge(far) if one["part"] == "predict"][1])

    def test_memory_that_is_not_known_of_a_rank_is_no_error(self):
        known = {"predicted": 105, "measured": 100}
        entry = {"status": "ok", "ranks": [{"total_counted": known, "reserved": known},
                                           {"total_counted": known, "reserved": {"predicted": 1, "measured": None}}]}
        self.assertEqual(self.verdicts({"memory": self.part({"a": entry})}, "memory"), [aims.HOLDS] * 3)

    def compared(self, ours, eager, compiled, **more):
        return {"peers": self.part({"card": {"status": "ok", "bf16_product_flops_per_s": 10.0}, "resnet18/resident": {
            "status": "ok", "reason": None, "achieved_flops_per_s": [4.0],
            "step_time_s": {"ours": ours, "eager": eager, "compile": compiled}, **more}})}

    def resnet18(self, parts_):
        return [(one["verdict"], one["figure"]) for one in aims.judge(parts_)
                if one["aim"].startswith("resnet18, resident")]

    def test_torch_over_ours_by_medians_with_the_range(self):
        eager, compiled = self.resnet18(self.compared([0.010, 0.009, 0.011], [0.012, 0.012, 0.010], [0.009] * 3))
        self.assertEqual((eager[0], compiled[0]), (aims.HOLDS, aims.FALLS))
        self.assertTrue(eager[1].startswith("1.200x (0.909 to 1.333): ours 10.00 ms (9.00 to 11.00)"), eager[1])

    def test_an_arm_without_samples_or_rounds_to_come_is_not_measured(self):
        for parts_ in (self.compared([1], [1], [], reason="no compiler"), self.compared([1], [1], [1], status="unfinished")):
            self.assertEqual(self.resnet18(parts_)[1][0], aims.UNKNOWN)

    def test_the_share_of_the_roofline_is_told(self):
        parts_ = self.compared([1.0], [0.5], [])
        parts_["peers"]["cases"]["resnet50/resident"] = parts_["peers"]["cases"].pop("resnet18/resident")
        [figure] = [one["figure"] for one in aims.judge(parts_) if one["aim"].startswith("resnet50, resident")]
        self.assertIn("40% of the largest matrix product's rate, torch 80%", figure)

    def test_curves_are_told_against_the_cards_copy(self):
        points = [{"bytes": 1, "seconds": 1.0}, {"bytes": 100, "seconds": 10.0}]
        read = parts.curves({"copy_bytes_per_s": [{"busy_ranks": 1, "device": "cuda", "value": 3.0}],
                             "point_to_point": [{"comm": "threads", "ranks": 2, "device": "cuda", "points": points}],
                             "all_reduce": [{"comm": "threads", "ranks": 2, "device": "cpu", "points": points}]})
        lines = aims.transfer_figures({"transfers": self.part({
            "card": {"status": "ok", "device_to_device_bytes_per_s": 20.0, "host_to_device_bytes_per_s": 4.0},
            "calibrated": {"status": "ok", **read}})})
        self.assertEqual(len(lines), 2)
        self.assertIn("75% of torch's copy from pinned memory", lines[0])
        self.assertIn("50% of torch's copy", lines[1])
        with self.assertRaises(sitting.CaseFailed):
            parts.curves({})


class CasesTest(unittest.TestCase):
    def test_the_program_knows_every_case(self):
        self.assertEqual(len(cases.GATE), len(set(cases.GATE)))
        for case in cases.every_case():
            ended = processes.run([PARABENCH, "plan", case], 30)
            self.assertEqual(ended.code, 0, ended.errors)

    def test_every_strategy_and_number_of_ranks_is_in_the_gate(self):
        for strategy in cases.PARALLEL:
            ranks = {n for n in range(1, 5) if any(f"/{strategy}/np:{n}/" in case for case in cases.GATE)}
            self.assertEqual(ranks, {2, 4} if strategy == "chimera" else {1, 2, 3, 4}, strategy)


class CheckTest(Fake):
    PARTS = "gate,calibrate,memory,predict,nccl"

    def test_good_answers_hold_every_aim(self):
        ended = self.check("--only", self.PARTS)
        self.assertEqual(ended.returncode, 0, ended.stdout + ended.stderr)
        self.assertEqual(list(self.parts()), self.PARTS.split(","))
        self.assertEqual({part["state"] for part in self.parts().values()}, {"complete"})
        self.assertEqual(list(self.parts()["gate"]["cases"]), list(cases.GATE))
        self.assertIn("holds          predict    step time predicted within 10%: largest +5.0%", ended.stdout)
        self.assertNotIn("torch", ended.stdout)

    def test_a_case_that_fails_is_told_and_the_exit_code_is_1(self):
        self.behave({cases.GATE[3]: "crash"})
        ended = self.check("--only", "gate")
        self.assertEqual(ended.returncode, 1)
        self.assertIn(f"does not hold  gate       every strategy trains what sequential training does: "
                      f"{len(cases.GATE) - 1} of {len(cases.GATE)}", ended.stdout)
        self.assertIn("terminate called", self.parts()["gate"]["cases"][cases.GATE[3]]["reason"])

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
                               ([], "expected a new file or one to go on with")):
            ended = self.check(*words)
            self.assertEqual(ended.returncode, 2)
            self.assertIn(message, ended.stderr)


if __name__ == "__main__":
    PARABENCH = sys.argv.pop(1)
    unittest.main()
