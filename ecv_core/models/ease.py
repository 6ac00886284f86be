"""EASE: the best linear model that predicts each of a user's items from the others."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from ecv_core.models.base import Algorithm, Settings, Sharing
from ecv_core.models.device import BinaryMatrix, best_device, threads
from ecv_core.models.neighbourhood import (
    dense_cooccurrences,
    dense_is_cheaper,
    sparse_cooccurrences,
)
from ecv_core.records.arrays import Indices
from ecv_core.records.errors import RunError
from ecv_core.records.interactions import History
from ecv_core.records.parameters import Parameter
from ecv_core.records.run import Progress, no_progress

if TYPE_CHECKING:
    from scipy.sparse import csr_array
    from torch import Tensor

    from ecv_core.models.base import Fitted


class EASE:
    """Ridge regression of the training matrix on itself, with weights from an item to itself 0.

    Closed form: with P the inverse of X'X + regularization I, the weight from item i to item j is
    -P[i, j] / P[j, j]. Everything is float32: regularization of the size that works keeps the
    condition number far below what that can carry. Peak memory is 3 matrices of items x items.
    """

    def __init__(self, params: Settings) -> None:
        self._regularization: float = params["regularization"]

    def fit(self, train: csr_array, *, seed: int, progress: Progress = no_progress) -> None:
        progress("fit", 0, 3)
        gram = _gram_matrix(train)
        progress("fit", 1, 3)
        self.solve_weights(BinaryMatrix.from_csr(train, gram.device), gram, progress)

    # The number of threads is the same on every machine, because it decides the rounding of scores,
    # and so the order of items whose scores are nearly equal.
    @threads(2)
    def solve_weights(
        self, users_items: BinaryMatrix, gram: Tensor, progress: Progress = no_progress
    ) -> None:
        """Keep the training matrix, and find the weights by which it is scored.

        Args:
            users_items: The training matrix, on the device.
            gram: Users that each pair of items shares; overwritten. Shape (items, items).
            progress: As of `fit`.

        Raises:
            RunError: If they cannot be found.
        """
        import torch

        self._users_items = users_items
        gram.diagonal().add_(self._regularization)
        factor, failed = torch.linalg.cholesky_ex(gram, upper=False)
        if failed.any():
            raise RunError(
                f"ease could not be solved with regularization {self._regularization:g}: the "
                "numbers are too large for it; try a higher one, such as 250"
            )
        progress("fit", 2, 3)
        # The inverse P of the Gram matrix gives the weights: -P divided by the diagonal of P, with
        # 0 on its own diagonal. P is symmetric, but LAPACK stores it by columns, and rows are
        # summed faster if they lie together, so it is transposed.
        weights = torch.cholesky_inverse(factor).mT.contiguous()
        weights.div_(-weights.diagonal().clone())
        weights.fill_diagonal_(0.0)
        self._weights = weights
        progress("fit", 3, 3)

    def free_weights(self) -> None:
        """Give the memory of the weights back; it scores no more."""
        del self._weights

    def score(self, users: Indices) -> Tensor:
        return self._users_items.take_rows(users).times(self._weights)


def _gram_matrix(train: csr_array) -> Tensor:
    """X'X of the training matrix X, on the device; shape (items, items)."""
    import torch

    if dense_is_cheaper(train):
        gram = dense_cooccurrences(train)
    else:
        gram = torch.from_numpy(sparse_cooccurrences(train).toarray())
    return gram.to(best_device())


def _fit_shared(
    models: Sequence[EASE],
    train: csr_array,
    *,
    seed: int,
    progress: Progress,
    history: History | None,
) -> Iterator[tuple[int, Fitted]]:
    """One Gram matrix for all regularizations; it takes a fourth matrix of items x items."""
    progress("fit", 0, 3)
    gram = _gram_matrix(train)
    users_items = BinaryMatrix.from_csr(train, gram.device)
    progress("fit", 1, 3)

    def fitted_models() -> Iterator[tuple[int, Fitted]]:
        for model_index, model in enumerate(models):
            # The Gram matrix is copied, because solving overwrites it.
            model.solve_weights(users_items, gram.clone())
            yield model_index, model
            model.free_weights()  # only one model's weights are in memory at a time

    return fitted_models()


_PARAMETERS = (
    Parameter(
        "regularization",
        250.0,
        "Pulls weights towards zero: more for small or sparse data.",
        low=1e-3,
        high=1e9,
        source="RecBole 1.2.1",
    ),
)

EASE_MODEL = Algorithm(
    id="ease",
    title="EASE",
    summary="Solves, in closed form, for the linear weights between items that best rebuild every "
    "user's items from the others. Hard to beat for its cost up to about ten thousand items; "
    "beyond that its matrix of items x items takes gigabytes of memory.",
    paper="Steck (2019): Embarrassingly shallow autoencoders for sparse data",
    parameters=_PARAMETERS,
    build=EASE,
    sharing=Sharing(parameters=frozenset({"regularization"}), fit=_fit_shared),
    random=False,
    spaces={"default": {"regularization": (25.0, 50.0, 100.0, 250.0, 500.0, 1000.0, 2500.0)}},
)
