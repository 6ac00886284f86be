"""Tables of recommended items, or of predicted ratings -> arrays, every row checked."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ecv_core.errors import InputError
from ecv_core.records import Part, RunSpec
from ecv_core.tracking.handed import Handed
from ecv_core.tracking.tables import codes_of, finite, known_columns

if TYPE_CHECKING:
    import pandas as pd


def lists_of(spec: RunSpec, handed: Handed, table: pd.DataFrame) -> tuple[NDArray[np.int64], str]:
    """Each user's list, best first, and a note where users with something held out have none.

    Args:
        spec: of the run.
        handed: the fold.
        table: `user_id`, `item_id`, and `rank` (1 is best), or `score` (higher is better); without
            either the rows of a user are in their order.
    Returns: item codes, -1 where a list is shorter; shape (users, n).
    Raises: InputError for what is unknown, there twice, no candidate, or too short.
    """
    known_columns(table, ("user_id", "item_id"), "recommendations have user_id and item_id")
    users, items = _pairs(handed, table)
    order = _order(handed, table, users)
    users, items = users[order], items[order]
    _check_candidates(spec, handed, users, items)
    counts = np.bincount(users, minlength=handed.data.n_users)
    places = np.arange(len(users)) - np.repeat(np.cumsum(counts) - counts, counts)
    short = places < spec.n
    lists = np.full((handed.data.n_users, spec.n), -1, dtype=np.int64)
    lists[users[short], places[short]] = items[short]
    return lists, _note(spec, handed, counts)


def ratings_of(handed: Handed, table: pd.DataFrame) -> NDArray[np.float64]:
    """Predicted ratings in the order of the held-out ones; shape (held-out ratings,).

    Args:
        handed: the fold.
        table: `user_id`, `item_id` and `prediction` (or `score`), for every row of fold.test.
    Raises: InputError for what is missing, there twice, or not held out.
    """
    column = "score" if "prediction" not in table.columns else "prediction"
    if column not in table.columns:
        raise InputError(
            "the table of predicted ratings has neither a column 'prediction' nor 'score'; give "
            "user_id, item_id and prediction for every row of fold.test"
        )
    users, items = _pairs(handed, table)
    predicted = finite(table, column)
    held, width = handed.parts == Part.TEST, handed.data.n_items
    asked = handed.data.users[held].astype(np.int64) * width + handed.data.items[held]
    given = users * width + items
    order = np.argsort(given)
    at = np.searchsorted(given[order], asked)
    there = np.append(given[order], -1)[at] == asked
    if not there.all():
        raise InputError(
            f"{(~there).sum():,} of {len(asked):,} held-out ratings of fold {handed.index} have no "
            f"prediction, such as that of {_pair(handed, int(asked[np.argmin(there)]))}; predict "
            "every row of fold.test"
        )
    if len(given) > len(asked):
        strange = given[~np.isin(given, asked)][0]
        raise InputError(
            f"a rating is predicted of {_pair(handed, int(strange))}, which is not held out in "
            f"fold {handed.index}; predict the rows of fold.test, no others"
        )
    found: NDArray[np.float64] = predicted[order][at]
    return found


def _pairs(handed: Handed, table: pd.DataFrame) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    data = handed.data
    if not len(table):
        raise InputError(f"the table of fold {handed.index} has no rows")
    users = codes_of(table["user_id"], data.user_ids, "user", data.dataset).astype(np.int64)
    items = codes_of(table["item_id"], data.item_ids, "item", data.dataset).astype(np.int64)
    keys = users * data.n_items + items
    _, first = np.unique(keys, return_index=True)
    if len(first) < len(keys):
        twice = np.delete(keys, first)[0]
        raise InputError(f"{_pair(handed, int(twice))} is in the table twice; leave one out")
    return users, items


def _order(handed: Handed, table: pd.DataFrame, users: NDArray[np.int64]) -> NDArray[np.intp]:
    """Rows by user, the best first."""
    if "rank" in table.columns:
        rank = finite(table, "rank")
        order = np.lexsort((rank, users))
        same = (np.diff(users[order]) == 0) & (np.diff(rank[order]) == 0)
        if same.any():
            user = users[order][np.argmax(same)]
            raise InputError(
                f"two items of user '{handed.data.user_ids[user]}' have the same rank, so their "
                "order is not known; give each its own, or a score"
            )
        return order
    if "score" in table.columns:
        return np.lexsort((-finite(table, "score"), users))
    return np.argsort(users, kind="stable")


def _check_candidates(
    spec: RunSpec, handed: Handed, users: NDArray[np.int64], items: NDArray[np.int64]
) -> None:
    keys, width = users * handed.data.n_items + items, handed.data.n_items
    own = np.isin(handed.parts, (Part.TRAIN, Part.VALIDATION))
    seen = handed.data.users[own].astype(np.int64) * width + handed.data.items[own]
    if (there := np.isin(keys, seen)).any():
        raise InputError(
            f"{there.sum():,} of {len(keys):,} recommendations are of items that the user has in "
            f"training, such as {_pair(handed, int(keys[np.argmax(there)]))}; leave out what a "
            "user has: it is no candidate"
        )
    if spec.candidates == "train":
        learnt = np.unique(handed.data.items[handed.parts == Part.TRAIN])
        if (strange := ~np.isin(items, learnt)).any():
            raise InputError(
                f"item '{handed.data.item_ids[items[np.argmax(strange)]]}' is recommended, but "
                "nobody has it in training, so it is no candidate here (candidates = train)"
            )


def _note(spec: RunSpec, handed: Handed, counts: NDArray[np.intp]) -> str:
    """Says who counts with an empty list. Raises: InputError where lists are too short."""
    held = np.unique(handed.data.users[handed.parts == Part.TEST])
    listed = held[counts[held] > 0]
    if not len(listed):
        raise InputError(
            f"no user with held-out items in fold {handed.index} has a list; recommend to the "
            "users of fold.test"
        )
    own = np.isin(handed.parts, (Part.TRAIN, Part.VALIDATION))
    left = handed.data.n_items - np.bincount(handed.data.users[own], minlength=handed.data.n_users)
    if (counts[listed] < np.minimum(spec.n, left[listed])).all():
        raise InputError(
            f"the longest list has {counts[listed].max()} items, but {spec.metric_name} looks at "
            f"{spec.n}; recommend {spec.n} items to each user, or track with a shorter n"
        )
    none = len(held) - len(listed)
    return (
        f"{none:,} of {len(held):,} users with held-out items have no list in fold "
        f"{handed.index}; they count with no hit"
        if none
        else ""
    )


def _pair(handed: Handed, key: int) -> str:
    user, item = divmod(key, handed.data.n_items)
    return f"item '{handed.data.item_ids[item]}' for user '{handed.data.user_ids[user]}'"
