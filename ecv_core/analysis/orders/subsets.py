"""Fold scores -> mean, spread and interval of every set of folds."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ecv_core.records.arrays import Floats, Mask
from ecv_core.records.errors import InputError
from ecv_core.stopping.interval import differences_percent, t_factors

# The 2^k sets of folds from small to large, with the steps between them.


MAX_K = 22
"""Beyond this many folds the sets no longer fit in ordinary memory."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Lattice:
    """Every set of folds, numbered by size: set 0 is empty, the last holds all k."""

    k: int
    masks: NDArray[np.int32]
    """Bit f is set where fold f is in the set; shape (2^k,), sorted by size, then by value."""
    sizes: NDArray[np.int8]
    """Folds in each set; shape (2^k,)."""
    levels: tuple[slice, ...]
    """`levels[n]` are the sets of n folds; n from 0 to k."""
    smaller_sets: tuple[NDArray[np.int32], ...]
    """`smaller_sets[n][j, s]` is the set that lacks the j-th fold of the s-th set of `levels[n]`;
    shape (n, sets of n folds)."""

    def contains(self) -> Mask:
        """Which folds each set holds; shape (2^k, k)."""
        return (self.masks[:, None] >> np.arange(self.k)) & 1 == 1


@lru_cache(maxsize=3)
def lattice(k: int) -> Lattice:
    """The sets of k folds; kept, because every system with k folds uses the same.

    Raises:
        InputError: For k above MAX_K.
    """
    if k > MAX_K:
        raise InputError(
            f"the exact method takes at most {MAX_K} folds, but there are {k}; draw random "
            "orders instead (orders.drawn.drawn_orders)"
        )
    ascending_masks = np.arange(2**k, dtype=np.int32)
    sizes = np.bitwise_count(ascending_masks).astype(np.int8)
    masks = ascending_masks[np.argsort(sizes, kind="stable")]
    # `masks` has the mask of each set; this has the number of the set with each mask.
    set_of_mask = np.empty_like(masks)
    set_of_mask[masks] = np.arange(2**k)
    levels = []
    smaller_sets = []
    begin = 0
    for n, set_count in enumerate(np.bincount(sizes).tolist()):
        level = slice(begin, begin + set_count)
        levels.append(level)
        smaller_sets.append(_sets_without_a_fold(masks[level], n, set_of_mask))
        begin = level.stop
    return Lattice(
        k=k, masks=masks, sizes=sizes[masks], levels=tuple(levels), smaller_sets=tuple(smaller_sets)
    )


def _sets_without_a_fold(
    masks: NDArray[np.int32], set_size: int, set_of_mask: NDArray[np.int32]
) -> NDArray[np.int32]:
    """`Lattice.smaller_sets` of the sets that have these masks; shape (set_size, sets).

    Args:
        masks: The masks of the sets; shape (sets,).
        set_size: How many folds each of them has, and so how many bits are set.
        set_of_mask: Mask -> number of its set; shape (2^k,).
    """
    remaining = masks.copy()
    smaller_sets = np.empty((set_size, len(masks)), dtype=np.int32)
    for j in range(set_size):
        lowest = remaining & -remaining  # The lowest bit that is set is the j-th fold of the set.
        smaller_sets[j] = set_of_mask[masks ^ lowest]
        remaining ^= lowest
    return smaller_sets


class SetMoments(NamedTuple):
    """What is known of every set of k values; shape (2^k,), the set of the bits b in row b."""

    means: Floats
    """0 for the empty set."""
    squared_deviations: Floats
    """The sum of the squared distances from the mean; 0 for fewer than two values."""


def moments_by_mask(values: Floats) -> SetMoments:
    """The moments of every set of values, as bit j of a row says whether value j is in its set.

    The values join the sets one at a time, as in Welford's method: no difference of nearly equal
    squares is taken, so equal values have no spread at all.

    Args:
        values: Shape (k,).
    """
    means = np.zeros(1)
    squared_deviations = np.zeros(1)
    sizes = np.zeros(1)
    for value in values:
        # Each set so far stays, and comes again with this value, whose bit is the next higher one.
        # Its moments follow by Welford's update.
        distances = value - means
        larger_sizes = sizes + 1
        means_with_value = means + distances / larger_sizes
        squared_deviations_with_value = squared_deviations + distances**2 * sizes / larger_sizes
        means = np.concatenate([means, means_with_value])
        squared_deviations = np.concatenate([squared_deviations, squared_deviations_with_value])
        sizes = np.concatenate([sizes, larger_sizes])
    return SetMoments(means, squared_deviations)


class FoldSubsets:
    """What is known of each of the 2^k sets of folds; arrays are numbered as in the Lattice.

    Attributes:
        scores: one per fold; shape (k,).
        lattice: the sets.
        means, deviations: of each set's scores, n-1 in the denominator; shape (2^k,); the mean of
            no score and the deviation of fewer than two are NaN.
        differences: d(mean, k-fold mean) in percent; shape (2^k,).
    """

    def __init__(self, scores: ArrayLike) -> None:
        self.scores = checked_scores(scores)
        self.lattice: Lattice = lattice(len(self.scores))
        low = float(self.scores.min())
        score_range = float(np.ptp(self.scores)) or 1.0
        # All is computed from distances to the lowest score, in units of the range: so it is as
        # exact for scores near 1000 as near 0.
        means, squared_deviations = moments_by_mask((self.scores - low) / score_range)
        masks = self.lattice.masks
        sizes = self.lattice.sizes
        self.means: Floats = low + score_range * means[masks]
        self.means[0] = np.nan  # the empty set comes first
        self.deviations: Floats = np.full(len(masks), np.nan)
        has_spread = sizes >= 2
        variances = squared_deviations[masks][has_spread] / (sizes[has_spread] - 1.0)
        self.deviations[has_spread] = score_range * np.sqrt(variances)
        self.differences = differences_percent(self.means, self.k_fold_mean)

    def with_means(self, means: Floats) -> FoldSubsets:
        """The same sets, with these estimates of the k-fold mean in place of their plain means.

        Args:
            means: Shape (2^k,); that of all folds must be the k-fold mean.
        """
        subsets = copy(self)  # its scores and their deviations stay as they are
        subsets.means = means  # that of all folds is the k-fold mean as before
        subsets.differences = differences_percent(means, subsets.k_fold_mean)
        return subsets

    @property
    def k(self) -> int:
        """Number of folds."""
        return len(self.scores)

    @property
    def k_fold_mean(self) -> float:
        """The mean of all folds, which every set is compared with."""
        return float(self.means[-1])  # the set of all folds comes last

    def half_widths(self, confidence: float) -> Floats:
        """Half the width of each set's confidence interval, Student's t; NaN below two folds.

        Returns:
            Shape (2^k,).
        """
        factors = np.concatenate([[np.nan], t_factors(self.k, confidence)])
        return factors[self.lattice.sizes] * self.deviations


def checked_scores(scores: ArrayLike) -> Floats:
    """The scores as numbers; shape (k,).

    Raises:
        InputError: For fewer than two, or for one that is not a finite number.
    """
    try:
        values = np.array(scores, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(f"fold scores must be numbers, but are {scores!r}") from None
    if values.ndim != 1:
        raise InputError(f"fold scores must be one list, but have the shape {values.shape}")
    if len(values) < 2:
        raise InputError(f"at least two scores are needed, but there is only {len(values)}")
    if not np.all(np.isfinite(values)):
        fold = int(np.flatnonzero(~np.isfinite(values))[0])
        raise InputError(f"the score of fold {fold} must be a finite number, but is {values[fold]}")
    return values
