"""The parts of the check but the comparison with torch: what each measures, and what it keeps of it.

The figures are kept as the program reports them; aims.py judges.
"""
import os
import pathlib
import re
import sys

import cases
import gtest_output
import processes
from sitting import CASE_S, CaseFailed, PartUnfinished

HERE = pathlib.Path(__file__).resolve().parent
RUNTIME_TESTS, EVENT_BENCHMARK = "gpu_runtime_test", "event_benchmark"
# Cases that share the GPU where nothing is timed: their programs' starts, two cores each, take longest.
AT_ONCE = max(1, min(8, (os.cpu_count() or 1) // 2))
NO_GPU_FOR_RANK = "comm:nccl wants a GPU for every rank"


def gate(sitting, budget):
    sitting.each("gate", cases.GATE, budget, lambda case, limit_s: verified(sitting, case, limit_s), at_once=AT_ONCE)


def verified(sitting, case, limit_s):
    record = sitting.good_record(case, limit_s, "--verify", "only")
    equivalence = record["equivalence"]
    if equivalence["status"] != "pass":
        raise CaseFailed(f"equivalence {equivalence['status']}: {equivalence['reason']}")
    return {"max_relative_update_difference": equivalence["max_relative_update_difference"]}


def calibrate(sitting, budget, wanted=cases.CALIBRATE):
    """The part is finished when all of cases.CALIBRATE are there, whichever of them are wanted now."""
    def measure(case, limit_s):
        ended = sitting.parabench(limit_s, "calibrate", case, "--launcher", "local", "--out", sitting.calibration)
        if ended.code != 0:
            raise CaseFailed(ended.why())
        return {"seconds": ended.seconds}

    sitting.file.content["calibration"] = str(sitting.calibration)
    known = sitting.file.part("calibrate")["cases"]
    again = known.keys() - standing_calibrations(sitting)
    for case in again:
        del known[case]
    sitting.each("calibrate", sorted(wanted, key=lambda case: case in again), budget, measure)
    left = [case for case in cases.CALIBRATE if case not in known]
    if left:
        raise PartUnfinished(f"{len(left)} of {len(cases.CALIBRATE)} cases are left to --only calibrate")


def standing_calibrations(sitting):
    """The cases that need not be tried: those of this sitting, and good ones of earlier sittings."""
    part, made = sitting.file.part("calibrate"), sitting.calibration.exists()
    return {case for case, entry in (part["cases"] if part else {}).items()
            if ("calibrate", case) in sitting.tried or made and entry["status"] == "ok"}


def make_calibration(sitting, part):
    """What `part` needs and no sitting has measured yet, or failed to in an earlier one; says so."""
    standing = standing_calibrations(sitting)
    missing = [case for case in cases.CALIBRATED.get(part, ()) if case not in standing]
    if missing:
        sitting.note(f"{part}: measuring first what {len(missing)} of its cases need, kept in {sitting.calibration}")
        known = sitting.file.part("calibrate")
        sitting.run_part("calibrate", lambda *it: calibrate(*it, wanted=missing), kept=known["cases"] if known else {})


def each_calibrated(sitting, part, names, budget, measure):
    """sitting.each() of the cases that were calibrated, or failed to be; what time did not suffice for waits."""
    known = sitting.file.part("calibrate")["cases"]
    sitting.each(part, [case for case in names if case in known], budget, measure)
    waiting = [case for case in names if case not in known]
    if waiting:
        raise PartUnfinished(f"{len(waiting)} of {len(names)} cases wait for their calibration: the same call goes on")


def memory(sitting, budget):
    def measure(case, limit_s):
        record = sitting.good_record(case, limit_s, "--verify", "off", "--steps", "4", *sitting.calibrated())
        pairs = zip(record["predicted"]["ranks"], record["measured"]["ranks"])
        return {"ranks": [{kind: {"predicted": predicted["peak_memory_bytes"][kind],
                                  "measured": measured["peak_memory_bytes"][kind]}
                           for kind in ("total_counted", "reserved", "device_used")} for predicted, measured in pairs]}

    each_calibrated(sitting, "memory", cases.MEMORY, budget, measure)


def predict(sitting, budget):
    def measure(case, limit_s):
        record = sitting.good_record(case, limit_s, "--verify", "off", *sitting.calibrated())
        sources = {term["cost_source"] for term in record["predicted"]["terms"]}
        return {"predicted_s": record["predicted"]["step_time_s"], "measured_s": record["measured"]["step_time_s"],
                "cost_sources": sorted(sources), "arithmetic": record["measured"]["ranks"][0]["arithmetic"],
                "samples_per_s": record["measured"]["throughput_samples_per_s"],
                "achieved_flops_per_s": record["measured"]["achieved_flops_per_s"]}

    each_calibrated(sitting, "predict", cases.PREDICT, budget, measure)


def nccl(sitting, budget):
    def measure(case, limit_s):
        if case != cases.NCCL_TOO_FEW_GPUS:
            return verified(sitting, case, limit_s)
        record = sitting.record(case, limit_s, "--verify", "only")
        if len(sitting.file.content["gpus"]) > 1:
            return {"record": record["status"]}
        if record["status"] != "skipped" or NO_GPU_FOR_RANK not in record["reason"]:
            raise CaseFailed(f"{record['status']}: {record['reason']}; expected skipped: {NO_GPU_FOR_RANK} ...")
        return {"refused": record["reason"]}

    sitting.each("nccl", cases.NCCL + (cases.NCCL_TOO_FEW_GPUS,), budget, measure, at_once=AT_ONCE)


def transfers(sitting, budget):
    """The curves of the calibration beside what the card copies when torch asks it to."""
    sitting.each("transfers", ["card"], budget, lambda _, limit_s: torch_figure("copies", limit_s))
    sitting.each("transfers", ["calibrated"], budget, lambda *_: curves(processes.read_json_file(sitting.calibration)))


def curves(calibration):
    """Of the curves and rates that lie on the GPU, each as the latest launch has it: bytes per second at every size."""
    def on_gpu(kind):
        return {f"{curve['comm']}/np:{curve['ranks']}":
                [{**point, "bytes_per_s": point["bytes"] / point["seconds"]} for point in curve["points"]]
                for launch in calibration["launches"] for curve in launch[kind] if curve["device"] == "cuda"}

    try:
        rates = {rate["busy_ranks"]: rate["value"] for launch in calibration["launches"]
                 for rate in launch["copy_bytes_per_s"] if rate["device"] == "cuda"}
        return {"host_to_device_bytes_per_s": rates[min(rates)] if rates else None,
                "messages": on_gpu("point_to_point"), "all_reduce": on_gpu("all_reduce")}
    except (KeyError, TypeError, ZeroDivisionError) as error:
        raise CaseFailed(f"the calibration cannot be read: {error!r}") from None


def torch_figure(what, limit_s):
    ended = processes.run([sys.executable, HERE / "torch_card.py", what], limit_s)
    figure = processes.read_json(ended.output)
    if ended.code != 0 or not isinstance(figure, dict):
        raise CaseFailed(f"torch: {ended.why()}")
    return figure


def runtime(sitting, budget):
    """Every test of the real runtime, and what the marks cost that a timed run sets."""
    real_runtime_tests(sitting, budget)
    sitting.each("runtime", [EVENT_BENCHMARK], budget, lambda _, limit_s: event_costs(sitting, limit_s))


def real_runtime_tests(sitting, budget):
    """A test that takes its program down costs the others nothing."""
    program = sitting.build / "test-bin" / RUNTIME_TESTS
    if not program.exists():
        raise PartUnfinished(f"no {program}: build the target {RUNTIME_TESTS}")
    found = processes.run([program, "--gtest_list_tests"], budget.limit_s(30))
    listed = gtest_output.listed(found.output)
    if not listed:
        raise PartUnfinished(f"{program} lists no tests, {found.why()}")
    kept = sitting.file.part("runtime")["cases"]
    while left := [test for test in listed if test not in kept]:
        ended = processes.run([program, f"--gtest_filter={':'.join(left)}", "--gtest_color=no"], budget.limit_s(CASE_S))
        ends = gtest_output.ends(ended.output)
        broken = gtest_output.begun_last(ended.output) if ended.code != 0 else None
        if broken is not None and broken not in ends:
            ends[broken] = {"status": "failed", "reason": f"ended its program, {ended.why()}"}
        if not ends.keys() & set(left):
            raise PartUnfinished(f"{program}: {ended.why()}")
        for test in left:
            if test in ends:
                sitting.file.keep("runtime", test, ends[test])
                sitting.note(f"runtime: {test}: {ends[test]['status']}")


def event_costs(sitting, limit_s):
    """Microseconds of an operation, {length: {marks: ...}}: without marks and with those of a timed run; the device's
    and what giving it out took the host."""
    ended = processes.run([sitting.build / "benchmarks" / EVENT_BENCHMARK, "--benchmark_format=json"], limit_s)
    figures = {"us_per_operation": {}, "host_us_per_operation": {}}
    try:
        for row in processes.read_json(ended.output)["benchmarks"]:
            if row.get("error_occurred"):
                raise CaseFailed(f"{row['run_name']}: {row['error_message']}")
            if row.get("aggregate_name") == "median":
                length, marks = re.search(r"us:(\d+)/marks:(\d+)", row["run_name"]).groups()
                for figure, lengths in figures.items():
                    lengths.setdefault(length, {})[marks] = row[figure]
    except (AttributeError, KeyError, TypeError):
        raise CaseFailed(f"no figures: {ended.why()}") from None
    return figures
