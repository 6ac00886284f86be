"""The rules that need users' scores over finished runs, worked out once for all pages."""

from __future__ import annotations

import streamlit as st

from ecv_core.analysis.orders.outcomes import Curve
from ecv_core.analysis.tradeoff.rule_curves import curves_of_run
from ecv_core.records.errors import EcvError
from ecv_core.records.run import Scores
from ecv_core.stopping import RULES
from ecv_core.store.recorded import recorded_run
from pages.shared.live.state import results, store


def user_rule_curves(system: Scores, within_percent: float) -> dict[str, Curve]:
    """Their curves by id; none where no per-user scores are known, or they cannot be read.

    Args:
        system: A finished run, or fold scores from a file, which have no users.
        within_percent: The difference to count as close enough.
    """
    if system.run_id is None:
        return {}
    # Only rules that decide by the set of folds that ran, and not by their order, have curves here.
    rules = [rule for rule in RULES.values() if rule.decides_by_sets and rule.needs_user_scores]
    curves = curves_of_run(system, within_percent=within_percent)
    if len(curves) == len(rules):
        return curves
    # A curve is missing if the system has come without its users' scores. They are read now, and
    # all curves worked out, which takes seconds. So Streamlit keeps the curves under a key, which
    # names all rules: a rule that is registered later needs a curve too.
    return _worked_out_curves(
        store().url, system.fingerprint, tuple(RULES), within_percent, system.run_id
    )


@st.cache_data(show_spinner=False, max_entries=256)
def _worked_out_curves(
    database_url: str, fingerprint: str, rules: tuple[str, ...], within_percent: float, _run_id: str
) -> dict[str, Curve]:
    """Worked out of users' scores; Streamlit keeps it by all but the last argument."""
    try:
        scores = results().scores(recorded_run(_run_id) or store().run(_run_id))
    except EcvError:
        # A missing curve is no error: whoever shows curves says over how many systems they are.
        return {}
    return curves_of_run(scores, within_percent=within_percent)
