"""Whatever a user can write has its place in the documentation. Argument: parabench."""

import json
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

DOCS = pathlib.Path(__file__).resolve().parents[2] / "docs"
PROGRAM = sys.argv.pop(1)


def ask(*words):
    return subprocess.run([PROGRAM, *words], check=True, capture_output=True, text=True).stdout


def names(table):
    return [row["name"] for row in json.loads(ask("list", f"--{table}", "--json"))]


def page(name):
    return (DOCS / name).read_text(encoding="utf-8")


class Words(unittest.TestCase):
    def test_every_command_has_a_section_with_its_help(self):
        commands = re.findall(r"(?m)^  (\S+) {2,}\S", ask("--help").split("Subcommands:")[1])
        self.assertGreater(len(commands), 10)
        text = page("reference/commands.md")
        for command in commands:
            with self.subTest(command):
                self.assertRegex(text, rf"(?m)^## {re.escape(command)}$")
                self.assertIn(f"$ ./parabench {command} --help", text)

    def test_every_word_of_ids_stands_at_the_begin_of_a_line_of_the_reference(self):
        text = page("reference/words.md")
        for table in ("strategies", "models", "datasets", "keys", "sets"):
            known = names(table)
            self.assertGreater(len(known), 3)
            for name in known:
                with self.subTest(f"--{table}", name=name):
                    self.assertRegex(text, rf"(?m)^{re.escape(name)}(\[|\s)")

    def test_every_strategy_is_on_the_index_of_the_strategies_pages(self):
        text = page("strategies/README.md")
        for name in names("strategies"):
            with self.subTest(name):
                self.assertIn(f"`{name}`", text)

    def test_every_word_of_a_table_of_measurements_is_told(self):
        text = page("validation.md")
        header = "source,row,models,quantity,value,use,quality,recompute,training,sharded"
        row = "a,b,linear,speed_up,1,test,printed,full,fp32-sgd,nothing".split(",")
        wrong = {"column": header.replace("use", "zz")}
        for place, name in enumerate(header.split(",")):
            if name not in ("source", "row", "value"):
                wrong[name] = header + "\n" + ",".join(row[:place] + ["zz"] + row[place + 1:])
        for name, table in wrong.items():
            with tempfile.NamedTemporaryFile("w", suffix=".csv") as file:
                file.write(table + "\n")
                file.flush()
                told = subprocess.run([PROGRAM, "validate-model", file.name], capture_output=True, text=True).stderr
            known = re.search(rf": {name}: got 'zz', expected one of ([^;\n]+)", told)[1].split(", ")
            self.assertGreater(len(known), 1)
            for word in known:
                with self.subTest(name, word=word):
                    self.assertIn(f"`{word}`", text)

    def test_every_variable_of_ours_has_its_row(self):
        found = set(re.findall(r"\$\{(PARABENCH_[A-Z]+)", (DOCS.parent / "parabench").read_text(encoding="utf-8")))
        for part in ("analytic", "base", "datasets", "models", "parallelism", "results", "suite"):
            for source in (DOCS.parent / part).rglob("*.cpp"):
                found.update(re.findall(r'getenv\("(PARABENCH_[A-Z_]+)"', source.read_text(encoding="utf-8")))
        self.assertTrue({"PARABENCH_OUT", "PARABENCH_PRESET"} <= found, found)
        text = page("reference/commands.md")
        for name in sorted(found):
            with self.subTest(name):
                self.assertIn(f"| `{name}` |", text)

    def test_every_page_is_on_the_index(self):
        text = page("README.md")
        for path in sorted(DOCS.glob("*.md")) + sorted((DOCS / "reference").glob("*.md")):
            if path != DOCS / "README.md":
                with self.subTest(path.name):
                    self.assertIn(f"]({path.relative_to(DOCS)})", text)


if __name__ == "__main__":
    unittest.main()
