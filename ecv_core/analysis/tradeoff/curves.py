"""Finished folds of several runs -> what each alpha costs and gives.

Averages are over systems, each counting the same, as the paper averages over its 30 pairs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from ecv_core.analysis import exploration
from ecv_core.analysis.orders.outcomes import Curve, combine_curves
from ecv_core.analysis.tradeoff.alphas import POINTS_PER_STEP, alpha_grid
from ecv_core.analysis.tradeoff.recorded import recorded_curve
from ecv_core.records.arrays import Floats
from ecv_core.records.errors import InputError
from ecv_core.records.run import Scores
from ecv_core.records.spec import RunSpec
from ecv_core.splits import exchangeable
from ecv_core.stopping import PAPERS_RULE

PAPER_STOP = 4.15
"""Folds that the paper's rule uses, on the paper's average."""
PAPER_COST_PERCENT = 41.5
"""The energy that it uses, likewise."""
PAPER_DIFFERENCE_PERCENT = 1.81
"""Its difference to 10-fold, likewise."""
PAPER_ALGORITHMS = ("popular", "item-knn", "implicit-mf", "multi-vae", "neu-mf")

MAX_K = 20
"""Folds up to which whole curves are worked out."""
_FINE_K = 16
"""Folds up to which a curve may have PER_DECADE alphas; beyond, only those of a slider."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Tradeoff:
    """The paper's rule on some systems, for a grid of alphas."""

    systems: tuple[Scores, ...]
    curves: tuple[Curve, ...]
    """One per system, all with the same settings: the alphas, ascending."""
    average: Curve
    within_percent: float
    """The difference that counts as close enough."""

    @property
    def alphas(self) -> Floats:
        """Ascending; shape (alphas,)."""
        return self.average.settings

    def alpha_at(self, alpha: float) -> float:
        """The alpha of the grid that holds there: the nearest that is not above it."""
        (row,) = self.average.rows(alpha)
        return float(self.alphas[row])


class _RunOrRow(Protocol):
    """A run, or its row in the list of runs."""

    @property
    def spec(self) -> RunSpec: ...
    @property
    def whole(self) -> bool: ...


def explorable(run: _RunOrRow) -> bool:
    """Whether every order of the run's folds is known, and any could have been."""
    return run.whole and exchangeable(run.spec.split)


def tradeoff(
    systems: Sequence[Scores], *, within_percent: float, every_alpha: bool = True
) -> Tradeoff:
    """Work out every curve, exactly, at the alphas of `alpha_grid`; intervals are of 95 %.

    Args:
        systems: At least one.
        within_percent: The difference to count as close enough.
        every_alpha: Whether at every one of the grid, up to _FINE_K folds, or at a slider's steps
            only.

    Raises:
        InputError: For scores that cannot be explored.
    """
    k = most_folds(systems)
    if k > MAX_K:
        raise InputError(
            f"curves can be computed for at most {MAX_K} folds, but there are {k}; use the "
            f"first {MAX_K}, or compute one alpha with: python -m ecv_core orders"
        )
    orders_of_systems = [exploration.explore(system) for system in systems]
    alphas = alpha_grid(orders_of_systems)
    # The more folds, the longer each alpha takes, so that only a slider's round steps are kept.
    if k > _FINE_K or not every_alpha:
        alphas = alphas[::POINTS_PER_STEP]
    curves = []
    for system, orders in zip(systems, orders_of_systems, strict=True):
        curve = recorded_curve(system, PAPERS_RULE, alphas, within_percent)
        if curve is None:
            curve = orders.curve(alphas, within_percent=within_percent)
        curves.append(curve)
    return Tradeoff(
        systems=tuple(systems),
        curves=tuple(curves),
        average=averaged(curves),
        within_percent=within_percent,
    )


def most_folds(systems: Sequence[Scores]) -> int:
    """The k of the system with the most folds."""
    return max(system.k for system in systems)


def joules_of(systems: Sequence[Scores]) -> Floats | None:
    """The energy of all k folds of each system, to weigh them by; None if some have none.

    Returns:
        Shape (systems,); 0 for those with other work in their costs, unless all are so.
    """
    joules = np.zeros(len(systems))
    includes_other_work = np.zeros(len(systems), dtype=bool)
    for number, system in enumerate(systems):
        if system.costs is None:
            return None
        joules[number] = system.costs.sum()
        includes_other_work[number] = system.other_work
    # If other programs worked as well, a system's joules are too many. Such a system gets no
    # weight, unless this is so for all systems.
    if not includes_other_work.all():
        joules[includes_other_work] = 0
    return joules


def averaged(curves: Sequence[Curve]) -> Curve:
    """The mean over systems of everything a curve says, row by row.

    Args:
        curves: The curves of equal settings; k may differ, as of `combine_curves`.
    """

    def mean(arrays: list[Floats]) -> Floats:
        return np.mean(arrays, axis=0)

    return combine_curves(curves, curves[0].settings, mean)
