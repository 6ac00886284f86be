"""How the data is split and scored: k, fold strategy or fold file, metric, n, seed."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import streamlit as st
from streamlit.typing import UploadedFile

from ecv_core import models, splits
from ecv_core.evaluation import METRICS
from ecv_core.jobs.rights.actor import Action
from ecv_core.records.errors import EcvError
from ecv_core.records.parameters import ParamValue
from ecv_core.records.spec import SETTINGS, Task
from ecv_core.splits import IMPORTED, SPLITS
from ecv_core.untrusted.limits import max_upload_mb
from pages.run.score_settings import metric_select, score_settings
from pages.shared.live.acting import handling, why_not
from pages.shared.live.state import sentence
from pages.shared.widgets.setting_widgets import (
    about,
    setting_widget,
    strategy_parameters,
    strategy_select,
    usual_k,
)

STORED = "stored-folds"
"""In the session: (dataset, SHA-256, k) of the fold file whose run was opened for a new one."""


TASK_OF = "task-of"
"""In the session: the task whose usual metric and split were offered."""


def usual_of_task(names: list[str]) -> None:
    """Call before metric and split are drawn: each task brings its own, as algorithms change.

    Args:
        names: of the picked algorithms; nothing changes where there are none.
    """
    if not names:
        return
    state, task = st.session_state, models.algorithm(names[0]).task
    before = state.get(TASK_OF)
    state[TASK_OF] = task
    known = any(key in state or key in st.query_params for key in ("metric", "split"))
    if task is (before or Task.TOP_N) or (before is None and known):
        return
    state["metric"], state["split"] = task.usual_metric, task.usual_split


def fold_settings(
    dataset: str, on_disk: bool, task: Task = Task.TOP_N
) -> tuple[dict[str, Any], bool]:
    """Widgets of folds and score; a fold file that does not fit is refused beside them.

    Args:
        dataset: its id.
        on_disk: whether it can be read.
        task: of the picked algorithms, which says what a fold file has to hold.
    Returns: what was picked, as arguments of `make_spec`; and whether it can be used, which it
        cannot while a fold file is wanted but not there yet.
    """
    left, middle, right = st.columns(3)
    usual_k(_asked_split())
    k = setting_widget("k", left)
    metric = metric_select(middle, task.together, **about("metric"))
    ranked = METRICS[metric].task is Task.TOP_N
    n = setting_widget("n", right) if ranked else SETTINGS["n"].default
    score = score_settings(metric)
    with st.expander(
        "Fold strategy and seed",
        icon=":material/splitscreen:",
        expanded=_asked_split()
        not in (next(iter(SPLITS)), task.usual_split),  # so that a link's split is seen
    ):
        split = strategy_select([*splits.serving(task), *[IMPORTED] * (not task.of_table)])
        params: dict[str, ParamValue] = {}
        if split != IMPORTED:
            strategy = SPLITS[split]
            words = f"**{strategy.title}.** {strategy.help} *{strategy.ecv}*"
            if strategy.single and k != 1:
                k = 1
                words += " This strategy makes one split, so k is 1 here."
            st.caption(words)
            params = strategy_parameters(strategy)
        sha256, k, ready = (
            _fold_file(dataset, on_disk, k, task) if split == IMPORTED else (None, k, True)
        )
        seed = setting_widget("seed", width=200)
    picked = {
        "split": split,
        "split_params": params,
        "folds_sha256": sha256,
        "k": k,
        "seed": seed,
        "metric": metric,
        "n": n,
    }
    return picked | score, ready


def _asked_split() -> str:
    """As picked, or as the address has it; the first one where neither says."""
    asked = st.session_state.get("split") or st.query_params.get("split")
    return asked if asked in (*SPLITS, IMPORTED) else next(iter(SPLITS))


def _fold_file(dataset: str, on_disk: bool, k: int, task: Task) -> tuple[str | None, int, bool]:
    file = None
    if why := why_not(Action.UPLOAD):
        st.caption(why)
    else:
        file = st.file_uploader(
            "Fold file",
            type=["csv", "gz", "zip"],
            max_upload_size=max_upload_mb(),
            help="CSV with the columns user_id, item_id, fold (from 0), plain or gzipped: every "
            "interaction of the prepared dataset exactly once. Or a ZIP as exported here.",
        )
    stored = st.session_state.get(STORED)
    if file is None and stored and stored[0] == dataset:
        st.caption(f":green[:material/check_circle:] The {stored[2]} folds of the run before.")
        return stored[1], stored[2], True
    if file is None or not on_disk:
        st.caption("Released folds as CSV: `user_id,item_id,fold`. Their number of folds sets k.")
        return None, k, False
    try:
        with st.spinner("Checking the folds against the dataset ..."):
            sha256, folds = _imported(dataset, file.file_id, task.value, file)
    except EcvError as error:
        st.error(sentence(error), icon=":material/error:")
        return None, k, False
    st.caption(f":green[:material/check_circle:] {folds} folds, every interaction once.")
    return sha256, folds, True


@st.cache_data(show_spinner=False, max_entries=8)
def _imported(dataset: str, file_id: str, task: str, _file: UploadedFile) -> tuple[str, int]:
    name = Path(_file.name).name
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        path.write_bytes(_file.getvalue())
        return handling().import_folds(dataset, path, Task(task))
