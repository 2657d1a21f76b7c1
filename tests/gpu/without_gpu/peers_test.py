"""The comparison with torch, without torch."""
import unittest

import aims
import budget
import cases
from fake_build import FakeBuild
import peers
import sitting


class PeersTest(FakeBuild):
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


if __name__ == "__main__":
    unittest.main()
