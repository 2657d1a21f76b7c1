"""Draws the figures of a report for papers, as SVG and PDF of one column's width, from the figures.json in its folder.

usage: figures.py FOLDER

parity, errors, breakdown, scaling, pareto and, where records hold a step's operations, grids. What counts was decided by
`parabench report`, which wrote the file; nothing is computed here but places on paper. The same file gives the same
bytes with the same matplotlib. Exit codes: 0 good, 2 no such file, 4 matplotlib is not installed.
"""

import json
import math
import os
import sys

try:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt
    from matplotlib.backends.backend_pdf import FigureCanvasPdf  # noqa: F401  fails here rather than half-way
    from matplotlib.collections import LineCollection
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch
    from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullFormatter, NullLocator
except ImportError as missing:
    print(missing, file=sys.stderr)
    sys.exit(4)

COLUMN = 3.35  # inches: a column of two-column proceedings
TALLEST = 9.0
MOST_CASES = 40  # that a drawing with a line of text for each one holds
MOST_PANELS = 4
MOST_LINES = 8

# The palette of Okabe and Ito (2008); shapes and hatches tell the same without colour.
PALETTE = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#8C8C8C", "#F0E442"]
SHAPES = ["o", "s", "^", "D", "v", "P", "X", "<"]
KINDS = {  # of time and of operations: colour, hatch, name
    "forward": ("#56B4E9", "", "forward"),
    "backward": ("#E69F00", "", "backward"),
    "recompute": ("#CC79A7", "//////", "recompute"),
    "update": ("#F0E442", "", "update"),
    "communication_exposed": ("#D55E00", "\\\\\\\\\\\\", "exposed communication"),
    "bubble": ("#E4E4E4", "......", "bubble"),
    "data_wait": ("#0072B2", "//////", "data wait"),
    "other": ("#8C8C8C", "", "other"),
    "F": ("#56B4E9", "", "forward"),
    "B": ("#E69F00", "", "backward"),
    "I": ("#D55E00", "\\\\\\\\\\\\", "input gradient"),
    "W": ("#009E73", "", "weight gradient"),
    "R": ("#CC79A7", "//////", "recompute"),
    "U": ("#F0E442", "", "update"),
    "N": ("#8C8C8C", "", "norms"),
}


def style():
    matplotlib.rcdefaults()  # not what a user's matplotlibrc says
    matplotlib.rcParams.update({
        "font.size": 8, "axes.labelsize": 8, "axes.titlesize": 8, "xtick.labelsize": 7, "ytick.labelsize": 7,
        "legend.fontsize": 7, "font.family": "DejaVu Sans", "pdf.fonttype": 42, "svg.fonttype": "path",
        "svg.hashsalt": "parabench", "axes.linewidth": 0.6, "lines.linewidth": 1.0, "lines.markersize": 4,
        "hatch.linewidth": 0.4, "grid.linewidth": 0.4, "grid.color": "#DDDDDD", "axes.grid": True,
        "axes.axisbelow": True, "legend.frameon": False, "xtick.major.width": 0.6, "ytick.major.width": 0.6,
        "text.usetex": False, "text.parse_math": False, "path.simplify": True,
    })


# ---- words and numbers ----

def three_digits(value):
    digits = max(0, 2 - int(math.floor(math.log10(abs(value))))) if value else 0
    text = f"{value:.{digits}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def with_unit(units):
    def text(value, _=None):
        if value == 0:
            return "0"
        factor, name = next(((f, n) for f, n in reversed(units) if abs(value) >= f * 0.9995), units[0])
        return f"{three_digits(value / factor)} {name}"

    return text


seconds = with_unit([(1e-9, "ns"), (1e-6, "us"), (1e-3, "ms"), (1, "s")])
memory = with_unit([(1, "B"), (2**10, "KiB"), (2**20, "MiB"), (2**30, "GiB"), (2**40, "TiB")])


def percent(value, _=None):
    return f"{100 * value:+.3g} %" if abs(value) > 1e-9 else "0 %"


def shortened(text, most):
    """The beginning and the end of a long text: cases differ in both."""
    text = "".join(c if c.isprintable() else "?" for c in text)
    if len(text) <= most:
        return text
    return text[: most // 2 - 1] + "\u2026" + text[len(text) - (most - most // 2):]


def brief(label):
    """"gpipe np2 b64 m8" of gpipe/np:2/batch:64/micro:8."""
    words = label.split("/")
    for key, short in (("np:", "np"), ("batch:", "b"), ("micro:", "m")):
        words = [short + word[len(key):] if word.startswith(key) else word for word in words]
    return " ".join(words)


def named(report, row, name):
    return f"{name} ({report['files'][row['file']]['label']})" if len(report["files"]) > 1 else name


def looks(names):
    """A colour and a shape for each name, in the order of names."""
    return {name: (PALETTE[i % 8], SHAPES[(i + i // 8) % 8]) for i, name in enumerate(sorted(set(names)))}


# ---- paper ----

def save(figure, folder, name):
    for suffix, dates in ((".svg", {"Date": None}), (".pdf", {"CreationDate": None})):
        path = os.path.join(folder, name + suffix)
        part = os.path.join(folder, f".{name}{suffix}.{os.getpid()}.tmp")
        figure.savefig(part, format=suffix[1:], metadata=dates)
        os.replace(part, path)
    plt.close(figure)


def text_width(figure, text, size=7):
    drawn = figure.text(0, 0, text, fontsize=size)
    width = drawn.get_window_extent(figure.canvas.get_renderer()).width / figure.dpi
    drawn.remove()
    return width


def legend_rows(figure, names, extra=0.3):
    """How a legend of these names fits into a column: columns and rows."""
    widest = max(text_width(figure, name) for name in names) + extra
    columns = max(1, min(len(names), int((COLUMN - 0.1) / widest)))
    return columns, math.ceil(len(names) / columns)


def legend_height(handles):
    figure = plt.figure(figsize=(COLUMN, 1))
    rows = legend_rows(figure, [handle.get_label() for handle in handles])[1]
    plt.close(figure)
    return 0.127 * rows + 0.06


def figure_with_legend(handles, height, left=0.7, bottom=0.38, top=0.08, right=0.2):
    """A figure of a column's width whose drawing is `height` inches high above a legend; its room in inches."""
    figure = plt.figure(figsize=(COLUMN, 1))
    below = 0.0
    if handles:
        names = [handle.get_label() for handle in handles]
        columns, rows = legend_rows(figure, names)
        below = 0.127 * rows + 0.06
        figure.legend(handles=handles, ncol=columns, loc="lower center", bbox_to_anchor=(0.5, 0.0), handlelength=1.4,
                      columnspacing=1.0, handletextpad=0.5, labelspacing=0.25, borderaxespad=0.2)
    total = top + height + bottom + below
    figure.set_size_inches(COLUMN, total)
    box = (left / COLUMN, (bottom + below) / total, (COLUMN - left - right) / COLUMN, height / total)
    return figure, box


def marks(names, look):
    return [Line2D([], [], linestyle="", marker=look[n][1], color=look[n][0], markeredgecolor="black",
                   markeredgewidth=0.3, label=shortened(n, 34)) for n in sorted(set(names))]


def log_axis(axis, low, high, text):
    steps = (1, 2, 5) if high / low < 20 else (1, 3) if high / low < 300 else (1,)
    axis.set_major_locator(LogLocator(10, subs=steps, numticks=20))
    if high / low < 4:
        axis.set_major_locator(MaxNLocator(4))
    axis.set_major_formatter(FuncFormatter(text))
    axis.set_minor_locator(NullLocator())
    axis.set_minor_formatter(NullFormatter())


def scatter(axes, points, colour, shape, solid=True, size=4, edge=0.3):
    """Marks at points [(x, y)], in one go: many single ones would take seconds."""
    if points:
        axes.plot(*zip(*points), marker=shape, color=colour, linestyle="", markersize=size, markeredgewidth=edge if solid else 0.6,
                  markeredgecolor="black" if solid else colour, fillstyle="full" if solid else "none")


def segments(axes, lines, colour, width):
    if lines:
        axes.add_collection(LineCollection(lines, colors=colour, linewidths=width), autolim=False)


# ---- figures ----

def parity(report, rows, folder):
    rows = [r for r in rows if (r.get("measured_s") or 0) > 0 and (r.get("predicted_s") or 0) > 0]
    if not rows:
        return
    look = looks(r["strategy"] for r in rows)
    figure, box = figure_with_legend(marks((r["strategy"] for r in rows), look), COLUMN - 0.9)
    axes = figure.add_axes(box)
    known = lambda ends: ends and None not in ends and ends[0] > 0
    values = [v for r in rows for v in (r["measured_s"], r["predicted_s"])]
    low, high = min(values) / 1.25, max(values) * 1.25
    axes.fill_between([low, high], [low / 1.1, high / 1.1], [low * 1.1, high * 1.1], color="#E8E8E8", linewidth=0)
    axes.plot([low, high], [low, high], color="black", linewidth=0.6, linestyle=":")
    for name, (colour, shape) in look.items():
        own = [r for r in rows if r["strategy"] == name]
        across = [(r.get("measured_interval_s"), r) for r in own]
        upright = [(r.get("predicted_interval_s"), r) for r in own]
        segments(axes, [[(v, r["predicted_s"]) for v in ends] for ends, r in across if known(ends)], colour, 0.7)
        segments(axes, [[(r["measured_s"], v) for v in ends] for ends, r in upright if known(ends)], colour, 0.7)
        for checked in (False, True):
            scatter(axes, [(r["measured_s"], r["predicted_s"]) for r in own if r["checked"] == checked], colour, shape, checked)
    axes.set(xscale="log", yscale="log", xlim=(low, high), ylim=(low, high), xlabel="measured step time",
             ylabel="predicted step time")
    for axis in (axes.xaxis, axes.yaxis):
        log_axis(axis, low, high, seconds)
    save(figure, folder, "parity")


def errors(report, rows, folder):
    rows = [r for r in rows if r.get("time_error") is not None]
    if not rows:
        return
    names = sorted({r["strategy"] for r in rows}, reverse=True)
    look = looks(r["strategy"] for r in rows)
    figure, (left, bottom, width, height) = figure_with_legend(
        [], max(0.45, min(0.16 * len(names) + 0.1, TALLEST - 1)), left=1.05, top=0.22)
    for i, (field, title) in enumerate((("time_error", "step time"), ("memory_error", "peak memory"))):
        gap = 0.1
        axes = figure.add_axes((left + i * (width / 2 + gap / 2), bottom, width / 2 - gap / 2, height))
        for y, name in enumerate(names):
            own = [r for r in rows if r["strategy"] == name and r.get(field) is not None]
            for checked in (False, True):
                # Spread over the line's height, always alike.
                points = [(max(-2, min(2, r[field])), y + ((k * 0.618034) % 1 - 0.5) * min(0.6, 0.06 * (len(own) - 1)))
                          for k, r in enumerate(own) if r["checked"] == checked]
                scatter(axes, points, *look[name], checked, size=3, edge=0.2)
        axes.axvline(0, color="black", linewidth=0.6)
        edge = max([abs(r[field]) for r in rows if r.get(field) is not None] + [0.02])
        axes.set(xlim=(-min(edge, 2) * 1.1, min(edge, 2) * 1.1), ylim=(-0.6, len(names) - 0.4), xlabel="error")
        axes.set_title(title, pad=3)
        axes.xaxis.set_major_locator(MaxNLocator(2, symmetric=True))
        axes.xaxis.set_major_formatter(FuncFormatter(percent))
        axes.set_yticks(range(len(names)))
        axes.set_yticklabels([shortened(n, 18) for n in names] if i == 0 else [])
        axes.tick_params(axis="y", length=0)
    save(figure, folder, "errors")


def breakdown(report, rows, folder):
    rows = [r for r in rows if r.get("breakdown")]
    if not rows:
        return
    note = ""
    if len(rows) > MOST_CASES:
        # Of many cases those that are predicted worst.
        order = sorted(range(len(rows)), key=lambda i: -abs(rows[i].get("time_error") or 0))[:MOST_CASES]
        note = f"\nthe {MOST_CASES} of {len(rows)} cases with the largest errors"
        rows = [rows[i] for i in sorted(order)]
    fields = report["breakdown_fields"]

    def shares(halves, whole):
        return [sum(rank[k] or 0 for rank in halves) / whole for k in range(len(fields))]

    bars = []  # label, [shares of the measured step, mean over ranks] of prediction and run
    for r in rows:
        ranks = r["breakdown"]["measured"]
        whole = sum(sum(v or 0 for v in rank) for rank in ranks) or 1
        predicted = r["breakdown"]["predicted"]
        bars.append((named(report, r, brief(r["label"])), shares(predicted, whole) if predicted else None, shares(ranks, whole)))
    used = [k for k in range(len(fields)) if any(half and half[k] > 0 for _, *halves in bars for half in halves)]
    handles = [Patch(facecolor=KINDS[fields[k]][0], hatch=KINDS[fields[k]][1], edgecolor="black", linewidth=0.3,
                     label=KINDS[fields[k]][2]) for k in used]
    height = min(0.21 * len(bars), TALLEST - 1.2)
    figure, box = figure_with_legend(handles, height, left=1.5, bottom=0.6 if note else 0.49)
    axes = figure.add_axes(box)
    for half, offset in ((1, 0.2), (2, -0.2)):
        places = [(y, bar[half]) for y, bar in enumerate(reversed(bars)) if bar[half]]
        begins = [0.0] * len(places)
        for k in used:
            widths = [values[k] for _, values in places]
            axes.barh([y + offset for y, _ in places], widths, 0.36, left=begins, color=KINDS[fields[k]][0],
                      hatch=KINDS[fields[k]][1], edgecolor="black", linewidth=0.25)
            begins = [begin + width for begin, width in zip(begins, widths)]
    axes.set_yticks(range(len(bars)))
    axes.set_yticklabels([shortened(label, 29) for label, *_ in reversed(bars)], fontsize=6)
    axes.tick_params(axis="y", length=0)
    axes.set(ylim=(-0.6, len(bars) - 0.4))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda v, _: f"{100 * v:.0f} %"))
    axes.xaxis.set_major_locator(MaxNLocator(5))
    figure.text(0.5, box[1] - 0.2 / figure.get_figheight(), "share of the measured step, mean over ranks\n"
                "(upper bar predicted, lower measured; b: batch, m: micro-batches)" + note, fontsize=6.5, ha="center", va="top")
    save(figure, folder, "breakdown")


def scaling(report, rows, folder):
    panels = {}
    for r in rows:
        for scale in r.get("scaling") or []:
            panels.setdefault(report["panels"][scale["panel"]], []).append((r, scale))
    # Those over most numbers of ranks first.
    order = sorted(panels, key=lambda name: (-len({r["np"] for r, _ in panels[name]}), -len(panels[name])))[:MOST_PANELS]
    if not order:
        return
    lines_of = {panel: {} for panel in order}
    for panel, lines in lines_of.items():
        for r, scale in panels[panel]:
            lines.setdefault(named(report, r, r["series"]), []).append((r["np"], scale))
        for points in lines.values():
            points.sort(key=lambda p: p[0])
    # Of many lines, those of most panels, and of these the fastest on most ranks of the first one.
    first = lines_of[order[0]]

    def rank(name):
        np, scale = first[name][-1] if name in first else (0, {"speedup": 0})
        return -sum(name in lines for lines in lines_of.values()), -np, -(scale["speedup"] or 0), name

    of = len({name for lines in lines_of.values() for name in lines})
    names = sorted({name for lines in lines_of.values() for name in lines}, key=rank)[:MOST_LINES]
    drawn = [(panel, {name: lines[name] for name in names if name in lines}) for panel, lines in lines_of.items()]
    drawn = [(panel, lines) for panel, lines in drawn if lines]
    look = looks(names)
    handles = marks(names, look) + [Line2D([], [], color="black", label="measured"),
                                    Line2D([], [], color="black", linestyle="--", linewidth=0.7, label="predicted"),
                                    Line2D([], [], color="black", linestyle=":", linewidth=0.7, label="ideal")]
    each, gap = 1.45, 0.68
    height = each * len(drawn) + gap * (len(drawn) - 1)
    figure, (left, bottom, width, share) = figure_with_legend(handles, height, left=0.5, top=0.34)
    for i, (panel, lines) in enumerate(drawn):
        at = bottom + share * (len(drawn) - 1 - i) * (each + gap) / height
        axes = figure.add_axes((left, at, width, share * each / height))
        over_one = next(iter(lines.values()))[0][1]["kind"] != "same-cores"
        ranks = sorted({np for points in lines.values() for np, _ in points} | ({1} if over_one else set()))
        places = {np: math.log2(np) for np in ranks}
        if len(ranks) > 1:
            axes.plot([places[n] for n in ranks], [n if over_one else 1 for n in ranks], color="black", linestyle=":",
                      linewidth=0.7)
        else:
            axes.axhline(ranks[0] if over_one else 1, color="black", linestyle=":", linewidth=0.7)
        for k, (name, points) in enumerate(sorted(lines.items())):
            colour, shape = look[name]
            shift = 0 if len(ranks) > 1 else 0.05 * (k - (len(lines) - 1) / 2)
            for field, solid in (("predicted_speedup", False), ("speedup", True)):
                own = [(places[np] + shift, scale[field]) for np, scale in points if scale.get(field) is not None]
                axes.plot([x for x, _ in own], [y for _, y in own], color=colour, marker=shape, markersize=3.5,
                          linestyle="-" if solid else "--", linewidth=1.0 if solid else 0.6,
                          fillstyle="full" if solid else "none", markeredgewidth=0.4,
                          markeredgecolor="black" if solid else colour)
        axes.set_xticks([places[n] for n in ranks])
        axes.set_xticklabels([str(n) for n in ranks])
        room = 0.2 if len(ranks) > 1 else 0.5
        axes.set(xlim=(places[ranks[0]] - room, places[ranks[-1]] + room), xlabel="ranks", ylabel="speed-up")
        axes.set_ylim(bottom=0)
        axes.yaxis.set_major_locator(MaxNLocator(5))
        work, over = panel.rsplit(": ", 1)
        more = f"; the fastest {MOST_LINES} of {of} lines" if of > MOST_LINES else ""
        axes.set_title(f"{shortened(work, 56)}\n{over}{more}", fontsize=6, pad=3)
    save(figure, folder, "scaling")


def pareto(report, rows, folder):
    groups = {}
    for r in rows:
        if r.get("group") is not None and (r.get("measured_s") or 0) > 0 and (r.get("measured_bytes") or 0) > 0:
            groups.setdefault(r["group"], []).append(r)
    order = sorted(groups, key=lambda g: (-len(groups[g]), g))[:MOST_PANELS]
    if not order:
        return
    each, gap = 1.6, 0.68
    while True:
        look = looks(named(report, r, r["strategy"]) for g in order for r in groups[g])
        handles = marks(look, look) + [Line2D([], [], linestyle="", marker="o", color="black", fillstyle="none",
                                              label="predicted (hollow)")]
        height = each * len(order) + gap * (len(order) - 1)
        if len(order) == 1 or height + legend_height(handles) < TALLEST - 0.7:
            break
        order.pop()
    figure, (left, bottom, width, share) = figure_with_legend(handles, height, left=0.68, top=0.24)
    for i, group in enumerate(order):
        at = bottom + share * (len(order) - 1 - i) * (each + gap) / height
        axes = figure.add_axes((left, at, width, share * each / height))
        front = sorted((r for r in groups[group] if r["front"]["measured"]), key=lambda r: r["measured_s"])
        axes.step([r["measured_s"] for r in front], [r["measured_bytes"] for r in front], where="post", color="black",
                  linewidth=0.6, linestyle=":")
        for name, (colour, shape) in look.items():
            own = [r for r in groups[group] if named(report, r, r["strategy"]) == name]
            measured = [(r["measured_s"], r["measured_bytes"]) for r in own]
            predicted = [(r.get("predicted_s"), r.get("predicted_bytes")) for r in own]
            segments(axes, [pair for pair in zip(measured, predicted) if all(pair[1])], colour, 0.5)
            scatter(axes, [point for point in predicted if all(point)], colour, shape, False)
            for on_front in (False, True):
                scatter(axes, [point for point, r in zip(measured, own) if r["front"]["measured"] == on_front], colour, shape,
                        edge=0.9 if on_front else 0.3)
        axes.margins(0.08)
        axes.set(xlabel="step time", ylabel="peak memory")
        axes.xaxis.set_major_locator(MaxNLocator(4))
        axes.xaxis.set_major_formatter(FuncFormatter(seconds))
        unit = 2 ** (10 * max(0, int(math.log2(max(1, axes.get_ylim()[1])) // 10)))
        ticks = MaxNLocator(5).tick_values(*(v / unit for v in axes.get_ylim()))
        low, high = axes.get_ylim()
        axes.set_yticks([t * unit for t in ticks if low <= t * unit <= high])
        axes.yaxis.set_major_formatter(FuncFormatter(memory))
        axes.set_title(shortened(report["groups"][group], 60), fontsize=6, pad=3)
    save(figure, folder, "pareto")


def grids(report, rows, folder):
    rows = [r for r in rows if r.get("timeline")]
    # The cases of most ranks, in their order.
    order = sorted(range(len(rows)), key=lambda i: -len(halves_of(rows[i])[0][1]))[:3]
    rows = [rows[i] for i in sorted(order)]
    if not rows:
        return
    kinds = sorted({operation(text)[0] for r in rows for _, ranks in halves_of(r) for rank in ranks
                    for text in rank[::3]} & set(KINDS), key=list(KINDS).index)
    handles = [Patch(facecolor=KINDS[k][0], hatch=KINDS[k][1], edgecolor="black", linewidth=0.3, label=f"{k}: {KINDS[k][2]}")
               for k in kinds]
    gap = 0.46
    while True:
        panels = [(r, half, ranks) for r in rows for half, ranks in halves_of(r)]
        heights = [max(0.3, min(0.14 * len(ranks), 1.6)) for _, _, ranks in panels]
        height = sum(heights) + gap * (len(panels) - 1)
        if len(rows) == 1 or height + legend_height(handles) < TALLEST - 0.7:
            break
        rows.pop()
    figure, (left, bottom, width, share) = figure_with_legend(handles, height, left=0.42, top=0.3)
    top = height
    for (r, half, ranks), own in zip(panels, heights):
        axes = figure.add_axes((left, bottom + share * (top - own) / height, width, share * own / height))
        top -= own + gap
        end = max((t for _, rs in halves_of(r) for rank in rs for t in rank[2::3]), default=1) / 1e6
        for y, rank in enumerate(ranks):
            for text, begin, finish in zip(rank[::3], rank[1::3], rank[2::3]):
                kind, number = operation(text)
                colour, hatch, _ = KINDS.get(kind, KINDS["N"])
                axes.barh(y, (finish - begin) / 1e6, 0.86, left=begin / 1e6, color=colour, hatch=hatch, edgecolor="black",
                          linewidth=0.25)
                room = (finish - begin) / 1e6 / end * (COLUMN - 0.52)
                if number and room > 0.055 * len(number) + 0.02 and own / len(ranks) >= 0.1:
                    axes.text((begin + finish) / 2e6, y, number, ha="center", va="center_baseline", fontsize=5)
        axes.set(xlim=(0, end), ylim=(len(ranks) - 0.45, -0.55))
        named_ranks = range(0, len(ranks), math.ceil(0.1 * len(ranks) / own))
        axes.set_yticks(named_ranks)
        axes.set_yticklabels([f"p{y}" for y in named_ranks], fontsize=6)
        axes.tick_params(axis="y", length=0)
        axes.grid(False)
        axes.xaxis.set_major_locator(MaxNLocator(5))
        axes.xaxis.set_major_formatter(FuncFormatter(seconds))
        axes.set_title(f"{shortened(named(report, r, brief(r['label'])), 46)}, {half}", fontsize=6, pad=2)
    save(figure, folder, "grids")


def halves_of(row):
    return [(half, row["timeline"][half]["ranks_us"]) for half in ("predicted", "measured") if row["timeline"].get(half)]


def operation(text):
    """Kind and number of "1F12"."""
    rest = text.lstrip("0123456789")
    return rest[:1], rest[1:]


def main(arguments):
    if len(arguments) != 1:
        print(__doc__, file=sys.stderr)
        return 2
    folder = arguments[0]
    try:
        with open(os.path.join(folder, "figures.json"), encoding="utf-8") as file:
            report = json.load(file)
    except (OSError, ValueError) as error:
        print(f"figures.json: {error}", file=sys.stderr)
        return 2
    style()
    rows = [row for row in report["rows"] if row["counts"]]
    for name, draw in (("parity", parity), ("errors", errors), ("breakdown", breakdown), ("scaling", scaling),
                       ("pareto", pareto), ("grids", grids)):
        for suffix in (".svg", ".pdf"):  # none of an earlier report that this one does not draw
            path = os.path.join(folder, name + suffix)
            if os.path.lexists(path):
                os.remove(path)
        draw(report, rows, folder)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
