"""A file of fold scores that is dropped on a page: its metric and its direction are chosen here."""

from __future__ import annotations

import tempfile
from pathlib import Path

import streamlit as st
from streamlit.typing import UploadedFile

from ecv_core.analysis.score_files import ScoreFile, read_contenders
from ecv_core.analysis.score_rows import SeveralMetrics
from pages.shared.live.state import escaped

LOWER = "lower"
"""Key of the switch that says which way is better."""
_SWITCH_SET_FOR = "lower-set-for"
"""Key of the session state: the file and the metric for which the switch was set."""


def scores_of(file: UploadedFile, *, key: str) -> ScoreFile:
    """The scores of a file, of the metric and in the direction that are chosen beside it.

    Args:
        file: The file that was dropped.
        key: The key of the widgets.

    Raises:
        InputError: For a file that cannot be used, with the reason.
    """
    metric = None
    with st.spinner("Reading the scores ..."):
        try:
            scores = _read(file.file_id, None, file)
        except SeveralMetrics as several:
            metric = st.selectbox("Metric", several.metrics, key=f"{key}-metric", width=260)
            scores = _read(file.file_id, metric, file)
    # A new file or metric sets the switch to its own direction. After that, the switch stays as the
    # person sets it.
    file_and_metric = (file.file_id, metric)
    if st.session_state.get(_SWITCH_SET_FOR) != file_and_metric:
        st.session_state[_SWITCH_SET_FOR] = file_and_metric
        st.session_state[LOWER] = not scores.direction.higher_is_better
    higher_is_better = not st.toggle("Lower is better", key=LOWER, help="As for RMSE.")
    if higher_is_better != scores.direction.higher_is_better:
        scores = scores.directed(higher_is_better)
    return scores


def file_words(scores: ScoreFile) -> str:
    """Which direction was taken, how to say otherwise, and what of the file was left out."""
    return escaped(f"{scores.direction.sentence('the switch')} {scores.left_out}".strip())


@st.cache_resource(show_spinner=False, max_entries=4)
def _read(file_id: str, metric: str | None, _file: UploadedFile) -> ScoreFile:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / Path(_file.name).name
        path.write_bytes(_file.getvalue())
        return read_contenders(path, metric)
