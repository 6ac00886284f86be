"""Models of this project and of its peers behind one small protocol; each runs in its own Python.

These files run in the peers' environments, which have neither e-fold nor its types: they import
numpy, the peer, and nothing of `ecv_core`, but for `ours`. `benchmarks.peers` starts them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Lists = Mapping[int, NDArray[np.int64]]
"""User -> items, the best first."""
TOP = 10
NEIGHBOURS = 100
FACTORS = 64
RIDGE = 250
"""The regularization of EASE."""
SEED = 42


@dataclass(frozen=True, kw_only=True)
class Fold:
    """A fold, as numbers of users and items."""

    dataset: str
    train: NDArray[np.int32]
    """Users and items; shape (interactions, 2)."""
    test: NDArray[np.int32]
    users: int
    items: int
    folder: Path
    """Where a peer may write."""

    def test_users(self) -> NDArray[np.int32]:
        """Who has something held out, in order."""
        users: NDArray[np.int32] = np.unique(self.test[:, 0])
        return users


class PeerModel(Protocol):
    """A model of a library, with the fold in the library's own form; made before the clock runs.

    Each library's module has one, `Model(name, length, fold)`.
    """

    def fit(self) -> None:
        """Train anew on the fold's training part."""

    def lists(self) -> Lists:
        """The ten best items of every user with something held out, without those of training."""

    def own_score(self) -> float:
        """nDCG@10 by the library's own evaluator; NaN where it has none."""
