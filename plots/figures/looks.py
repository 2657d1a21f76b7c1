"""Colours, shapes and hatches."""

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


def looks(names, shown):
    """A colour and a shape for each name that is shown. Of all `names`, so that one looks the same in every figure, unless
    they are more than there are colours."""
    names, shown = sorted(set(names)), sorted(set(shown))
    order = names if len(names) <= len(PALETTE) else shown
    return {name: (PALETTE[i % 8], SHAPES[(i + i // 8) % 8]) for i, name in enumerate(order) if name in shown}
