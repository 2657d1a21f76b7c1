"""The check of pages sees what is wrong with a page, and mends what can be mended. Argument: parabench, which is not run."""

import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import generated  # noqa: E402
import pages  # noqa: E402


class Check(unittest.TestCase):
    def setUp(self):
        self.scratch = tempfile.TemporaryDirectory()
        self.addCleanup(self.scratch.cleanup)
        self.folder = pathlib.Path(self.scratch.name)
        program = self.folder / "parabench"
        program.write_text('#!/bin/sh\necho "$@"\necho note >&2\nexit "${#}"\n')
        program.chmod(0o755)
        self.page = self.folder / "page.md"

    def check(self, text, *options):
        self.page.write_text(text.strip("\n") + "\n")
        done = subprocess.run([HERE / "check", "--bin", self.folder, *options, self.page], capture_output=True, text=True)
        return done.returncode, done.stdout

    def test_a_page_that_tells_the_truth_passes(self):
        code, said = self.check("""
<!-- test: exit 2 -->
```console
$ ./parabench one two
one two
note
```
```sh
echo kept > file
```
```console
$ cat file
kept
$ printf 'a\\nb\\nc\\n'
a
...
$ echo \\
  far
far
```""")
        self.assertEqual(code, 0, said)
        self.assertIn("5 commands", said)

    def test_other_output_exit_codes_and_failing_scripts_are_seen(self):
        for block in ("```console\n$ echo a\nb\n```", "```console\n$ echo a\n```", "```console\n$ true\nx\n```",
                      "```console\n$ false\n```", "```sh\nfalse\ntrue\n```", "<!-- test: exit 3 -->\n```sh\ntrue\n```",
                      "```console\n$ ./parabench a\na\n```"):
            with self.subTest(block):
                self.assertEqual(self.check(block)[0], 1)

    def test_what_is_not_run_is_not_run(self):
        for mark in ("not run, no reason", "ranks", "file it.sh"):
            with self.subTest(mark):
                self.assertEqual(self.check(f"<!-- test: {mark} -->\n```sh\nfalse\n```")[0], 0)
        self.assertEqual(self.check("<!-- test: ranks -->\n```sh\nfalse\n```", "--ranks")[0], 1)
        self.assertEqual(self.check("<!-- test: needs no-such-program -->\n```sh\nfalse\n```")[0], 0)
        self.assertEqual(self.check("<!-- test: needs sh -->\n```sh\nfalse\n```")[0], 1)

    def test_shown_files_are_what_commands_read(self):
        code, said = self.check("<!-- test: file a.toml -->\n```toml\nx = 1\n```\n```console\n$ cat a.toml\nx = 1\n```")
        self.assertEqual(code, 0, said)

    def test_commands_see_nothing_of_a_users_settings_and_leave_nothing(self):
        code, said = self.check("```console\n$ test $HOME = $PWD/.test/home && echo ${PARABENCH_OUT-none}\nnone\n```")
        self.assertEqual(code, 0, said)

    def test_update_rewrites_what_differs_and_keeps_what_matches(self):
        code, _ = self.check("```console\n$ seq 3\n1\n...\n$ echo a\nb\nc\n```\nbehind\n```console\n$ echo d\n```", "--update")
        self.assertEqual(code, 1)
        self.assertEqual(self.page.read_text(),
                         "```console\n$ seq 3\n1\n...\n$ echo a\na\n```\nbehind\n```console\n$ echo d\nd\n```\n")

    def test_a_generated_part_that_is_old_is_seen_and_mended(self):
        old = "<!-- generated: schema -->\nold\n<!-- end -->"
        self.assertEqual(self.check(old)[0], 1)
        self.assertEqual(self.check(old, "--update")[0], 1)
        self.assertIn("| `records` | array", self.page.read_text())
        self.assertEqual(self.check(self.page.read_text())[0], 0)

    def test_mistakes_of_the_author_are_named(self):
        for text, expected in (("<!-- test: exit one -->\n```sh\n```", "expected 'not run"), ("```sh", "nothing closes"),
                               ("<!-- test: ranks -->\ntext", "line before a fence"), ("```console\nls\n```", "begins with")):
            with self.subTest(text):
                code, said = self.check(text)
                self.assertEqual(code, 1)
                self.assertIn(expected, said)


class Matching(unittest.TestCase):
    def test_dots_stand_for_any_lines(self):
        for expected, printed, same in (("a ... c", "a b b c", True), ("a ... c", "a c", True), ("a ... c", "a c d", False),
                                        ("...", "", True), ("...", "a b", True), ("a ...", "b a", False), ("", "a", False),
                                        ("... b ... b", "a b c", False), ("... b ... b", "b b", True), ("a ... a", "a", False),
                                        ("... b c ... d", "b b c a d", True), ("a b", "a b", True), ("a", "a b", False)):
            with self.subTest(expected=expected, printed=printed):
                self.assertEqual(pages.matches(expected.split(), printed.split()), same)


class Schema(unittest.TestCase):
    def test_every_property_of_the_schema_is_in_the_tables(self):
        schema = generated.newest_schema(HERE.parents[1])
        tables = schema.tables()
        told = set(re.findall(r"(?m)^\| `(?:[\w\[\].]*\.)?(\w+)` \|", tables))

        def properties(node):
            if isinstance(node, dict):
                for key, value in node.items():
                    if key == "properties" and isinstance(value, dict) and all(isinstance(v, dict) for v in value.values()):
                        yield from value
                    yield from properties(value)
            elif isinstance(node, list):
                for one in node:
                    yield from properties(one)

        wanted = set(properties(schema.whole))
        self.assertGreater(len(wanted), 80)
        self.assertEqual(wanted - told, set())


if __name__ == "__main__":
    del sys.argv[1:]
    unittest.main()
