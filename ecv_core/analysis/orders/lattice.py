"""The 2^k sets of folds from small to large, with the steps between them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from ecv_core.errors import InputError

MAX_K = 22
"""Beyond this many folds the sets no longer fit in ordinary memory."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Lattice:
    """Every set of folds, numbered by size: set 0 is empty, the last holds all k."""

    k: int
    masks: NDArray[np.int32]
    """Bit f is set where fold f is in the set; shape (2^k,), sorted by size, then by value."""
    sizes: NDArray[np.int8]
    """Folds in each set; shape (2^k,)."""
    levels: tuple[slice, ...]
    """`levels[n]` are the sets of n folds; n from 0 to k."""
    before: tuple[NDArray[np.int32], ...]
    """`before[n][j, s]` is the set that lacks the j-th fold of the s-th set of `levels[n]`; shape
    (n, sets of n folds)."""

    def contains(self) -> NDArray[np.bool_]:
        """Which folds each set holds; shape (2^k, k)."""
        holds: NDArray[np.bool_] = (self.masks[:, None] >> np.arange(self.k)) & 1 == 1
        return holds


@lru_cache(maxsize=3)
def lattice(k: int) -> Lattice:
    """The sets of k folds; kept, because every system with k folds uses the same.

    Raises: InputError for k below 2 or above MAX_K.
    """
    if k < 2:
        raise InputError(f"at least two scores are needed, but there is only {k}; add folds")
    if k > MAX_K:
        raise InputError(
            f"the exact method takes up to {MAX_K} folds, but there are {k}; "
            "draw random orders instead (orders.sampled)"
        )
    every = np.arange(2**k, dtype=np.int32)
    sizes = np.bitwise_count(every).astype(np.int8)
    masks = every[np.argsort(sizes, kind="stable")]
    number = np.empty_like(every)
    number[masks] = every
    ends = np.cumsum(np.bincount(sizes, minlength=k + 1))
    levels = tuple(
        slice(int(end - size), int(end))
        for end, size in zip(ends, np.diff(ends, prepend=0), strict=True)
    )
    before = []
    for n, level in enumerate(levels):
        rest = masks[level].copy()
        steps = np.empty((n, len(rest)), dtype=np.int32)
        for j in range(n):
            lowest = rest & -rest
            steps[j] = number[masks[level] ^ lowest]
            rest ^= lowest
        before.append(steps)
    return Lattice(k=k, masks=masks, sizes=sizes[masks], levels=levels, before=tuple(before))
