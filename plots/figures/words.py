"""Numbers and names as figures write them."""

import math
import textwrap


def three_digits(value):
    digits = max(0, 2 - int(math.floor(math.log10(abs(value))))) if value else 0
    text = f"{value:.{digits}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def with_unit(units):
    def text(value, _=None):
        if value == 0:
            return "0"
        factor, name = next(((f, n) for f, n in reversed(units) if abs(value) >= f * 0.9995), units[0])
        return f"{three_digits(value / factor)} {name}"

    return text


seconds = with_unit([(1e-9, "ns"), (1e-6, "us"), (1e-3, "ms"), (1, "s")])
memory = with_unit([(1, "B"), (2**10, "KiB"), (2**20, "MiB"), (2**30, "GiB"), (2**40, "TiB")])


def percent(value, _=None):
    return f"{100 * value:+.3g} %" if abs(value) > 1e-9 else "0 %"


def shortened(text, most):
    """The beginning and the end of a long text: cases differ in both."""
    text = "".join(c if c.isprintable() else "?" for c in text)
    if len(text) <= most:
        return text
    return text[: most // 2 - 1] + "\u2026" + text[len(text) - (most - most // 2):]


def two_lines(text, most):
    """A text broken at its blanks where it is too long for one line, and shortened where it is for two."""
    first, *rest = textwrap.wrap(shortened(text, len(text)), most) or [""]
    return first if not rest else first + "\n" + shortened(" ".join(rest), most)


def brief(label):
    """"gpipe np2 b64 m8" of gpipe/np:2/batch:64/micro:8."""
    words = label.split("/")
    for key, short in (("np:", "np"), ("batch:", "b"), ("micro:", "m")):
        words = [short + word[len(key):] if word.startswith(key) else word for word in words]
    return " ".join(words)


def workload(row):
    """"resnet18/cifar10-synthetic": what stands in front of the label in the id."""
    return row["id"][:len(row["id"]) - len(row["label"])].rstrip("/")


def named(report, row, name):
    return f"{name} ({report['files'][row['file']]['label']})" if len(report["files"]) > 1 else name
