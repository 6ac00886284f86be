"""NMF: the training matrix as a product of two matrices without negative numbers."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import scipy  # its parts load when they are used

from ecv_core.models.base import SEARCH, Algorithm, Indices, Settings, common, with_source
from ecv_core.models.device import Rows, best_device, threads
from ecv_core.records.parameters import Parameter
from ecv_core.records.run import Progress, no_progress

if TYPE_CHECKING:
    from scipy.sparse import csr_array
    from torch import Tensor


class NMF:
    """Least |X - W'H|^2 + regularization (|W|^2 + |H|^2) with no entry of W and H below 0.

    Solved by coordinate descent, one factor of all users or of all items at a time: the best values
    are known for each in closed form. Lee and Seung's multiplicative updates reach the same
    solutions, but in far more passes. The training matrix stays sparse.

    Source: Cichocki & Phan (2009), HALS, as scikit-learn's solver 'cd'.
    """

    def __init__(self, params: Settings) -> None:
        self._params = params

    def fit(self, train: csr_array, *, seed: int, progress: Progress = no_progress) -> None:
        import torch

        factors = self._params["factors"]
        epochs = self._params["epochs"]
        progress("fit", 0, epochs)
        device = best_device()
        by_user = Rows.of(train, device)
        by_item = Rows.of(scipy.sparse.csr_array(train.T.tocsr()), device)
        random = torch.Generator(device).manual_seed(seed)
        # Twice the mean that makes products as large as the matrix's entries on average.
        high = 2 * float(np.sqrt(train.nnz / (train.shape[0] * train.shape[1] * factors)))
        users, items = train.shape
        self._users = torch.rand((factors, users), generator=random, device=device) * high
        self._items = torch.rand((factors, items), generator=random, device=device) * high
        with threads(1):
            for epoch in range(epochs):
                after_factor = partial(progress, "fit", epoch, epochs)
                self._solve(self._users, by_user, self._items, after_factor)
                self._solve(self._items, by_item, self._users, after_factor)
                progress("fit", epoch + 1, epochs)

    def _solve(
        self, side: Tensor, rows: Rows, other: Tensor, after_factor: Callable[[], None]
    ) -> None:
        """Improve the factors of one side, one after the other, with those of the other fixed.

        Args:
            side: of users or of items, changed in place; shape (factors, own).
            rows: the training matrix, with a row for each column of `side`.
            other: shape (factors, columns of `rows`).
            after_factor: called after each factor; it may raise Cancelled.
        """
        # But for the bound at 0, the best side solves gram @ side = wanted (the normal equations).
        wanted = rows.sums(other.T.contiguous()).T.contiguous()
        gram = other @ other.T
        gram.diagonal().add_(self._params["regularization"])
        for factor, own in enumerate(side):
            slope = wanted[factor] - gram[factor] @ side
            # The slope divided by the curvature is the step to the least loss, cut off below 0.
            # A factor that is all zeros stays so: its slope is 0, whatever it is divided by.
            own.add_(slope / gram[factor, factor].clamp(min=1e-12)).clamp_(min=0)
            after_factor()

    def score(self, users: Indices) -> Tensor:
        import torch

        return self._users[:, torch.as_tensor(users, device=self._users.device)].T @ self._items


_PARAMETERS = with_source(
    SEARCH,
    *common(factors=64),
    Parameter("epochs", 20, "Passes over all factors of users and of items.", low=1, high=10_000),
    Parameter(
        "regularization",
        10.0,
        "Weight of the squared factors: more for small or sparse data.",
        low=0,
        high=1e6,
    ),
)

NMF_MODEL = Algorithm(
    id="nmf",
    title="NMF",
    summary=(
        "Factorises the user-item matrix into parts that only add up and never cancel out. Fits in "
        "a second or two; strong on dense data once regularized, weak on very sparse data."
    ),
    paper="Lee, Seung (2001): Algorithms for non-negative matrix factorization",
    parameters=_PARAMETERS,
    build=NMF,
)
