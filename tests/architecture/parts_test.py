"""Holds the parts of the suite apart: who may include whom, and in which namespace each is. Reads every include, quoted
and angled, and every namespace of every source. Argument: the checkout."""
import collections
import pathlib
import re
import sys

PURE = ["base", "models/spec", "datasets/spec", "parallelism/plan", "analytic", "results"]

# Of a part: its namespace, the parts of ours that it may include beside itself, outside libraries.
Part = collections.namedtuple("Part", "namespace parts libraries")

# A file belongs to the longest matching part.
RULES = {
    "base": Part("parabench", [], []),
    "models/spec": Part("parabench::models", ["base"], []),
    "datasets/spec": Part("parabench::datasets", ["base"], []),
    "parallelism/plan": Part("parabench::plan", ["base", "models/spec"], []),
    "analytic": Part("parabench::analytic", ["base", "models/spec", "datasets/spec", "parallelism/plan"], []),
    "results": Part("parabench::results", ["base"], []),
    "suite": Part("parabench::suite", PURE + ["suite/protocol"], ["benchmark", "toml++", "version"]),
    "suite/cli": Part("parabench::suite", PURE + ["suite", "suite/protocol"], ["CLI11", "version"]),
    "suite/protocol": Part("parabench::protocol", PURE, ["CLI11"]),
    "datasets": Part("parabench::datasets", ["base", "datasets/spec"], ["libjpeg", "zlib"]),
    "models/torch": Part("parabench::modules", ["base", "models/spec"], ["torch"]),
    "parallelism/comm": Part("parabench::comm", ["base"], []),
    "parallelism/comm/threads": Part("parabench::comm", ["base", "parallelism/comm"], []),
    "parallelism/comm/mpi": Part("parabench::comm", ["base", "parallelism/comm"], ["MPI"]),
    "parallelism/comm/cuda": Part("parabench::comm", ["base", "parallelism/comm"], ["CUDA", "NCCL"]),
    "parallelism/exec": Part(
        "parabench::exec",
        ["base", "models/spec", "models/torch", "datasets", "datasets/spec", "parallelism/plan", "parallelism/comm"],
        ["torch", "TBB"],
    ),
    "parallelism/exec/cuda": Part(
        "parabench::exec",
        ["base", "parallelism/plan", "parallelism/exec", "parallelism/comm/cuda"],
        ["torch", "CUDA"],
    ),
    "suite/rank": Part(
        "parabench::rank",
        PURE
        + ["datasets", "models/torch", "parallelism/comm", "parallelism/comm/threads", "parallelism/comm/mpi"]
        + ["parallelism/comm/cuda", "parallelism/exec", "parallelism/exec/cuda", "suite/protocol"],
        ["torch", "CLI11"],
    ),
}

# An include that is not a file of ours is the library whose pattern matches it; sources of every part may use the
# first three, headers the standard library and json's forward declarations.
LIBRARIES = {
    "standard": r"[a-z0-9_]+|(sys|linux)/[a-z_]+\.h"
    r"|(cpuid|dlfcn|fcntl|immintrin|malloc|poll|pthread|pwd|sched|signal|spawn|time|unistd)\.h",
    "json": r"nlohmann/.*",
    "fmt": r"fmt/.*",
    "torch": r"(torch|ATen|c10)/.*",
    "TBB": r"oneapi/tbb/.*",
    "MPI": r"mpi\.h",
    "CUDA": r"cuda_(bf16|runtime(_api)?)\.h",
    "NCCL": r"nccl\.h",
    "libjpeg": r"(jpeglib|jerror)\.h",
    "zlib": r"zlib\.h",
    "benchmark": r"benchmark/.*",
    "CLI11": r"CLI/.*",
    "toml++": r"toml\+\+/.*",
    "version": r"parabench_version\.h",
}


def part_of(path):
    return max((part for part in RULES if path.startswith(part + "/")), key=len, default=None)


def complaint(root, path, included):
    """What is wrong with one include, or None."""
    part = part_of(path)
    _, parts, libraries = RULES[part]
    if (root / included).is_file():
        target = part_of(included)
        return None if target == part or target in parts else f"{part} may not include {target}"
    library = next((name for name, pattern in LIBRARIES.items() if re.fullmatch(pattern, included)), None)
    if library is None:
        return "neither a path from the root of the checkout nor a known library"
    if library in ("json", "fmt"):
        public = path.endswith(".h") and included != "nlohmann/json_fwd.hpp"
        return f"{library} belongs into sources, not headers" if public else None
    return None if library == "standard" or library in libraries else f"{part} may not include {library}"


def violations(root):
    tops = sorted({part.split("/")[0] for part in RULES})
    sources = [path for top in tops for path in sorted((root / top).rglob("*"))
               if path.suffix in (".h", ".cpp", ".cu", ".in")]
    if not sources:
        yield f"no sources under {root}"
    for source in sources:
        path = source.relative_to(root).as_posix()
        if part_of(path) is None:
            yield f"{path}: belongs to no part of the table"
            continue
        text, expected = source.read_text(), RULES[part_of(path)].namespace
        for namespace in set(re.findall(r"^namespace (parabench[\w:]*) \{", text, re.MULTILINE)) - {expected}:
            yield f"{path}: namespace {namespace}, not {expected}"
        for number, line in enumerate(text.splitlines(), 1):
            match = re.match(r'\s*#\s*include\s*[<"]([^>"]+)[>"]', line)
            wrong = match and complaint(root, path, match[1])
            if wrong:
                yield f"{path}:{number}: {match[1]}: {wrong}"


if __name__ == "__main__":
    found = list(violations(pathlib.Path(sys.argv[1])))
    print("\n".join(found) or "every part keeps to the rules")
    sys.exit(bool(found))
