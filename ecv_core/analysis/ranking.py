"""Scores of some algorithms -> who is ahead in each pair, mean ranks, Kendall's tau-b."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np
from numpy.typing import ArrayLike

from ecv_core.evaluation import metric_of
from ecv_core.records.arrays import Floats, Indices
from ecv_core.records.run import RunRecord

_RELATIVE_ROUNDING = 1e-12
"""Relative difference that adding up in another order can make: such scores are equal."""


def place_by_mean(run: RunRecord) -> float:
    """A number to sort runs by one metric by: the best mean is the lowest, no fold comes last."""
    if run.at_stop is None:
        return math.inf
    if metric_of(run.spec).higher_is_better:
        return -run.at_stop.mean
    return run.at_stop.mean


def pair_numbers(count: int) -> tuple[Indices, Indices]:
    """Every pair of `count` algorithms, first < second; two arrays of shape (pairs,)."""
    first, second = np.triu_indices(count, k=1)
    return first, second


def pair_signs(scores: ArrayLike, *, higher_is_better: bool = True) -> Floats:
    """Find who is ahead in each pair of algorithms.

    Args:
        scores: Shape (..., algorithms).
        higher_is_better: Whether a higher score is ahead.

    Returns:
        1 the first, -1 the second, 0 neither; NaN where a score is NaN; shape (..., pairs), in the
        order of `pair_numbers`.
    """
    # The algorithms come first and each one's scores lie together in memory, as it is fastest so.
    values = np.ascontiguousarray(np.moveaxis(np.asarray(scores, dtype=np.float64), -1, 0))
    if not higher_is_better:
        values = -values
    count = len(values)
    rounding = _RELATIVE_ROUNDING * np.abs(values)
    signs = np.empty((math.comb(count, 2), *values.shape[1:]))  # It has the shape (pairs, ...).
    end = 0
    for first in range(count - 1):
        # The pairs of this algorithm with every later one lie together.
        start = end
        end += count - 1 - first
        difference = values[first] - values[first + 1 :]
        differs = np.abs(difference) > np.maximum(rounding[first], rounding[first + 1 :])
        # A sign is 0 where none is ahead.
        np.multiply(np.sign(difference), differs, out=signs[start:end])
    return np.moveaxis(signs + 0.0, 0, -1)  # to add 0 makes a plain zero of each minus zero


def mean_ranks(scores: ArrayLike, *, higher_is_better: bool = True) -> Floats:
    """Rank algorithms by their scores: 1 is best, equal scores share the mean of their ranks.

    Args:
        scores: Shape (..., algorithms).
        higher_is_better: Whether a higher score is ahead.

    Returns:
        Shape (..., algorithms); NaN where a score of the row is NaN.
    """
    signs = pair_signs(scores, higher_is_better=higher_is_better)
    return ranks_of(signs, np.shape(scores)[-1])


def ranks_of(signs: Floats, count: int) -> Floats:
    """Ranks of `count` algorithms from their `pair_signs`; shape (..., algorithms)."""
    # All begin in the middle of the ranks. Each pair moves the one who is ahead up by half a rank,
    # and the other one down.
    ranks = np.full((*signs.shape[:-1], count), (count + 1) / 2)
    for pair, (first, second) in enumerate(combinations(range(count), 2)):
        ranks[..., first] -= signs[..., pair] / 2
        ranks[..., second] += signs[..., pair] / 2
    return ranks


def tau_b(signs: Floats, other_signs: Floats) -> Floats:
    """Kendall's tau-b between two rankings, from their `pair_signs`.

    Args:
        signs: The signs of one ranking; shape (..., pairs).
        other_signs: The other signs of the other; shapes broadcast.

    Returns:
        In [-1, 1], shape (...,); NaN where one ranks all alike, or has a NaN.
    Source: Kendall (1945), The treatment of ties in ranking problems.
    """
    # Sums over pairs. A sign is 0 for a tie, so its square counts the pairs that are not tied.
    agreement = np.einsum("...p,...p->...", signs, other_signs)
    untied = np.einsum("...p,...p->...", signs, signs)
    untied_in_other = np.einsum("...p,...p->...", other_signs, other_signs)
    untied_product = untied * untied_in_other
    with np.errstate(invalid="ignore", divide="ignore"):
        tau: Floats = np.where(untied_product > 0, agreement / np.sqrt(untied_product), np.nan)
    return tau


def taus_of(signs: Floats) -> Floats:
    """Tau-b between every two of several rankings, from their `pair_signs`.

    Args:
        signs: Shape (rankings, ..., pairs).

    Returns:
        Shape (rankings, rankings, ...).
    """
    return tau_b(signs[:, None], signs[None])
