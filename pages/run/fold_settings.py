"""How the data is split and scored: k, fold strategy or fold file, metric, ranking, n, seed."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import streamlit as st
from streamlit.typing import UploadedFile

from ecv_core import models, splits
from ecv_core.evaluation import METRICS, SAMPLED_WARNING
from ecv_core.jobs.rights import Action
from ecv_core.records.errors import EcvError
from ecv_core.records.parameters import ParamValue
from ecv_core.records.spec import SCORES, SETTINGS, Task
from ecv_core.splits import IMPORTED, SPLITS
from ecv_core.untrusted.limits import max_upload_mb
from pages.shared.live.acting import handling, why_not
from pages.shared.live.state import KEPT, sentence
from pages.shared.widgets.setting_widgets import (
    about,
    other_settings,
    setting_widget,
    strategy_parameters,
    strategy_select,
    usual_k,
)

if TYPE_CHECKING:
    from streamlit.delta_generator import DeltaGenerator

PLACED = ("k", "seed", "split", "metric", "n", "candidates", "negatives", "negative_sampling")
"""Settings that have a place of their own on the form."""
FULL, SAMPLED = "full ranking", "sampled negatives"
NEGATIVES = 100
"""As many as most work that samples."""

CHOICES = list(METRICS)
"""Metrics that some algorithm here has a value of."""

SYMBOLS = (
    r"$H$: the user's held-out items; $C$: candidates; $i_r$: the item at rank $r$; $rel_r$: 1 if "
    r"it is held out; $s$: scores; $p$: probabilities."
)

SYMBOLS_OF_RATINGS = (
    r"$H$: the held-out pairs of user and item; $r$: the rating given; $\hat{r}$: the rating "
    "predicted, clipped to the scale."
)
SYMBOLS_OF_SAMPLES = (
    r"$H$: the held-out samples; $y$: what is so; $\hat{y}$: what is predicted; $Y$: the classes."
)
_SYMBOLS = {Task.TOP_N: SYMBOLS, Task.RATINGS: SYMBOLS_OF_RATINGS}

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


def metric_select(
    place: DeltaGenerator,
    tasks: Sequence[Task] = Task.TOP_N.together,
    **about: Any,  # noqa: ANN401
) -> str:
    """The metric's id, of some tasks; `about` is the widget's label, key and help."""
    names = [name for name in CHOICES if METRICS[name].task in tasks]
    listed = "\n".join(f"- **{METRICS[name].title}**: {METRICS[name].help}" for name in names)
    about["help"] = f"{about['help']}\n\n{listed}"
    picked = place.selectbox(options=names, format_func=lambda name: METRICS[name].title, **about)
    return picked or names[0]


def score_settings(metric: str) -> dict[str, Any]:
    """The metric's definition and the widgets of the ranking protocol, folded away at first.

    What is predicted has no such protocol: every held-out rating or sample counts.

    Returns: what was picked, as arguments of `make_spec`.
    """
    if METRICS[metric].task is not Task.TOP_N:
        with st.expander("How predictions are scored", icon=":material/leaderboard:"):
            _definition(metric)
        return {}
    sampled = SAMPLED in (st.session_state.get("ranking"), st.query_params.get("ranking"))
    with st.expander(
        "What is ranked, and how it is scored", icon=":material/leaderboard:", expanded=sampled
    ):
        _definition(metric)
        picked = {"candidates": setting_widget("candidates")}
        ranking = st.segmented_control(
            "Ranked against",
            [FULL, SAMPLED],
            default=FULL,
            required=True,
            key="ranking",
            **KEPT,
            help="Full ranking compares a held-out item with every candidate. With sampled "
            "negatives a few are drawn once for each user, and each held-out item is ranked alone "
            "against them; every algorithm meets the same ones.",
        )
        if ranking == SAMPLED:
            with st.container(horizontal=True):
                negatives = st.number_input(value=NEGATIVES, **about("negatives", width=160))
                picked["negatives"] = int(negatives)
                picked["negative_sampling"] = setting_widget("negative_sampling")
        picked |= other_settings(SCORES, PLACED)
    if ranking == SAMPLED:
        st.warning(SAMPLED_WARNING, icon=":material/warning:")
    return picked


def _definition(metric: str) -> None:
    known = METRICS[metric]
    st.markdown(f"**{known.title}.** {known.help}")
    if not known.formula:
        return
    st.latex(known.formula)
    symbols = _SYMBOLS.get(known.task, SYMBOLS_OF_SAMPLES)
    st.caption(f"{symbols} Source: {known.source}. {known.elsewhere}".rstrip())
