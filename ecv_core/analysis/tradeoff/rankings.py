"""Finished folds of several algorithms -> how they rank at the stops, at each alpha.

All algorithms of a dataset see the folds in the same order, as they would when a study is run, and
each one stops when its own scores say so. How they rank then depends on the whole order, so it is
counted over orders instead of walked through sets: over all of them where these are few, else over
a random sample.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ecv_core.analysis.orders.drawn import drawn_orders
from ecv_core.analysis.ranking import pair_numbers, pair_signs, ranks_of
from ecv_core.records.arrays import Floats, Indices
from ecv_core.records.errors import InputError
from ecv_core.records.run import Scores
from ecv_core.stopping import least_alphas
from ecv_core.stopping.interval import running_means_and_deviations

DRAWS = 5000
"""Orders per dataset, as many as the paper draws."""
_CONFIDENCE = 0.95
ALL_ORDERS_K = 7
"""Folds up to which every order is counted: 7! = 5,040."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Ranking:
    """How the algorithms of one dataset rank under the paper's rule, at each alpha."""

    dataset: str
    algorithms: tuple[str, ...]
    alphas: Floats
    k_fold_ranks: Floats
    """Rank by the k-fold mean, 1 is best, equals share theirs; shape (algorithms,)."""
    mean_ranks_at_stop: Floats
    """Mean rank by the scores at the stops; shape (alphas, algorithms)."""
    same_order: Floats
    """Share of orders in which all algorithms rank as under k folds; shape (alphas,)."""
    same_winner: Floats
    """Share of orders in which the best one is the best under k folds; shape (alphas,)."""
    orders: int
    """How many were counted: all of them, or a sample."""


def rankings(systems: Sequence[Scores], alphas: ArrayLike) -> list[Ranking]:
    """Rank the systems of each dataset with at least two, in the order of the datasets.

    Args:
        systems: The systems of one dataset all with the same folds.
        alphas: Settings of the paper's rule, with intervals of 95 %; shape (alphas,).

    Raises:
        InputError: If systems of one dataset differ in k.
    """
    systems_by_dataset: dict[str, list[Scores]] = {}
    for system in systems:
        systems_by_dataset.setdefault(system.dataset, []).append(system)
    ranked = []
    for systems_of_dataset in systems_by_dataset.values():
        if len(systems_of_dataset) > 1:
            ranked.append(_ranking(systems_of_dataset, np.asarray(alphas)))
    return ranked


def _ranking(systems: Sequence[Scores], alphas: Floats) -> Ranking:
    """Rank the systems of one dataset. Raises: InputError if they differ in k."""
    _check_same_k(systems)
    orders = _orders(systems[0].k)
    runs_of_rule = []
    directions = []
    k_fold_scores = []
    names = []
    for system in systems:
        direction = 1.0 if system.higher_is_better else -1.0
        runs_of_rule.append(_rule_in_orders(system.folds[orders]))
        directions.append(direction)
        k_fold_scores.append(direction * fmean(system.folds.tolist()))
        names.append(system.algorithm or system.name)
    count = len(systems)
    # For every pair of systems, the sign says which of them is better.
    k_fold_signs = pair_signs(k_fold_scores)
    winner = int(np.argmax(k_fold_scores))
    first_of_pair, second_of_pair = pair_numbers(count)
    pair_has_winner = (first_of_pair == winner) | (second_of_pair == winner)
    mean_ranks = np.empty((len(alphas), count))
    same_order = np.empty(len(alphas))
    same_winner = np.empty(len(alphas))
    for row, alpha in enumerate(alphas):
        scores = np.stack([run.means_at_stop(alpha) for run in runs_of_rule], axis=1)
        signs = pair_signs(scores * directions)
        # Ranks are linear in signs, so the ranks of the mean signs are the mean ranks.
        mean_ranks[row] = ranks_of(signs.mean(axis=0), count)
        agrees = signs == k_fold_signs
        same_order[row] = agrees.all(axis=1).mean()
        # The winner stays the winner where it beats each of the others as under k folds.
        same_winner[row] = agrees[:, pair_has_winner].all(axis=1).mean()
    return Ranking(
        dataset=systems[0].dataset,
        algorithms=tuple(names),
        alphas=alphas,
        k_fold_ranks=ranks_of(k_fold_signs, count),
        mean_ranks_at_stop=mean_ranks,
        same_order=same_order,
        same_winner=same_winner,
        orders=len(orders),
    )


def _check_same_k(systems: Sequence[Scores]) -> None:
    """Refuse systems of one dataset with different numbers of folds. Raises: InputError."""
    k = systems[0].k
    if any(system.k != k for system in systems):
        raise InputError(
            f"algorithms can be ranked only on the same folds, but on {systems[0].dataset} some "
            f"have {k} folds and others another number; choose runs with the same number of folds"
        )


def _orders(k: int) -> Indices:
    """Every order of k folds where these are few, else drawn ones; shape (orders, k)."""
    if k <= ALL_ORDERS_K:
        return np.array(list(itertools.permutations(range(k))), dtype=np.intp)
    return drawn_orders(k, DRAWS, seed=0)


class _RuleInOrders(NamedTuple):
    """A system's means fold by fold in each order, and when the rule stops."""

    means: Floats
    """After 1 .. k folds; shape (k, orders)."""
    least_alphas: Floats
    """The least alpha at which the rule has stopped by then; shape (k, orders)."""

    def means_at_stop(self, alpha: float) -> Floats:
        """The mean at the stop of each order; shape (orders,)."""
        # In each order, a column, the folds are counted at which the rule has not stopped yet. That
        # count is also the row of the fold at which it stops. The last fold is not counted, because
        # it ends an order whatever the rule says.
        folds_before_stop = np.count_nonzero(self.least_alphas[:-1] > alpha, axis=0)
        columns = np.arange(self.means.shape[1])
        return self.means[folds_before_stop, columns]


def _rule_in_orders(scores_in_order: Floats) -> _RuleInOrders:
    """Follow the rule through each order.

    Args:
        scores_in_order: As the folds come; shape (orders, k).
    """
    # Until the arrays are transposed at the end, their rows are orders and their columns are folds.
    means, deviations = running_means_and_deviations(scores_in_order)
    # The k-fold mean is the same in every order, to the last digit.
    means[:, -1] = fmean(scores_in_order[0].tolist())
    least_alpha_to_stop = least_alphas(deviations, _CONFIDENCE)
    # The rule stops at a fold if its alpha is at least `least_alpha_to_stop` there. It has stopped
    # by a fold if it stops there or at any earlier fold, so the least of these alphas is enough.
    least_alpha_to_have_stopped = np.minimum.accumulate(least_alpha_to_stop, axis=1)
    # Rows become folds, and are copied, so that the orders at one fold lie side by side in memory.
    return _RuleInOrders(means.T.copy(), least_alpha_to_have_stopped.T.copy())
