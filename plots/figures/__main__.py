"""Draws the figures of a report for papers, as SVG and PDF of one column's width, from the figures.json in its folder.

usage: python3 plots/figures FOLDER

parity, errors, breakdown, scaling, pareto and, where records hold a step's operations, grids. What counts was decided by
`parabench report`, which wrote the file; nothing is computed here but places on paper. The same file gives the same
bytes with the same matplotlib. Prints the names of the figures that it drew. Exit codes: 0 good, 2 no such file, 4 matplotlib is not installed.
"""

import json
import os
import sys

try:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib.backends.backend_pdf import FigureCanvasPdf  # noqa: F401  fails here rather than half-way
except ImportError as missing:
    print(missing, file=sys.stderr)
    sys.exit(4)

import breakdown
import errors
import grids
import paper
import pareto
import parity
import scaling

FIGURES = {"parity": parity, "errors": errors, "breakdown": breakdown, "scaling": scaling, "pareto": pareto, "grids": grids}


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
    paper.style()
    rows = [row for row in report["rows"] if row["counts"]]
    for name, figure in FIGURES.items():
        for suffix in (".svg", ".pdf"):  # none of an earlier report that this one does not draw
            path = os.path.join(folder, name + suffix)
            if os.path.lexists(path):
                os.remove(path)
        figure.draw(report, rows, folder)
        if os.path.lexists(path):
            print(name)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
