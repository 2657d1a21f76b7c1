"""How long the check may take: a table of seconds, one line a part, and the clock that holds a part to its line."""
import time

WHOLE_S = 1200  # all parts in one sitting
PART_S = 480    # one part asked for alone, with the doctor and the calibration that it may have to make first

# Each line holds once in a sitting: what several parts need of the calibration shares its line.
BUDGET_S = {
    "doctor": 60,
    "runtime": 140,
    "gate": 300,
    "calibrate": 100,
    "memory": 90,
    "predict": 90,
    "nccl": 60,
    "transfers": 40,
    "peers": 320,
}
STOP_S = 10   # that a program gets to end its ranks before it is killed, once in every line above
LEAST_S = 5   # nothing is started with less


class OutOfTime(Exception):
    """The part's line of the table is used up; what is not measured yet is left for the next call."""


class Budget:
    def __init__(self, seconds, now=time.monotonic):
        self._now = now
        self._end = now() + seconds - STOP_S

    def reserve(self, seconds):
        """Leaves that much less to measure: for what has to be stopped beside the program that runs last."""
        self._end -= seconds

    def left_s(self):
        return self._end - self._now()

    def limit_s(self, most_s):
        """Seconds that the next program may run, `most_s` at most."""
        if self.left_s() < LEAST_S:
            raise OutOfTime
        return min(most_s, self.left_s())
