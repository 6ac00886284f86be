"""What a recommender is to this project: fit on a training matrix, score blocks of users."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from ecv_core.records import History, Progress, no_progress

if TYPE_CHECKING:
    import torch


class Recommender(Protocol):
    """A model under evaluation: an instance is fitted once, then scores any number of blocks."""

    def fit(self, train: csr_array, *, seed: int, progress: Progress = no_progress) -> None:
        """Learn from the training part of a fold.

        Args:
            train: shape (users, items), float32; 1.0 where the user has the item in training.
                Rows may be empty. Sorted indices, no explicit zeros.
            seed: fixes every random choice; same seed, same matrix, same device, same scores.
            progress: called with ("fit", step, steps), at least once a second where it can be; a
                model that validates as it trains adds its curve.
        Raises: RunError if training diverges; Cancelled from `progress`.
        """

    def score(self, users: NDArray[np.intp]) -> torch.Tensor:
        """Scores of all items for a block of users of the training matrix; higher is better.

        Args:
            users: row numbers of the training matrix; shape (block,).
        Returns: float32, shape (block, items), finite, on any device; the caller may overwrite it.
        """


class HistoryRecommender(Recommender, Protocol):
    """A model that also learns from baskets, or from order; its `Algorithm.needs` says which."""

    def fit(
        self,
        train: csr_array,
        *,
        seed: int,
        progress: Progress = no_progress,
        history: History | None = None,
    ) -> None:
        """As `Recommender.fit`; with what the model needs, for each stored entry of `train`."""
