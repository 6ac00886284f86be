"""How the data is split and scored: k, fold strategy or fold file, metric, n, seed."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path

import streamlit as st
from streamlit.runtime.uploaded_file_manager import UploadedFile

from ecv_core.errors import EcvError
from ecv_core.evaluation import METRICS
from ecv_core.fold import import_folds
from ecv_core.records import ParamValue
from ecv_core.splits import IMPORTED, SPLITS
from pages.components.run.score_settings import CHOICES, METRIC_HELP, ScoreSettings, score_settings
from pages.components.shared.glossary import explained
from pages.components.shared.split_widgets import (
    k_input,
    seed_input,
    strategy_parameters,
    strategy_select,
)
from pages.components.shared.state import sentence

STORED = "stored-folds"
"""In the session: (dataset, SHA-256, k) of the fold file whose run was opened for a new one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FoldSettings:
    """What was picked."""

    split: str
    split_params: dict[str, ParamValue]
    folds_sha256: str | None
    k: int
    seed: int
    metric: str
    n: int
    score: ScoreSettings
    ready: bool
    """False while a fold file is wanted but not there yet."""


def fold_settings(dataset: str, on_disk: bool) -> FoldSettings:
    """Widgets of folds and score; a fold file that does not fit is refused beside them."""
    left, middle, right = st.columns(3)
    with left:
        k = k_input(
            explained("Folds of a whole cross-validation; the rule may stop before.", "k", "fold")
        )
    metric = middle.selectbox(
        "Metric",
        CHOICES,
        format_func=lambda name: METRICS[name].title,
        key="metric",
        bind="query-params",
        persist_state="session",
        help=METRIC_HELP,
    )
    n = right.number_input(
        "List length (n)",
        value=10,
        key="n",
        bind="query-params",
        persist_state="session",
        help=explained("How many items are recommended to each user (top-n).", "top-n"),
    )
    score = score_settings(metric or "ndcg")
    with st.expander(
        "Fold strategy and seed",
        icon=":material/splitscreen:",
        expanded=_asked_split() != next(iter(SPLITS)),  # so that a link's split is seen
    ):
        split = strategy_select([*SPLITS, IMPORTED])
        params: dict[str, ParamValue] = {}
        if split != IMPORTED:
            strategy = SPLITS[split]
            words = f"**{strategy.title}.** {strategy.help} *{strategy.ecv}*"
            if strategy.single and k != 1:
                k = 1
                words += " This strategy makes one split, so k is 1 here."
            st.caption(words)
            params = strategy_parameters(strategy)
        sha256, k, ready = _fold_file(dataset, on_disk, k) if split == IMPORTED else (None, k, True)
        seed = seed_input("Fixes the folds and every random choice: same seed, same scores.")
    return FoldSettings(
        split=split,
        split_params=params,
        folds_sha256=sha256,
        k=k,
        seed=seed,
        metric=metric or "ndcg",
        n=int(n),
        score=score,
        ready=ready,
    )


def _asked_split() -> str:
    """As picked, or as the address has it; the first one where neither says."""
    asked = st.session_state.get("split") or st.query_params.get("split")
    return asked if asked in (*SPLITS, IMPORTED) else next(iter(SPLITS))


def _fold_file(dataset: str, on_disk: bool, k: int) -> tuple[str | None, int, bool]:
    file = st.file_uploader(
        "Fold file",
        type=["csv", "gz", "zip"],
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
            sha256, folds = _imported(dataset, file.file_id, file)
    except EcvError as error:
        st.error(sentence(error), icon=":material/error:")
        return None, k, False
    st.caption(f":green[:material/check_circle:] {folds} folds, every interaction once.")
    return sha256, folds, True


@st.cache_data(show_spinner=False, max_entries=8)
def _imported(dataset: str, file_id: str, _file: UploadedFile) -> tuple[str, int]:
    name = Path(_file.name).name
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        path.write_bytes(_file.getvalue())
        return import_folds(dataset, path)
