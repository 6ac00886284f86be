"""Fold scores and a rule -> what the rule does over every order of the folds, exactly.

This is for rules that look at sets of folds only. Whether such a rule stops depends on the set
before the newest fold and the set after it. So the probability of arriving unstopped is carried
through the 2^k sets instead of the k! orders.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ecv_core.analysis.orders.outcomes import QUANTILES, Curve, Floats, Outcome, joined
from ecv_core.analysis.orders.subsets import FoldSubsets, Lattice
from ecv_core.stopping.base import Step

_ROUNDING = 1e-12
_BLOCK = 2**16
"""Numbers per block of the walk: few enough to stay in the processor's cache."""


class SetMeasures:
    """What counts of the set of folds at which an order stops; arrays of shape (2^k,)."""

    def __init__(
        self,
        subsets: FoldSubsets,
        half_widths: Floats,
        costs: ArrayLike | None = None,
        within_percent: float | None = None,
    ) -> None:
        """Work out the measures of each set.

        Args:
            subsets: the scores and their sets.
            half_widths: of each set's interval, NaN where it has none; shape (2^k,). A set
                without an interval holds nothing.
            costs: of each fold, in any unit; shape (k,). By default every fold costs the same.
            within_percent: the difference to count as close enough.
        """
        self.subsets = subsets
        with np.errstate(invalid="ignore"):
            self.covered = np.abs(subsets.means - subsets.mean) <= half_widths
        if costs is None:
            costs = np.ones(subsets.k)
        fold_costs = np.asarray(costs, dtype=np.float64)
        # Entry m is the cost of the folds whose bits are set in m: each fold doubles the entries.
        cost_by_mask = np.zeros(1)
        for cost in fold_costs / fold_costs.sum() * 100:
            cost_by_mask = np.concatenate([cost_by_mask, cost_by_mask + cost])
        self.cost_percent = cost_by_mask[subsets.lattice.masks]
        self.ranking = np.argsort(subsets.differences, kind="stable")
        self.within: NDArray[np.bool_] | None = None
        if within_percent is not None:
            self.within = subsets.differences <= within_percent

    def curve(self, settings: Floats, stops: Floats) -> Curve:
        """Sum up where orders stop.

        Args:
            settings: ascending; shape (settings,).
            stops: the probability of stopping at each set; shape (2^k, settings).
        """
        # The empty set is no stop.
        levels = self.subsets.lattice.levels[1:]
        stop_distribution = np.stack([stops[level].sum(axis=0) for level in levels], axis=1)
        differences = np.nan_to_num(self.subsets.differences)  # the empty set has none
        within = None
        if self.within is not None:
            within = _probability(self.within, stops)
        return Curve(
            k=self.subsets.k,
            settings=settings,
            stop_distribution=stop_distribution,
            mean_difference_percent=differences @ stops,
            difference_quantiles=self._difference_quantiles(stops),
            coverage=_probability(self.covered, stops),
            cost_percent=self.cost_percent @ stops,
            within=within,
        )

    def _difference_quantiles(self, stops: Floats) -> Floats:
        """The least difference that holds each share of the orders; (settings, quantiles)."""
        ranked = stops[self.ranking]
        # The worst difference of any order, however rare: the last rank with a probability.
        worst = len(ranked) - 1 - np.argmax(ranked[::-1] > 0, axis=0)
        reached = np.cumsum(ranked, axis=0, out=ranked)
        differences = self.subsets.differences[self.ranking]
        quantiles = []
        for share in QUANTILES:
            if share == 1:
                ranks = worst
            else:
                ranks = np.sum(reached < share - _ROUNDING, axis=0)
            quantiles.append(differences[ranks])
        return np.stack(quantiles, axis=1)


def _probability(chosen: NDArray[np.bool_], stops: Floats) -> Floats:
    """The probability of stopping at a chosen set; its sums may round to just above 1."""
    return np.minimum(chosen.astype(np.float64) @ stops, 1.0)


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
        self.costs = costs
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
        all_settings = np.asarray(settings, dtype=np.float64)
        lattice = self.subsets.lattice
        measures = SetMeasures(self.subsets, self.half_widths, self.costs, within_percent)
        largest_level = max(level.stop - level.start for level in lattice.levels)
        block = max(1, _BLOCK // largest_level)
        curves = []
        for start in range(0, len(all_settings), block):
            part = all_settings[start : start + block]
            stops = _stop_probabilities(lattice, self._thresholds, part)
            curves.append(measures.curve(part, stops))
        return joined(curves, all_settings, np.concatenate)

    def mean_stop(self, settings: Floats) -> Floats:
        """Expected number of folds used at a few settings, without the rest of a curve."""
        lattice = self.subsets.lattice
        return lattice.sizes @ _stop_probabilities(lattice, self._thresholds, settings)

    def highest_change(self) -> float:
        """The highest setting at which anything changes for some order; 0 where nothing does."""
        lattice = self.subsets.lattice
        # A set is reached, in some order, up to a highest setting; above it every order stops
        # before. Steps that stop only beyond that setting do not matter.
        highest_setting = np.zeros(len(lattice.masks))
        highest_setting[0] = np.inf
        highest_change = 0.0
        for n, thresholds in enumerate(self._thresholds, start=1):
            highest_of_smaller_sets = highest_setting[lattice.before[n]]
            # A step that stops at no setting has an infinite threshold.
            changes = thresholds[np.isfinite(thresholds) & (thresholds < highest_of_smaller_sets)]
            highest_change = max(highest_change, float(changes.max(initial=0.0)))
            highest_of_steps = np.minimum(highest_of_smaller_sets, thresholds)
            highest_setting[lattice.levels[n]] = highest_of_steps.max(axis=0)
        return highest_change


def fixed(
    subsets: FoldSubsets,
    half_widths: Floats,
    *,
    costs: ArrayLike | None = None,
    within_percent: float | None = None,
) -> Curve:
    """Work out the baseline: always stop after e folds, for every e from 1 to k, exactly.

    Args:
        subsets: as for Orders, like the others.
        half_widths: of each set's interval.
        costs: of each fold.
        within_percent: the difference to count as close enough.
    Returns: one row for each e; `settings` are the e.
    """
    lattice = subsets.lattice
    stops = np.zeros((len(lattice.masks), subsets.k))
    for e in range(1, subsets.k + 1):
        # The first e folds of an order are any set of e folds, each as often.
        level = lattice.levels[e]
        stops[level, e - 1] = 1 / (level.stop - level.start)
    measures = SetMeasures(subsets, half_widths, costs, within_percent)
    return measures.curve(np.arange(1.0, subsets.k + 1), stops)


def _thresholds(lattice: Lattice, step: Step, first: int) -> list[Floats]:
    """For each size n from 1: the least setting that stops each step to a set of n folds.

    Returns: arrays of shape (n, sets of n folds); infinite before the `first` fold.
    """
    thresholds = []
    for n in range(1, lattice.k + 1):
        before = lattice.before[n]
        if n < first:
            thresholds.append(np.full(before.shape, np.inf))
            continue
        level = lattice.levels[n]
        after = np.arange(level.start, level.stop, dtype=np.int32)
        thresholds.append(np.broadcast_to(step(before, after), before.shape))
    return thresholds


def _stop_probabilities(lattice: Lattice, thresholds: Sequence[Floats], settings: Floats) -> Floats:
    """The probability of stopping at each set; shape (2^k, settings)."""
    stops = np.zeros((len(lattice.masks), len(settings)))
    # The probability of arriving unstopped at each set of the level below, the empty set at first.
    unstopped_below = np.ones((1, len(settings)))
    for n in range(1, lattice.k + 1):
        arriving = stops[lattice.levels[n]]  # a view: what is added here is added to `stops`
        going_on = np.zeros_like(arriving)
        # Numbers within the level below, instead of among all sets.
        before_in_level = lattice.before[n] - lattice.levels[n - 1].start
        for before, threshold in zip(before_in_level, thresholds[n - 1], strict=True):
            coming = unstopped_below[before]
            arriving += coming
            # Orders go on only where the setting is below the threshold of this step.
            np.copyto(coming, 0.0, where=threshold[:, None] <= settings)
            going_on += coming
        if n < lattice.k:  # the last fold ends it, whatever the rule says
            # Sums of the same numbers in the same order: exactly 0 where no step stops.
            arriving -= going_on
        # Each fold not seen yet is as likely to come next.
        probability_of_step = 1 / (lattice.k - n + 1)
        arriving *= probability_of_step
        unstopped_below = going_on * probability_of_step
    return stops
