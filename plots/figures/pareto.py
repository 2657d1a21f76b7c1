"""Step time against peak memory of cases that are choices against each other."""

import math

import paper
from looks import looks
from words import memory, named, seconds, shortened

EACH, GAP = 1.6, 0.68  # inches: a panel, and what is between two
FRONT_EDGE = 1.0  # points
LEAST_SPAN = 0.1  # of an axis, in parts of its upper end


def not_narrow(low, high):
    """Limits of an axis on which a difference of a per mille does not look like one of half."""
    room = max(0, LEAST_SPAN * high - (high - low)) / 2
    return max(0, low - room), high + room


def front_mark():
    return paper.Line2D([], [], color="black", linestyle=":", linewidth=0.6, marker="o", markerfacecolor="white",
                        markeredgewidth=FRONT_EDGE, label="front (thick border)")


def draw_panel(axes, report, rows, look):
    front = sorted((r for r in rows if r["front"]["measured"]), key=lambda r: r["measured_s"])
    axes.step([r["measured_s"] for r in front], [r["measured_bytes"] for r in front], where="post", color="black",
              linewidth=0.6, linestyle=":")
    for name in look:
        own = [r for r in rows if named(report, r, r["strategy"]) == name]
        measured = [(r["measured_s"], r["measured_bytes"]) for r in own]
        predicted = [(r.get("predicted_s"), r.get("predicted_bytes")) for r in own]
        paper.segments(axes, [pair for pair in zip(measured, predicted) if all(pair[1])], look[name][0], 0.5)
        paper.scatter(axes, [point for point in predicted if all(point)], look[name], False)
        for on_front in (False, True):
            points = [point for point, r in zip(measured, own) if r["front"]["measured"] == on_front]
            paper.scatter(axes, points, look[name], edge=FRONT_EDGE if on_front else 0.3)
    axes.margins(0.08)
    axes.set(xlabel="step time", ylabel="peak memory of a rank", xlim=not_narrow(*axes.get_xlim()), ylim=not_narrow(*axes.get_ylim()))
    axes.xaxis.set_major_locator(paper.MaxNLocator(4))
    axes.xaxis.set_major_formatter(paper.FuncFormatter(seconds))
    low, high = axes.get_ylim()
    unit = 2 ** (10 * max(0, int(math.log2(max(1, high)) // 10)))
    ticks = paper.MaxNLocator(5).tick_values(low / unit, high / unit)
    axes.set_yticks([t * unit for t in ticks if low <= t * unit <= high])
    axes.yaxis.set_major_formatter(paper.FuncFormatter(memory))


def draw(report, rows, folder):
    groups = {}
    for r in rows:
        if r.get("group") is not None and (r.get("measured_s") or 0) > 0 and (r.get("measured_bytes") or 0) > 0:
            groups.setdefault(r["group"], []).append(r)
    order = sorted(groups, key=lambda g: (-len(groups[g]), g))[:paper.MOST_PANELS]
    if not order:
        return
    order = [g for g in order if len(groups[g]) > 1] or order[:1]  # A single case is no choice.
    while True:
        look = looks(rows, lambda r: named(report, r, r["strategy"]), [r for g in order for r in groups[g]])
        handles = paper.marks(look, look) + [paper.hollow("predicted (hollow)"), front_mark()]
        heights = [EACH] * len(order)
        height = sum(heights) + GAP * (len(order) - 1)
        if len(order) == 1 or height + paper.legend_height(handles) < paper.TALLEST - 0.7:
            break
        order.pop()
    figure, box = paper.figure_with_legend(handles, height, left=0.68, top=0.24)
    for axes, group in zip(paper.stacked(figure, box, heights, GAP), order):
        draw_panel(axes, report, groups[group], look)
        axes.set_title(shortened(report["groups"][group], 60), fontsize=6, pad=3)
    paper.save(figure, folder, "pareto")
