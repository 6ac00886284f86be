"""A study's complete cells -> everything its figures show, worked out once per choice of cells."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256

import pandas as pd
import streamlit as st

from ecv_core import recorded
from ecv_core.errors import EcvError
from ecv_core.orders import Curve
from ecv_core.records import Run
from ecv_core.tradeoff import System, Tradeoff, slider_alphas, system_of, tradeoff
from ecv_core.tradeoff.ranks import rankings
from ecv_core.tradeoff.rules import fixed_line, precision_line, rules_frame, stagnation_line
from ecv_core.tradeoff.study_frames import (
    cells_frame,
    headline_frame,
    ranks_frame,
    stability_frame,
)
from ecv_core.tradeoff.users import precision_of_run
from pages.components.alpha_slider import usual_alpha
from pages.components.state import user_scores
from pages.components.words import alpha_text, metric_label

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


def rules_of(done: Studied, runs: Sequence[Run]) -> pd.DataFrame:
    """The comparison of rules; the precision rule over the cells whose users' scores are known."""
    systems = done.tradeoff.systems
    curves = {}
    for number, (system, run) in enumerate(zip(systems, runs, strict=True)):
        curve = _precision_of(system.content, _users_version(run), system, run)
        if curve is not None:
            curves[number] = curve
    return _rules(done.version, tuple(curves), done, curves)


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
    version: str, with_users: tuple[int, ...], _done: Studied, _curves: dict[int, Curve]
) -> pd.DataFrame:
    systems = _done.tradeoff.systems
    lines = [fixed_line(systems), stagnation_line(systems)]
    if _curves:
        lines.append(precision_line(_curves))
    return rules_frame(_done.tradeoff, lines, _done.alphas)


@st.cache_data(show_spinner="Working out the precision rule ...", max_entries=128)
def _precision_of(content: str, version: int, _system: System, _run: Run) -> Curve | None:
    """None where no per-user scores are known, or where they cannot be read."""
    try:
        users = user_scores(_run.run_id)
    except EcvError:
        return None  # the row says over how many cells it is
    return precision_of_run(_run, users, _system, within_percent=_WITHIN_PERCENT)


def _users_version(run: Run) -> int:
    """Changes when the per-user scores of a recorded run do; an own run has its own for good."""
    name = f"{run.spec.dataset}--{run.spec.algorithm}.json"
    try:
        return recorded.user_scores_path(recorded.FOLDER / name).stat().st_mtime_ns
    except OSError:
        return 0
