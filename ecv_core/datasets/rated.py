"""Ratings as they are given -> whether they can be learnt from and predicted, and their scale."""

from __future__ import annotations

from ecv_core.errors import DatasetError
from ecv_core.records import Interactions


def scale_of(rated: Interactions, known: tuple[float, float] | None = None) -> tuple[float, float]:
    """The lowest and the highest rating that can be given.

    Args:
        rated: a dataset with every rating that it has.
        known: the scale, where it is known; by default what occurs.
    Raises: DatasetError for no ratings, some outside the scale, or all the same.
    """
    ratings, name = rated.ratings, rated.dataset
    if ratings is None or not len(ratings):
        raise DatasetError(
            f"{name} has no ratings (a column 'rating'), so there is none to predict; choose "
            "another dataset, or an algorithm that ranks items, such as ease"
        )
    low, high = float(ratings.min()), float(ratings.max())
    if low == high:
        raise DatasetError(
            f"every rating of {name} is {low:g}, so there is nothing to predict; choose another "
            "dataset, or an algorithm that ranks items, such as ease"
        )
    if known is None:
        return low, high
    if low < known[0] or high > known[1]:
        wrong = low if low < known[0] else high
        raise DatasetError(
            f"{name} has a rating of {wrong:g}, but its scale goes from {known[0]:g} to "
            f"{known[1]:g}; correct it, or give the file another name to use it as a dataset of "
            "its own"
        )
    return known
