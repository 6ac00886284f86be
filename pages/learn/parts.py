"""What several chapters share: the sentence to take home, the run that they follow."""

from __future__ import annotations

import numpy as np
import streamlit as st
from numpy.typing import NDArray

from ecv_core.figures.words import metric_label, run_title
from ecv_core.records.run import RunRecord
from pages.learn.material.recorded_runs import complete_runs, guide_run, scores_of


def takeaway(text: str) -> None:
    """The lesson below a picture, in Markdown."""
    with st.container(key="learn-takeaway"):
        st.markdown(text)


def guide() -> tuple[RunRecord, NDArray[np.float64], str]:
    """The run, its fold scores of shape (k,), and the name of its score.

    Raises: InputError without any recorded run.
    """
    run = guide_run(complete_runs())
    return run, scores_of(run), metric_label(run.spec)


def guide_note(run: RunRecord) -> str:
    """Where the numbers of a chapter come from."""
    return f"A recorded run: {run_title(run)}, {run.spec.k} folds, seed {run.spec.seed}."


Row = tuple[list[list[str]], list[list[str]], list[str]]
"""What follows a slider: per step the numbers, a smaller line below each, and a sentence."""
