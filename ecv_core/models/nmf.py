"""NMF: the training matrix as a product of two matrices without negative numbers."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from ecv_core.models.base import SEARCH, Algorithm, Settings, common, with_source
from ecv_core.models.device import BinaryMatrix, best_device, threads
from ecv_core.records.arrays import Indices
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
        users_items = BinaryMatrix.from_csr(train, device)
        items_users = BinaryMatrix.from_csr(train.T.tocsr(), device)
        random = torch.Generator(device).manual_seed(seed)
        user_count, item_count = train.shape
        # Factors with this mean have products as large as the matrix's entries are on average.
        mean = float(np.sqrt(train.nnz / (user_count * item_count * factors)))
        user_draws = torch.rand((factors, user_count), generator=random, device=device)
        item_draws = torch.rand((factors, item_count), generator=random, device=device)
        self._user_factors = user_draws * (2 * mean)
        self._item_factors = item_draws * (2 * mean)
        with threads(1):  # the products are too small to be worth sharing between cores
            for epoch in range(epochs):
                after_factor = partial(progress, "fit", epoch, epochs)
                self._improve(self._user_factors, users_items, self._item_factors, after_factor)
                self._improve(self._item_factors, items_users, self._user_factors, after_factor)
                progress("fit", epoch + 1, epochs)

    def _improve(
        self,
        factors: Tensor,
        matrix: BinaryMatrix,
        fixed_factors: Tensor,
        after_factor: Callable[[], None],
    ) -> None:
        """Improve the factors of users or of items in place, with those of the others fixed.

        Args:
            factors: Changed, one factor after the other; shape (factors, rows of `matrix`).
            matrix: The training matrix; transposed, where the factors are those of items.
            fixed_factors: Shape (factors, columns of `matrix`).
            after_factor: Called after each factor; it may raise Cancelled.
        """
        # Without the bound at 0 the best factors would solve the normal equations,
        # gram @ factors = targets.
        targets = matrix.times(fixed_factors.T.contiguous()).T.contiguous()
        gram = fixed_factors @ fixed_factors.T
        gram.diagonal().add_(self._params["regularization"])
        for number, factor in enumerate(factors):
            residual = targets[number] - gram[number] @ factors
            # The residual divided by the curvature is the step to the least loss, cut off below 0.
            # A factor that is all zeros stays so: its residual is 0, whatever it is divided by.
            curvature = gram[number, number].clamp(min=1e-12)
            factor.add_(residual / curvature).clamp_(min=0)
            after_factor()

    def score(self, users: Indices) -> Tensor:
        import torch

        columns = torch.as_tensor(users, device=self._user_factors.device)
        return self._user_factors[:, columns].T @ self._item_factors


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
