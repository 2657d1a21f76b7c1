"""The files by which a launch answers, as parabench-rank's do (suite/protocol: folder.h, beat.h, reply.h)."""
import json
import math
import os
import socket
import threading
import time

BEAT_PERIOD_S = 2


def write(folder, name, document):
    """By rename, so that a reader never sees half of it."""
    part = os.path.join(folder, f".{name}.{os.getpid()}")
    with open(part, "w", encoding="utf-8") as file:
        json.dump(document, file)
    os.replace(part, os.path.join(folder, name))


def cpuset():
    """"0-3,8" as Linux prints it."""
    with open("/proc/self/status", encoding="utf-8") as file:
        return next((line.split()[1] for line in file if line.startswith("Cpus_allowed_list")), "")


def first_line(path, key=None):
    try:
        with open(path, encoding="utf-8") as file:
            return next((line.split(":", 1)[-1].strip() for line in file if key is None or line.startswith(key)), "")
    except OSError:
        return ""


def write_start(folder, rank):
    memory = first_line("/proc/meminfo", "MemTotal").split() or ["0"]
    write(folder, f"pid-{rank}.json", {
        "rank": rank, "pid": os.getpid(), "host": socket.gethostname(), "cpu": first_line("/proc/cpuinfo", "model name"),
        "cores": len(os.sched_getaffinity(0)), "memory_bytes": int(memory[0]) * 1024,
        "governor": first_line("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"), "cpuset": cpuset()})


# Of Gloo, where another rank has gone.
LOST = ("Connection reset by peer", "Connection closed by peer", "Broken pipe", "Pair is not connected")


def write_error(folder, rank, message):
    kind = "peer" if any(text in message for text in LOST) else "failure"
    write(folder, f"error-{rank}.json", {"rank": rank, "kind": kind, "message": message})


def write_rank(folder, rank, document):
    write(folder, f"rank-{rank}.json", document)


class Progress:
    """The step that a rank is in, for whoever watches over it."""

    def __init__(self, folder, rank):
        self.file = os.open(os.path.join(folder, f"step-{rank}"), os.O_WRONLY | os.O_CREAT, 0o666)

    def begin(self, step):
        os.pwrite(self.file, b"%9d" % step, 0)


def busy_ticks(pid):
    """Processor time of a process and its threads; None where it is gone."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
            fields = file.read().rpartition(")")[2].split()
        return int(fields[11]) + int(fields[12])
    except OSError:
        return None


class Heartbeat(threading.Thread):
    """Tells every other second where the ranks are, from the process that started them: theirs may hold Python's lock
    for long. A rank that uses no processor during a step waits for others."""

    def __init__(self, folder, pids):
        super().__init__(daemon=True)
        self.folder, self.pids = folder, pids

    def beat(self, number, rank, ticks, before):
        step = first_line(os.path.join(self.folder, f"step-{rank}"))
        place = {"rank": rank, "moves": int(step or 0),
                 "waits": ticks - before < 0.02 * BEAT_PERIOD_S * os.sysconf("SC_CLK_TCK"),
                 "operation": f"step {step}" if step else ""}
        write(self.folder, f"beat-{rank}.json", {"number": number, "host": socket.gethostname(),
                                                 "pid": self.pids[rank], "ranks": [place]})

    def run(self):
        number, before = 0, [0] * len(self.pids)
        while os.path.isdir(self.folder):
            number += 1
            for rank, pid in enumerate(self.pids):
                ticks = busy_ticks(pid)
                if ticks is None:
                    continue
                try:
                    self.beat(number, rank, ticks, before[rank])
                except OSError:
                    pass  # a launch does not end for its beat
                before[rank] = ticks
            time.sleep(BEAT_PERIOD_S)
        os._exit(1)  # the launch is over, its folder is gone; ranks end with their parent


def number(value):
    """JSON has no NaN."""
    return value if math.isfinite(value) else None


def write_reply(folder, plan_hash, ranks):
    reports = []
    for rank in range(ranks):
        with open(os.path.join(folder, f"rank-{rank}.json"), encoding="utf-8") as file:
            reports.append(json.load(file))
    warmup = reports[0]["warmup"]
    # A step ends when its slowest rank has ended it; all clocks are this host's.
    ends = [max(all_ranks) for all_ranks in zip(*(report["ends"] for report in reports))]
    samples = [end - begin for begin, end in zip(ends[warmup - 1:], ends[warmup:])]
    nothing = dict.fromkeys(["parameters", "gradients", "optimizer", "weight_versions", "activations", "communication",
                             "workspace", "total_counted"], 0)
    measured = {
        # What follows from the samples is parabench's to say, as of its own ranks (results::summarise).
        "step_time_s": {"samples": [samples], "median": None, "p10": None, "p90": None, "ci95": [None, None]},
        "throughput_samples_per_s": None,
        "achieved_flops_per_s": None,
        "losses": [number(sum(shares)) for shares in zip(*(report["losses"] for report in reports))],
        "sync": False,
        "warmup_steps": warmup,
        "baseline": None,
        "ranks": [{"rank": rank, "host": socket.gethostname(), "device": "cpu", "cpuset": report["cpuset"],
                   "peak_memory_bytes": dict(nothing, resident=report["resident"]), "breakdown_s": None,
                   "bytes_sent": 0, "bytes_received": 0} for rank, report in enumerate(reports)],
    }
    write(folder, "reply.json", {"phase": "measure", "plan_hash": plan_hash, "communicator": "", "measured": measured})
