"""At most 2 % from the k-fold mean in 95 % of orders -> all options that keep it, cheapest first.

An option is a rule at the cheapest of its settings that keeps the promise, averaged over systems.
Every setting is chosen on the same systems that it is judged by; `Option.checks` says how a setting
chosen without a dataset does on that dataset.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ecv_core.analysis import exploration
from ecv_core.analysis.orders.outcomes import Curve, Outcome, combine_curves
from ecv_core.analysis.tradeoff.curves import averaged, most_folds
from ecv_core.analysis.tradeoff.rule_curves import RuleCurve
from ecv_core.records.arrays import Floats
from ecv_core.records.errors import InputError
from ecv_core.records.parameters import percent_text
from ecv_core.records.run import Scores
from ecv_core.stopping import BASELINE, NEVER_STOPS, difference_percent

ROUNDING = 1e-9
"""Shares of orders that are closer than this are equal."""


@dataclass(frozen=True, kw_only=True)
class CarryOver:
    """How a setting chosen on the other datasets does on the one left out."""

    dataset: str
    setting: float | None
    """None where no setting keeps the promise on the others, so that all folds are used."""
    share_within: float
    """Share of orders of this dataset that end close enough with it."""
    keeps_promise: bool
    """Whether that is the share that was promised."""


def cheapest(curve: Curve, promised_share: float) -> Outcome | None:
    """Find what spends least among the settings at which enough orders end close enough.

    Args:
        curve: With `within`.
        promised_share: The promised share of orders, in (0, 1].

    Returns:
        None if no setting keeps the promise; of equal costs the smallest setting, which is the most
        careful one.
    """
    # `within` is the share of orders that end close enough, at each setting.
    assert curve.within is not None
    keeping_rows = np.flatnonzero(curve.within >= promised_share - ROUNDING)
    if not len(keeping_rows):
        return None
    cheapest_row = keeping_rows[np.argmin(curve.cost_percent[keeping_rows])]
    return curve.at(float(curve.settings[cheapest_row]))


def leave_one_dataset_out(
    systems: Sequence[Scores], curves: Sequence[Curve], promised_share: float
) -> list[CarryOver]:
    """Choose the setting on all datasets but one and use it there, for each.

    A dataset counts as the mean of its systems.

    Args:
        systems: What was evaluated on which dataset.
        curves: The curves of one rule, one per system, all with the same settings and with
            `within`.
        promised_share: The promised share of orders, in (0, 1].

    Returns:
        Empty below two datasets.
    """
    curves_by_dataset: dict[str, list[Curve]] = {}
    for system, curve in zip(systems, curves, strict=True):
        curves_by_dataset.setdefault(system.dataset, []).append(curve)
    if len(curves_by_dataset) < 2:
        return []
    curve_by_dataset = {}
    for dataset, curves_of_dataset in curves_by_dataset.items():
        curve_by_dataset[dataset] = averaged(curves_of_dataset)
    checks = []
    for dataset, curve in curve_by_dataset.items():
        others = [other for name, other in curve_by_dataset.items() if name != dataset]
        chosen = cheapest(averaged(others), promised_share)
        # If no setting keeps the promise, all folds are used, whose mean is the k-fold mean.
        setting = None
        share_within = 1.0
        if chosen is not None:
            setting = chosen.setting
            assert setting is not None  # a curve has a setting in each row
            share_within = _share_of_close_orders(curve, setting)
        check = CarryOver(
            dataset=dataset,
            setting=setting,
            share_within=share_within,
            keeps_promise=share_within >= promised_share - ROUNDING,
        )
        checks.append(check)
    return checks


def _share_of_close_orders(curve: Curve, setting: float) -> float:
    """The share of orders that end close enough, of a curve that has it."""
    share_within = curve.at(setting).within
    assert share_within is not None  # the curves here were all worked out with a `within_percent`
    return share_within


ALL_FOLDS = NEVER_STOPS
"""The rule that uses all k folds, which keep every promise."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Option:
    """A rule at its cheapest setting that keeps the promise."""

    rule: str
    outcome: Outcome
    """Averaged over systems; `within` is at least the share promised."""
    systems_keeping_promise: int
    """How many systems keep the promise one by one; the promise is about their average."""
    sampled: bool
    """Whether the numbers are of drawn orders; otherwise all orders are counted."""
    checks: tuple[CarryOver, ...]
    """One per dataset left out; empty with fewer than two datasets."""


@dataclass(frozen=True, kw_only=True, eq=False)
class FoldsAdvice:
    """How many folds are enough for what was promised."""

    within_percent: float
    """The largest difference to the k-fold mean that is acceptable."""
    share: float
    """Of orders that must end within it, in (0, 1]."""
    systems: tuple[Scores, ...]
    options: tuple[Option, ...]
    """Cheapest first; the last one is ALL_FOLDS. Of equal costs the simpler rule comes first."""
    failing: tuple[str, ...]
    """Rules that keep the promise at none of their settings that save anything."""
    percent_that_saves_a_fold: float | None
    """Where nothing but all folds keeps it: the difference to accept so that leaving out one fold
    would, exact; None where something keeps it."""

    @property
    def k(self) -> int:
        """The most folds of any system."""
        return most_folds(self.systems)

    @property
    def has_equal_k(self) -> bool:
        """Whether all systems have the same number of folds."""
        return len({system.k for system in self.systems}) == 1

    @property
    def datasets(self) -> tuple[str, ...]:
        """In the order of the systems, each once."""
        return tuple(dict.fromkeys(system.dataset for system in self.systems))

    @property
    def best(self) -> Option:
        """The cheapest option; ALL_FOLDS where nothing else keeps the promise."""
        return self.options[0]


def decide(
    systems: Sequence[Scores],
    candidates: Sequence[RuleCurve],
    *,
    within_percent: float,
    share: float,
) -> FoldsAdvice:
    """Every option that keeps the promise, cheapest first.

    Args:
        systems: At least one.
        candidates: Rules on all systems, worked out with this `within_percent`, the simplest first;
            `fixed_folds` should be among them.
        within_percent: The acceptable difference to the k-fold mean.
        share: The share of orders, in (0, 1].

    Raises:
        InputError: For a share that is none.
    """
    if not 0 < share <= 1:
        raise InputError(
            "the share of fold orders must be above 0 and at most 100 %, but is "
            f"{percent_text(share, 'g')}"
        )
    options = []
    failing = []
    for candidate in candidates:
        outcome = cheapest(candidate.average, share)
        saves_nothing = outcome is not None and outcome.cost_percent >= 100 - _LEAST_SAVING_PERCENT
        if outcome is None or saves_nothing:
            failing.append(candidate.rule)
        else:
            options.append(_option(candidate, outcome, systems, share))
    percent_that_saves_a_fold = None
    if not options:
        percent_that_saves_a_fold = tolerance_for_k_minus_1_folds(systems, share)
    # Options of equal cost keep the order of the candidates: the simpler rule comes first.
    options.sort(key=lambda option: round(option.outcome.cost_percent, 6))
    options.append(_all_folds(systems, within_percent))
    return FoldsAdvice(
        within_percent=within_percent,
        share=share,
        systems=tuple(systems),
        options=tuple(options),
        failing=tuple(failing),
        percent_that_saves_a_fold=percent_that_saves_a_fold,
    )


def fixed_folds(systems: Sequence[Scores], *, within_percent: float) -> RuleCurve:
    """Always e folds, for e from 1 to the most folds of any system; those with fewer use all."""
    settings = np.arange(1.0, most_folds(systems) + 1)
    curves = {}
    for number, system in enumerate(systems):
        curve = exploration.fixed_stops(system, within_percent=within_percent)
        curves[number] = _curve_with_row_for_each(settings, curve)
    return RuleCurve(rule=BASELINE, curves=curves)


def _curve_with_row_for_each(settings: Floats, curve: Curve) -> Curve:
    """The curve with the row that holds at each of these settings."""
    rows = curve.rows(settings)

    def rows_of_curve(arrays: list[Floats]) -> Floats:
        (array,) = arrays  # there is a single curve
        return array[rows]

    # A new curve, each of whose arrays has these rows of the old one's.
    return combine_curves([curve], settings, rows_of_curve)


def tolerance_for_k_minus_1_folds(systems: Sequence[Scores], share: float) -> float:
    """Find the least difference, in percent, that k - 1 folds keep in this share of orders; exact.

    It is what one would have to accept to save one fold. Averaged over systems, each counting the
    same.
    """
    differences = []
    weights = []
    for system in systems:
        k = system.k
        k_fold_mean = float(np.mean(system.folds))
        # The first k - 1 folds of an order are all but one, and each is left out as often.
        for score_left_out in system.folds.tolist():
            mean = (k * k_fold_mean - score_left_out) / (k - 1)
            differences.append(difference_percent(mean, k_fold_mean))
            weights.append(1 / k)
    # Sums of weights such as 1 / 3 miss a share by a rounding, so it is reached a little below it.
    return float(np.quantile(differences, share - ROUNDING, weights=weights, method="inverted_cdf"))


_LEAST_SAVING_PERCENT = 1e-6
"""Percent of all folds below which nothing is saved."""


def _option(
    candidate: RuleCurve, outcome: Outcome, systems: Sequence[Scores], promised_share: float
) -> Option:
    """Describe a rule at its cheapest setting, with how the setting carries over to other data."""
    assert outcome.setting is not None  # a curve has a setting in each row
    curves = list(candidate.curves.values())  # There is one for each system, in the same order.
    # A system keeps the promise if the promised share of its fold orders ends close enough to its
    # k-fold mean.
    systems_keeping_promise = 0
    for curve in curves:
        if _share_of_close_orders(curve, outcome.setting) >= promised_share - ROUNDING:
            systems_keeping_promise += 1
    return Option(
        rule=candidate.rule,
        outcome=outcome,
        systems_keeping_promise=systems_keeping_promise,
        # A curve may be of drawn orders instead of all of them.
        sampled=candidate.sampled,
        checks=tuple(leave_one_dataset_out(systems, curves, promised_share)),
    )


def _all_folds(systems: Sequence[Scores], within_percent: float) -> Option:
    """The option that is always there: the rule that uses all folds has no setting."""
    average = fixed_folds(systems, within_percent=within_percent).average
    number_of_all_folds = average.settings[-1]
    return Option(
        rule=ALL_FOLDS,
        outcome=replace(average.at(float(number_of_all_folds)), setting=None),
        systems_keeping_promise=len(systems),
        sampled=False,
        checks=(),
    )
