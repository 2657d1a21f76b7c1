"""Every strategy has its page in docs/strategies, whose table of facts is that of the program. Argument: parabench."""

import json
import pathlib
import re
import subprocess
import sys
import unittest

PAGES = pathlib.Path(__file__).resolve().parents[2] / "docs" / "strategies"
PROGRAM = sys.argv.pop(1)


def strategies():
    listed = subprocess.run([PROGRAM, "list", "--strategies", "--json"], check=True, capture_output=True, text=True)
    return json.loads(listed.stdout)


def grid(strategy):
    case = f"mlp[layers=8]/cifar10-synthetic/{strategy}/np:2/batch:32"
    return subprocess.run([PROGRAM, "plan", case, "--cost", "unit", "--format", "grid"], check=True, capture_output=True,
                          text=True).stdout


def facts(page):
    """The rows of the table without a heading."""
    table = page.partition("\n| | |\n|---|---|\n")[2].partition("\n\n")[0]
    return dict(re.findall(r"(?m)^\| (.*?) \| (.*?) \|$", table))


def code(text):
    return f"`{text}`" if text else "-"


class StrategyPages(unittest.TestCase):
    def test_every_strategy_has_a_page_and_every_page_a_strategy(self):
        self.assertEqual({path.stem for path in PAGES.glob("*.md")} - {"README"}, {row['name'] for row in strategies()})

    def test_the_facts_are_those_of_the_program(self):
        for row in strategies():
            with self.subTest(row['name']):
                page = (PAGES / f"{row['name']}.md").read_text(encoding="utf-8")
                self.assertTrue(page.startswith(f"# {row['name']}\n"))
                self.assertEqual(facts(page), {
                    "family": row["family"],
                    "np means": row["ranks"],
                    "keys": ", ".join(map(code, row["keys"])) or "-",
                    "accepts": code(row["accepts"]),
                    "makespan": code(row["makespan"]),
                    "paper": row["paper"] or "-",
                })

    def test_every_page_draws_its_strategy_or_names_the_page_with_the_same_grid(self):
        for row in strategies():
            if row["family"] == "peer":
                continue
            with self.subTest(row['name']):
                page = (PAGES / f"{row['name']}.md").read_text(encoding="utf-8")
                named = re.search(r"(?m)^The grid of its passes is that of \[([\w-]+)\]\(\1\.md\)\.$", page)
                if named:
                    self.assertEqual(grid(row["name"]), grid(named[1]))
                    page = (PAGES / f"{named[1]}.md").read_text(encoding="utf-8")
                name = re.escape(named[1] if named else row["name"])
                self.assertRegex(page, rf"(?m)^\$ \./parabench plan '?\S+/{name}(\[|/).*\np0 ")

    def test_the_first_page_leads_to_all(self):
        first = (PAGES / "README.md").read_text(encoding="utf-8")
        for row in strategies():
            with self.subTest(row['name']):
                self.assertIn(f"| [`{row['name']}`]({row['name']}.md) |", first)


if __name__ == "__main__":
    unittest.main()
