"""The rules that need users' scores over finished runs, worked out once for all pages."""

from __future__ import annotations

import streamlit as st

from ecv_core.analysis.orders.outcomes import Curve
from ecv_core.analysis.tradeoff.rules import curves_of_run
from ecv_core.records.errors import EcvError
from ecv_core.records.run import Scores
from ecv_core.stopping import RULES
from ecv_core.store.recorded import recorded_run
from pages.shared.live.state import results, store

_Key = tuple[str, str, tuple[str, ...], float]


def curves_of_users(system: Scores, within_percent: float) -> dict[str, Curve]:
    """Their curves by id; none where no per-user scores are known, or they cannot be read.

    Args:
        system: a finished run, or fold scores from a file, which have no users.
        within_percent: the difference to count as close enough.
    """
    if system.run_id is None:
        return {}
    key = _key(system, within_percent)
    curves = _curves_of(key, system.run_id)
    _worked_out().add(key)
    return curves


def is_worked_out(system: Scores, within_percent: float) -> bool:
    """Whether `curves_of_users` answers at once."""
    return system.run_id is None or _key(system, within_percent) in _worked_out()


def _key(system: Scores, within_percent: float) -> _Key:
    return store().url, system.content, tuple(RULES), within_percent


@st.cache_data(show_spinner=False, max_entries=256)
def _curves_of(key: _Key, _run_id: str) -> dict[str, Curve]:
    try:
        scores = results().scores(recorded_run(_run_id) or store().run(_run_id))
    except EcvError:
        return {}  # whoever shows it says over how many systems it is
    return curves_of_run(scores, within_percent=key[-1])


@st.cache_resource(show_spinner=False)
def _worked_out() -> set[_Key]:
    return set()
