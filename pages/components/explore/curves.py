"""Chosen systems -> their curves, worked out once and kept as long as the choice stays."""

from __future__ import annotations

from dataclasses import dataclass, replace
from hashlib import sha256

import pandas as pd
import streamlit as st

from ecv_core.exploration import MAX_USER_K, Scores
from ecv_core.orders import Curve
from ecv_core.records import FoldResult
from ecv_core.stopping.precision import user_matrix
from ecv_core.tradeoff import (
    System,
    Tradeoff,
    averaged,
    precision_curve,
    slider_alphas,
    stops_frame,
    tradeoff,
    tradeoff_frame,
)
from ecv_core.tradeoff.curves import PAPER_COST_PERCENT
from pages.components.state import store
from pages.components.words import alpha_text

USUAL_ALPHA = 1e-4


@dataclass(frozen=True, slots=True, kw_only=True)
class Explored:
    """Everything that the page shows about the chosen systems."""

    version: str
    """Changes with the choice and the limit, and with nothing else."""
    tradeoff: Tradeoff
    precision: Curve | None
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
        if self.alphas[0] <= USUAL_ALPHA <= self.alphas[-1]:
            return min(self.alphas, key=lambda alpha: abs(alpha - USUAL_ALPHA))
        average = self.tradeoff.average
        return min(
            self.alphas,
            key=lambda alpha: abs(average.at(alpha).cost_percent - PAPER_COST_PERCENT),
        )


def explore_systems(systems: list[System], within_percent: float) -> Explored:
    """The curves of the chosen systems.

    Raises: EcvError for scores that cannot be explored.
    """
    contents = tuple(system.content for system in systems)
    return _explored(contents, within_percent, systems)


@st.cache_data(show_spinner="Walking through every order of the folds ...", max_entries=24)
def _explored(contents: tuple[str, ...], within_percent: float, _systems: list[System]) -> Explored:
    found = tradeoff(_systems, within_percent=within_percent)
    precision = _precision(_systems, within_percent)
    return Explored(
        version=sha256("".join(contents).encode()).hexdigest()[:16] + f"-{within_percent}",
        tradeoff=found,
        precision=precision,
        within_percent=within_percent,
        frame=tradeoff_frame(found, precision),
        stops=stops_frame(found.average),
        alphas=slider_alphas(found.alphas),
    )


def _precision(systems: list[System], within_percent: float) -> Curve | None:
    """The precision rule on the same systems; None unless every user's score is known for all."""
    curves = []
    for system in systems:
        if system.run_id is None or system.k > MAX_USER_K:
            return None
        curve = _precision_of(store().url, system.run_id, system.k, within_percent, system)
        if curve is None:
            return None
        curves.append(curve)
    return averaged(curves)


@st.cache_data(show_spinner=False, max_entries=64)
def _precision_of(
    url: str, run_id: str, k: int, within_percent: float, _system: System
) -> Curve | None:
    users = store().user_scores(run_id)
    if len(users) < k:
        return None
    run = store().run(run_id)
    folds: list[FoldResult] = sorted(run.folds, key=lambda fold: fold.fold)
    results = [replace(fold, user_scores=users[fold.fold]) for fold in folds]
    values = user_matrix(results, run.spec.metric_name)
    scores = Scores(folds=_system.scores.folds, costs=_system.scores.costs, users=values)
    return precision_curve(scores, within_percent=within_percent)
