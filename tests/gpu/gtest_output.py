"""What a GoogleTest program prints: one that was killed has told of its earlier tests."""
import re

BEGUN = re.compile(r"^\[ RUN      \] (\S+)", re.MULTILINE)
ENDED = re.compile(r"^\[ +(OK|FAILED|SKIPPED) +\] ([^\s,]+)(?:, where .*)? \((\d+) ms\)", re.MULTILINE)
STATUS = {"OK": "ok", "FAILED": "failed", "SKIPPED": "skipped"}


def listed(text):
    """Suite.Test of everything that --gtest_list_tests names and that is not disabled."""
    names, suite = [], ""
    for line in text.splitlines():
        word = line.split("#")[0].rstrip()
        if not word.startswith(" "):
            suite = word if word.endswith(".") else ""
        elif suite and "DISABLED_" not in suite + word:
            names.append(suite + word.strip())
    return names


def begun_last(text):
    """The test that was begun last; None before the first."""
    begun = BEGUN.findall(text)
    return begun[-1] if begun else None


def ends(text):
    """{test: entry} of every test that came to its end. What it printed is the reason where it did not succeed."""
    entries, start = {}, 0
    for found in ENDED.finditer(text):
        word, test, milliseconds = found.groups()
        said = text[start:found.start()].split(f"[ RUN      ] {test}", 1)[-1].strip()
        start = found.end()
        entries[test] = {"status": STATUS[word], "seconds": int(milliseconds) / 1e3}
        if word != "OK":
            entries[test]["reason"] = said[-500:]
    return entries
