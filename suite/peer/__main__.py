"""Trains a case with another product, for parabench, which embeds these files and starts them.

  python FOLDER --probe NAME ... --pins WHEEL==VERSION ... --environment FOLDER
                                               which products this Python has, as JSON on standard output
  python FOLDER --product NAME --work FOLDER --reply FOLDER --steps N --warmup N [--one-process]
                                               one launch: starts the ranks, or the process that has all, waits
  ... --rank N                                 one of its ranks, which the line before starts

What is trained lies in --work (work.py); the answer goes to --reply, as parabench-rank's does (suite/protocol).
"""
import argparse
import contextlib
import functools
import glob
import importlib
import importlib.metadata
import json
import os
import platform
import signal
import subprocess
import sys


def one_line(text):
    """Its first line that says something, not too long."""
    return next((line.strip() for line in text.splitlines() if line.strip()), "")[:300]


def described(error):
    return ": ".join(part for part in (type(error).__name__, one_line(str(error))) if part)


def left_reason(folder, name):
    """What ./parabench peers left of what it could not make; "" where there is nothing."""
    try:
        with open(os.path.join(folder, "reasons", name), encoding="utf-8", errors="replace") as file:
            return one_line(file.read()) or "could not be made by ./parabench peers"
    except OSError:
        return ""


def installed_version(package):
    """None where it is not installed."""
    try:
        return importlib.metadata.version(package).split("+")[0]
    except importlib.metadata.PackageNotFoundError:
        return None
    except Exception:  # what pip left is damaged
        return "of unknown version"


@functools.cache
def import_error(package):
    """Why a package cannot be imported, "" where it can. In a process of its own, which an import may end."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        answer = "imported"
        try:
            importlib.import_module(package)
        except BaseException as error:  # SystemExit as well
            answer = described(error)
        os.write(writer, answer.encode(errors="replace"))
        os._exit(0)
    os.close(writer)
    with open(reader, encoding="utf-8") as file:
        answer = file.read()
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if not answer:
        return f"its import ends Python {f'by signal {-code}' if code < 0 else f'with code {code}'}"
    return "" if answer == "imported" else answer


def obstacle(packages, pins, folder):
    """Why a product is not there; "" where it is. What ./parabench peers left counts only as long as it is so: a package
    may have been installed, an extension been built since."""
    for package in packages:
        found = installed_version(package)
        if found is None:
            return f"{package}: {left_reason(folder, package) or 'not installed'}"
        if package in pins and found != pins[package]:
            return f"{package} {found} is installed, expected {pins[package]}"
        extension = left_reason(folder, f"{package}-extension")
        if extension and not glob.glob(os.path.join(glob.escape(folder), "extensions", "*", "*.so")):
            return f"{package}: {extension}"
        why = import_error(package)
        if why:
            return f"{package} {found} cannot be imported: {why}"
    return ""


def remedied(why):
    return f"{why}; ./parabench peers makes the environment anew" if why else ""


# Of which no release is for this torch.
UNAVAILABLE = {"horovod": "its last release, 0.28.1, compiles for C++14, and headers of torch 2.11 for C++17 and later"}


def probe(wanted, pins, folder):
    """Why each product cannot be launched, "" where it can."""
    out = os.dup(1)
    os.dup2(2, 1)  # products talk while they are imported
    pins = dict(pin.split("==") for pin in pins)
    rest, broken = [name for name in wanted if name not in UNAVAILABLE], ""
    try:
        from products import PRODUCTS
    except BaseException as error:
        broken = f"torch cannot be imported by Python {'.'.join(platform.python_version_tuple()[:2])}: {described(error)}"
    answer = {name: UNAVAILABLE[name] for name in wanted if name in UNAVAILABLE}
    answer |= {name: remedied(broken or obstacle(PRODUCTS[name].packages, pins, folder)) for name in rest}
    os.write(out, json.dumps({"products": answer}).encode())


def end_with_parent():
    import ctypes

    ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG


def drop_locks(extensions):
    """torch waits for ever for whoever holds the lock of an extension, also for a launch that was killed."""
    for lock in glob.glob(os.path.join(glob.escape(extensions), "*", "lock")):
        with contextlib.suppress(FileNotFoundError):
            os.unlink(lock)


def start_ranks(arguments, count):
    """The ranks, in this process group, each with the reply folder in its command line, by which what is left of a
    launch is found."""
    extensions = os.path.join(sys.prefix, "extensions")
    drop_locks(extensions)
    usual = dict(os.environ, OMP_NUM_THREADS=str(arguments.threads), GLOO_SOCKET_IFNAME="lo", WORLD_SIZE=str(count),
                 TORCH_EXTENSIONS_DIR=extensions)
    return [subprocess.Popen([sys.executable, "-sEB", *sys.argv, "--rank", str(rank)],
                             env=usual | {"RANK": str(rank), "LOCAL_RANK": str(rank)}, preexec_fn=end_with_parent,
                             stdin=subprocess.DEVNULL) for rank in range(count)]


def launch(arguments):
    import replies

    with open(os.path.join(arguments.work, "work.json"), encoding="utf-8") as file:
        work = json.load(file)
    arguments.threads = work["parameters"]["threads"]
    ranks = 1 if arguments.one_process else work["parameters"]["np"]
    running = start_ranks(arguments, ranks)
    replies.Heartbeat(arguments.reply, [process.pid for process in running]).start()
    while running:
        ended, status = os.wait()
        running = [process for process in running if process.pid != ended]
        if status != 0:
            for process in running:
                process.kill()
            return 1
    replies.write_reply(arguments.reply, work["plan_hash"], ranks)
    return 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--probe", nargs="+", metavar="NAME")
    parser.add_argument("--pins", nargs="*", default=[], metavar="WHEEL==VERSION")
    parser.add_argument("--environment", default="", metavar="FOLDER")
    parser.add_argument("--product")
    parser.add_argument("--work")
    parser.add_argument("--reply")
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--warmup", type=int, default=5)
    parser.add_argument("--one-process", action="store_true")
    parser.add_argument("--rank", type=int)
    arguments = parser.parse_args()
    if arguments.probe is not None:
        return probe(arguments.probe, arguments.pins, arguments.environment)
    if arguments.rank is None:
        return launch(arguments)
    import rank

    return rank.run(arguments)


if __name__ == "__main__":
    sys.exit(main())
