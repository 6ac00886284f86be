"""Finished folds of several runs -> what each alpha costs and gives, one by one and on average.

Averages are over systems, each counting the same, as the paper averages over its 30 pairs.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from ecv_core.analysis import exploration
from ecv_core.analysis.orders.outcomes import Curve, Orders, joined
from ecv_core.records.errors import InputError
from ecv_core.records.run import Scores
from ecv_core.records.spec import RunSpec
from ecv_core.splits import exchangeable

PAPER_STOP, PAPER_COST_PERCENT, PAPER_DIFFERENCE_PERCENT = 4.15, 41.5, 1.81
"""The paper's averages: folds used, energy, difference to 10-fold."""
PAPER_ALGORITHMS = ("popular", "item-knn", "implicit-mf", "multi-vae", "neu-mf")

PER_DECADE = 40
"""Alphas of a curve per factor of ten: neighbours differ by 6 %."""
PER_STEP = 4
"""Every fourth of them is a step of a slider: ten per factor of ten."""
MAX_K = 20
"""Folds up to which whole curves are worked out."""
_FINE_K = 16
"""Folds up to which a curve has PER_DECADE alphas; beyond, only those of a slider."""
_MOST_DECADES = 9
_NEARLY_ALL = 0.97


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Tradeoff:
    """The paper's rule on some systems, for a grid of alphas."""

    systems: tuple[Scores, ...]
    curves: tuple[Curve, ...]
    """One per system, all with the same settings: the alphas, ascending."""
    average: Curve
    baseline: Curve | None
    """Always e folds, averaged; None where systems differ in k."""

    @property
    def alphas(self) -> NDArray[np.float64]:
        """Ascending; shape (alphas,)."""
        return self.average.settings

    def alpha_at(self, alpha: float) -> float:
        """The alpha of the grid that holds there: the nearest that is not above it."""
        (row,) = self.average.rows(alpha)
        return float(self.alphas[row])


class _Whole(Protocol):
    """A run, or its row in the list."""

    @property
    def spec(self) -> RunSpec: ...
    @property
    def whole(self) -> bool: ...


def explorable(run: _Whole) -> bool:
    """Whether every order of the run's folds is known, and any could have been."""
    return run.whole and exchangeable(run.spec.split)


def tradeoff(systems: Sequence[Scores], *, within_percent: float) -> Tradeoff:
    """Work out every curve, exactly, at the alphas of `alpha_grid`; intervals are of 95 %.

    Args:
        systems: at least one.
        within_percent: the difference to count as close enough.
    Raises: InputError for scores that cannot be explored.
    """
    k = max(system.k for system in systems)
    if k > MAX_K:
        raise InputError(
            f"curves are worked out for up to {MAX_K} folds, but there are {k}; take the first "
            f"{MAX_K}, or ask for one alpha with: python -m ecv_core orders"
        )
    walks = [exploration.explore(one) for one in systems]
    alphas = alpha_grid(walks)
    if k > _FINE_K:
        alphas = alphas[::PER_STEP]
    curves = [walk.curve(alphas, within_percent=within_percent) for walk in walks]
    same_k = len({one.k for one in systems}) == 1
    return Tradeoff(
        systems=tuple(systems),
        curves=tuple(curves),
        average=averaged(curves),
        baseline=averaged(
            [exploration.fixed(one, within_percent=within_percent) for one in systems]
        )
        if same_k
        else None,
    )


def joules_of(systems: Sequence[Scores]) -> NDArray[np.float64] | None:
    """The energy of all k folds of each system, to weigh them by; None if some have none.

    Returns: shape (systems,); 0 for those with other work in their costs, unless all are so.
    """
    costs = [one.costs for one in systems]
    known = np.array([float(cost.sum()) for cost in costs if cost is not None])
    if len(known) < len(costs):
        return None
    own = np.array([not one.other_work for one in systems])
    return known * own if own.any() else known


def alpha_grid(walks: Sequence[Orders]) -> NDArray[np.float64]:
    """Alphas over whole factors of ten, from where nearly all folds are used to where none is.

    Every PER_STEP-th is a round number, the first and the last too.
    """
    breakpoints = [walk.breakpoints()[-1] for walk in walks]
    top = math.ceil(math.log10(max([*breakpoints, 1e-12])) - 1e-9)
    decades = 10.0 ** np.arange(top - _MOST_DECADES, top)
    used = np.min([walk.curve(decades).mean_stop / walk.subsets.k for walk in walks], axis=0)
    enough = np.flatnonzero(used >= _NEARLY_ALL)
    bottom = top - _MOST_DECADES + (int(enough[-1]) if len(enough) else 0)
    points = range(bottom * PER_DECADE, top * PER_DECADE + 1)
    return np.array([_grid_point(point) for point in points])


def slider_alphas(alphas: NDArray[np.float64]) -> list[float]:
    """Those of a grid that are a slider's steps: the round ones."""
    return [alpha for alpha in alphas.tolist() if alpha == _step(alpha)]


def averaged(curves: Sequence[Curve]) -> Curve:
    """The mean over systems of everything a curve says, row by row.

    Args:
        curves: of equal settings; k may differ, as of `joined`.
    """
    return joined(curves, curves[0].settings, lambda arrays: np.mean(arrays, axis=0))


def _grid_point(point: int) -> float:
    """Three digits, so that an alpha means what is read; two for a step of a slider."""
    exact = 10.0 ** (point / PER_DECADE)
    return float(f"{exact:.1e}" if point % PER_STEP == 0 else f"{exact:.2e}")


def _step(alpha: float) -> float:
    """The step of a slider that is nearest to an alpha."""
    steps = PER_DECADE // PER_STEP
    return _grid_point(round(math.log10(alpha) * steps) * PER_STEP)
