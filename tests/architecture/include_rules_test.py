"""Holds who may include whom: reads every include of every source, quoted and angled. Argument: the checkout."""
import pathlib
import re
import sys

PURE = ["base", "models/spec", "datasets/spec", "parallelism/plan", "analytic", "results"]

# part: (parts of ours it may include beside itself, outside libraries). A file belongs to the longest matching part.
RULES = {
    "base": ([], []),
    "models/spec": (["base"], []),
    "datasets/spec": (["base"], []),
    "parallelism/plan": (["base", "models/spec"], []),
    "analytic": (["base", "models/spec", "datasets/spec", "parallelism/plan"], []),
    "results": (["base"], []),
    "suite": (PURE + ["suite/protocol"], ["benchmark", "CLI11", "version"]),
    "suite/protocol": (PURE, ["CLI11"]),
    "datasets": (["base", "datasets/spec"], ["libjpeg", "zlib"]),
    "models/torch": (["base", "models/spec"], ["torch"]),
    "parallelism/comm": (["base"], []),
    "parallelism/comm/threads": (["base", "parallelism/comm"], []),
    "parallelism/comm/mpi": (["base", "parallelism/comm"], ["MPI"]),
    "parallelism/comm/cuda": (["base", "parallelism/comm"], ["CUDA", "NCCL"]),
    "parallelism/exec": (
        ["base", "models/spec", "models/torch", "datasets", "datasets/spec", "parallelism/plan", "parallelism/comm"],
        ["torch"],
    ),
    "parallelism/exec/cuda": (
        ["base", "parallelism/plan", "parallelism/exec", "parallelism/comm/cuda"],
        ["torch", "CUDA"],
    ),
    "suite/rank": (
        PURE
        + ["datasets", "models/torch", "parallelism/comm", "parallelism/comm/threads", "parallelism/comm/mpi"]
        + ["parallelism/comm/cuda", "parallelism/exec", "suite/protocol"],
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
    "MPI": r"mpi\.h",
    "CUDA": r"cuda_runtime(_api)?\.h",
    "NCCL": r"nccl\.h",
    "libjpeg": r"(jpeglib|jerror)\.h",
    "zlib": r"zlib\.h",
    "benchmark": r"benchmark/.*",
    "CLI11": r"CLI/.*",
    "version": r"parabench_version\.h",
}


def part_of(path):
    return max((part for part in RULES if path.startswith(part + "/")), key=len, default=None)


def complaint(root, path, included):
    """What is wrong with one include, or None."""
    part = part_of(path)
    parts, libraries = RULES[part]
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
        for number, line in enumerate(source.read_text().splitlines(), 1):
            match = re.match(r'\s*#\s*include\s*[<"]([^>"]+)[>"]', line)
            wrong = match and complaint(root, path, match[1])
            if wrong:
                yield f"{path}:{number}: {match[1]}: {wrong}"


if __name__ == "__main__":
    found = list(violations(pathlib.Path(sys.argv[1])))
    print("\n".join(found) or "no include breaks the rules")
    sys.exit(bool(found))
