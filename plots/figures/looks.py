"""Colours, shapes and hatches."""

# The palette of Okabe and Ito (2008); shapes and hatches tell the same without colour.
PALETTE = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#8C8C8C", "#F0E442"]
SHAPES = ["o", "s", "^", "D", "v", "P", "X", "<"]
# Fillings of a shape tell apart what a strategy's colour and shape do not: which half is empty, and of what colour.
FILLINGS = [("full", "white")] + [(half, empty) for empty in ("white", "black") for half in ("left", "bottom", "right", "top")]
KINDS = {  # of time and of operations: colour, hatch, name
    "forward": ("#56B4E9", "", "forward"),
    "backward": ("#E69F00", "", "backward"),
    "recompute": ("#CC79A7", "//////", "recompute"),
    "update": ("#F0E442", "", "update"),
    "communication_exposed": ("#D55E00", "\\\\\\\\\\\\", "exposed communication"),
    "bubble": ("#E4E4E4", "...", "bubble"),
    "data_wait": ("#0072B2", "//////", "data wait"),
    "other": ("#8C8C8C", "", "other"),
    "F": ("#56B4E9", "", "forward"),
    "B": ("#E69F00", "", "backward"),
    "I": ("#D55E00", "\\\\\\\\\\\\", "input gradient"),
    "W": ("#009E73", "", "weight gradient"),
    "R": ("#CC79A7", "//////", "recompute"),
    "U": ("#F0E442", "", "update"),
    "N": ("#8C8C8C", "...", "norms"),
    "S": ("#785EF0", "", "sum of gradients"),
    "A": ("#0072B2", "//////", "average"),
}


def places(names, shown, most):
    """Name -> place among all names, so that it is the same in every figure, or among the shown ones where all are more
    than `most`."""
    names, shown = sorted(set(names)), sorted(set(shown))
    return {name: place for place, name in enumerate(names if len(names) <= most else shown)}


def looks(rows, name_of, shown):
    """(colour, shape, filling) of each name that shown rows have: colour and shape are those of the strategy in every
    report and on its page, by its place in the table of strategies; the filling tells apart the names of one strategy.
    Rows are all rows that count."""
    look = {}
    for strategy, i in sorted({(r["strategy"], r["strategy_place"]) for r in shown}):
        own = {name_of(r) for r in shown if r["strategy"] == strategy}
        fillings = places((name_of(r) for r in rows if r["strategy"] == strategy), own, len(FILLINGS))
        for name in sorted(own):
            look[name] = (PALETTE[i % 8], SHAPES[(i + i // 8) % 8], FILLINGS[fillings[name] % len(FILLINGS)])
    return look
