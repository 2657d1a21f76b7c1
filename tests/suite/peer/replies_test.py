"""What a launch of another product answers, made of what its ranks left. Argument: suite/peer."""
import json
import pathlib
import sys
import tempfile
import unittest


class RepliesTest(unittest.TestCase):
    def test_a_step_ends_with_its_slowest_rank_and_statistics_are_left_to_whoever_takes_the_samples(self):
        import replies

        rank = {"warmup": 2, "losses": [3.0, 2.0, 1.0, 0.5, float("nan")], "resident": 4096, "cpuset": "0"}
        with tempfile.TemporaryDirectory() as folder:
            replies.write_rank(folder, 0, dict(rank, ends=[1.0, 2.0, 3.5, 4.0, 5.0]))
            replies.write_rank(folder, 1, dict(rank, ends=[1.5, 2.5, 3.0, 4.5, 6.0]))
            replies.write_reply(folder, "hash", 2)
            measured = json.loads((pathlib.Path(folder) / "reply.json").read_text())["measured"]
        self.assertEqual(measured["step_time_s"], {"samples": [[1.0, 1.0, 1.5]], "median": None, "p10": None,
                                                   "p90": None, "ci95": [None, None]})
        self.assertEqual(measured["losses"], [6.0, 4.0, 2.0, 1.0, None])
        self.assertEqual([one["peak_memory_bytes"]["resident"] for one in measured["ranks"]], [4096, 4096])


if __name__ == "__main__":
    sys.path.insert(0, sys.argv.pop(1))
    unittest.main()
