"""Errors by strategy."""

import paper
from looks import looks
from words import percent, shortened

MOST = 2  # Errors beyond are drawn there.


def draw(report, rows, folder):
    counting = rows
    rows = [r for r in rows if r.get("time_error") is not None]
    if not rows:
        return
    names = sorted({r["strategy"] for r in rows}, reverse=True)
    look = looks(counting, lambda r: r["strategy"], rows)
    handles = [] if all(r["checked"] for r in rows) else [paper.hollow("equivalence not checked")]
    figure, (left, bottom, width, height) = paper.figure_with_legend(
        handles, max(0.45, min(0.16 * len(names) + 0.1, paper.TALLEST - 1)), left=1.05, top=0.22)
    for i, (field, title) in enumerate((("time_error", "step time"), ("memory_error", "peak memory"))):
        gap = 0.1
        axes = figure.add_axes((left + i * (width / 2 + gap / 2), bottom, width / 2 - gap / 2, height))
        for y, name in enumerate(names):
            own = [r for r in rows if r["strategy"] == name and r.get(field) is not None]
            for checked in (False, True):
                # Spread over the line's height, always alike.
                points = [(max(-MOST, min(MOST, r[field])), y + ((k * 0.618034) % 1 - 0.5) * min(0.6, 0.06 * (len(own) - 1)))
                          for k, r in enumerate(own) if r["checked"] == checked]
                paper.scatter(axes, points, look[name], checked, size=3, edge=0.2)
        axes.axvline(0, color="black", linewidth=0.6)
        largest = max([abs(r[field]) for r in rows if r.get(field) is not None] + [0.02])
        edge = min(largest, MOST)
        axes.set(xlim=(-edge * 1.1, edge * 1.1), ylim=(-0.6, len(names) - 0.4),
                 xlabel="error" if largest <= MOST else f"error, at most {100 * MOST} %")
        axes.set_title(title, pad=3)
        axes.xaxis.set_major_locator(paper.MaxNLocator(2, symmetric=True))
        axes.xaxis.set_major_formatter(paper.FuncFormatter(percent))
        axes.set_yticks(range(len(names)))
        axes.set_yticklabels([shortened(n, 18) for n in names] if i == 0 else [])
        axes.tick_params(axis="y", length=0)
    paper.save(figure, folder, "errors")
