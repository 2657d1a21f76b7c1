"""Predicted against measured step time."""

import paper
from looks import looks
from words import seconds

WITHIN = 0.1  # of the error, which is relative to the measured time


def is_known(ends):
    return bool(ends) and None not in ends and ends[0] > 0


def draw(report, rows, folder):
    counting = rows
    rows = [r for r in rows if (r.get("measured_s") or 0) > 0 and (r.get("predicted_s") or 0) > 0]
    if not rows:
        return
    look = looks(counting, lambda r: r["strategy"], rows)
    handles = paper.marks(look, look)
    if not all(r["checked"] for r in rows):
        handles.append(paper.hollow("equivalence not checked"))
    handles.append(paper.Patch(color="#E8E8E8", label=f"within {100 * WITHIN:.0f} %"))
    figure, box = paper.figure_with_legend(handles, paper.COLUMN - 0.9)
    axes = figure.add_axes(box)
    intervals = [ends for r in rows for ends in (r.get("measured_interval_s"), r.get("predicted_interval_s")) if is_known(ends)]
    values = [v for r in rows for v in (r["measured_s"], r["predicted_s"])] + [v for ends in intervals for v in ends]
    low, high = min(values) / 1.25, max(values) * 1.25
    axes.fill_between([low, high], [low * (1 - WITHIN), high * (1 - WITHIN)], [low * (1 + WITHIN), high * (1 + WITHIN)],
                      color="#E8E8E8", linewidth=0)
    axes.plot([low, high], [low, high], color="black", linewidth=0.6, linestyle=":")
    for name in look:
        colour = look[name][0]
        own = [r for r in rows if r["strategy"] == name]
        across = [(r.get("measured_interval_s"), r) for r in own]
        upright = [(r.get("predicted_interval_s"), r) for r in own]
        paper.segments(axes, [[(v, r["predicted_s"]) for v in ends] for ends, r in across if is_known(ends)], colour, 0.7)
        paper.segments(axes, [[(r["measured_s"], v) for v in ends] for ends, r in upright if is_known(ends)], colour, 0.7)
        for checked in (False, True):
            points = [(r["measured_s"], r["predicted_s"]) for r in own if r["checked"] == checked]
            paper.scatter(axes, points, look[name], checked)
    axes.set(xscale="log", yscale="log", xlim=(low, high), ylim=(low, high), xlabel="measured step time",
             ylabel="predicted step time")
    for axis in (axes.xaxis, axes.yaxis):
        paper.log_axis(axis, low, high, seconds)
    paper.save(figure, folder, "parity")
