"""One call of the check: the programs under test, the file of the figures, and the loop over the cases of a part."""
import concurrent.futures
import pathlib
import sys
import tempfile
import time

import processes
from budget import BUDGET_S, Budget, OutOfTime
from results_file import left_by

CASE_S = 90  # the longest that one case may take


class CaseFailed(Exception):
    """A case came to no figure; the message is the reason that the file keeps."""


class PartUnfinished(Exception):
    """The part cannot be completed in this sitting; the message is its note."""


class Sitting:
    """`build`: the folder with bin/ and test-bin/. `file`: a ResultsFile."""

    def __init__(self, build, file):
        self.build = pathlib.Path(build)
        self.file = file
        self.calibration = file.path.with_name(file.path.stem + ".calibration.json")
        self.used_s = {}  # of each part's line of the budget
        self.tried = set()  # (part, case) of this sitting

    def note(self, text):
        print(f"check: {text}", file=sys.stderr, flush=True)

    def run_part(self, name, work, kept=None):
        """`work(sitting, budget)` measures; whatever ends it, the part's state tells how far it came.

        `kept`: cases to go on from, if not those that an earlier sitting of the part left."""
        self.file.begin(name, left_by(self.file.part(name)) if kept is None else kept)
        begin, used_s = time.monotonic(), self.used_s.get(name, 0)
        budget = Budget(BUDGET_S[name] - used_s)
        state, note = "unfinished", "stopped"
        try:
            work(self, budget)
            state, note = "complete", None
        except OutOfTime:
            note = f"out of time after {BUDGET_S[name]} s: the same call goes on where it stopped"
        except PartUnfinished as reason:
            note = str(reason)
        finally:
            self.used_s[name] = used_s + time.monotonic() - begin
            self.file.end(name, state, note)
        if note:
            self.note(f"{name}: {note}")

    def each(self, part, names, budget, measure, most_s=CASE_S, at_once=1):
        """`measure(case, limit_s)` returns the figures of every case that an earlier sitting has not left.

        `at_once`: cases that may run beside each other, where nothing is timed."""
        cases = self.file.part(part)["cases"]
        left = [name for name in names if name not in cases]
        if len(left) < len(names):
            self.note(f"{part}: {len(names) - len(left)} of {len(names)} cases are kept from an earlier sitting")
        out_of_time = None
        with concurrent.futures.ThreadPoolExecutor(at_once) as pool:
            works = {pool.submit(self.entry, part, case, budget, measure, most_s): case for case in left}
            try:
                for work in concurrent.futures.as_completed(works):
                    try:
                        entry = work.result()
                    except OutOfTime as reason:
                        out_of_time = reason
                        continue
                    self.file.keep(part, works[work], entry)
                    self.note(f"{part}: {works[work]}: {entry['status']} {entry.get('reason', '')}".rstrip())
            except BaseException:  # the check is being stopped, its programs with it
                processes.ending.set()
                pool.shutdown(cancel_futures=True)
                processes.ending.clear()
                raise
        if out_of_time:
            raise out_of_time

    def entry(self, part, case, budget, measure, most_s):
        """What the file keeps of one case. Throws OutOfTime."""
        limit_s = budget.limit_s(most_s)
        self.tried.add((part, case))
        try:
            return {"status": "ok", **measure(case, limit_s)}
        except CaseFailed as reason:
            if limit_s < most_s and budget.left_s() <= 0:  # the part's time ended it, not its own
                raise OutOfTime from reason
            return {"status": "failed", "reason": str(reason)}

    def parabench(self, limit_s, *words):
        return processes.run([self.build / "bin" / "parabench", *words], limit_s)

    def record(self, case, limit_s, *options):
        """The record of one case. Throws CaseFailed where the program leaves none."""
        with tempfile.TemporaryDirectory() as folder:
            out = pathlib.Path(folder) / "out.json"
            ended = self.parabench(limit_s, "run", case, "--launcher", "local", "--json", out, *options)
            results = processes.read_json_file(out)
        try:
            [record] = results["records"]
        except (KeyError, TypeError, ValueError):
            raise CaseFailed(f"no record: {ended.why()}") from None
        return record

    def good_record(self, case, limit_s, *options):
        record = self.record(case, limit_s, *options)
        if record["status"] != "ok":
            raise CaseFailed(f"{record['status']}: {record['reason']}")
        return record

    def calibrated(self):
        return ("--calibration", self.calibration)
