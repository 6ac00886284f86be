"""What a rule does over the orders of the folds, all or random ones, and what that costs."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ecv_core.analysis.orders.subsets import FoldSubsets, Lattice, checked_scores
from ecv_core.records.errors import InputError
from ecv_core.stopping.interval import differences_percent, running, t_factors

Floats = NDArray[np.float64]

QUANTILES = (0.5, 0.9, 0.95, 1.0)
"""Of the difference: median, the worst but 10 % and 5 % of orders, the worst of all."""
_ROUNDING = 1e-12


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What a rule does at one setting, over the orders of the folds."""

    k: int
    setting: float | None
    """Alpha, tolerance or number of folds; None for a rule that has none."""
    mean_stop: float
    stop_distribution: Mapping[int, float]
    """n -> probability of stopping after fold n; n from 1 to k."""
    mean_difference_percent: float
    difference_quantiles: Mapping[float, float]
    """Percent; keys as in QUANTILES."""
    coverage: float
    """Probability that the interval at the stop holds the k-fold mean."""
    cost_percent: float
    """Expected cost of the folds used, in percent of all k: energy, or the number of folds."""
    within: float | None = None
    """Probability that the difference is at most the percentage asked for."""
    orders: int | None = None
    """How many orders were drawn; None when the numbers are exact."""
    standard_errors: Mapping[str, float] = field(default_factory=dict)
    """Of drawn numbers, by field; empty when exact."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Curve:
    """What a rule does at many settings; row i holds from settings[i] up to the next one."""

    k: int
    settings: Floats
    """Ascending; shape (settings,)."""
    stop_distribution: Floats
    """Shape (settings, k): column n-1 is the probability of stopping after fold n."""
    mean_difference_percent: Floats
    difference_quantiles: Floats
    """Percent; shape (settings, len(QUANTILES))."""
    coverage: Floats
    cost_percent: Floats
    within: Floats | None = None
    standard_errors: Mapping[str, Floats] = field(default_factory=dict)
    """Of drawn numbers, by field; empty when exact."""

    @classmethod
    def of(cls, outcomes: Sequence[Outcome], settings: Sequence[float]) -> Curve:
        """What was worked out setting by setting, at least one."""
        k = outcomes[0].k
        within = [one.within for one in outcomes if one.within is not None]
        drawn = dict.fromkeys(name for one in outcomes for name in one.standard_errors)
        return cls(
            k=k,
            settings=np.array(settings),
            stop_distribution=np.array(
                [[one.stop_distribution.get(n, 0.0) for n in range(1, k + 1)] for one in outcomes]
            ),
            mean_difference_percent=np.array([one.mean_difference_percent for one in outcomes]),
            difference_quantiles=np.array(
                [[one.difference_quantiles[share] for share in QUANTILES] for one in outcomes]
            ),
            coverage=np.array([one.coverage for one in outcomes]),
            cost_percent=np.array([one.cost_percent for one in outcomes]),
            within=np.array(within) if within else None,
            standard_errors={
                name: np.array([one.standard_errors.get(name, 0.0) for one in outcomes])
                for name in drawn
            },
        )

    @property
    def mean_stop(self) -> Floats:
        """Expected number of folds used; shape (settings,)."""
        return self.stop_distribution @ np.arange(1, self.k + 1)

    def rows(self, settings: ArrayLike) -> list[int]:
        """The row that holds at each of some settings; below the first one, the first."""
        places = np.searchsorted(self.settings, np.atleast_1d(settings), side="right") - 1
        return [max(int(place), 0) for place in places]

    def at(self, setting: float) -> Outcome:
        """The outcome at a setting; below the first one, that of the first."""
        (row,) = self.rows(setting)
        return Outcome(
            k=self.k,
            setting=setting,
            mean_stop=float(self.mean_stop[row]),
            stop_distribution={
                n: float(share) for n, share in enumerate(self.stop_distribution[row], start=1)
            },
            mean_difference_percent=float(self.mean_difference_percent[row]),
            difference_quantiles=dict(
                zip(QUANTILES, self.difference_quantiles[row].tolist(), strict=True)
            ),
            coverage=float(self.coverage[row]),
            cost_percent=float(self.cost_percent[row]),
            within=None if self.within is None else float(self.within[row]),
        )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Measures:
    """What is asked of the set of folds at which an order stops; arrays of shape (2^k,)."""

    subsets: FoldSubsets
    covered: NDArray[np.bool_]
    cost_percent: Floats
    ranking: NDArray[np.intp]
    """The sets by their difference, smallest first."""
    within: NDArray[np.bool_] | None

    @classmethod
    def of(
        cls,
        subsets: FoldSubsets,
        half_widths: Floats,
        costs: Floats | None = None,
        within_percent: float | None = None,
    ) -> Measures:
        """Measures of each set.

        Args:
            subsets: the scores and their sets.
            half_widths: of each set's interval, NaN where it has none; shape (2^k,). A set
                without an interval holds nothing.
            costs: of each fold, in any unit; shape (k,). By default every fold costs the same.
            within_percent: the difference to count as close enough.
        """
        costs = np.ones(subsets.k) if costs is None else np.asarray(costs, dtype=np.float64)
        spent = np.zeros(1)
        for cost in costs / costs.sum() * 100:
            spent = np.concatenate([spent, spent + cost])
        with np.errstate(invalid="ignore"):
            covered = np.abs(subsets.means - subsets.mean) <= half_widths
        return cls(
            subsets=subsets,
            covered=covered,
            cost_percent=spent[subsets.lattice.masks],
            ranking=np.argsort(subsets.differences, kind="stable"),
            within=None if within_percent is None else subsets.differences <= within_percent,
        )

    def curve(self, settings: Floats, stops: Floats) -> Curve:
        """Sum up where orders stop.

        Args:
            settings: ascending; shape (settings,).
            stops: the probability of stopping at each set; shape (2^k, settings).
        """
        levels = self.subsets.lattice.levels
        distribution = np.stack([stops[level].sum(axis=0) for level in levels[1:]], axis=1)
        differences = np.nan_to_num(self.subsets.differences)  # the empty set has none
        return Curve(
            k=self.subsets.k,
            settings=settings,
            stop_distribution=distribution,
            mean_difference_percent=differences @ stops,
            difference_quantiles=self._quantiles(stops),
            coverage=_share(self.covered, stops),
            cost_percent=self.cost_percent @ stops,
            within=None if self.within is None else _share(self.within, stops),
        )

    def _quantiles(self, stops: Floats) -> Floats:
        """The least difference that holds each share of the orders; (settings, quantiles)."""
        ranked = stops[self.ranking]
        worst = len(ranked) - 1 - np.argmax(ranked[::-1] > 0, axis=0)
        shares = np.cumsum(ranked, axis=0, out=ranked)
        found = [
            worst if share == 1 else np.sum(shares < share - _ROUNDING, axis=0)
            for share in QUANTILES
        ]
        ordered = self.subsets.differences[self.ranking]
        return np.stack([ordered[rows] for rows in found], axis=1)


def _share(chosen: NDArray[np.bool_], stops: Floats) -> Floats:
    """The probability of stopping at a chosen set; sums of shares may round to just above 1."""
    return np.minimum(chosen.astype(np.float64) @ stops, 1.0)


# The exact walk over every order of the folds, for rules that look at sets of folds only.
#
# Whether such a rule stops depends on the set before the newest fold and the set after it. So the
# probability of arriving unstopped is carried through the 2^k sets instead of the k! orders.


Step = Callable[[NDArray[np.int32], NDArray[np.int32]], Floats]
"""(set before, set after) -> the least setting at which the rule stops there; the two are numbers
of sets, of shapes (n, sets) and (sets,), and the answer broadcasts to (n, sets)."""

_BLOCK = 2**16
"""Numbers per block of the walk: few enough to stay in the processor's cache."""


class Orders:
    """Every order of some fold scores under one rule, whose setting is still free.

    A rule is given by the least setting (alpha, tolerance) at which each step stops, so that one
    object answers for all settings.
    """

    def __init__(
        self,
        subsets: FoldSubsets,
        half_widths: Floats,
        step: Step,
        *,
        first: int = 1,
        costs: ArrayLike | None = None,
    ) -> None:
        """Work out the steps.

        Args:
            subsets: the scores and their sets.
            half_widths: of the interval that a set's mean is shown with, for the coverage; shape
                (2^k,); NaN where there is none.
            step: the rule.
            first: the first fold after which it can stop.
            costs: of each fold, in any unit; shape (k,); by default all cost the same.
        """
        self.subsets = subsets
        self.half_widths = half_widths
        self.costs = None if costs is None else np.asarray(costs, dtype=np.float64)
        self._thresholds = _thresholds(subsets.lattice, step, first)

    def at(self, setting: float, *, within_percent: float | None = None) -> Outcome:
        """What the rule does at one setting."""
        return self.curve([setting], within_percent=within_percent).at(setting)

    def curve(self, settings: ArrayLike, *, within_percent: float | None = None) -> Curve:
        """What the rule does at many settings.

        Args:
            settings: ascending.
            within_percent: the difference to count as close enough.
        """
        chosen = np.asarray(settings, dtype=np.float64)
        lattice = self.subsets.lattice
        measures = Measures.of(self.subsets, self.half_widths, self.costs, within_percent)
        width = max(1, _BLOCK // max(len(steps[0]) for steps in lattice.before[1:]))
        parts = [chosen[start : start + width] for start in range(0, len(chosen), width)]
        curves = [measures.curve(part, _walk(lattice, self._thresholds, part)) for part in parts]
        return joined(curves, chosen, np.concatenate)

    def mean_stop(self, settings: Floats) -> Floats:
        """Expected number of folds used at a few settings, without the rest of a curve."""
        lattice = self.subsets.lattice
        return lattice.sizes @ _walk(lattice, self._thresholds, settings)

    def breakpoints(self) -> Floats:
        """0 and the settings at which anything changes for some order; ascending, finite."""
        lattice = self.subsets.lattice
        # Up to which setting is a set reached at all? Steps that only stop beyond do not matter.
        reach = np.zeros(len(lattice.masks))
        reach[0] = np.inf
        found = [np.zeros(1)]
        for level, before, thresholds in zip(
            lattice.levels[1:], lattice.before[1:], self._thresholds, strict=True
        ):
            reached = reach[before]
            found.append(thresholds[thresholds < reached])
            reach[level] = np.minimum(reached, thresholds).max(axis=0)
        points = np.unique(np.concatenate(found))
        points = points[np.isfinite(points)]
        # Steps that are equal but for rounding count as one, from the last of them on.
        last: NDArray[np.bool_] = np.append(points[1:] > points[:-1] * (1 + _ROUNDING), True)
        return points[last]


def fixed(
    subsets: FoldSubsets,
    half_widths: Floats,
    *,
    costs: ArrayLike | None = None,
    within_percent: float | None = None,
) -> Curve:
    """The baseline: always stop after e folds, for every e from 1 to k, exactly.

    Args: as for Orders.
    Returns: one row per e; `settings` are the e.
    """
    lattice = subsets.lattice
    stops = np.zeros((len(lattice.masks), subsets.k))
    for e in range(1, subsets.k + 1):
        level = lattice.levels[e]
        stops[level, e - 1] = 1 / (level.stop - level.start)
    costs = None if costs is None else np.asarray(costs, dtype=np.float64)
    measures = Measures.of(subsets, half_widths, costs, within_percent)
    return measures.curve(np.arange(1.0, subsets.k + 1), stops)


def _thresholds(lattice: Lattice, step: Step, first: int) -> list[Floats]:
    """Per size n from 1: the least setting that stops each step; shape (n, sets of n folds)."""
    found = []
    for n in range(1, lattice.k + 1):
        before, level = lattice.before[n], lattice.levels[n]
        if n < first:
            found.append(np.full(before.shape, np.inf))
            continue
        after = np.arange(level.start, level.stop, dtype=np.int32)
        found.append(np.broadcast_to(step(before, after), before.shape))
    return found


def _walk(lattice: Lattice, thresholds: Sequence[Floats], settings: Floats) -> Floats:
    """The probability of stopping at each set; shape (2^k, settings)."""
    stops = np.zeros((len(lattice.masks), len(settings)))
    alive = np.ones((1, len(settings)))  # the probability of arriving unstopped, at this level
    for n in range(1, lattice.k + 1):
        level, start = lattice.levels[n], lattice.levels[n - 1].start
        arriving = stops[level]
        going = np.zeros_like(arriving)
        for before, threshold in zip(lattice.before[n] - start, thresholds[n - 1], strict=True):
            coming = alive[before]
            arriving += coming
            np.copyto(coming, 0.0, where=threshold[:, None] <= settings)
            going += coming
        if n < lattice.k:  # the last fold ends it, whatever the rule says
            # Sums of the same numbers in the same order: exactly 0 where no step stops.
            arriving -= going
        share = 1 / (lattice.k - n + 1)  # each fold not seen yet is as likely to come next
        arriving *= share
        alive = going * share
    return stops


def joined(
    curves: Sequence[Curve], settings: Floats, join: Callable[[list[Floats]], Floats]
) -> Curve:
    """One curve from all that several say; without standard errors.

    Args:
        curves: k may differ, then `stop_distribution` has the most folds.
        settings: of the curve.
        join: what makes one array of those of the curves, one row per setting each.
    """
    k = max(curve.k for curve in curves)
    within = [curve.within for curve in curves if curve.within is not None]
    return Curve(
        k=k,
        settings=settings,
        stop_distribution=join(
            [np.pad(curve.stop_distribution, ((0, 0), (0, k - curve.k))) for curve in curves]
        ),
        mean_difference_percent=join([curve.mean_difference_percent for curve in curves]),
        difference_quantiles=join([curve.difference_quantiles for curve in curves]),
        coverage=join([curve.coverage for curve in curves]),
        cost_percent=join([curve.cost_percent for curve in curves]),
        within=join(within) if len(within) == len(curves) else None,
    )


# Random orders of the folds, for rules that need the whole history; with standard errors.


Stops = Callable[[Floats], NDArray[np.intp]]
"""Scores in the order in which they come, shape (orders, k), -> the fold after which each order
stops, 1 to k; shape (orders,)."""


def sampled(
    scores: ArrayLike | Sequence[float],
    stops: Stops,
    *,
    confidence: float = 0.95,
    orders: int = 5000,
    seed: int = 0,
    costs: ArrayLike | None = None,
    within_percent: float | None = None,
) -> Outcome:
    """What a rule does over random orders of the folds.

    Args:
        scores: one per fold; shape (k,).
        stops: the rule.
        confidence: of the interval at the stop, for the coverage.
        orders: how many to draw, each independent of the others; at least 2.
        seed: same seed, same orders.
        costs: of each fold, in any unit; shape (k,); by default all cost the same.
        within_percent: the difference to count as close enough.
    Returns: with `orders` and the standard errors of the means and probabilities.
    Raises: InputError for bad scores or fewer than 2 orders.
    """
    values = checked_scores(scores)
    k = len(values)
    if orders < 2:
        raise InputError(f"at least 2 orders must be drawn, not {orders}; the paper draws 5000")
    drawn = drawn_orders(k, orders, seed)
    shuffled = values[drawn]
    stop = stops(shuffled)
    at_stop = (np.arange(orders), stop - 1)
    means, deviations = (array[at_stop] for array in running(shuffled))
    goal = float(running(values[None, :])[0][0, -1])
    half = t_factors(k, confidence)[stop - 1] * deviations
    differences = np.where(stop == k, 0.0, differences_percent(means, goal))
    covered = (np.abs(means - goal) <= half) | (stop == k)
    costs = np.ones(k) if costs is None else np.asarray(costs, dtype=np.float64)
    spent = np.cumsum(costs[drawn], axis=1)[at_stop] / costs.sum() * 100
    columns = {
        "mean_stop": stop.astype(np.float64),
        "mean_difference_percent": differences,
        "coverage": covered.astype(np.float64),
        "cost_percent": spent,
    }
    if within_percent is not None:
        columns["within"] = (differences <= within_percent).astype(np.float64)
    shares = np.bincount(stop, minlength=k + 1) / orders
    return Outcome(
        k=k,
        setting=None,
        stop_distribution={n: float(shares[n]) for n in range(1, k + 1)},
        difference_quantiles={
            share: float(np.quantile(differences, share, method="inverted_cdf"))
            for share in QUANTILES
        },
        orders=orders,
        standard_errors={
            name: float(column.std(ddof=1)) / math.sqrt(orders) for name, column in columns.items()
        },
        **{name: float(column.mean()) for name, column in columns.items()},
    )


def drawn_orders(k: int, orders: int, seed: int) -> NDArray[np.intp]:
    """The orders of k folds that `sampled` draws; shape (orders, k)."""
    rng = np.random.default_rng(seed)
    return rng.permuted(np.tile(np.arange(k), (orders, 1)), axis=1)
