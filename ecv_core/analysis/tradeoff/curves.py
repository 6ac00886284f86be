"""Finished folds of several runs -> what each alpha costs and gives, and how algorithms then rank.

Averages are over systems, each counting the same, as the paper averages over its 30 pairs.

All algorithms of a dataset see the folds in the same order, as they would when a study is run, and
each one stops when its own scores say so. How they rank then depends on the whole order, so it is
counted over orders instead of walked through sets: over all of them where these are few, else over
a random sample, whose standard error is given.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ecv_core.analysis import exploration
from ecv_core.analysis.orders.drawn import drawn_orders
from ecv_core.analysis.orders.exact import Orders
from ecv_core.analysis.orders.outcomes import Curve, Floats, joined
from ecv_core.analysis.ranking import pair_numbers, pair_signs, ranks_of
from ecv_core.analysis.tradeoff.recorded import recorded_curve
from ecv_core.records.errors import InputError
from ecv_core.records.run import Scores
from ecv_core.records.spec import RunSpec
from ecv_core.splits import exchangeable
from ecv_core.stopping import PAPERS_RULE, least_alphas
from ecv_core.stopping.interval import running

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
"""Folds up to which a curve may have PER_DECADE alphas; beyond, only those of a slider."""
_MOST_DECADES = 9
_NEARLY_ALL = 0.97


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
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

    @property
    def baseline(self) -> Curve | None:
        """Always e folds, averaged; None where systems differ in k."""
        if len({one.k for one in self.systems}) > 1:
            return None
        within = self.within_percent
        return averaged([exploration.fixed(one, within_percent=within) for one in self.systems])

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


def tradeoff(systems: Sequence[Scores], *, within_percent: float, fine: bool = True) -> Tradeoff:
    """Work out every curve, exactly, at the alphas of `alpha_grid`; intervals are of 95 %.

    Args:
        systems: at least one.
        within_percent: the difference to count as close enough.
        fine: whether at every alpha of the grid, up to _FINE_K folds, or at a slider's steps only.
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
    if k > _FINE_K or not fine:
        alphas = alphas[::PER_STEP]
    curves = [
        recorded_curve(one, PAPERS_RULE, alphas, within_percent)
        or walk.curve(alphas, within_percent=within_percent)
        for one, walk in zip(systems, walks, strict=True)
    ]
    return Tradeoff(
        systems=tuple(systems),
        curves=tuple(curves),
        average=averaged(curves),
        within_percent=within_percent,
    )


def joules_of(systems: Sequence[Scores]) -> Floats | None:
    """The energy of all k folds of each system, to weigh them by; None if some have none.

    Returns: shape (systems,); 0 for those with other work in their costs, unless all are so.
    """
    costs = [one.costs for one in systems]
    known = np.array([float(cost.sum()) for cost in costs if cost is not None])
    if len(known) < len(costs):
        return None
    own = np.array([not one.other_work for one in systems])
    return known * own if own.any() else known


def alpha_grid(walks: Sequence[Orders]) -> Floats:
    """Alphas over whole factors of ten, from where nearly all folds are used to where none is.

    Nearly all that are ever used: where scores are equal, the rule stops early at any alpha.

    Every PER_STEP-th is a round number, the first and the last too.
    """
    breakpoints = [walk.breakpoints()[-1] for walk in walks]
    top = math.ceil(math.log10(max([*breakpoints, 1e-12])) - 1e-9)
    decades = np.array([10.0**exponent for exponent in range(top - _MOST_DECADES, top)])
    used = np.array([walk.mean_stop(decades) for walk in walks])
    enough = np.flatnonzero((used >= _NEARLY_ALL * used[:, :1]).all(axis=0))
    bottom = top - _MOST_DECADES + (int(enough[-1]) if len(enough) else 0)
    points = range(bottom * PER_DECADE, top * PER_DECADE + 1)
    return np.array([_grid_point(point) for point in points])


def slider_alphas(alphas: Floats) -> list[float]:
    """Those of a grid that are a slider's steps: the round ones."""
    return [alpha for alpha in alphas.tolist() if alpha == _step(alpha)]


def averaged(curves: Sequence[Curve]) -> Curve:
    """The mean over systems of everything a curve says, row by row.

    Args: curves: of equal settings; k may differ, as of `joined`.
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


DRAWS = 5000
"""Orders per dataset, as many as the paper draws."""
_CONFIDENCE = 0.95
ALL_ORDERS_K = 7
"""Folds up to which every order is counted: 7! = 5,040."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Ranking:
    """How the algorithms of one dataset rank under the paper's rule, at each alpha."""

    dataset: str
    algorithms: tuple[str, ...]
    alphas: Floats
    whole: Floats
    """Rank by the k-fold mean, 1 is best, equals share theirs; shape (algorithms,)."""
    stopped: Floats
    """Mean rank by the scores at the stops; shape (alphas, algorithms)."""
    same_order: Floats
    """Share of orders in which all algorithms rank as under k folds; shape (alphas,)."""
    same_winner: Floats
    """Share of orders in which the best one is the best under k folds; shape (alphas,)."""
    orders: int
    """How many were counted: all of them, or a sample."""


def rankings(systems: Sequence[Scores], alphas: ArrayLike) -> list[Ranking]:
    """The ranking on each dataset with at least two systems, in the order of the datasets.

    Args:
        systems: of one dataset all with the same folds.
        alphas: settings of the paper's rule, with intervals of 95 %; shape (alphas,).
    Raises: InputError if systems of one dataset differ in k.
    """
    datasets = dict.fromkeys(system.dataset for system in systems)
    found = []
    for dataset in datasets:
        here = [system for system in systems if system.dataset == dataset]
        if len(here) > 1:
            found.append(_ranking(dataset, here, np.asarray(alphas)))
    return found


def _ranking(dataset: str, systems: Sequence[Scores], alphas: Floats) -> Ranking:
    k = systems[0].k
    if any(system.k != k for system in systems):
        raise InputError(
            f"algorithms are ranked on the same folds, but on {dataset} some have {k} folds and "
            "some another number; pick those of one number"
        )
    orders = _orders(k)
    along = [_along(one.folds[orders]) for one in systems]
    better = np.array([1.0 if one.higher_is_better else -1.0 for one in systems])
    whole = better * np.array([fmean(one.folds.tolist()) for one in systems])
    goal = pair_signs(whole)
    winner = int(np.argmax(whole))
    with_winner = np.array([winner in pair for pair in zip(*pair_numbers(len(whole)), strict=True)])
    stopped = np.empty((len(alphas), len(systems)))
    same_order, same_winner = np.empty(len(alphas)), np.empty(len(alphas))
    for row, alpha in enumerate(alphas):
        scores = np.stack([_at_stop(means, least, alpha) for means, least in along])
        signs = pair_signs(scores.T * better)
        same = signs == goal
        stopped[row] = ranks_of(signs.mean(axis=0), len(systems))  # ranks are linear in signs
        same_order[row] = same.all(axis=1).mean()
        same_winner[row] = same[:, with_winner].all(axis=1).mean()
    return Ranking(
        dataset=dataset,
        algorithms=tuple(one.algorithm or one.name for one in systems),
        alphas=alphas,
        whole=ranks_of(goal, len(systems)),
        stopped=stopped,
        same_order=same_order,
        same_winner=same_winner,
        orders=len(orders),
    )


def _orders(k: int) -> NDArray[np.intp]:
    """Shape (orders, k)."""
    if k <= ALL_ORDERS_K:
        return np.array(list(itertools.permutations(range(k))), dtype=np.intp)
    return drawn_orders(k, DRAWS, seed=0)


def _along(shuffled: Floats) -> tuple[Floats, Floats]:
    """Means after 1 .. k folds, and the least alpha that has stopped by then; (k, orders) each."""
    means, deviations = running(shuffled)
    means[:, -1] = fmean(shuffled[0].tolist())  # the same in every order, to the last digit
    least = np.minimum.accumulate(least_alphas(deviations, _CONFIDENCE), axis=1)
    return means.T.copy(), least.T.copy()


def _at_stop(means: Floats, least: Floats, alpha: float) -> Floats:
    """The mean at the stop; shape (orders,)."""
    stop = np.count_nonzero(least[:-1] > alpha, axis=0)  # folds before the stop: it is the next
    return means[stop, np.arange(means.shape[1])]
