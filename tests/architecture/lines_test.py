"""Holds lines to the ColumnLimit of .clang-format, which leaves comments alone and does not know Markdown. Left out are
literals that go on over several lines, tables, code, and generated pages. Argument: the checkout."""
import pathlib
import re
import sys


def limit(root):
    return int(re.search(r"^ColumnLimit: (\d+)$", (root / ".clang-format").read_text(), re.MULTILINE).group(1))


def lines_of_source(text):
    """Numbered lines outside of raw literals."""
    hidden = re.sub(r'R"(\w*)\((.*?)\)\1"', lambda raw: "\n" * raw.group(0).count("\n"), text, flags=re.DOTALL)
    return enumerate(hidden.split("\n"), 1)


def lines_of_page(text):
    """Numbered lines that are neither code nor of a table."""
    in_code = False
    for number, line in enumerate(text.split("\n"), 1):
        if line.startswith("```"):
            in_code = not in_code
        elif not in_code and not line.startswith(("|", "<!--")):
            yield number, line


def too_long(root):
    most = limit(root)
    folders = "analytic base datasets docs models parallelism plots results suite tests".split()
    for path in sorted([*root.glob("*.md"), *(path for folder in folders for path in (root / folder).rglob("*"))]):
        lines = {".md": lines_of_page, ".h": lines_of_source, ".cpp": lines_of_source, ".cu": lines_of_source}.get(path.suffix)
        for number, line in lines(path.read_text()) if lines else ():
            if len(line) > most:
                yield f"{path.relative_to(root)}:{number}: {len(line)} columns, at most {most}"


if __name__ == "__main__":
    found = list(too_long(pathlib.Path(sys.argv[1])))
    print(*found, sep="\n")
    sys.exit(bool(found))
