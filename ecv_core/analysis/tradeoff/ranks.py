"""Algorithms on the same folds -> their ranks when each stops early, beside their k-fold ranks.

All algorithms of a dataset see the folds in the same order, as they would when a study is run, and
each one stops when its own scores say so. What happens jointly depends on the whole order, so it is
counted over orders instead of walked through sets: over all of them where these are few, else over
a random sample, whose standard error is given.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ecv_core.analysis.orders.outcomes import drawn_orders
from ecv_core.analysis.ranking import pair_numbers, pair_signs, ranks_of
from ecv_core.records.errors import InputError
from ecv_core.records.run import Scores
from ecv_core.stopping.efold import EFold, least_alpha
from ecv_core.stopping.interval import running, t_factors

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
    alphas: NDArray[np.float64]
    whole: NDArray[np.float64]
    """Rank by the k-fold mean, 1 is best, equals share theirs; shape (algorithms,)."""
    stopped: NDArray[np.float64]
    """Mean rank by the scores at the stops; shape (alphas, algorithms)."""
    same_order: NDArray[np.float64]
    """Share of orders in which all algorithms rank as under k folds; shape (alphas,)."""
    same_winner: NDArray[np.float64]
    """Share of orders in which the best one is the best under k folds; shape (alphas,)."""
    orders: int
    exact: bool
    """True where these are all orders, False for a sample."""

    def standard_errors(self, shares: NDArray[np.float64]) -> NDArray[np.float64]:
        """Of `same_order` or `same_winner`; 0 where every order was counted."""
        errors: NDArray[np.float64] = np.sqrt(shares * (1 - shares) / self.orders)
        return np.zeros_like(shares) if self.exact else errors


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


def _ranking(dataset: str, systems: Sequence[Scores], alphas: NDArray[np.float64]) -> Ranking:
    k = systems[0].k
    if any(system.k != k for system in systems):
        raise InputError(
            f"algorithms are ranked on the same folds, but on {dataset} some have {k} folds and "
            "some another number; pick those of one number"
        )
    orders = _orders(k)
    along = [_along(one.folds[orders]) for one in systems]
    better = np.array([1.0 if one.higher_is_better else -1.0 for one in systems])
    whole = better * np.array([_mean(one.folds) for one in systems])
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
        exact=k <= ALL_ORDERS_K,
    )


def _orders(k: int) -> NDArray[np.intp]:
    """Shape (orders, k)."""
    if k <= ALL_ORDERS_K:
        return np.array(list(itertools.permutations(range(k))), dtype=np.intp)
    return drawn_orders(k, DRAWS, seed=0)


def _along(
    shuffled: NDArray[np.float64],
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Means after 1 .. k folds, and the least alpha that has stopped by then; (k, orders) each."""
    k = shuffled.shape[1]
    means, deviations = running(shuffled)
    means[:, -1] = _mean(shuffled[0])  # the same in every order, to the last digit
    widths = 2 * t_factors(k, _CONFIDENCE) * deviations
    first = EFold(alpha=1.0).first
    least = np.full(shuffled.shape, np.inf)
    for n in range(first, k):
        least[:, n - 1] = np.minimum(
            least[:, n - 2], least_alpha(widths[:, n - 2], widths[:, n - 1])
        )
    return means.T.copy(), least.T.copy()


def _mean(scores: NDArray[np.float64]) -> float:
    return math.fsum(scores.tolist()) / len(scores)


def _at_stop(
    means: NDArray[np.float64], least: NDArray[np.float64], alpha: float
) -> NDArray[np.float64]:
    """The mean at the stop; shape (orders,)."""
    stop = np.count_nonzero(least[:-1] > alpha, axis=0)  # folds before the stop: it is the next
    found: NDArray[np.float64] = means[stop, np.arange(means.shape[1])]
    return found
