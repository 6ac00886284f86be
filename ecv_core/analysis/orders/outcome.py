"""Where orders stop -> what that costs and how far off it is, at one setting or along a curve."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ecv_core.analysis.orders.subsets import FoldSubsets

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
    settings: NDArray[np.float64]
    """Ascending; shape (settings,)."""
    stop_distribution: NDArray[np.float64]
    """Shape (settings, k): column n-1 is the probability of stopping after fold n."""
    mean_difference_percent: NDArray[np.float64]
    difference_quantiles: NDArray[np.float64]
    """Percent; shape (settings, len(QUANTILES))."""
    coverage: NDArray[np.float64]
    cost_percent: NDArray[np.float64]
    within: NDArray[np.float64] | None = None

    @property
    def mean_stop(self) -> NDArray[np.float64]:
        """Expected number of folds used; shape (settings,)."""
        stop: NDArray[np.float64] = self.stop_distribution @ np.arange(1, self.k + 1)
        return stop

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
    cost_percent: NDArray[np.float64]
    ranking: NDArray[np.intp]
    """The sets by their difference, smallest first."""
    within: NDArray[np.bool_] | None

    @classmethod
    def of(
        cls,
        subsets: FoldSubsets,
        half_widths: NDArray[np.float64],
        costs: NDArray[np.float64] | None = None,
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

    def curve(self, settings: NDArray[np.float64], stops: NDArray[np.float64]) -> Curve:
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

    def _quantiles(self, stops: NDArray[np.float64]) -> NDArray[np.float64]:
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


def _share(chosen: NDArray[np.bool_], stops: NDArray[np.float64]) -> NDArray[np.float64]:
    """The probability of stopping at a chosen set; sums of shares may round to just above 1."""
    return np.minimum(chosen.astype(np.float64) @ stops, 1.0)
