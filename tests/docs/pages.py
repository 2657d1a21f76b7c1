"""What a page of the documentation holds that can be run: fenced blocks, with the comments that qualify them.

    ```console            lines that begin with "$ " are commands (a trailing backslash goes on), those below them what
                          they print on both streams, compared exactly; a line ... stands for any lines
    ```sh                 run as a whole by bash -e; what it prints is not compared

A comment on the line before the fence, or several, one a line, qualify it:

    <!-- test: not run, REASON -->
    <!-- test: exit N -->       the exit code of the last command; without it every command has to exit with 0
    <!-- test: ranks -->        starts ranks: run only with LibTorch and MPI
    <!-- test: needs NAME -->   run only where this program is, or matplotlib
    <!-- test: file NAME -->    of a block in any language: its text becomes that file in the page's folder
"""

import dataclasses
import re


@dataclasses.dataclass
class Block:
    language: str
    line: int  # of the fence, from 1
    text: list[str]
    not_run: str = ""
    exit_code: int = 0
    ranks: bool = False
    needs: list[str] = dataclasses.field(default_factory=list)
    file: str = ""

    @property
    def runs(self):
        return self.language in ("console", "sh") and not self.not_run and not self.file


@dataclasses.dataclass
class Command:
    words: str
    line: int  # its first, from 1
    begin: int  # of its output, in lines of the block, and the end
    end: int


class PageError(Exception):
    pass


def _qualify(block, words, line):
    if words.startswith("not run, "):
        block.not_run = words.removeprefix("not run, ")
    elif found := re.fullmatch(r"exit (\d+)", words):
        block.exit_code = int(found[1])
    elif words == "ranks":
        block.ranks = True
    elif found := re.fullmatch(r"needs ([\w.-]+)", words):
        block.needs.append(found[1])
    elif found := re.fullmatch(r"file ([A-Za-z0-9_.-]+)", words):
        block.file = found[1]
    else:
        raise PageError(f"line {line}: got 'test: {words}', expected 'not run, REASON', "
                        "'exit N', 'ranks', 'needs NAME' or 'file NAME'")


def read_blocks(lines):
    """The fenced blocks of a page, in order."""
    blocks, qualifiers, number = [], [], 0
    while number < len(lines):
        line = lines[number]
        if comment := re.fullmatch(r"\s*<!-- test: (.*?) -->", line):
            qualifiers.append((comment[1], number + 1))
        elif fence := re.fullmatch(r"\s*(`{3,})\s*([\w+-]*).*", line):
            block = Block(fence[2], number + 1, [])
            for words, at in qualifiers:
                _qualify(block, words, at)
            qualifiers = []
            number += 1
            while number < len(lines) and lines[number].strip() != fence[1]:
                block.text.append(lines[number])
                number += 1
            if number == len(lines):
                raise PageError(f"line {block.line}: a fence that nothing closes")
            blocks.append(block)
        elif qualifiers:
            raise PageError(f"line {qualifiers[0][1]}: '<!-- test: ... -->' stands on the line before a fence")
        number += 1
    return blocks


def console_commands(block):
    """The commands of a console block with the places of their outputs."""
    commands, number = [], 0
    while number < len(block.text):
        if not block.text[number].startswith("$ "):
            raise PageError(f"line {block.line + 1}: a console block begins with '$ '")
        first, words = number, [block.text[number][2:]]
        while words[-1].endswith("\\") and number + 1 < len(block.text):
            number += 1
            words.append(block.text[number])
        number += 1
        begin = number
        while number < len(block.text) and not block.text[number].startswith("$ "):
            number += 1
        commands.append(Command("\n".join(words), block.line + 1 + first, begin, number))
    return commands


def matches(expected, printed):
    """Whether lines are as expected, where '...' stands for any number of lines."""
    parts = [[]]
    for line in expected:
        if line == "...":
            parts.append([])
        else:
            parts[-1].append(line)
    first, *others = parts
    if printed[:len(first)] != first:
        return False
    if not others:
        return len(printed) == len(first)
    at, last = len(first), others.pop()
    for part in others:
        at = next((begin + len(part) for begin in range(at, len(printed) - len(part) + 1)
                   if printed[begin:begin + len(part)] == part), None)
        if at is None:
            return False
    return len(printed) - len(last) >= at and printed[len(printed) - len(last):] == last
