"""What a model is to this project: it scores items for users, or it predicts ratings."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from ecv_core.records import History, Pairs, Progress, Ratings, no_progress

if TYPE_CHECKING:
    import torch


class Fitted(Protocol):
    """A model that has learnt: it scores any number of blocks of users."""

    def score(self, users: NDArray[np.intp]) -> torch.Tensor:
        """Scores of all items for a block of users of the training matrix; higher is better.

        Args:
            users: row numbers of the training matrix; shape (block,).
        Returns: float32, shape (block, items), finite, on any device; the caller may overwrite it.
        """


class Recommender(Fitted, Protocol):
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


class SharedFit(Protocol):
    """Several configurations of a model fitted on the same training part, work shared.

    Bit for bit, each gives the scores that it would give fitted on its own. Which configurations
    can be fitted so, an algorithm says by its `Algorithm.sharing`.
    """

    def begin(
        self, train: csr_array, *, seed: int, progress: Progress, history: History | None
    ) -> None:
        """Do what all of them need. Arguments and errors as of `HistoryRecommender.fit`."""

    def fits(self) -> Iterator[tuple[int, Fitted]]:
        """Finish one after the other, in the order that costs least.

        Returns: the place of a configuration among those given, and its model, which is good until
            the next one is asked for.
        Raises: as `Recommender.fit`, for the configuration that comes next.
        """


class Report(Protocol):
    """Told of each step of a fit; it may raise `errors.Cancelled` to end it."""

    def __call__(
        self, step: int, steps: int, predicted: NDArray[np.float64] | None = None, /
    ) -> None:
        """Note a step.

        Args:
            step: how far the fit is.
            steps: how many there are.
            predicted: what the model would answer after this step, where it can say; shape
                (pairs,).
        """


class RatingPredictor(Protocol):
    """A model that learns from ratings and answers what it is asked, in one go.

    In one go, because a sampler's answer is an average over its steps, and keeping every step to
    answer later takes gigabytes. Who is asked about what is known from the start; no rating is.
    """

    def predict(
        self, train: Ratings, asked: Pairs, *, seed: int, report: Report
    ) -> NDArray[np.float64]:
        """Learn from the training part of a fold and predict the ratings of the held-out part.

        Args:
            train: at least one rating. Users and items may have none.
            asked: whose rating of what, and when; users and items may be unknown to `train`. Never
                learnt from.
            seed: fixes every random choice; same seed, same ratings, same machine, same answer.
            report: called before the first and after each step.
        Returns: of any size, the caller clips them to the scale; shape (pairs,).
        Raises: RunError if training diverges; Cancelled from `report`.
        """


Model = Recommender | RatingPredictor
"""What `Algorithm.build` makes; `Algorithm.task` says which."""
