"""What the figures of a study show, worked out once per choice of runs."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from ecv_core.analysis.orders import Curve
from ecv_core.analysis.tradeoff import System
from ecv_core.stopping import RULES
from ecv_core.study.summary import WITHIN_PERCENT, Summary, summary
from pages.components.shared.precision_curves import precision_of


def studied(systems: list[System]) -> Summary:
    """The study's figures as data.

    Args:
        systems: at least one, in the order in which rows and columns are to come.
    Raises: EcvError for scores that cannot be explored.
    """
    return _studied(tuple(system.content for system in systems), systems)


def rules_of(done: Summary) -> pd.DataFrame:
    """The comparison of rules; the precision rule over the runs whose users' scores are known."""
    with st.spinner("Working out the precision rule ..."):
        found = [precision_of(system, WITHIN_PERCENT) for system in done.tradeoff.systems]
    curves = {number: curve for number, curve in enumerate(found) if curve is not None}
    return _rules(done.version, tuple(curves), tuple(RULES), done, curves)


@st.cache_data(show_spinner="Walking through every order of the folds ...", max_entries=24)
def _studied(contents: tuple[str, ...], _systems: list[System]) -> Summary:
    return summary(_systems)


@st.cache_data(show_spinner="Comparing the rules ...", max_entries=24)
def _rules(
    version: str,
    with_users: tuple[int, ...],
    rules: tuple[str, ...],
    _done: Summary,
    _curves: dict[int, Curve],
) -> pd.DataFrame:
    return _done.rules(_curves)
