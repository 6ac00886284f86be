"""Ratings as they are given -> the scale on which they can be predicted."""

from __future__ import annotations

from ecv_core.records.errors import DatasetError
from ecv_core.records.interactions import Interactions


def scale_of(interactions: Interactions, scale: tuple[float, float] | None) -> tuple[float, float]:
    """The lowest and the highest rating that can be given.

    Args:
        interactions: A dataset with every rating that it has.
        scale: Where it is known; by default what occurs.

    Raises:
        DatasetError: For no ratings, some outside the scale, or all the same.
    """
    ratings = interactions.ratings
    name = interactions.dataset
    if ratings is None or not len(ratings):
        raise DatasetError(
            f"{name} has no ratings (no column 'rating'), so there is nothing to predict; "
            "choose another dataset, or an algorithm that ranks items, such as ease"
        )
    low = float(ratings.min())
    high = float(ratings.max())
    if low == high:
        raise DatasetError(
            f"every rating of {name} is {low:g}, so there is nothing to predict; choose another "
            "dataset, or an algorithm that ranks items, such as ease"
        )
    if scale is None:
        return low, high
    if low < scale[0]:
        raise _outside_scale(name, low, scale)
    if high > scale[1]:
        raise _outside_scale(name, high, scale)
    return scale


def _outside_scale(name: str, rating: float, scale: tuple[float, float]) -> DatasetError:
    return DatasetError(
        f"{name} has a rating of {rating:g}, but its scale goes from {scale[0]:g} to "
        f"{scale[1]:g}; correct it, or give the file another name to use it as a dataset of "
        "its own"
    )
