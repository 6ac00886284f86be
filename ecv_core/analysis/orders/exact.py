"""Fold scores and a rule -> what the rule does over every order of the folds, exactly.

This is for rules that look at sets of folds only. Whether such a rule stops depends on the set
before the newest fold and the set after it. So the probability of arriving unstopped is carried
through the 2^k sets instead of the k! orders.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from ecv_core.analysis.orders.outcomes import QUANTILES, Curve, Outcome, combine_curves
from ecv_core.analysis.orders.subsets import FoldSubsets, Lattice
from ecv_core.records.arrays import Floats, Mask
from ecv_core.stopping.base import Step

_ROUNDING = 1e-12
_BLOCK_CELLS = 2**16
"""Sets times settings in a block: few enough to stay in the processor's cache."""


class SetMeasures:
    """What counts of the set of folds at which an order stops; arrays of shape (2^k,)."""

    def __init__(
        self,
        subsets: FoldSubsets,
        half_widths: Floats,
        costs: Floats | None = None,
        within_percent: float | None = None,
    ) -> None:
        """Work out the measures of each set.

        Args:
            subsets: The scores and their sets.
            half_widths: The half widths of each set's interval, NaN where it has none; shape
                (2^k,). A set without an interval holds nothing.
            costs: The costs of each fold, in any unit; shape (k,). By default every fold costs the
                same.
            within_percent: The difference to count as close enough.
        """
        self.subsets = subsets
        with np.errstate(invalid="ignore"):
            self.covers_k_fold_mean = np.abs(subsets.means - subsets.k_fold_mean) <= half_widths
        if costs is None:
            costs = np.ones(subsets.k)
        # Entry m is the cost of the folds whose bits are set in m: each fold doubles the entries.
        cost_by_mask = np.zeros(1)
        for cost in costs / costs.sum() * 100:
            cost_by_mask = np.concatenate([cost_by_mask, cost_by_mask + cost])
        self.cost_percent = cost_by_mask[subsets.lattice.masks]
        self.least_difference_first = np.argsort(subsets.differences, kind="stable")
        self.is_within: Mask | None = None
        if within_percent is not None:
            self.is_within = subsets.differences <= within_percent

    def curve(self, settings: Floats, stop_probabilities: Floats) -> Curve:
        """Sum up where orders stop.

        Args:
            settings: Ascending; shape (settings,).
            stop_probabilities: The stop probabilities of each set, that an order stops at it; shape
                (2^k, settings).
        """
        # A stop after n folds is at one of the sets of n folds. The empty set is no stop.
        stops_by_size = []
        for level in self.subsets.lattice.levels[1:]:
            stops_by_size.append(stop_probabilities[level].sum(axis=0))
        differences = np.nan_to_num(self.subsets.differences)  # the empty set has none
        within = None
        if self.is_within is not None:
            within = _probability(self.is_within, stop_probabilities)
        return Curve(
            k=self.subsets.k,
            settings=settings,
            stop_distribution=np.stack(stops_by_size, axis=1),
            mean_difference_percent=differences @ stop_probabilities,
            difference_quantiles=self._difference_quantiles(stop_probabilities),
            coverage=_probability(self.covers_k_fold_mean, stop_probabilities),
            cost_percent=self.cost_percent @ stop_probabilities,
            within=within,
        )

    def _difference_quantiles(self, stop_probabilities: Floats) -> Floats:
        """The least difference that holds each share of the orders; (settings, quantiles)."""
        differences = self.subsets.differences[self.least_difference_first]
        probabilities = stop_probabilities[self.least_difference_first]
        # Rows are sets of folds, from the least difference to the greatest, and columns are
        # settings. The worst difference of any order, however rare, is in the last row with a
        # probability.
        worst_rows = len(probabilities) - 1 - np.argmax(probabilities[::-1] > 0, axis=0)
        # The sums take the place of their terms, to save memory.
        cumulated = np.cumsum(probabilities, axis=0, out=probabilities)
        quantiles = []
        for share in QUANTILES:
            rows = worst_rows
            if share < 1:
                # Rows are counted in which the share is not reached yet. The count is the number of
                # the first row in which it is.
                rows = np.sum(cumulated < share - _ROUNDING, axis=0)
            quantiles.append(differences[rows])
        return np.stack(quantiles, axis=1)


def _probability(is_chosen: Mask, stop_probabilities: Floats) -> Floats:
    """The probability of stopping at a chosen set; its sums may round to just above 1."""
    return np.minimum(is_chosen.astype(np.float64) @ stop_probabilities, 1.0)


class Orders:
    """Every order of some fold scores under one rule, whose setting is still free.

    A rule is given by the least setting (alpha, tolerance) at which each step stops, so that one
    object answers for all settings.
    """

    def __init__(
        self,
        subsets: FoldSubsets,
        half_widths: Floats,
        threshold_of_step: Step,
        *,
        earliest_stop: int = 1,
        costs: Floats | None = None,
    ) -> None:
        """Work out the steps.

        Args:
            subsets: The scores and their sets.
            half_widths: The half widths of the interval that a set's mean is shown with, for the
                coverage; shape (2^k,); NaN where there is none.
            threshold_of_step: The rule: the least setting at which it stops a step, of the sets
                before and after it.
            earliest_stop: The first fold after which it can stop.
            costs: The costs of each fold, in any unit; shape (k,); by default all cost the same.
        """
        self.subsets = subsets
        self.half_widths = half_widths
        self.costs = costs
        self._thresholds = _thresholds(subsets.lattice, threshold_of_step, earliest_stop)

    def at(self, setting: float, *, within_percent: float | None = None) -> Outcome:
        """What the rule does at one setting."""
        return self.curve([setting], within_percent=within_percent).at(setting)

    def curve(self, settings: ArrayLike, *, within_percent: float | None = None) -> Curve:
        """What the rule does at many settings.

        Args:
            settings: Ascending.
            within_percent: The difference to count as close enough.
        """
        all_settings = np.asarray(settings, dtype=np.float64)
        lattice = self.subsets.lattice
        measures = SetMeasures(self.subsets, self.half_widths, self.costs, within_percent)
        # Settings are gone through in blocks that stay in the processor's cache.
        largest_level = max(level.stop - level.start for level in lattice.levels)
        settings_per_block = max(1, _BLOCK_CELLS // largest_level)
        curves = []
        for start in range(0, len(all_settings), settings_per_block):
            block = all_settings[start : start + settings_per_block]
            stop_probabilities = _stop_probabilities(lattice, self._thresholds, block)
            curves.append(measures.curve(block, stop_probabilities))
        return combine_curves(curves, all_settings, np.concatenate)

    def mean_stop(self, settings: Floats) -> Floats:
        """Expected number of folds used at a few settings, without the rest of a curve."""
        lattice = self.subsets.lattice
        return lattice.sizes @ _stop_probabilities(lattice, self._thresholds, settings)

    def highest_setting_that_matters(self) -> float:
        """The highest setting at which anything changes for some order; 0 where nothing does."""
        lattice = self.subsets.lattice
        # A step adds a fold to a set. Its threshold is the least setting at which an order stops
        # there; at lower settings the order goes on. So every set has a highest setting at which
        # some order comes to it.
        highest_for_set = np.zeros(len(lattice.masks))
        highest_for_set[0] = np.inf  # Every order begins from the empty set.
        highest = 0.0
        # The arrays have a column for each set of n folds, and a row for each step to it.
        for n, thresholds in enumerate(self._thresholds, start=1):
            highest_before_step = highest_for_set[lattice.smaller_sets[n]]
            # At its threshold, a step matters if some order comes to it. The threshold of a step
            # that stops no order is infinite.
            matters = np.isfinite(thresholds) & (thresholds < highest_before_step)
            highest = max(highest, float(thresholds[matters].max(initial=0.0)))
            highest_after_step = np.minimum(highest_before_step, thresholds)
            highest_for_set[lattice.levels[n]] = highest_after_step.max(axis=0)
        return highest


def _thresholds(lattice: Lattice, threshold_of_step: Step, earliest_stop: int) -> list[Floats]:
    """For each size n from 1: the least setting that stops each step to a set of n folds.

    Returns:
        Arrays of shape (n, sets of n folds); infinite before the earliest stop.
    """
    thresholds = []
    for n in range(1, lattice.k + 1):
        smaller_sets = lattice.smaller_sets[n]
        if n < earliest_stop:
            thresholds.append(np.full(smaller_sets.shape, np.inf))
            continue
        level = lattice.levels[n]
        larger_sets = np.arange(level.start, level.stop, dtype=np.int32)
        thresholds_of_level = threshold_of_step(smaller_sets, larger_sets)
        thresholds.append(np.broadcast_to(thresholds_of_level, smaller_sets.shape))
    return thresholds


def _stop_probabilities(lattice: Lattice, thresholds: Sequence[Floats], settings: Floats) -> Floats:
    """The probability that an order stops at each set; shape (2^k, settings).

    Orders are followed from level to level: those that come unstopped to a set of n - 1 folds come,
    with the next fold, to a set of n, where they stop or go on.

    Args:
        lattice: The sets.
        thresholds: As `_thresholds` gives them.
        settings: Ascending; shape (settings,).
    """
    stop_probabilities = np.zeros((len(lattice.masks), len(settings)))
    # This is the probability that an order comes to a set of the level below and goes on from it.
    # At first that is the empty set.
    going_on_below = np.ones((1, len(settings)))
    for n in range(1, lattice.k + 1):
        # This is a view, so adding to it fills the array.
        stopping = stop_probabilities[lattice.levels[n]]
        going_on = np.zeros_like(stopping)
        # Numbers within the level below, instead of among all sets; shape (n, sets of n folds). The
        # newest fold can be each of the n folds of a set, so each row has one step to every set.
        smaller_sets_in_level = lattice.smaller_sets[n] - lattice.levels[n - 1].start
        for smaller_sets, threshold in zip(smaller_sets_in_level, thresholds[n - 1], strict=True):
            arriving = going_on_below[smaller_sets]  # Unlike a slice, this is a copy.
            stopping += arriving
            # Orders go on only where the setting is below the threshold of this step.
            np.copyto(arriving, 0.0, where=threshold[:, None] <= settings)
            going_on += arriving
        if n < lattice.k:  # the last fold ends it, whatever the rule says
            # Both are sums of the same numbers in the same order if no step stops. So their
            # difference is exactly 0 there.
            stopping -= going_on
        # Each fold not seen yet is as likely to come next.
        probability_of_step = 1 / (lattice.k - n + 1)
        stopping *= probability_of_step
        going_on_below = going_on * probability_of_step
    return stop_probabilities
