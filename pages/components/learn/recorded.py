"""The recorded run that the chapters follow, read once per change of the files."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ecv_core.lessons.guide import complete_runs, guide_run, scores_of
from ecv_core.records import Run
from pages.components.shared.words import metric_label, run_title


def guide() -> tuple[Run, NDArray[np.float64], str]:
    """The run, its fold scores of shape (k,), and the name of its score.

    Raises: InputError without any recorded run.
    """
    run = guide_run(complete_runs())
    return run, scores_of(run), metric_label(run.spec)


def guide_note(run: Run) -> str:
    """Where the numbers of a chapter come from."""
    return f"A recorded run: {run_title(run)}, {run.spec.k} folds, seed {run.spec.seed}."
