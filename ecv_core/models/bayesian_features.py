"""Ratings -> the features of factorization machines, as relation blocks: u, i, t, iu, ii."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, csr_matrix, hstack

from ecv_core.errors import DatasetError
from ecv_core.records import Pairs, Ratings

DAY = 86_400


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Block:
    """Features that many ratings share, and which of its rows each rating has.

    `train` and `asked` have shape (ratings,) and (pairs,); `rows` shape (rows, features).
    """

    rows: csr_matrix
    train: NDArray[np.intp]
    asked: NDArray[np.intp]
    groups: tuple[int, ...]
    """Features of each kind, in their order: a prior is learnt for each kind."""


def blocks(
    train: Ratings,
    asked: Pairs,
    *,
    days: int = 1,
    time: bool = False,
    items_of_user: bool = False,
    users_of_item: bool = False,
) -> list[Block]:
    """The features of table 3 of the paper, from training ratings alone.

    Whoever is unknown to training has no feature of its own: the answer then comes from what is
    known of the others. A time without a training rating likewise.

    Args:
        train: what is learnt from.
        asked: what is to be predicted.
        time: t, the period of `days` days in which the rating was given.
        items_of_user: iu, the items that the user has rated, each 1 / sqrt(their number).
        users_of_item: ii, the users who have rated the item, alike.
        days: see `time`.
    Raises: DatasetError if times are asked for that are not there.
    Source: Rendle, Zhang, Koren (2019), section 5.1; weights as in Koren (2008), SVD++.
    """
    ones = np.ones(len(train))
    shape = train.n_users, train.n_items
    rated = csr_array((ones, (train.users, train.items)), shape=shape)
    found = [
        _block(rated, train.users, asked.users, items_of_user),
        _block(rated.T.tocsr(), train.items, asked.items, users_of_item),
    ]
    if time:
        found.append(_times(train.pairs, asked, days))
    return found


def _block(
    rated: csr_array, train: NDArray[np.int32], asked: NDArray[np.int32], implicit: bool
) -> Block:
    counts = np.diff(rated.indptr)
    known = np.flatnonzero(counts)
    own = csr_array(
        (np.ones(len(known)), (known, np.arange(len(known)))), shape=(rated.shape[0], len(known))
    )
    parts, groups = [own], [len(known)]
    if implicit:
        others = np.unique(rated.indices)
        weights = np.repeat(1 / np.sqrt(np.maximum(counts, 1)), counts)
        bag = csr_array(
            (weights, np.searchsorted(others, rated.indices), rated.indptr),
            shape=(rated.shape[0], len(others)),
        )
        parts, groups = [own, bag], [*groups, len(others)]
    return Block(
        rows=csr_matrix(hstack(parts, format="csr"), dtype=np.float64),
        train=train.astype(np.intp),
        asked=asked.astype(np.intp),
        groups=tuple(groups),
    )


def _times(train: Pairs, asked: Pairs, days: int) -> Block:
    if train.timestamps is None or asked.timestamps is None:
        raise DatasetError("ratings without times have no feature of time")
    periods, codes = np.unique(train.timestamps // (days * DAY), return_inverse=True)
    wanted = asked.timestamps // (days * DAY)
    places = np.searchsorted(periods, wanted).clip(max=len(periods) - 1)
    # The last row is empty: of a period that training does not know.
    rows = csr_array(
        (np.ones(len(periods)), (np.arange(len(periods)), np.arange(len(periods)))),
        shape=(len(periods) + 1, len(periods)),
    )
    return Block(
        rows=csr_matrix(rows, dtype=np.float64),
        train=codes.astype(np.intp),
        asked=np.where(periods[places] == wanted, places, len(periods)).astype(np.intp),
        groups=(len(periods),),
    )
