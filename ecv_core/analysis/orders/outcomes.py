"""What a rule does over the orders of the folds: at one setting, or as a curve over many."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ecv_core.records.arrays import Floats

QUANTILES = (0.5, 0.9, 0.95, 1.0)
"""Of the difference: median, the worst but 10 % and 5 % of orders, the worst of all."""


@dataclass(frozen=True, kw_only=True)
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


@dataclass(frozen=True, kw_only=True, eq=False)
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

    @property
    def mean_stop(self) -> Floats:
        """Expected number of folds used; shape (settings,)."""
        return self.stop_distribution @ np.arange(1, self.k + 1)

    def rows(self, settings: ArrayLike) -> list[int]:
        """Find the row that holds at each of some settings; below the first one, the first."""
        places = np.searchsorted(self.settings, np.atleast_1d(settings), side="right") - 1
        return np.maximum(places, 0).tolist()

    def at(self, setting: float) -> Outcome:
        """The outcome at a setting; below the first one, that of the first."""
        (row,) = self.rows(setting)
        shares = self.stop_distribution[row].tolist()
        quantiles = dict(zip(QUANTILES, self.difference_quantiles[row].tolist(), strict=True))
        within = None
        if self.within is not None:
            within = float(self.within[row])
        return Outcome(
            k=self.k,
            setting=setting,
            mean_stop=float(self.mean_stop[row]),
            stop_distribution=dict(enumerate(shares, start=1)),
            mean_difference_percent=float(self.mean_difference_percent[row]),
            difference_quantiles=quantiles,
            coverage=float(self.coverage[row]),
            cost_percent=float(self.cost_percent[row]),
            within=within,
        )


def curve_of_outcomes(outcomes: Sequence[Outcome], settings: Sequence[float]) -> Curve:
    """Join outcomes that were worked out setting by setting.

    Args:
        outcomes: The outcomes of one rule on the same folds, all exact or all drawn; at least one.
        settings: The settings of the outcomes, ascending.
    """
    errors = {}
    for name in outcomes[0].standard_errors:
        errors[name] = np.array([outcome.standard_errors[name] for outcome in outcomes])
    stops = []
    quantiles = []
    for outcome in outcomes:
        stops.append(list(outcome.stop_distribution.values()))
        quantiles.append(list(outcome.difference_quantiles.values()))
    return Curve(
        k=outcomes[0].k,
        settings=np.array(settings),
        stop_distribution=np.array(stops),
        difference_quantiles=np.array(quantiles),
        standard_errors=errors,
        **_joined_fields(
            outcomes, ["mean_difference_percent", "coverage", "cost_percent"], np.array
        ),
    )


def combine_curves(
    curves: Sequence[Curve], settings: Floats, combine_arrays: Callable[[list[Floats]], Floats]
) -> Curve:
    """Combine what several curves say, as by their mean, into one curve without standard errors.

    Args:
        curves: With `within` all or none. k may differ, then `stop_distribution` has the most
            folds.
        settings: The settings of the new curve.
        combine_arrays: Makes one array of those of the curves, which have one row per setting each.
    """
    k = max(curve.k for curve in curves)
    stop_distributions = []
    for curve in curves:
        # A rule with fewer folds never stops after more than these.
        more_folds = np.zeros((len(curve.settings), k - curve.k))
        stop_distributions.append(np.hstack([curve.stop_distribution, more_folds]))
    names = ["mean_difference_percent", "difference_quantiles", "coverage", "cost_percent"]
    return Curve(
        k=k,
        settings=settings,
        stop_distribution=combine_arrays(stop_distributions),
        **_joined_fields(curves, names, combine_arrays),
    )


def _joined_fields(
    parts: Sequence[Outcome] | Sequence[Curve],
    names: list[str],
    join: Callable[[list[Any]], Floats],
) -> dict[str, Any]:
    """Each of these fields, and `within` where there is one, joined from all parts of a curve."""
    if parts[0].within is not None:
        names = [*names, "within"]
    fields = {}
    for name in names:
        fields[name] = join([getattr(part, name) for part in parts])
    return fields
