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
from ecv_core.analysis.orders.outcomes import Curve, Outcome, joined
from ecv_core.analysis.tradeoff.curves import averaged
from ecv_core.analysis.tradeoff.rule_curves import RuleCurve
from ecv_core.records.errors import InputError
from ecv_core.records.run import Scores
from ecv_core.stopping import BASELINE, NEVER_STOPS, difference_percent

# A promise about orders -> the setting of a rule that spends least, and a check of it.


ROUNDING = 1e-9
"""Shares of orders that are closer than this are equal."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CarryOver:
    """How a setting chosen on the other datasets does on the one left out."""

    dataset: str
    setting: float | None
    """None where no setting keeps the promise on the others, so that all folds are used."""
    within: float
    """Share of orders of this dataset that end close enough with it."""
    kept: bool
    """Whether that is the share that was promised."""


def cheapest(curve: Curve, share: float) -> Outcome | None:
    """What spends least among the settings at which enough orders end close enough.

    Args:
        curve: with `within`.
        share: of orders, in (0, 1].
    Returns: None if no setting keeps the promise.
    """
    assert curve.within is not None
    keeps = np.flatnonzero(curve.within >= share - ROUNDING)
    if not len(keeps):
        return None
    # Of equal costs the smallest setting: the most careful one.
    return curve.at(float(curve.settings[keeps[np.argmin(curve.cost_percent[keeps])]]))


def leave_one_dataset_out(
    systems: Sequence[Scores], curves: Sequence[Curve], share: float
) -> list[CarryOver]:
    """Choose the setting on all datasets but one and use it there, for each.

    A dataset counts as the mean of its systems.

    Args:
        systems: what was evaluated on which dataset.
        curves: of one rule, one per system, all with the same settings and with `within`.
        share: of orders, in (0, 1].
    Returns: empty below two datasets.
    """
    datasets = list(dict.fromkeys(system.dataset for system in systems))
    if len(datasets) < 2:
        return []
    pairs = [(system.dataset, curve) for system, curve in zip(systems, curves, strict=True)]
    return [_left_out(pairs, dataset, share) for dataset in datasets]


def _left_out(pairs: Sequence[tuple[str, Curve]], dataset: str, share: float) -> CarryOver:
    here = averaged([curve for name, curve in pairs if name == dataset])
    others = _per_dataset([(name, curve) for name, curve in pairs if name != dataset])
    chosen = cheapest(others, share)
    # Where no setting keeps the promise all folds are used, whose mean is the k-fold mean.
    setting = chosen.setting if chosen else None
    within = 1.0 if setting is None else here.at(setting).within
    assert within is not None
    return CarryOver(
        dataset=dataset, setting=setting, within=within, kept=within >= share - ROUNDING
    )


def _per_dataset(curves: Sequence[tuple[str, Curve]]) -> Curve:
    names = dict.fromkeys(name for name, _ in curves)
    return averaged([averaged([c for other, c in curves if other == name]) for name in names])


ALL_FOLDS = NEVER_STOPS
"""The rule that uses all k folds, which keep every promise."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Option:
    """A rule at its cheapest setting that keeps the promise."""

    rule: str
    outcome: Outcome
    """Averaged over systems; `within` is at least the share promised."""
    kept_by: int
    """How many systems keep the promise one by one; the promise is about their average."""
    sampled: bool
    checks: tuple[CarryOver, ...]
    """One per dataset left out; empty with fewer than two datasets."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
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
    needed_percent: float | None
    """Where nothing but all folds keeps it: the difference to accept so that leaving out one fold
    would, exact; None where something keeps it."""

    @property
    def k(self) -> int:
        """The most folds of any system."""
        return max(system.k for system in self.systems)

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
        systems: at least one.
        candidates: rules on all systems, worked out with this `within_percent`, the simplest first;
            `fixed_folds` should be among them.
        within_percent: the acceptable difference to the k-fold mean.
        share: of orders, in (0, 1].
    Raises: InputError for a share that is none.
    """
    if not 0 < share <= 1:
        raise InputError(
            f"the share of fold orders must be above 0 and at most 100 %, but is {100 * share:g} %"
        )
    found, failing = [], []
    for one in candidates:
        average = one.average
        kept = cheapest(average, share)
        if kept is None or kept.cost_percent >= 100 - _SAVES:
            failing.append(one.rule)
        else:
            checks = leave_one_dataset_out(systems, list(one.curves.values()), share)
            found.append(_option(one, kept, share, checks))
    found.sort(key=lambda option: round(option.outcome.cost_percent, 6))
    return FoldsAdvice(
        within_percent=within_percent,
        share=share,
        systems=tuple(systems),
        options=(*found, _all_folds(systems, within_percent)),
        failing=tuple(failing),
        needed_percent=None if found else percent_needed(systems, share),
    )


def fixed_folds(systems: Sequence[Scores], *, within_percent: float) -> RuleCurve:
    """Always e folds, for e from 1 to the most folds of any system; those with fewer use all."""
    settings = np.arange(1.0, max(system.k for system in systems) + 1)

    def curve(system: Scores) -> Curve:
        found = exploration.fixed(system, within_percent=within_percent)
        rows = found.rows(settings)
        return joined([found], settings, lambda arrays: arrays[0][rows])

    return RuleCurve(rule=BASELINE, curves=dict(enumerate(map(curve, systems))))


def percent_needed(systems: Sequence[Scores], share: float) -> float:
    """The least difference, in percent, that k - 1 folds keep in this share of orders; exact.

    Averaged over systems, each counting the same.
    """
    differences, weights = [], []
    for system in systems:
        folds = system.folds
        whole, k = float(np.mean(folds)), system.k
        for left_out in range(k):
            mean = (k * whole - float(folds[left_out])) / (k - 1)
            differences.append(difference_percent(mean, whole))
            weights.append(1 / k / len(systems))
    order = np.argsort(differences, kind="stable")
    reached = np.cumsum(np.array(weights)[order])
    place = int(np.searchsorted(reached, share - ROUNDING))
    return float(np.array(differences)[order][min(place, len(order) - 1)])


_SAVES = 1e-6
"""Percent of all folds below which nothing is saved."""


def _option(one: RuleCurve, outcome: Outcome, share: float, checks: Sequence[CarryOver]) -> Option:
    setting = outcome.setting
    assert setting is not None
    alone = [curve.at(setting).within for curve in one.curves.values()]
    return Option(
        rule=one.rule,
        outcome=outcome,
        kept_by=sum(within is not None and within >= share - ROUNDING for within in alone),
        sampled=one.sampled,
        checks=tuple(checks),
    )


def _all_folds(systems: Sequence[Scores], within_percent: float) -> Option:
    every = fixed_folds(systems, within_percent=within_percent)
    whole = every.average.at(float(max(system.k for system in systems)))
    return Option(
        rule=ALL_FOLDS,
        outcome=replace(whole, setting=None),
        kept_by=len(systems),
        sampled=False,
        checks=(),
    )
