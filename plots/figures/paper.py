"""What the figures have in common: a column's width, legends, axes, and the files."""

import math
import os

import matplotlib
import matplotlib.pyplot as plt
from matplotlib.collections import LineCollection
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullFormatter, NullLocator

from looks import KINDS
from words import shortened

COLUMN = 3.35  # inches: a column of two-column proceedings
TALLEST = 9.0
MOST_CASES = 40  # that a drawing with a line of text for each one holds
MOST_PANELS = 4
MOST_LINES = 8


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


def legend_shape(figure, handles):
    """How a legend fits into a column: its columns and its height."""
    names = [handle.get_label() for handle in handles]
    widest = max(text_width(figure, name) for name in names) + 0.3
    columns = max(1, min(len(names), int((COLUMN - 0.1) / widest)))
    return columns, 0.127 * math.ceil(len(names) / columns) + 0.06


def legend_height(handles):
    figure = plt.figure(figsize=(COLUMN, 1))
    height = legend_shape(figure, handles)[1]
    plt.close(figure)
    return height


def figure_with_legend(handles, height, left=0.7, bottom=0.38, top=0.08, right=0.2):
    """A figure of a column's width whose drawing is `height` inches high above a legend; the drawing's place as
    (left, bottom, width, height) in parts of the figure."""
    figure = plt.figure(figsize=(COLUMN, 1))
    below = 0.0
    if handles:
        columns, below = legend_shape(figure, handles)
        figure.legend(handles=handles, ncol=columns, loc="lower center", bbox_to_anchor=(0.5, 0.0), handlelength=1.4,
                      columnspacing=1.0, handletextpad=0.5, labelspacing=0.25, borderaxespad=0.2)
    total = top + height + bottom + below
    figure.set_size_inches(COLUMN, total)
    return figure, (left / COLUMN, (bottom + below) / total, (COLUMN - left - right) / COLUMN, height / total)


def stacked(figure, box, heights, gap):
    """Axes of these heights in inches below each other, `gap` apart, that fill the box."""
    left, bottom, width, share = box
    whole = sum(heights) + gap * (len(heights) - 1)
    for i, height in enumerate(heights):
        below = sum(heights[i + 1:]) + gap * (len(heights) - 1 - i)
        yield figure.add_axes((left, bottom + share * below / whole, width, share * height / whole))


def marks(names, look):
    return [Line2D([], [], linestyle="", color=look[n][0], label=shortened(n, 34), **mark(look[n])) for n in sorted(set(names))]


def mark(look, solid=True, edge=0.3):
    """How a mark of a line that has the look's colour is drawn."""
    colour, shape, (half, empty) = look
    if not solid:
        return {"marker": shape, "fillstyle": "none", "markeredgecolor": colour, "markeredgewidth": 0.6}
    return {"marker": shape, "fillstyle": half, "markerfacecoloralt": empty, "markeredgecolor": "black", "markeredgewidth": edge}


def hollow(label):
    return Line2D([], [], linestyle="", marker="o", color="black", fillstyle="none", markeredgewidth=0.6, label=label)


def patches(kinds, label):
    return [Patch(facecolor=KINDS[k][0], hatch=KINDS[k][1], edgecolor="black", linewidth=0.3, label=label(k, KINDS[k][2]))
            for k in kinds]


def log_axis(axis, low, high, text):
    steps = (1, 2, 5) if high / low < 20 else (1, 3) if high / low < 300 else (1,)
    axis.set_major_locator(LogLocator(10, subs=steps, numticks=20) if high / low >= 4 else MaxNLocator(4))
    axis.set_major_formatter(FuncFormatter(text))
    axis.set_minor_locator(NullLocator())
    axis.set_minor_formatter(NullFormatter())


def scatter(axes, points, look, solid=True, size=4, edge=0.3):
    """Marks at points [(x, y)], in one go: many single ones would take seconds."""
    if points:
        axes.plot(*zip(*points), color=look[0], linestyle="", markersize=size, **mark(look, solid, edge))


def segments(axes, lines, colour, width):
    if lines:
        axes.add_collection(LineCollection(lines, colors=colour, linewidths=width), autolim=False)
