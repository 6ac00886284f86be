"""Scores of two models on the same users -> how sure a mean is, and how sure their difference."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

TIMES = 1.96
"""Standard errors to each side of a 95 % interval of a mean over many users."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sureness:
    """Half widths of 95 % intervals over users, as percent of the first model's mean."""

    mean: float
    """Of the first model's mean."""
    difference: float
    """Of the difference of the two means, user by user."""


def sureness(one: NDArray[np.floating], other: NDArray[np.floating]) -> Sureness:
    """What one fold says of a mean, and of a difference.

    Args:
        one: score per user of the first model; shape (users,), at least two; NaN where the user has
            nothing held out.
        other: of the second, of the same users.
    """
    seen = ~np.isnan(one)
    first = one[seen].astype(np.float64)
    apart = first - other[seen]
    percent = 100 * TIMES / np.sqrt(seen.sum()) / abs(first.mean())
    return Sureness(
        mean=float(percent * first.std(ddof=1)), difference=float(percent * apart.std(ddof=1))
    )
