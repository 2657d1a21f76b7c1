"""Speed-up over the number of ranks."""

import math

import paper
from looks import looks
from words import named, shortened

EACH, GAP = 1.45, 0.68  # inches: a panel, and what is between two


def panels_of(report, rows):
    """Name of a panel -> name of a line -> [(ranks, scaling)], panels over most numbers of ranks first."""
    panels = {}
    for r in rows:
        for scale in r.get("scaling") or []:
            panels.setdefault(report["panels"][scale["panel"]], []).append((r, scale))
    order = sorted(panels, key=lambda name: (-len({r["np"] for r, _ in panels[name]}), -len(panels[name])))
    lines_of = {panel: {} for panel in order[:paper.MOST_PANELS]}
    for panel, lines in lines_of.items():
        for r, scale in panels[panel]:
            lines.setdefault(named(report, r, r["series"]), []).append((r["np"], scale))
        for points in lines.values():
            points.sort(key=lambda p: p[0])
    return lines_of


def most_telling(lines_of):
    """Names of lines: those of most panels first, then the fastest on most ranks of the first one."""
    first = next(iter(lines_of.values()))

    def rank(name):
        np, scale = first[name][-1] if name in first else (0, {"speedup": 0})
        return -sum(name in lines for lines in lines_of.values()), -np, -(scale["speedup"] or 0), name

    return sorted({name for lines in lines_of.values() for name in lines}, key=rank)


def draw_panel(axes, panel, lines, look):
    over_one = next(iter(lines.values()))[0][1]["kind"] != "same-cores"
    ranks = sorted({np for points in lines.values() for np, _ in points} | ({1} if over_one else set()))
    places = {np: math.log2(np) for np in ranks}
    if len(ranks) > 1:
        axes.plot([places[n] for n in ranks], [n if over_one else 1 for n in ranks], color="black", linestyle=":", linewidth=0.7)
    else:
        axes.axhline(ranks[0] if over_one else 1, color="black", linestyle=":", linewidth=0.7)
    for k, (name, points) in enumerate(sorted(lines.items())):
        colour = look[name][0]
        shift = 0 if len(ranks) > 1 else 0.05 * (k - (len(lines) - 1) / 2)
        for field, solid in (("predicted_speedup", False), ("speedup", True)):
            own = [(places[np] + shift, scale[field]) for np, scale in points if scale.get(field) is not None]
            axes.plot([x for x, _ in own], [y for _, y in own], color=colour, markersize=3.5,
                      linestyle="-" if solid else "--", linewidth=1.0 if solid else 0.6, **paper.mark(look[name], solid, 0.4))
        for np, scale in points:
            if scale.get("speedup_interval"):
                axes.plot([places[np] + shift] * 2, scale["speedup_interval"], color=colour, linewidth=0.6)
    axes.set_xticks([places[n] for n in ranks])
    axes.set_xticklabels([str(n) for n in ranks])
    room = 0.2 if len(ranks) > 1 else 0.5
    axes.set(xlim=(places[ranks[0]] - room, places[ranks[-1]] + room), xlabel="ranks", ylabel="speed-up")
    axes.set_ylim(bottom=0)
    axes.yaxis.set_major_locator(paper.MaxNLocator(5))


def draw(report, rows, folder):
    lines_of = panels_of(report, rows)
    if not lines_of:
        return
    telling = most_telling(lines_of)
    names = telling[:paper.MOST_LINES]
    look = looks(rows, lambda r: named(report, r, r["series"]), [r for r in rows if named(report, r, r["series"]) in names])
    drawn = [(panel, {name: lines[name] for name in names if name in lines}) for panel, lines in lines_of.items()]
    drawn = [(panel, lines) for panel, lines in drawn if lines]
    line = paper.Line2D
    handles = paper.marks(names, look) + [line([], [], color="black", label="measured"),
                                          line([], [], color="black", linestyle="--", linewidth=0.7, label="predicted"),
                                          line([], [], color="black", linestyle=":", linewidth=0.7, label="ideal")]
    heights = [EACH] * len(drawn)
    figure, box = paper.figure_with_legend(handles, sum(heights) + GAP * (len(drawn) - 1), left=0.5, top=0.34)
    for axes, (panel, lines) in zip(paper.stacked(figure, box, heights, GAP), drawn):
        draw_panel(axes, panel, lines, look)
        work, over = panel.rsplit(": ", 1)
        more = f"; {len(names)} of {len(telling)} lines" if len(telling) > len(names) else ""
        axes.set_title(f"{shortened(work, 56)}\n{over}{more}", fontsize=6, pad=3)
    paper.save(figure, folder, "scaling")
