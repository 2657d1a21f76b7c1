"""The cases of the check are cases of the program, which the variable PARABENCH names."""
import json
import os
import unittest

import cases
import processes

# Of the processor alone.
PROCESSOR = {"c10d"}
# Of strategies that do not go on any number of ranks.
RANKS = {"chimera": {2, 4}, "parameter-server": {2, 3, 4}}


class CasesTest(unittest.TestCase):
    def test_the_program_knows_every_case(self):
        self.assertEqual(len(cases.GATE), len(set(cases.GATE)))
        for case in cases.every_case():
            ended = processes.run([os.environ["PARABENCH"], "plan", case], 30)
            self.assertEqual(ended.code, 0, ended.errors)

    def test_the_gate_leaves_out_no_strategy_of_several_ranks(self):
        ended = processes.run([os.environ["PARABENCH"], "list", "--strategies", "--json"], 30)
        listed = {row["name"] for row in json.loads(ended.output)
                  if row["ranks"] != "one" and row["family"] != "peer" and not row["schedule_from_file"]}
        self.assertEqual(set(cases.PARALLEL), listed - PROCESSOR)

    def test_every_strategy_and_number_of_ranks_is_in_the_gate(self):
        for strategy in cases.PARALLEL:
            ranks = {n for n in range(1, 5) if any(f"/{strategy}/np:{n}/" in case for case in cases.GATE)}
            self.assertEqual(ranks, RANKS.get(strategy, {1, 2, 3, 4}), strategy)


if __name__ == "__main__":
    unittest.main()
