"""Bias: a rating is the mean of all, what its item gets more, and what its user gives more."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ecv_core.models.base import Algorithm, Report, with_source
from ecv_core.records.interactions import Pairs, Ratings
from ecv_core.records.parameters import Parameter
from ecv_core.records.spec import Task

Floats = NDArray[np.float64]


class Bias:
    """Damped means: of few ratings little is believed. Unknown users and items add nothing."""

    def __init__(self, params: Mapping[str, Any]) -> None:
        self._damping = params["user_damping"], params["item_damping"]

    def predict(self, train: Ratings, asked: Pairs, *, seed: int, report: Report) -> Floats:
        report(0, 1)
        mean, users, items = biases(train, *self._damping)
        predicted: Floats = mean + users[asked.users] + items[asked.items]
        report(1, 1, predicted)
        return predicted


def biases(
    train: Ratings, user_damping: float, item_damping: float
) -> tuple[float, Floats, Floats]:
    """The mean, what each user adds and what each item adds, from items first, then users.

    Args:
        train: ratings.
        user_damping, item_damping: ratings equal to what is known before, as many as are added.
    Returns: shapes (), (users,) and (items,); 0 for users and items without a rating.
    Source: Koren, Bell (2011), Advances in Collaborative Filtering, section 5.2.1.
    """
    mean = train.mean
    left = train.values - mean
    items = _damped(left, train.items, train.n_items, item_damping)
    users = _damped(left - items[train.items], train.users, train.n_users, user_damping)
    return mean, users, items


def _damped(left: Floats, codes: NDArray[np.int32], size: int, damping: float) -> Floats:
    sums = np.bincount(codes, weights=left, minlength=size)
    counts = np.bincount(codes, minlength=size) + damping
    damped: Floats = np.divide(sums, counts, out=np.zeros(size), where=counts > 0)
    return damped


BIAS = Algorithm(
    id="bias",
    title="Bias (damped means)",
    summary=(
        "Predicts a rating from the mean of all, its item's and its user's deviation, each drawn "
        "towards zero where there are few ratings. Costs next to nothing; the baseline that every "
        "personal model of ratings has to beat."
    ),
    paper="Koren, Bell (2011): Advances in Collaborative Filtering",
    task=Task.RATINGS,
    parameters=with_source(
        "LensKit 2025.8",
        Parameter(
            "user_damping",
            5.0,
            "Ratings without deviation that every user is given beside the own ones.",
            low=0,
            high=1e6,
        ),
        Parameter(
            "item_damping",
            5.0,
            "Ratings without deviation that every item is given beside the own ones.",
            low=0,
            high=1e6,
        ),
    ),
    build=Bias,
    random=False,
)
