"""Chosen systems -> their curves, worked out once and kept as long as the choice stays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from operator import attrgetter
from statistics import fmean

import pandas as pd
import streamlit as st

from ecv_core.analysis.tradeoff.alphas import slider_alphas
from ecv_core.analysis.tradeoff.curves import Tradeoff, tradeoff
from ecv_core.analysis.tradeoff.frames import stops_frame, tradeoff_frame
from ecv_core.analysis.tradeoff.rule_curves import RuleCurve, curves_by_rule, registered_curves
from ecv_core.records.run import Scores
from pages.shared.charts.precision_curves import user_rule_curves
from pages.shared.widgets.sliders import usual_alpha


@dataclass(frozen=True, kw_only=True)
class Explored:
    """Everything that the page shows about the chosen systems."""

    cache_key: str
    """Another for another choice or another limit: by it pages keep figures and tables of it."""
    systems: Sequence[Scores]
    average_k: float
    """How many folds a system has on average."""
    reference: str
    """What stopping is compared with: '10-fold', or 'k-fold' where systems differ in k."""
    cost: str
    """What is spent: 'energy', or 'folds' where some system has no energy."""
    tradeoff: Tradeoff
    curves_of_other_rules: list[RuleCurve]
    """The other registered rules; those that need users' scores only where every system has them.
    """
    within_percent: float
    frame: pd.DataFrame
    stops: pd.DataFrame
    alphas: list[float]
    """The slider's steps."""
    alpha_at_start: float
    """The usual one, or on another scale what spends as the paper."""


@st.cache_resource(
    show_spinner="Walking through every order of the folds ...",
    max_entries=24,
    hash_funcs={Scores: attrgetter("fingerprint")},
)
def explore_systems(
    systems: list[Scores], within_percent: float, rules: tuple[str, ...]
) -> Explored:
    """The curves of the chosen systems, which Streamlit keeps.

    Args:
        systems: At least one.
        within_percent: The difference to the k-fold mean that counts as close enough.
        rules: Ids of all registered rules: with another one the curves are worked out anew.

    Raises:
        EcvError: For scores that cannot be explored.
    """
    # `rules` is only part of the cache's key, so that a rule that is registered later gets its
    # curves.
    papers_curves = tradeoff(systems, within_percent=within_percent)
    # Some systems lack the scores of their users, and so the curves of rules that need them.
    user_curves_by_rule = curves_by_rule(
        user_rule_curves(system, within_percent) for system in systems
    )
    # The curves of the paper's rule are above; rules that look at no score have none.
    curves_of_other_rules = registered_curves(
        systems, user_curves_by_rule, within_percent=within_percent
    )
    alphas = slider_alphas(papers_curves.alphas)
    fingerprints = "".join(system.fingerprint for system in systems)
    fingerprint = sha256(fingerprints.encode()).hexdigest()[:16]
    numbers_of_folds = {system.k for system in systems}
    reference = "k-fold"
    if len(numbers_of_folds) == 1:
        reference = f"{systems[0].k}-fold"
    cost = "energy"
    if "none" in {system.source for system in systems}:
        cost = "folds"
    return Explored(
        cache_key=f"{fingerprint}-{within_percent}",
        systems=systems,
        average_k=fmean(system.k for system in systems),
        reference=reference,
        cost=cost,
        tradeoff=papers_curves,
        curves_of_other_rules=curves_of_other_rules,
        within_percent=within_percent,
        frame=tradeoff_frame(papers_curves, curves_of_other_rules),
        stops=stops_frame(papers_curves.average),
        alphas=alphas,
        alpha_at_start=usual_alpha(alphas, papers_curves.average),
    )
