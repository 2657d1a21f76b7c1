"""What is aimed at and why, and how the figures of the file stand to it."""
import statistics

import cases

TIME_ERROR, MEMORY_ERROR = 0.10, 0.10
MARKS = 0.05  # an operation of 20 us may measure 1 us more than it takes unmeasured
# Torch's kernels are ours, cuDNN's and cuBLAS's: in steps of short kernels (ResNet-18 of 32 pixels) what can be won is
# the launching, which a graph does once, and which torch.compile lessens; in steps of long ones (ResNet-50, bf16)
# launching hides behind them, and 2 % is what two programs on one GPU differ by.
RATIO = {"resnet18": {"eager": 1.00, "compile": 1.00}, "resnet50": {"eager": 0.98}}

HOLDS, FALLS, UNKNOWN = "holds", "does not hold", "not measured"


def aim(part, text, reason, verdict, figure):
    return {"part": part, "aim": text, "reason": reason, "verdict": verdict, "figure": figure}


def measured_cases(part):
    return part["cases"] if part else {}


def every_case(parts, name, text, reason):
    """All cases of a part succeed. One that is skipped says so in the figure and is no failure."""
    part, entries = parts.get(name), measured_cases(parts.get(name))
    states = [entry["status"] for entry in entries.values()]
    good = states.count("ok")
    figure = f"{good} of {len(states)}"
    if "skipped" in states:
        figure += f", {states.count('skipped')} skipped"
    if "failed" in states:
        verdict = FALLS
    else:
        verdict = HOLDS if good and part["state"] == "complete" else UNKNOWN
    if part and part["note"]:
        figure += f" ({part['note']})"
    return aim(name, text, reason, verdict, figure)


def largest_error(parts, name, text, reason, most, errors):
    """`errors(entry)`: relative errors of one case. Cases that failed are the part's own complaint."""
    part, entries = parts.get(name), measured_cases(parts.get(name))
    found = [(error, case) for case, entry in entries.items() if entry["status"] == "ok" for error in errors(entry)]
    if not found:
        return aim(name, text, reason, UNKNOWN, "")
    worst, case = max(found, key=lambda one: abs(one[0]))
    verdict = FALLS if abs(worst) > most else HOLDS if part["state"] == "complete" else UNKNOWN
    return aim(name, text, reason, verdict, f"largest {worst:+.1%} ({case})")


def relative(predicted, measured):
    """[error] of a prediction; [] where one of them is not known."""
    return [(predicted - measured) / measured] if predicted is not None and measured else []


def memory_errors(kind):
    return lambda entry: [error for rank in entry["ranks"] for error in relative(**rank[kind])]


def time_errors(entry):
    return relative(entry["predicted_s"], entry["measured_s"]["median"])


def widening(entry):
    """How much longer an operation is with marks than without, for every length of the benchmark."""
    lengths = entry.get("us_per_operation", {}).values()
    return [marked / plain - 1 for length in lengths for plain, marked in [(length["0"], length["3"])]]


def spread(seconds):
    """Median and range, for a reader."""
    return f"{statistics.median(seconds) * 1e3:.2f} ms ({min(seconds) * 1e3:.2f} to {max(seconds) * 1e3:.2f})"


def against_torch(parts, network, source, arm, least):
    entries = measured_cases(parts.get("peers"))
    text = f"{network}, {source} input: at least {least:.2f}x torch {arm}"
    reason = "the same kernels: only launching can be won"
    entry = entries.get(f"{network}/{source}")
    times = entry["step_time_s"] if entry else {}
    ours, theirs = times.get("ours", []), times.get(arm, [])
    if not ours or not theirs or entry["status"] == "unfinished":
        return aim("peers", text, reason, UNKNOWN, (entry or {}).get("reason") or "")
    ratio = statistics.median(theirs) / statistics.median(ours)
    pairs = [their / our for their, our in zip(theirs, ours)]
    figure = f"{ratio:.3f}x ({min(pairs):.3f} to {max(pairs):.3f}): ours {spread(ours)}, torch {spread(theirs)}"
    share = share_of_roofline(entries, entry)
    if network == "resnet50" and share:
        figure += f"; {share:.0%} of the largest matrix product's rate, torch {share * ratio ** -1:.0%}"
    return aim("peers", text, reason, HOLDS if ratio >= least else FALLS, figure)


def share_of_roofline(entries, entry):
    product = entries.get("card", {}).get("bf16_product_flops_per_s")
    return statistics.median(entry["achieved_flops_per_s"]) / product if product else None


def transfer_figures(parts):
    """Lines for a reader; nothing is aimed at."""
    entries = measured_cases(parts.get("transfers"))
    card, ours = entries.get("card", {}), entries.get("calibrated", {})
    if card.get("status") != "ok" or ours.get("status") != "ok":
        return []
    lines = []
    host = ours["host_to_device_bytes_per_s"]
    if host:
        lines.append(f"host to device: {host / 1e9:.1f} GB/s, {host / card['host_to_device_bytes_per_s']:.0%} of "
                     "torch's copy from pinned memory")
    for kind, name in (("messages", "message within the GPU"), ("all_reduce", "all-reduce")):
        for ranks, points in ours[kind].items():
            last = points[-1]
            lines.append(f"{name}, {ranks}: {last['bytes_per_s'] / 1e9:.1f} GB/s at {last['bytes']} bytes, "
                         f"{last['bytes_per_s'] / card['device_to_device_bytes_per_s']:.0%} of torch's copy")
    return lines


def judge(parts):
    """Every aim, in the order of the parts."""
    return [
        every_case(parts, "runtime", "every test of the real runtime passes",
                   "fakes cannot show what the runtime does"),
        largest_error(parts, "runtime", f"the marks of a timed run widen an operation by at most {MARKS:.0%}",
                      "what is timed must be what runs untimed", MARKS, widening),
        every_case(parts, "gate", "every strategy trains what sequential training does",
                   "no time counts before"),
        every_case(parts, "calibrate", "every case can be calibrated", "predictions stand on it"),
        every_case(parts, "memory", "every case of the memory part runs", "what fails has no figure"),
        largest_error(parts, "memory", f"counted peak predicted within {MEMORY_ERROR:.0%}",
                      "a case is admitted by it", MEMORY_ERROR, memory_errors("total_counted")),
        largest_error(parts, "memory", f"reserved peak predicted within {MEMORY_ERROR:.0%}",
                      "it is what the GPU must have", MEMORY_ERROR, memory_errors("reserved")),
        every_case(parts, "predict", "every case of the prediction part runs", "what fails has no figure"),
        largest_error(parts, "predict", f"step time predicted within {TIME_ERROR:.0%}",
                      "cuts and plans are chosen by it", TIME_ERROR, time_errors),
        every_case(parts, "nccl", "NCCL with one rank trains the same; too few GPUs are refused with the reason",
                   "one GPU can show no more"),
        every_case(parts, "transfers", "the card's copies and the calibrated curves are read", "figures, no aim"),
        *(against_torch(parts, network, source, arm, least)
          for network, arms in RATIO.items() for source in cases.PEERS[network] for arm, least in arms.items()),
    ]


def summary(aims, asked):
    """Lines for a reader: the aims of the parts that were asked for."""
    return [f"{one['verdict']:<14} {one['part']:<10} {one['aim']}{': ' if one['figure'] else ''}{one['figure']}"
            for one in aims if one["part"] in asked]


def exit_code(aims, asked):
    """0 where every aim of the parts that were asked for holds, else 1."""
    return 0 if all(one["verdict"] == HOLDS for one in aims if one["part"] in asked) else 1
