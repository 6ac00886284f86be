"""Orders of folds under the paper's rule -> the alphas of a curve, and the steps of a slider."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from ecv_core.analysis.orders.exact import Orders
from ecv_core.records.arrays import Floats

PER_DECADE = 40
"""Alphas of a curve per factor of ten: neighbours differ by 6 %."""
POINTS_PER_STEP = 4
"""Every fourth of them is a step of a slider: ten per factor of ten."""
_MOST_DECADES = 9
_LEAST_ALPHA = 1e-12
"""Taken for the highest alpha that matters where that is 0, which has no logarithm."""
_NEARLY_ALL = 0.97
"""Share of the folds used at the lowest alpha from which on nearly all folds are used."""


def alpha_grid(orders: Sequence[Orders]) -> Floats:
    """Choose alphas over whole factors of ten, from where nearly all folds are used to where none.

    Nearly all that are ever used: where scores are equal, the rule stops early at any alpha.

    Args:
        orders: The orders of each system under the paper's rule.

    Returns:
        Ascending; every POINTS_PER_STEP-th is a round number, the first and the last too.
    """
    highest_alpha = max(system_orders.highest_setting_that_matters() for system_orders in orders)
    # Above 10^highest_exponent every order stops as early as it can. An alpha of 10^n stays there,
    # though its logarithm may be a rounding above n.
    highest_exponent = math.ceil(math.log10(max(highest_alpha, _LEAST_ALPHA)) - 1e-9)
    lowest_exponent = highest_exponent - _MOST_DECADES
    decades = np.array([10.0**exponent for exponent in range(lowest_exponent, highest_exponent)])
    # Expected folds at each of these alphas; shape (systems, decades).
    folds_used = np.array([system_orders.mean_stop(decades) for system_orders in orders])
    most_folds_used = folds_used[:, :1]  # The first column is that of the lowest alpha.
    uses_nearly_all = (folds_used >= _NEARLY_ALL * most_folds_used).all(axis=0)
    last_decade_with_nearly_all = int(np.flatnonzero(uses_nearly_all).max(initial=0))
    first_exponent = lowest_exponent + last_decade_with_nearly_all
    # Point p of the grid is the alpha 10^(p / PER_DECADE).
    points = range(first_exponent * PER_DECADE, highest_exponent * PER_DECADE + 1)
    return np.array([_alpha_of_point(point) for point in points])


def slider_alphas(alphas: Floats) -> list[float]:
    """Those of a grid that are a slider's steps: the round ones."""
    return [alpha for alpha in alphas.tolist() if alpha == _nearest_step(alpha)]


def _alpha_of_point(point: int) -> float:
    """Three digits, so that an alpha means what is read; two for a step of a slider."""
    exact = 10.0 ** (point / PER_DECADE)
    if point % POINTS_PER_STEP == 0:
        return float(f"{exact:.1e}")
    return float(f"{exact:.2e}")


def _nearest_step(alpha: float) -> float:
    """The step of a slider that is nearest to an alpha."""
    steps_per_decade = PER_DECADE // POINTS_PER_STEP
    return _alpha_of_point(round(math.log10(alpha) * steps_per_decade) * POINTS_PER_STEP)
