"""Every relative link of every Markdown file of the repository leads to a file, and every anchor to a heading."""

import pathlib
import re
import sys
import unittest
import urllib.parse

ROOT = pathlib.Path(__file__).resolve().parents[2]
LINK = re.compile(r"""!?\[[^\]]*\]\(\s*<?([^)\s>]+)>?[^)]*\)|<img src="([^"]+)\"""")


def markdown_files():
    left_out = {"build", ".deps", ".git", "out"}
    return [path for path in sorted(ROOT.rglob("*.md"))
            if not left_out.intersection(path.relative_to(ROOT).parts[:-1]) and path.is_file()]


def prose(path):
    """Its lines, those in fences and their content empty."""
    fence, lines = None, []
    for line in path.read_text(encoding="utf-8").splitlines():
        mark = re.match(r"\s*(`{3,})", line)
        if mark and fence in (None, mark[1]):
            fence = None if fence else mark[1]
            line = ""
        lines.append("" if fence else line)
    return lines


def links(path):
    """(line, target) of every link; the text of one may go over several lines."""
    text = re.sub(r"`[^`\n]*`", lambda span: "x" * len(span[0]), "\n".join(prose(path)))
    for found in LINK.finditer(text):
        yield text.count("\n", 0, found.start()) + 1, found[1] or found[2]


def anchor(heading):
    """As GitHub makes it: lower case, letters, digits, '-' and '_', blanks to '-'."""
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).strip().lower()
    return re.sub(r"[^\w\- ]", "", text).replace(" ", "-")


def anchors(path):
    found, count = set(), {}
    for line in prose(path):
        if heading := re.match(r"#{1,6} +(.*?)\s*#*$", line):
            name = anchor(heading[1])
            found.add(f"{name}-{count[name]}" if name in count else name)
            count[name] = count.get(name, 0) + 1
    return found


class Links(unittest.TestCase):
    def test_there_are_pages_to_read(self):
        names = {str(path.relative_to(ROOT)) for path in markdown_files()}
        self.assertTrue({"README.md", "CONTRIBUTING.md", "docs/tutorial.md"} <= names, names)

    def test_every_link_leads_somewhere(self):
        for path in markdown_files():
            for number, target in links(path):
                with self.subTest(f"{path.relative_to(ROOT)}:{number}", target=target):
                    self.follow(path, target)

    def follow(self, path, target):
        if re.match(r"[a-z+]+:", target):
            return
        name, _, fragment = urllib.parse.unquote(target).partition("#")
        leads_to = (path.parent / name).resolve() if name else path
        self.assertTrue(leads_to.is_relative_to(ROOT), "leads out of the repository")
        self.assertTrue(leads_to.exists(), "leads to no file")
        if fragment and leads_to.suffix == ".md":
            self.assertIn(fragment, anchors(leads_to))

    def test_anchors_are_made_as_github_makes_them(self):
        self.assertEqual(anchor("What `--set` means, and (1F1B) why"), "what---set-means-and-1f1b-why")
        self.assertEqual(anchor("A [link](there.md) in it"), "a-link-in-it")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
