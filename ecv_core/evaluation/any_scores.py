"""Scores of any kind of array, or of anybody's model -> what ranking takes."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ecv_core.records.errors import InputError

EXACT = 2**53
"""Up to this size float64 holds every whole number."""


class AnyScores:
    """Scores of users x items: an array, or a fitted model with `score(users)`; all checked.

    Arrays may be of numpy, torch or scipy.sparse. -inf says that an item is never recommended.
    """

    def __init__(self, scores: Any, shape: tuple[int, int]) -> None:  # noqa: ANN401  any array or model
        """Hold the scores, or the model that gives them.

        Args:
            scores: an array of this shape, or a model.
            shape: of the whole, (users, items).
        Raises: InputError for an array of another shape.
        """
        self._scores = scores
        self._items = shape[1]
        self._is_model = callable(getattr(scores, "score", None))
        if not self._is_model and tuple(np.shape(scores)) != shape:
            raise InputError(
                f"the scores have the shape {tuple(np.shape(scores))}, but there are {shape[0]:,} "
                f"users and {shape[1]:,} items; give one row per user and one column per item"
            )

    def score(self, users: NDArray[np.intp]) -> NDArray[np.floating]:
        """Scores in the order of those that were given, equal where they are equal.

        Args: users: row numbers; shape (block,).
        Returns: float32 or float64, a copy; shape (block, items).
        Raises: InputError for a wrong shape, or a score that is NaN, +inf or no number.
        """
        rows = _as_array(self._scores.score(users) if self._is_model else self._scores[users])
        if rows.shape != (len(users), self._items):
            raise InputError(
                f"score(users) gave an array of shape {rows.shape} for {len(users):,} users and "
                f"{self._items:,} items; give one row per user and one column per item"
            )
        scores = _as_floats(rows)
        wrong = np.isnan(scores) | (scores == np.inf)
        if wrong.any():
            row, item = np.argwhere(wrong)[0]
            raise InputError(
                f"the score of user {users[row]} (row) and item {item} (column) is "
                f"{scores[row, item]}; scores are finite numbers, or -inf for what is never "
                "recommended"
            )
        return scores


def _as_array(block: Any) -> NDArray[Any]:  # noqa: ANN401  any array
    """An array of numpy."""
    if hasattr(block, "detach"):
        import torch

        tensor = block.detach().cpu()
        if tensor.dtype is torch.bfloat16:  # numpy has no such numbers
            tensor = tensor.float()
        return np.asarray(tensor)
    if hasattr(block, "toarray"):
        return np.asarray(block.toarray())
    return np.asarray(block)


def _as_floats(rows: NDArray[Any]) -> NDArray[np.floating]:
    """Floats in the same order: the numbers themselves, or their ranks where float64 is too coarse.

    Raises: InputError for what is no number.
    """
    if rows.dtype.kind == "c":
        raise InputError(f"scores are ordered, but these are complex numbers ({rows.dtype})")
    if rows.dtype in (np.float16, np.float32):
        return rows.astype(np.float32)
    try:
        floats = rows.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"scores are numbers, but these are {rows.dtype}: {error}") from error
    whole = rows.dtype.kind in "iu"
    if whole and (np.abs(floats) >= EXACT).any():  # such as nanoseconds
        _, ranks = np.unique(rows, return_inverse=True)
        return ranks.reshape(rows.shape).astype(np.float64)
    return floats
