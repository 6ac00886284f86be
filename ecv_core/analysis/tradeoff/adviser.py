"""A promise about orders -> the setting of a rule that spends least, and a check of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ecv_core.analysis.orders import Curve, Outcome
from ecv_core.analysis.tradeoff.curves import averaged
from ecv_core.records import Scores

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
    cost_percent: float
    own_cost_percent: float
    """With the setting that spends least here: what knowing this dataset would have given."""


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
    own = cheapest(here, share)
    # Where no setting keeps the promise all folds are used, whose mean is the k-fold mean.
    setting = chosen.setting if chosen else None
    there = here.at(setting) if setting is not None else None
    within = 1.0 if there is None or there.within is None else there.within
    return CarryOver(
        dataset=dataset,
        setting=setting,
        within=within,
        kept=within >= share - ROUNDING,
        cost_percent=there.cost_percent if there else 100.0,
        own_cost_percent=own.cost_percent if own else 100.0,
    )


def _per_dataset(curves: Sequence[tuple[str, Curve]]) -> Curve:
    names = dict.fromkeys(name for name, _ in curves)
    return averaged([averaged([c for other, c in curves if other == name]) for name in names])
