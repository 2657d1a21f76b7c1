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


def write_error(folder, rank, message):
    write(folder, f"error-{rank}.json", {"rank": rank, "kind": "failure", "message": message})


def write_rank(folder, rank, document):
    write(folder, f"rank-{rank}.json", document)


class Heartbeat(threading.Thread):
    """Tells every other second where the rank is. A rank that uses no processor during a step waits for others."""

    def __init__(self, folder, rank):
        super().__init__(daemon=True)
        self.folder, self.rank, self.step = folder, rank, None

    def run(self):
        number, busy = 0, time.process_time()
        path = os.path.join(self.folder, f"beat-{self.rank}.json")
        while os.path.isdir(self.folder):
            number += 1
            now = time.process_time()
            step = self.step
            place = {"rank": self.rank, "moves": 0 if step is None else step,
                     "waits": step is not None and now - busy < 0.02 * BEAT_PERIOD_S,
                     "operation": "" if step is None else f"step {step}"}
            busy = now
            text = json.dumps({"number": number, "host": socket.gethostname(), "pid": os.getpid(), "ranks": [place]})
            try:
                with open(path, "r+" if os.path.exists(path) else "w", encoding="utf-8") as file:
                    file.write(text + "\n")
                    file.truncate()
            except OSError:
                pass  # a launch does not end for its beat
            time.sleep(BEAT_PERIOD_S)
        os._exit(1)  # the launch is over, its folder is gone


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
    ordered = sorted(samples)
    nothing = dict.fromkeys(["parameters", "gradients", "optimizer", "weight_versions", "activations", "communication",
                             "workspace", "total_counted"], 0)
    measured = {
        "step_time_s": {"samples": [samples], "median": ordered[len(ordered) // 2], "p10": ordered[0],
                        "p90": ordered[-1], "ci95": [ordered[0], ordered[-1]]},
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
