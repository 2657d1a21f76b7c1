"""Prints, as a library path, where this Python's torch and the NVIDIA wheels beside it keep their shared libraries.

Argument: the version of torch that the programs were linked with, and no other will do. Torch is looked up, not
imported.
"""
import glob
import importlib.util
import pathlib
import re
import sys


def folders(name):
    spec = importlib.util.find_spec(name)
    return list(spec.submodule_search_locations) if spec and spec.submodule_search_locations else []


def main():
    wanted = sys.argv[1]
    hint = f"expected torch {wanted} for CUDA 13; try PATH=FOLDER:$PATH with the folder of the python3 that has it"
    torch = next((pathlib.Path(folder) for folder in folders("torch")), None)
    if torch is None:
        sys.exit(f"torch: not in {sys.executable}, {hint}")
    version = re.search(r"^__version__ = '(.*)'", (torch / "version.py").read_text(), re.MULTILINE)[1]
    if version.split("+")[0] != wanted or not (torch / "lib" / "libtorch_cuda.so").exists():
        sys.exit(f"torch: got {version} in {torch}, {hint}")
    wheels = [lib for nvidia in folders("nvidia") for lib in sorted(glob.glob(f"{nvidia}/*/lib"))]
    print(":".join([str(torch / "lib"), *wheels]))


if __name__ == "__main__":
    main()
