"""Programs with a time limit. A program that is stopped takes its ranks with it."""
import dataclasses
import json
import os
import signal
import subprocess
import tempfile
import threading
import time
from typing import Optional

import budget


@dataclasses.dataclass
class Ended:
    code: Optional[int]  # None: stopped at the time limit
    output: str
    errors: str
    seconds: float

    def why(self):
        """What went wrong, for a reader: the end of what the program said last."""
        said = (self.errors.strip() or self.output.strip())[-500:]
        how = f"no end within {self.seconds:.0f} s" if self.code is None else f"exit code {self.code}"
        return f"{how}: {said}" if said else how


def stop(process):
    """Asks the program's process group to end, then ends it, and waits no longer for one that the driver holds."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(process.pid, number)
        except ProcessLookupError:
            pass
        try:
            process.wait(budget.STOP_S / 2)
            return
        except subprocess.TimeoutExpired:
            pass


ending = threading.Event()  # while it is set, whatever program a thread waits for is stopped


def wait(process, limit_s):
    """The program's exit code; None where it was stopped."""
    end = time.monotonic() + limit_s
    while not ending.is_set() and time.monotonic() < end:
        try:
            return process.wait(min(0.1, max(0, end - time.monotonic())))
        except subprocess.TimeoutExpired:
            pass
    stop(process)
    return None


def run(command, limit_s):
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
        start = time.monotonic()
        process = subprocess.Popen([str(word) for word in command], stdin=subprocess.DEVNULL, stdout=output,
                                   stderr=errors, start_new_session=True)
        try:
            code = wait(process, limit_s)
        except BaseException:  # the check itself is being stopped
            stop(process)
            raise
        texts = []
        for file in (output, errors):
            file.seek(0)
            texts.append(file.read().decode(errors="replace"))
        return Ended(code, *texts, time.monotonic() - start)


def read_json(text):
    """The value of a JSON text; None where it is none."""
    try:
        return json.loads(text)
    except ValueError:
        return None


def read_json_file(path):
    """The value of a JSON file; None where there is none."""
    try:
        return read_json(path.read_text(errors="replace"))
    except OSError:
        return None
