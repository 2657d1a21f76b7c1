"""No two headers define a type of the same name: one name space holds them all, and the linker would silently keep one.
Argument: the checkout."""
import collections
import pathlib
import re
import sys

PARTS = ["analytic", "base", "datasets", "models", "parallelism", "results", "suite"]
TYPE = re.compile(r"(?:struct|class|enum class|enum) (?:alignas\(\w+\) )?(?P<name>[A-Z]\w*)(?P<rest>.*)")


def definitions(root):
    """(name, header) of every type at the left margin that is more than declared."""
    for part in PARTS:
        for header in sorted((root / part).rglob("*.h")):
            for line in header.read_text().splitlines():
                found = TYPE.match(line)
                if found and not found["rest"].rstrip().endswith(";"):
                    yield found["name"], header.relative_to(root).as_posix()


def main():
    places = collections.defaultdict(set)
    for name, header in definitions(pathlib.Path(sys.argv[1])):
        places[name].add(header)
    assert len(places) > 100, "the pattern finds no types any more"
    twice = {name: headers for name, headers in places.items() if len(headers) > 1}
    for name, headers in sorted(twice.items()):
        print(f"{name} is defined in {' and '.join(sorted(headers))}")
    return 1 if twice else 0


sys.exit(main())
