"""Scores of any kind of array, or of anybody's model -> what ranking takes."""

from __future__ import annotations

from typing import Any

import numpy as np

from ecv_core.records.arrays import AnyArray, AnyFloats, Floats, Indices
from ecv_core.records.errors import InputError

MOST_EXACT_INTEGER = 2**53
"""Up to this size float64 holds every whole number."""
_INDEXED_BY_ROW = ("csr", "csc", "lil", "dok")
"""Forms of scipy's sparse matrices of which rows can be taken."""


class AnyScores:
    """Scores of users x items: an array, or a fitted model with `score(users)`; all checked.

    Arrays may be of numpy, torch or scipy.sparse, lists of lists, or frames of pandas and polars,
    whose rows and columns are users and items by their places. -inf says that an item is never
    recommended.
    """

    def __init__(self, scores: Any, shape: tuple[int, int]) -> None:  # noqa: ANN401  any array or model
        """Hold the scores, or the model that gives them.

        Args:
            scores: An array of this shape, or a model.
            shape: The shape of the whole, (users, items).

        Raises:
            InputError: For an array of another shape, and for what is no array of numbers.
        """
        self._item_count = shape[1]
        self._is_model = callable(getattr(scores, "score", None))
        self._scores = scores
        if self._is_model:
            return
        self._scores = _indexable_by_users(scores)
        if tuple(np.shape(self._scores)) != shape:
            raise InputError(
                f"the scores have the shape {tuple(np.shape(self._scores))}, but there are "
                f"{shape[0]:,} users and {shape[1]:,} items; give one row per user and one column "
                "per item"
            )

    def score(self, users: Indices) -> AnyFloats:
        """Scores in the order of those that were given, equal where they are equal.

        Args:
            users: Row numbers; shape (block,).

        Returns:
            Float32 or float64, a copy; shape (block, items).

        Raises:
            InputError: For a wrong shape, or a score that is NaN, +inf or no number.
        """
        if self._is_model:
            block = self._scores.score(users)
        else:
            block = self._scores[users]
        rows = _as_array(block)
        if rows.shape != (len(users), self._item_count):
            raise InputError(
                f"score(users) gave an array of shape {rows.shape} for {len(users):,} users and "
                f"{self._item_count:,} items; give one row per user and one column per item"
            )
        scores = _as_floats(rows)
        is_refused = np.isnan(scores) | (scores == np.inf)
        if is_refused.any():
            row, item = np.argwhere(is_refused)[0]
            raise InputError(
                f"the score of user {users[row]} (row) and item {item} (column) is "
                f"{scores[row, item]}; scores are finite numbers, or -inf for what is never "
                "recommended"
            )
        return scores


def _indexable_by_users(scores: Any) -> Any:  # noqa: ANN401  any array
    """The same as something of which rows can be taken by their numbers.

    Raises:
        InputError: For rows of different lengths, and frames whose labels say another order.
    """
    if hasattr(scores, "columns"):  # a frame of pandas or polars
        _check_labels(scores)
        return scores.to_numpy()
    if hasattr(scores, "toarray"):  # a sparse matrix of scipy
        if scores.format in _INDEXED_BY_ROW and hasattr(scores, "__getitem__"):
            return scores
        return scores.tocsr()
    if hasattr(scores, "to_dense"):  # a tensor of torch
        return _dense(scores)
    if hasattr(scores, "shape"):  # an array
        return scores
    try:
        return np.asarray(scores)
    except ValueError as error:
        raise InputError(
            f"the scores are no array of users x items ({error}); give one row per user and one "
            "column per item"
        ) from None


def _check_labels(frame: Any) -> None:  # noqa: ANN401  a frame of pandas or polars
    """Refuse labels that number rows or columns in another order. Raises: InputError."""
    row_labels = getattr(frame, "index", None)  # A frame of polars has no index.
    for axis, labels in (("column", frame.columns), ("row", row_labels)):
        numbers = np.asarray(labels)
        if numbers.dtype.kind not in "iu":
            continue
        places = np.arange(len(numbers))
        if np.array_equal(np.sort(numbers), places) and not np.array_equal(numbers, places):
            raise InputError(
                f"the {axis}s of the frame of scores are taken in their order, but their labels, "
                f"{', '.join(map(str, numbers[:5]))}, ..., number them in another one; sort the "
                "frame by them, or give an array"
            )


def _dense(tensor: Any) -> Any:  # noqa: ANN401  a tensor of torch
    """The same with every number stored, where it is one of a sparse layout."""
    import torch

    if tensor.layout is torch.strided:
        return tensor
    return tensor.to_dense()


def _as_array(block: Any) -> AnyArray:  # noqa: ANN401  any array
    """An array of numpy. Raises: InputError for masked scores, for a mask has no order."""
    if hasattr(block, "detach"):  # a tensor of torch
        import torch

        tensor = _dense(block.detach()).cpu()
        if tensor.dtype is torch.bfloat16:  # numpy has no such numbers
            tensor = tensor.float()
        return np.asarray(tensor)
    if hasattr(block, "toarray"):  # a sparse matrix of scipy
        return np.asarray(block.toarray())
    if hasattr(block, "columns"):  # a frame of pandas or polars
        _check_labels(block)
        return np.asarray(block.to_numpy())
    if np.ma.is_masked(block):
        raise InputError(
            "the scores are a masked array, in which some scores are missing; give what must not "
            "be recommended the score -inf: scores.filled(-np.inf)"
        )
    return np.asarray(block)


def _as_floats(rows: AnyArray) -> AnyFloats:
    """Floats in the same order: the numbers themselves, or their ranks where float64 is too coarse.

    Raises:
        InputError: For what is no number.
    """
    # numpy's kinds of numbers: c is complex, i and u are whole, m and M times, f floats, O objects.
    if rows.dtype.kind == "c":
        raise InputError(f"scores are ordered, but these are complex numbers ({rows.dtype})")
    if rows.dtype in (np.float16, np.float32):
        return rows.astype(np.float32)
    try:
        floats = rows.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"scores are numbers, but these are {rows.dtype}: {error}") from error
    if rows.dtype.kind in "mM":  # times are counted in whole numbers
        floats[np.isnat(rows)] = np.nan
    if _loses_order(rows, floats):  # Nanoseconds do, which have more digits than floats.
        _replace_by_ranks(floats, rows)
    return floats


def _replace_by_ranks(floats: Floats, exact_numbers: AnyArray) -> None:
    """Replace floats, in place, by the ranks of the exact numbers that they round, from 0.

    As floats, 2^53 and 2^53 + 1 are the same number. With 7 beside them, their ranks are 1, 2 and
    0, which keep their order; a ranking needs no more. What is NaN or infinite as a float stays so.

    Args:
        floats: Changed; any shape.
        exact_numbers: The exact numbers of a finer type, such as whole numbers above 2^53; of the
            same shape.
    """
    is_finite = np.isfinite(floats)
    # The rank of a number is its place among the distinct numbers, which `unique` sorts.
    _, ranks = np.unique(exact_numbers[is_finite], return_inverse=True)
    floats[is_finite] = ranks.ravel()


def _loses_order(rows: AnyArray, floats: Floats) -> bool:
    """Whether rows that differ may be equal, or infinite, as float64."""
    if rows.dtype.kind in "iumM":  # These may be nanoseconds.
        return bool((np.abs(floats) >= MOST_EXACT_INTEGER).any())
    # Wider floats, and objects of Python, may have more digits.
    if rows.dtype.kind in "Of" and rows.dtype != np.float64:
        is_number = ~np.isnan(floats)
        return bool((rows[is_number] != floats[is_number]).any())
    return False
