"""The exact walk over every order of the folds, for rules that look at sets of folds only.

Whether such a rule stops depends on the set before the newest fold and the set after it. So the
probability of arriving unstopped is carried through the 2^k sets instead of the k! orders.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ecv_core.analysis.orders.lattice import Lattice
from ecv_core.analysis.orders.outcome import Curve, Measures, Outcome
from ecv_core.analysis.orders.subsets import FoldSubsets
from ecv_core.records import Progress, no_progress

Step = Callable[[NDArray[np.int32], NDArray[np.int32]], NDArray[np.float64]]
"""(set before, set after) -> the least setting at which the rule stops there; the two are numbers
of sets, of shapes (n, sets) and (sets,), and the answer broadcasts to (n, sets)."""

_BLOCK = 2**16
"""Numbers per block of the walk: few enough to stay in the processor's cache."""
_ROUNDING = 1e-12
MAX_POINTS = 6000
"""Rows of a whole curve; 10 folds have at most 5,110 breakpoints."""


class Orders:
    """Every order of some fold scores under one rule, whose setting is still free.

    A rule is given by the least setting (alpha, tolerance) at which each step stops, so that one
    object answers for all settings.
    """

    def __init__(
        self,
        subsets: FoldSubsets,
        half_widths: NDArray[np.float64],
        step: Step,
        *,
        first: int = 1,
        costs: ArrayLike | None = None,
        progress: Progress = no_progress,
    ) -> None:
        """Work out the steps.

        Args:
            subsets: the scores and their sets.
            half_widths: of the interval that a set's mean is shown with, for the coverage; shape
                (2^k,); NaN where there is none.
            step: the rule.
            first: the first fold after which it can stop.
            costs: of each fold, in any unit; shape (k,); by default all cost the same.
            progress: called with ("orders", n, k).
        """
        self.subsets = subsets
        self.half_widths = half_widths
        self.costs = None if costs is None else np.asarray(costs, dtype=np.float64)
        self._progress = progress
        self._thresholds = _thresholds(subsets.lattice, step, first)

    def at(self, setting: float, *, within_percent: float | None = None) -> Outcome:
        """What the rule does at one setting."""
        return self.curve([setting], within_percent=within_percent).at(setting)

    def curve(
        self, settings: ArrayLike | None = None, *, within_percent: float | None = None
    ) -> Curve:
        """What the rule does at many settings.

        Args:
            settings: ascending. By default 0 and every breakpoint, so that the curve is complete;
                where these are more than MAX_POINTS, as many of them, evenly chosen.
            within_percent: the difference to count as close enough.
        """
        if settings is None:
            chosen = self.breakpoints()
            if len(chosen) > MAX_POINTS:
                chosen = chosen[np.linspace(0, len(chosen) - 1, MAX_POINTS).astype(np.intp)]
        else:
            chosen = np.asarray(settings, dtype=np.float64)
        lattice = self.subsets.lattice
        measures = Measures.of(self.subsets, self.half_widths, self.costs, within_percent)
        width = max(1, _BLOCK // max(len(steps[0]) for steps in lattice.before[1:]))
        parts = [chosen[start : start + width] for start in range(0, len(chosen), width)]
        return _joined(
            [
                measures.curve(part, _walk(lattice, self._thresholds, part, self._progress))
                for part in parts
            ]
        )

    def breakpoints(self) -> NDArray[np.float64]:
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
    half_widths: NDArray[np.float64],
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


def _thresholds(lattice: Lattice, step: Step, first: int) -> list[NDArray[np.float64]]:
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


def _walk(
    lattice: Lattice,
    thresholds: Sequence[NDArray[np.float64]],
    settings: NDArray[np.float64],
    progress: Progress,
) -> NDArray[np.float64]:
    """The probability of stopping at each set; shape (2^k, settings)."""
    stops = np.zeros((len(lattice.masks), len(settings)))
    alive = np.ones((1, len(settings)))  # the probability of arriving unstopped, at this level
    for n in range(1, lattice.k + 1):
        progress("orders", n, lattice.k)
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


def _joined(parts: Sequence[Curve]) -> Curve:
    within = [part.within for part in parts if part.within is not None]
    return Curve(
        k=parts[0].k,
        settings=np.concatenate([part.settings for part in parts]),
        stop_distribution=np.concatenate([part.stop_distribution for part in parts]),
        mean_difference_percent=np.concatenate([part.mean_difference_percent for part in parts]),
        difference_quantiles=np.concatenate([part.difference_quantiles for part in parts]),
        coverage=np.concatenate([part.coverage for part in parts]),
        cost_percent=np.concatenate([part.cost_percent for part in parts]),
        within=np.concatenate(within) if within else None,
    )
