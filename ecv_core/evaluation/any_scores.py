"""Scores of any kind of array, or of anybody's model -> what ranking takes."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ecv_core.records.errors import InputError


class AnyScores:
    """Scores of users x items: an array, or a fitted model with `score(users)`; all checked.

    Arrays may be of numpy, torch or scipy.sparse. -inf says that an item is never recommended.
    """

    def __init__(self, given: Any, shape: tuple[int, int]) -> None:  # noqa: ANN401  any array or model
        """Args: given: the scores or the model; shape: of the whole, (users, items).

        Raises: InputError for an array of another shape.
        """
        self._given, self._items = given, shape[1]
        self._model = callable(getattr(given, "score", None))
        if not self._model and tuple(np.shape(given)) != shape:
            raise InputError(
                f"the scores have the shape {tuple(np.shape(given))}, but there are {shape[0]:,} "
                f"users and {shape[1]:,} items; give one row per user and one column per item"
            )

    def score(self, users: NDArray[np.intp]) -> NDArray[np.float32]:
        """As `Scorer.score`. Raises: InputError for a wrong shape, or a score that is no number."""
        given: Any = self._given.score(users) if self._model else self._given[users]
        if hasattr(given, "detach"):  # of torch
            given = given.detach().cpu()
        rows = np.asarray(_dense(given))
        if rows.shape != (len(users), self._items):
            raise InputError(
                f"score(users) gave an array of shape {rows.shape} for {len(users):,} users and "
                f"{self._items:,} items; give one row per user and one column per item"
            )
        try:
            scores = rows.astype(np.float32)
        except (TypeError, ValueError) as error:
            raise InputError(f"scores are numbers, but these are {rows.dtype}: {error}") from error
        wrong = np.isnan(scores) | (scores == np.inf)
        if wrong.any():
            row, item = np.argwhere(wrong)[0]
            raise InputError(
                f"the score of user {users[row]} (row) and item {item} (column) is "
                f"{scores[row, item]}; scores are finite numbers, or -inf for what is never "
                "recommended"
            )
        return np.maximum(scores, np.finfo(np.float32).min)


def _dense(given: Any) -> Any:  # noqa: ANN401  any array
    return given.toarray() if hasattr(given, "toarray") else given
