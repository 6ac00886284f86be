"""A figure for a paper, from one line of Python."""

from __future__ import annotations

from os import PathLike
from pathlib import Path
from typing import Literal

from ecv_core.figures.report.figure_file import write_figure
from ecv_core.library.run import Run
from ecv_core.records.arguments import kinds_checked


@kinds_checked
def figure(
    run: Run | str,
    kind: Literal[
        "difference", "dimensions", "efold", "p-values", "ranks", "steps", "stops", "tradeoff"
    ],
    out: str | PathLike[str],
    *,
    alpha: float | None = None,
) -> str:
    """A picture of a run or of the recorded study, in a column's width; as the command `figure`.

    Args:
        run: a run, the id of one of the database or of a recorded one; or 'study', a recorded
            tuning such as 'ml-1m--item-knn', or 'ml-100k'.
        kind: of a run 'efold' (figure 1 of the paper), 'stops' or 'tradeoff'; of the study
            'difference', 'stops', 'ranks' or 'tradeoff'; of a tuning 'p-values'; of ml-100k
            'dimensions' or 'steps'.
        out: FILE.pdf, FILE.svg, FILE.pgf (for LaTeX) or FILE.png.
        alpha: of the paper's rule, for a study, stops and tradeoff; 1e-4 by default.
    Returns: what it shows.
    Raises: InputError for what cannot be drawn; RunError if the file cannot be written.
    """
    return write_figure(run if isinstance(run, str) else run.record, kind, Path(out), alpha)
