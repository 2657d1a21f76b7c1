"""Where the time of a step goes, predicted above measured."""

import paper
from looks import KINDS
from words import brief, named, shortened, two_lines, workload

LEFT, RIGHT = 1.5, 0.2  # inches beside the bars


def worst(rows, most):
    """Of many cases those that are predicted worst, in their order."""
    order = sorted(range(len(rows)), key=lambda i: -abs(rows[i].get("time_error") or 0))[:most]
    return [rows[i] for i in sorted(order)]


def notes_of(rows, shown):
    notes = ["share of the measured step, mean over ranks", "(upper bar predicted, lower measured; b: batch, m: micro-batches)"]
    drawn = [len(r["breakdown"]["ranks"]) for r in shown if r["breakdown"]["of"] > len(r["breakdown"]["ranks"])]
    if drawn:
        notes.append(f"of many ranks {max(drawn)}, evenly spaced")
    if len(rows) > len(shown):
        notes.append(f"the {len(shown)} of {len(rows)} cases with the largest errors")
    return notes


def bars_of(report, rows):
    """(label, shares of prediction or None, shares of the run) of each case, in parts of the measured step; in front of
    the cases of one workload of one file (its name, None, None) where there are several."""
    count = len(report["breakdown_fields"])
    works = list(dict.fromkeys(named(report, r, workload(r)) for r in rows))
    bars = []
    for work in works:
        if len(works) > 1:
            bars.append((work, None, None))
        for r in (r for r in rows if named(report, r, workload(r)) == work):
            halves = [r["breakdown"]["predicted"], r["breakdown"]["measured"]]
            whole = sum(v or 0 for rank in halves[1] for v in rank) or 1
            shares = [ranks and [sum(rank[k] or 0 for rank in ranks) / whole for k in range(count)] for ranks in halves]
            bars.append((brief(r["label"]), *shares))
    return bars


def draw_bars(axes, bars, fields, used):
    for half, offset in ((1, -0.2), (2, 0.2)):
        places = [(y, bar[half]) for y, bar in enumerate(bars) if bar[half]]
        begins = [0.0] * len(places)
        for k in used:
            widths = [values[k] for _, values in places]
            axes.barh([y + offset for y, _ in places], widths, 0.36, left=begins, color=KINDS[fields[k]][0],
                      hatch=KINDS[fields[k]][1], edgecolor="black", linewidth=0.25)
            begins = [begin + width for begin, width in zip(begins, widths)]
    cases = [y for y, bar in enumerate(bars) if bar[2]]
    axes.set_yticks(cases)
    axes.set_yticklabels([two_lines(bars[y][0], 28) for y in cases], fontsize=5.8, linespacing=1.0)
    for y, (label, _, measured) in enumerate(bars):
        if not measured:
            axes.text(0.05 - LEFT / (paper.COLUMN - LEFT - RIGHT), y + 0.1, shortened(label, 62), fontsize=6, style="italic", va="center",
                      transform=axes.get_yaxis_transform())
    axes.tick_params(axis="y", length=0)
    longest = max(sum(half) for _, *halves in bars for half in halves if half) or 1
    axes.set(xlim=(0, 1.02 * longest), ylim=(len(bars) - 0.4, -0.6))
    axes.xaxis.set_major_formatter(paper.FuncFormatter(lambda v, _: f"{100 * v:.0f} %"))
    axes.xaxis.set_major_locator(paper.MaxNLocator(5))


def draw(report, rows, folder):
    rows = [r for r in rows if r.get("breakdown")]
    if not rows:
        return
    shown = worst(rows, paper.MOST_CASES)
    fields, bars, notes = report["breakdown_fields"], bars_of(report, shown), notes_of(rows, shown)
    used = [k for k in range(len(fields)) if any(half and half[k] > 0 for _, *halves in bars for half in halves)]
    handles = paper.patches([fields[k] for k in used], lambda _, name: name)
    height = min(0.21 * len(bars), paper.TALLEST - 1.2)
    figure, box = paper.figure_with_legend(handles, height, left=LEFT, right=RIGHT, bottom=0.27 + 0.11 * len(notes))
    draw_bars(figure.add_axes(box), bars, fields, used)
    figure.text(0.5, box[1] - 0.2 / figure.get_figheight(), "\n".join(notes), fontsize=6.5, ha="center", va="top")
    paper.save(figure, folder, "breakdown")
