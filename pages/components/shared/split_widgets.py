"""Widgets of a split that pages share: strategy and its parameters; the same in the URL."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import streamlit as st

from ecv_core.fold import split_archive
from ecv_core.records import SETTINGS, ParamValue, RunSpec
from ecv_core.splits import SPLITS, Strategy
from pages.components.shared.parameter_widgets import parameter_widgets
from pages.components.shared.setting_widgets import about

SPLIT, K, SEED = "split", "k", "seed"
"""Settings of a split: keys of their widgets, and names in the address."""
K_OF = "k-of"
"""In the session: the strategy whose usual number of folds was offered."""


def strategy_select(options: Sequence[str]) -> str:
    """The picked id; the first one to begin with."""
    return st.selectbox(options=options, **about(SPLIT)) or options[0]


def usual_k(split_id: str) -> None:
    """Call before k is drawn: a strategy brings its own number of folds, where it has another.

    Ten steps back in time, each of a fifth of every history, are more than there is.
    """
    state = st.session_state
    before = state.get(K_OF)
    state[K_OF] = split_id
    if before == split_id or (before is None and (K in state or K in st.query_params)):
        return
    usual = _usual_k(split_id)
    if usual != _usual_k(before):
        state[K] = usual


def _usual_k(split_id: str | None) -> int:
    return SPLITS[split_id].default_k if split_id in SPLITS else SETTINGS[K].default


def strategy_parameters(strategy: Strategy) -> dict[str, ParamValue]:
    """One widget per parameter of the strategy, side by side; gives their values.

    The container is there without parameters too: a bound widget below it that moved up or down
    would be made anew in the browser, and its later changes would miss the address.
    """
    with st.container(horizontal=True):
        return parameter_widgets(parameters_owner(strategy.id), strategy.parameters)


def parameters_owner(split_id: str) -> str:
    """What `parameter_key` knows a strategy's parameters by."""
    return f"split-{split_id}"


def known_split() -> None:
    """Call before `strategy_select` where a fold file cannot be picked, as on the form of Run."""
    if st.session_state.get(SPLIT, "") not in SPLITS:
        st.session_state.pop(SPLIT, None)


_HELP = {
    "csv": "What is learnt from and what is held out, as CSV, with a README that says how it was "
    "made; another e-fold can import it.",
    "recbole": "A folder per fold with RecBole's benchmark files, and a README that says which "
    "settings to use.",
}


def split_download(spec: RunSpec, *, key: str, label: str, form: str = "csv") -> None:
    """The button; the archive is made when it is pressed.

    Args:
        spec: whose split it is; the dataset must be on disk.
        key: of the button.
        label: on it.
        form: one of `ecv_core.splits.FORMS`.
    """
    ending = "" if form == "csv" else f"-{form}"
    st.download_button(
        label,
        partial(split_archive, spec, form),
        file_name=f"{spec.dataset}-{spec.split}-seed{spec.seed}{ending}.zip",
        mime="application/zip",
        icon=":material/download:",
        key=key,
        on_click="ignore",
        help=_HELP[form],
    )
