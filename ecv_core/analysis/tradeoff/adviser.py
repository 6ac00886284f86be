"""'At most 2 % off in 95 % of orders' -> the alpha that spends least, and a check of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ecv_core.analysis.orders import Curve, Outcome
from ecv_core.analysis.tradeoff.curves import Tradeoff, averaged

_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True)
class CarryOver:
    """How an alpha chosen on the other datasets does on the one left out."""

    dataset: str
    alpha: float | None
    """None where no alpha keeps the promise on the others."""
    within: float
    """Share of orders of this dataset that end close enough with it."""
    kept: bool
    """Whether that is the share that was promised."""
    cost_percent: float
    own_cost_percent: float
    """With the alpha that spends least here: what knowing this dataset would have given."""


def cheapest(curve: Curve, share: float) -> Outcome | None:
    """What spends least among the settings at which enough orders end close enough.

    Args:
        curve: with `within`.
        share: of orders, in (0, 1].
    Returns: None if no setting keeps the promise.
    """
    assert curve.within is not None
    keeps = np.flatnonzero(curve.within >= share - _ROUNDING)
    if not len(keeps):
        return None
    # Of equal costs the smallest setting: the most careful one.
    return curve.at(float(curve.settings[keeps[np.argmin(curve.cost_percent[keeps])]]))


def leave_one_dataset_out(explored: Tradeoff, share: float) -> list[CarryOver]:
    """Choose alpha on all datasets but one and use it there, for each; empty below two datasets.

    A dataset counts as the mean of its systems.
    """
    datasets = list(dict.fromkeys(system.dataset for system in explored.systems))
    if len(datasets) < 2:
        return []
    return [_left_out(explored, dataset, share) for dataset in datasets]


def _left_out(explored: Tradeoff, dataset: str, share: float) -> CarryOver:
    pairs = list(zip(explored.systems, explored.curves, strict=True))
    here = averaged([curve for system, curve in pairs if system.dataset == dataset])
    others = _per_dataset([(s.dataset, curve) for s, curve in pairs if s.dataset != dataset])
    chosen = cheapest(others, share)
    own = cheapest(here, share)
    # Without an alpha that keeps the promise all folds are used, which is never off.
    alpha = chosen.setting if chosen else None
    there = here.at(alpha) if alpha is not None else None
    within = 1.0 if there is None or there.within is None else there.within
    return CarryOver(
        dataset=dataset,
        alpha=alpha,
        within=within,
        kept=within >= share - _ROUNDING,
        cost_percent=there.cost_percent if there else 100.0,
        own_cost_percent=own.cost_percent if own else 100.0,
    )


def _per_dataset(curves: Sequence[tuple[str, Curve]]) -> Curve:
    names = dict.fromkeys(name for name, _ in curves)
    return averaged([averaged([c for other, c in curves if other == name]) for name in names])
