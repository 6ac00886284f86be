"""Chosen systems -> their curves, worked out once and kept as long as the choice stays."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha256

import pandas as pd
import streamlit as st

from ecv_core.analysis.tradeoff.curves import Tradeoff, slider_alphas, tradeoff
from ecv_core.analysis.tradeoff.frames import stops_frame, tradeoff_frame
from ecv_core.analysis.tradeoff.rules import RuleCurve, by_rule, registered_curves
from ecv_core.figures.words import alpha_text
from ecv_core.records.run import Scores
from ecv_core.stopping import RULES
from pages.shared.address.link import keep_link_warnings
from pages.shared.charts.precision_curves import curves_of_users
from pages.shared.widgets.sliders import usual_alpha

_AT_ONCE = 4
"""Systems whose rules by users' scores are worked out before the page is painted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Explored:
    """Everything that the page shows about the chosen systems."""

    version: str
    """Changes with the choice and the limit, and with nothing else."""
    tradeoff: Tradeoff
    others: list[RuleCurve]
    """The other registered rules; those that need users' scores only where every system has them.
    """
    complete: bool
    """False while they are still left out, because they take their time."""
    within_percent: float
    frame: pd.DataFrame
    stops: pd.DataFrame
    alphas: list[float]
    """The slider's steps."""

    @property
    def cost(self) -> str:
        """What is spent: 'energy', or 'folds' where some system has no energy."""
        sources = {system.source for system in self.tradeoff.systems}
        return "folds" if "none" in sources else "energy"

    @property
    def texts(self) -> list[str]:
        """Each alpha as shown."""
        return [alpha_text(alpha) for alpha in self.alphas]

    @property
    def usual(self) -> float:
        """The alpha to start with: the usual one, or on another scale what spends as the paper."""
        return usual_alpha(self.alphas, self.tradeoff.average)


def explore_systems(systems: list[Scores], within_percent: float) -> Explored:
    """The curves of the chosen systems.

    Raises: EcvError for scores that cannot be explored.
    """
    contents = tuple(system.content for system in systems)
    found = _walked(contents, within_percent, systems)
    asked = (contents, within_percent, tuple(RULES))
    complete = len(systems) <= _AT_ONCE or asked in _asked()
    return _explored(contents, within_percent, tuple(RULES), complete, found)


def add_precision(explored: Explored) -> None:
    """Work out the other rules where they were left out, and show them too.

    Some read every user's scores, others are sampled, so the page is painted without them first.
    """
    if explored.complete:
        return
    with st.spinner("Adding the other rules to the chart ..."):
        systems = explored.tradeoff.systems
        asked = (tuple(one.content for one in systems), explored.within_percent, tuple(RULES))
        _others(*asked, list(systems))
        _asked().add(asked)
    keep_link_warnings()
    st.rerun()


@st.cache_resource(show_spinner="Walking through every order of the folds ...", max_entries=24)
def _walked(contents: tuple[str, ...], within_percent: float, _systems: list[Scores]) -> Tradeoff:
    return tradeoff(_systems, within_percent=within_percent)


@st.cache_resource(show_spinner=False, max_entries=24)  # a copy takes 50 ms
def _explored(
    contents: tuple[str, ...],
    within_percent: float,
    rules: tuple[str, ...],
    complete: bool,
    _found: Tradeoff,
) -> Explored:
    others = _others(contents, within_percent, rules, list(_found.systems)) if complete else []
    version = sha256("".join(contents).encode()).hexdigest()[:16]
    return Explored(
        version=f"{version}-{within_percent}" + ("" if complete else "-first"),
        tradeoff=_found,
        others=others,
        complete=complete,
        within_percent=within_percent,
        frame=tradeoff_frame(_found, others),
        stops=stops_frame(_found.average),
        alphas=slider_alphas(_found.alphas),
    )


@st.cache_resource(show_spinner=False, max_entries=24)  # a copy takes 50 ms
def _others(
    contents: tuple[str, ...],
    within_percent: float,
    rules: tuple[str, ...],
    _systems: list[Scores],
) -> list[RuleCurve]:
    known = by_rule(curves_of_users(system, within_percent) for system in _systems)
    return registered_curves(_systems, known, within_percent=within_percent)


@st.cache_resource(show_spinner=False)
def _asked() -> set[tuple[tuple[str, ...], float, tuple[str, ...]]]:
    """For which systems, limit and rules `_others` answers at once."""
    return set()
