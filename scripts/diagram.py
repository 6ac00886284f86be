"""Draw the path of a run for docs/architecture.md: `python -m scripts.diagram`."""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

PICTURE = Path(__file__).resolve().parents[1] / "docs" / "images" / "path-of-a-run.svg"
BOXES = {
    "page": (0.0, 2.0, "page\npages/run/"),
    "command line": (0.0, 0.0, "python -m\necv_core run"),
    "manager": (3.0, 2.0, "RunManager\nqueue, one thread"),
    "driver": (3.0, 0.0, "drive()\ntask after task"),
    "plan": (3.0, -2.0, "Plan\nresults so far ->\ntasks, or done"),
    "executor": (7.0, 0.0, "Executor\nhere, or a worker process:\nsplit, fit, rank, meter"),
    "database": (7.0, 2.0, "database\nruns, folds, plans, progress"),
}
"""Name -> where its middle is, and what is in it."""
ARROWS = [
    ("page", "manager", "a RunSpec,\ncancel, resume", 0.0),
    ("command line", "driver", "", 0.0),
    ("manager", "driver", "", 0.0),
    ("plan", "driver", "", 0.0),
    ("driver", "executor", "FoldTask: specs, fold", 0.22),
    ("executor", "driver", "FoldResult, progress", -0.22),
    ("driver", "database", "each fold at once,\nand what the rule said", 0.0),
]
"""From, to, what goes there, how far beside the middle."""
HALF = {"executor": (1.15, 0.55), "database": (1.15, 0.42), "page": (0.7, 0.42)}


def main() -> None:
    """Write the picture."""
    with mpl.rc_context({"svg.hashsalt": "e-fold", "svg.fonttype": "none", "font.size": 9}):
        figure = Figure(figsize=(8.4, 4.6), layout="constrained")
        axes = figure.add_subplot(xlim=(-1, 8.4), ylim=(-2.8, 3.6))
        axes.axis("off")
        axes.add_patch(Rectangle((1.75, -2.7), 2.5, 5.6, fc="#eef2fb", ec="0.6", lw=0.8))
        axes.text(3, 2.72, "the dashboard's process", ha="center", va="center", color="0.3")
        for name, (x, y, text) in BOXES.items():
            wide, high = HALF.get(name, (0.95, 0.55))
            box = Rectangle((x - wide, y - high), 2 * wide, 2 * high, fc="white", ec="0.2", lw=1)
            axes.add_patch(box)
            axes.text(x, y, text, ha="center", va="center")
        for arrow in ARROWS:
            draw(axes, *arrow)
        bend = "arc3,rad=0.16"
        kind = {"arrowstyle": "->", "color": "0.2", "connectionstyle": bend}
        axes.annotate("", (0.1, 2.42), (6.6, 2.42), arrowprops=kind)
        axes.text(
            5.35, 2.98, "one look for all pages, told as it changes", ha="center", va="center"
        )
        figure.savefig(PICTURE, metadata={"Date": None}, facecolor="white")


def draw(axes: Axes, start: str, end: str, text: str, beside: float) -> None:
    """An arrow from the edge of a box to the edge of another, with what goes there."""
    (x0, y0, _), (x1, y1, _) = BOXES[start], BOXES[end]
    (w0, h0), (w1, h1) = (HALF.get(name, (0.95, 0.55)) for name in (start, end))
    right, up = (x1 > x0) - (x1 < x0), (y1 > y0) - (y1 < y0)
    if right:
        begin = (x0 + right * w0, y0 + beside + (0.3 * up))
        stop = (x1 - right * w1, y1 + beside)
    else:
        begin, stop = (x0, y0 + up * h0), (x1, y1 - up * h1)
    axes.annotate("", stop, begin, arrowprops={"arrowstyle": "->", "color": "0.2"})
    middle = ((begin[0] + stop[0]) / 2, (begin[1] + stop[1]) / 2)
    side = -1 if beside < 0 else 1
    if right and up:  # beside the arrow, not over it
        middle = (middle[0] + 0.2, middle[1] - 0.45)
    axes.text(
        middle[0],
        middle[1] + 0.14 * side,
        text,
        ha="left" if right and up else "center",
        va="bottom" if side > 0 else "top",
        fontsize=8,
        color="0.25",
    )


if __name__ == "__main__":
    main()
