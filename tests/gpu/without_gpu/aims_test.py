"""Which aims hold, by figures made up."""
import unittest

import aims
import parts
import sitting


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
        for parts_ in (self.compared([1], [1], [], reason="no compiler"),
                       self.compared([1], [1], [1], status="unfinished")):
            self.assertEqual(self.resnet18(parts_)[1][0], aims.UNKNOWN)

    def test_the_share_of_the_roofline_is_told(self):
        parts_ = self.compared([1.0], [0.5], [])
        parts_["peers"]["cases"]["resnet50/resident"] = parts_["peers"]["cases"].pop("resnet18/resident")
        [figure] = [one["figure"] for one in aims.judge(parts_) if one["aim"].startswith("resnet50, resident")]
        self.assertIn("40% of the largest matrix product's rate, torch 80%", figure)

    def test_curves_are_told_against_the_cards_copy(self):
        points = [{"bytes": 1, "seconds": 1.0}, {"bytes": 100, "seconds": 10.0}]
        def launch(rate):
            return {"copy_bytes_per_s": [{"busy_ranks": 1, "device": "cuda", "value": rate}],
                    "point_to_point": [{"comm": "threads", "ranks": 2, "device": "cuda", "points": points}],
                    "all_reduce": [{"comm": "threads", "ranks": 2, "device": "cpu", "points": points}]}

        read = parts.curves({"launches": [launch(5.0), launch(3.0)]})
        lines = aims.transfer_figures({"transfers": self.part({
            "card": {"status": "ok", "device_to_device_bytes_per_s": 20.0, "host_to_device_bytes_per_s": 4.0},
            "calibrated": {"status": "ok", **read}})})
        self.assertEqual(len(lines), 2)
        self.assertIn("75% of torch's copy from pinned memory", lines[0])
        self.assertIn("50% of torch's copy", lines[1])
        with self.assertRaises(sitting.CaseFailed):
            parts.curves({})


if __name__ == "__main__":
    unittest.main()
