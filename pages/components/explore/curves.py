"""Chosen systems -> their curves, worked out once and kept as long as the choice stays."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha256

import pandas as pd
import streamlit as st

from ecv_core.orders import Curve
from ecv_core.recorded import recorded_run
from ecv_core.tradeoff import (
    System,
    Tradeoff,
    averaged,
    slider_alphas,
    stops_frame,
    tradeoff,
    tradeoff_frame,
)
from ecv_core.tradeoff.users import precision_of_run
from pages.components.alpha_slider import usual_alpha
from pages.components.state import store, user_scores
from pages.components.words import alpha_text


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
        return usual_alpha(self.alphas, self.tradeoff.average)


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
        curve = _precision_of(store().url, system.content, within_percent, system)
        if curve is None:
            return None
        curves.append(curve)
    return averaged(curves)


@st.cache_data(show_spinner=False, max_entries=128)
def _precision_of(url: str, content: str, within_percent: float, _system: System) -> Curve | None:
    if _system.run_id is None:
        return None
    users = user_scores(_system.run_id)
    if not users:
        return None
    run = recorded_run(_system.run_id) or store().run(_system.run_id)
    return precision_of_run(run, users, _system, within_percent=within_percent)
