"""A study's complete cells -> everything its figures show, worked out once per choice of cells."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256

import pandas as pd
import streamlit as st

from ecv_core.analysis.orders import Curve
from ecv_core.analysis.tradeoff import System, Tradeoff, slider_alphas, system_of, tradeoff
from ecv_core.analysis.tradeoff.ranks import rankings
from ecv_core.analysis.tradeoff.registered import other_lines
from ecv_core.analysis.tradeoff.rules import rules_frame
from ecv_core.analysis.tradeoff.study_frames import (
    cells_frame,
    headline_frame,
    ranks_frame,
    stability_frame,
)
from ecv_core.records import Run
from ecv_core.stopping import RULES
from pages.components.shared.alpha_slider import usual_alpha
from pages.components.shared.precision_curves import precision_of
from pages.components.shared.words import alpha_text, metric_label

_WITHIN_PERCENT = 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Studied:
    """Everything that the figures show about the chosen cells."""

    version: str
    """Changes with the cells, and with nothing else."""
    tradeoff: Tradeoff
    alphas: list[float]
    """The slider's steps."""
    cells: pd.DataFrame
    headline: pd.DataFrame
    ranks: pd.DataFrame
    stability: pd.DataFrame

    @property
    def texts(self) -> list[str]:
        """Each alpha as shown."""
        return [alpha_text(alpha) for alpha in self.alphas]

    @property
    def usual(self) -> float:
        """The alpha to start with."""
        return usual_alpha(self.alphas, self.tradeoff.average)

    @property
    def k(self) -> int:
        """Folds of every cell."""
        return self.tradeoff.average.k


def studied(systems: list[System]) -> Studied:
    """The study's figures as data.

    Args:
        systems: at least one, in the order in which rows and columns are to come.
    Raises: EcvError for scores that cannot be explored.
    """
    return _studied(tuple(system.content for system in systems), systems)


def as_systems(runs: Sequence[Run]) -> list[System]:
    """Complete runs as systems."""
    return [system_of(run, metric_label(run.spec)) for run in runs]


def rules_of(done: Studied) -> pd.DataFrame:
    """The comparison of rules; the precision rule over the cells whose users' scores are known."""
    with st.spinner("Working out the precision rule ..."):
        found = [precision_of(system, _WITHIN_PERCENT) for system in done.tradeoff.systems]
    curves = {number: curve for number, curve in enumerate(found) if curve is not None}
    return _rules(done.version, tuple(curves), tuple(RULES), done, curves)


@st.cache_data(show_spinner="Walking through every order of the folds ...", max_entries=24)
def _studied(contents: tuple[str, ...], _systems: list[System]) -> Studied:
    found = tradeoff(_systems, within_percent=_WITHIN_PERCENT)
    alphas = slider_alphas(found.alphas)
    ranked = rankings(_systems, alphas)
    return Studied(
        version=sha256("".join(contents).encode()).hexdigest()[:16],
        tradeoff=found,
        alphas=alphas,
        cells=cells_frame(found, alphas),
        headline=headline_frame(found, alphas),
        ranks=ranks_frame(ranked),
        stability=stability_frame(ranked),
    )


@st.cache_data(show_spinner="Comparing the rules ...", max_entries=24)
def _rules(
    version: str,
    with_users: tuple[int, ...],
    rules: tuple[str, ...],
    _done: Studied,
    _curves: dict[int, Curve],
) -> pd.DataFrame:
    systems = _done.tradeoff.systems
    return rules_frame(_done.tradeoff, other_lines(systems, _curves), _done.alphas)
