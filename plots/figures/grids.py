"""The operations of one step, predicted above measured."""

import math

import paper
from looks import KINDS
from words import brief, named, seconds, shortened, workload

MOST_ROWS = 3
GAP = 0.46  # inches between two grids


def halves_of(row):
    """[(half, its ranks)] of those that hold an operation."""
    halves = ((half, (row.get("timeline") or {}).get(half)) for half in ("predicted", "measured"))
    return [(half, spans["ranks_us"]) for half, spans in halves if spans and any(spans["ranks_us"])]


def operation(text):
    """Kind and number of "1F12"."""
    rest = text.lstrip("0123456789")
    return rest[:1], rest[1:]


def draw_grid(axes, ranks, end, height):
    for y, rank in enumerate(ranks):
        for text, begin, finish in zip(rank[::3], rank[1::3], rank[2::3]):
            kind, number = operation(text)
            colour, hatch, _ = KINDS.get(kind, KINDS["N"])
            axes.barh(y, (finish - begin) / 1e6, 0.86, left=begin / 1e6, color=colour, hatch=hatch, edgecolor="black",
                      linewidth=0.25)
            room = (finish - begin) / 1e6 / end * (paper.COLUMN - 0.52)
            if number and room > 0.055 * len(number) + 0.02 and height / len(ranks) >= 0.1:
                axes.text((begin + finish) / 2e6, y, number, ha="center", va="center_baseline", fontsize=5)
    axes.set(xlim=(0, end), ylim=(len(ranks) - 0.45, -0.55))
    named_ranks = range(0, len(ranks), math.ceil(0.1 * len(ranks) / height))
    axes.set_yticks(named_ranks)
    axes.set_yticklabels([f"p{y}" for y in named_ranks], fontsize=6)
    axes.tick_params(axis="y", length=0)
    axes.grid(False)
    axes.xaxis.set_major_locator(paper.MaxNLocator(5))
    axes.xaxis.set_major_formatter(paper.FuncFormatter(seconds))


def draw(report, rows, folder):
    rows = [r for r in rows if halves_of(r)]
    # The cases of most ranks, in their order.
    order = sorted(range(len(rows)), key=lambda i: -len(halves_of(rows[i])[0][1]))[:MOST_ROWS]
    rows = [rows[i] for i in sorted(order)]
    if not rows:
        return
    kinds = sorted({operation(text)[0] for r in rows for _, ranks in halves_of(r) for rank in ranks
                    for text in rank[::3]} & set(KINDS), key=list(KINDS).index)
    handles = paper.patches(kinds, lambda kind, name: f"{kind}: {name}")
    while True:
        panels = [(r, half, ranks) for r in rows for half, ranks in halves_of(r)]
        heights = [max(0.3, min(0.14 * len(ranks), 1.6)) for _, _, ranks in panels]
        height = sum(heights) + GAP * (len(panels) - 1)
        if len(rows) == 1 or height + paper.legend_height(handles) < paper.TALLEST - 0.7:
            break
        rows.pop()
    figure, box = paper.figure_with_legend(handles, height, left=0.42, top=0.3)
    for axes, own, (r, half, ranks) in zip(paper.stacked(figure, box, heights, GAP), heights, panels):
        end = max(1, max(t for _, rs in halves_of(r) for rank in rs for t in rank[2::3])) / 1e6
        draw_grid(axes, ranks, end, own)
        work = f"{workload(r)} " if len({workload(row) for row in rows}) > 1 else ""
        axes.set_title(f"{shortened(work + named(report, r, brief(r['label'])), 56)}, {half}", fontsize=6, pad=2)
    paper.save(figure, folder, "grids")
