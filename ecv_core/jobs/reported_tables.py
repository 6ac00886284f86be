"""Tables that other code reports of a fold -> recommended lists or predicted ratings, checked."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ecv_core.fold.computing import protocol_of
from ecv_core.jobs.tracked_fold import TrackedFold
from ecv_core.records.arrays import Floats, Ids, Indices
from ecv_core.records.errors import InputError
from ecv_core.records.interactions import Part

if TYPE_CHECKING:
    import pandas as pd

# Columns and ids, checked against the dataset.


def reported_table(source: Path | IO[bytes]) -> pd.DataFrame:
    """A CSV table as `tell` takes it; ids stay texts, also where one is 'NA' or 'null'."""
    import pandas as pd

    ids = {"user_id": str, "item_id": str}
    return pd.read_csv(source, dtype=ids, keep_default_na=False, encoding="utf-8-sig")


def check_columns(table: pd.DataFrame, needed: Sequence[str], way_out: str) -> None:
    """Refuse a table that lacks a column. Raises: InputError."""
    for name in needed:
        if name not in table.columns:
            has = ", ".join(map(str, table.columns))[:200] or "none"
            raise InputError(f"the table has no column '{name}' (it has: {has}); {way_out}")


def codes_of(ids: Collection[Any], dataset_ids: Ids, kind: str, dataset: str) -> Indices:
    """Ids as codes of the dataset; numbers and texts that read the same are the same.

    Args:
        ids: As other code has them.
        dataset_ids: Code -> id.
        kind: 'user' or 'item', for the error.
        dataset: Its name, for the error.

    Raises:
        InputError: For an id that the dataset does not have.
    """
    import pandas as pd

    values = pd.Series(list(ids))
    # pandas turns whole numbers into decimal ones in a column in which one is missing.
    if values.dtype.kind == "f" and (np.isfinite(values) & (values % 1 == 0)).all():
        values = values.astype(np.int64)
    texts = values.astype(str).astype(object)
    codes = pd.Index(dataset_ids.astype(object)).get_indexer(texts)
    unknown_rows = np.flatnonzero(codes < 0)
    if len(unknown_rows):
        unknown = first_and_count(values.to_numpy(), unknown_rows)
        raise InputError(
            f"there is no {kind} {unknown} in {dataset} as it is prepared; use the {kind} ids of "
            "fold.train and fold.test"
        )
    return codes.astype(np.intp, copy=False)


def finite_column(table: pd.DataFrame, column: str) -> Floats:
    """A column's numbers. Raises: InputError for a value that is no finite number."""
    import pandas as pd

    values = pd.to_numeric(table[column], errors="coerce").to_numpy(dtype=np.float64)
    is_finite = np.isfinite(values)
    if not is_finite.all():
        # `argmin` finds the first False: the first row without a finite number.
        row = int(np.argmin(is_finite))
        raise InputError(
            f"row {row + 1} of the table has the {column} '{table[column].iloc[row]}', which is "
            "not a finite number"
        )
    return values


def first_and_count(ids: NDArray[Any], indices: Indices) -> str:
    """The id at the first of these indices, with how many more there are: '17' (and 3 more)."""
    more = ""
    if len(indices) > 1:
        more = f" (and {len(indices) - 1:,} more)"
    return f"'{ids[indices[0]]}'{more}"


@dataclass(frozen=True, kw_only=True, eq=False)
class _Pairs:
    """The user and the item of each row of a table, as codes; each of shape (rows,)."""

    users: NDArray[np.int64]
    items: NDArray[np.int64]
    pair_numbers: NDArray[np.int64]
    """One number for each pair, by which pairs are compared."""


def _pairs(fold: TrackedFold, table: pd.DataFrame) -> _Pairs:
    """The pairs of a table. Raises: InputError for no rows, unknown ids, or a pair twice."""
    import pandas as pd

    data = fold.data
    if not len(table):
        raise InputError(f"the table of fold {fold.index} has no rows")
    users = codes_of(table["user_id"], data.user_ids, "user", data.dataset).astype(np.int64)
    items = codes_of(table["item_id"], data.item_ids, "item", data.dataset).astype(np.int64)
    pair_numbers = users * data.n_items + items
    repeated = pair_numbers[pd.Series(pair_numbers).duplicated()]
    if len(repeated):
        raise InputError(
            f"{_pair_words(fold, repeated[0])} is listed twice in the table; leave one out"
        )
    return _Pairs(users=users, items=items, pair_numbers=pair_numbers)


def _pair_numbers_in(fold: TrackedFold, *parts: Part) -> NDArray[np.int64]:
    """The number of each pair in these parts of the fold, as `_Pairs.pair_numbers` has it."""
    rows = np.isin(fold.parts, parts)
    return fold.data.users[rows].astype(np.int64) * fold.data.n_items + fold.data.items[rows]


def _pair_words(fold: TrackedFold, number: np.int64) -> str:
    """The pair of this number, as of `_Pairs.pair_numbers`, for a sentence."""
    user, item = divmod(int(number), fold.data.n_items)
    return f"item '{fold.data.item_ids[item]}' for user '{fold.data.user_ids[user]}'"


# Recommended items.


def lists_of(fold: TrackedFold, table: pd.DataFrame) -> NDArray[np.int64]:
    """Each user's list, best first.

    Args:
        fold: The fold of which the table is reported.
        table: `user_id`, `item_id`, and `rank` (1 is best), or `score` (higher is better); without
            either the rows of a user are in their order.

    Returns:
        Item codes, -1 where a list is shorter; shape (users, n).

    Raises:
        InputError: For what is unknown, there twice, or no candidate.
    """
    import pandas as pd

    check_columns(table, ("user_id", "item_id"), "recommendations have user_id and item_id")
    pairs = _pairs(fold, table)
    _check_candidates(fold, pairs)
    order = _order_by_user_and_rank(fold, table, pairs)
    users = pairs.users[order]
    items = pairs.items[order]
    # The rank of a row is its place in the user's list, from 0.
    ranks = pd.Series(users).groupby(users).cumcount().to_numpy()
    n = fold.spec.n
    # The lists have a row for each user and a column for each rank; -1 stands for no item.
    lists = np.full((fold.data.n_users, n), -1, dtype=np.int64)
    is_in_list = ranks < n
    lists[users[is_in_list], ranks[is_in_list]] = items[is_in_list]
    return lists


def check_lengths(fold: TrackedFold, lists: NDArray[np.int64]) -> None:
    """Refuse lists that are all too short for the metric. Raises: InputError."""
    users = _users_with_list(fold, lists)
    if not len(users):
        raise InputError(
            f"no user with held-out items in fold {fold.index} has a list; recommend to the "
            "users of fold.test"
        )
    n = fold.spec.n
    lengths = np.count_nonzero(lists[users] >= 0, axis=1)
    seen_counts = np.diff(fold.matrices.seen.indptr)[users]
    longest_possible = np.minimum(n, fold.data.n_items - seen_counts)
    if (lengths < longest_possible).all():
        raise InputError(
            f"the longest list has {lengths.max()} items, but {fold.spec.metric_name} looks at "
            f"{n}; recommend {n} items to each user, or track with a shorter n"
        )


def note_of_missing_lists(fold: TrackedFold, lists: NDArray[np.int64]) -> str:
    """That users with something held out have no list; empty where all of them have one."""
    user_count = np.count_nonzero(fold.held_out_counts)
    count_without_list = user_count - len(_users_with_list(fold, lists))
    if not count_without_list:
        return ""
    return (
        f"{count_without_list:,} of {user_count:,} users with held-out items have no list in fold "
        f"{fold.index}; they count with no hit"
    )


def _users_with_list(fold: TrackedFold, lists: NDArray[np.int64]) -> Indices:
    """Of the users with something held out, those with a list of at least one item."""
    has_list = lists[:, 0] >= 0
    return np.flatnonzero(has_list & (fold.held_out_counts > 0))


def _check_no_other_order(table: pd.DataFrame) -> None:
    """Refuse numbers that may order a user's items, such as those of 'Rank' or 'rating'.

    Raises:
        InputError.
    """
    import pandas as pd

    for name in table.columns:
        # Numbers under names such as 'Unnamed: 0' are those of rows, as pandas writes and reads
        # them.
        if name in ("user_id", "item_id", "index") or str(name).startswith("Unnamed"):
            continue
        numbers = pd.to_numeric(table[name], errors="coerce")
        different_counts = numbers.groupby(table["user_id"]).nunique()
        if numbers.notna().all() and (different_counts > 1).any():
            raise InputError(
                f"the table has neither 'rank' nor 'score', but numbers in '{name}'; call that "
                "column rank (1 is best) or score (higher is better), or leave it out where the "
                "rows of each user are in order"
            )


def _order_by_user_and_rank(fold: TrackedFold, table: pd.DataFrame, pairs: _Pairs) -> Indices:
    """The rows by user, the best first; of equal scores the item with the lower number.

    Raises:
        InputError: For two items of a user with the same rank, and for numbers that may be ranks.
    """
    # `lexsort` sorts by the last of its keys first.
    if "rank" in table.columns:
        ranks = finite_column(table, "rank")
        order = np.lexsort((ranks, pairs.users))
        is_same_user = np.diff(pairs.users[order]) == 0
        is_same_rank = np.diff(ranks[order]) == 0
        tied = np.flatnonzero(is_same_user & is_same_rank)
        if len(tied):
            user = pairs.users[order][tied[0]]
            raise InputError(
                f"two items of user '{fold.data.user_ids[user]}' have the same rank, so their "
                "order is not known; give each its own, or a score"
            )
        return order
    if "score" in table.columns:
        return np.lexsort((pairs.items, -finite_column(table, "score"), pairs.users))
    _check_no_other_order(table)
    # A stable sort leaves the rows of a user in their order.
    return np.argsort(pairs.users, kind="stable")


def _check_candidates(fold: TrackedFold, pairs: _Pairs) -> None:
    """Refuse recommendations of what the protocol does not rank. Raises: InputError."""
    is_in_training = np.isin(
        pairs.pair_numbers, _pair_numbers_in(fold, Part.TRAIN, Part.VALIDATION)
    )
    if is_in_training.any():
        raise InputError(
            f"{is_in_training.sum():,} of {len(is_in_training):,} recommendations are of items "
            "that the user has in training, such as "
            f"{_pair_words(fold, pairs.pair_numbers[is_in_training][0])}; leave out what a user "
            "already has: it is not a candidate"
        )
    item_counts = np.bincount(fold.matrices.train.indices, minlength=fold.data.n_items)
    is_candidate = protocol_of(fold.spec, fold.index).candidates_by(item_counts)
    no_candidates = pairs.items[~is_candidate[pairs.items]]
    if len(no_candidates):
        raise InputError(
            f"item '{fold.data.item_ids[no_candidates[0]]}' is recommended, but nobody has it "
            f"in training, so it is not a candidate here (candidates = {fold.spec.candidates})"
        )


# Predicted ratings.


def ratings_of(fold: TrackedFold, table: pd.DataFrame) -> Floats:
    """Predicted ratings in the order of the held-out ones; shape (held-out ratings,).

    Args:
        fold: The fold of which the table is reported.
        table: `user_id`, `item_id` and `prediction` (or `score`), for every row of fold.test.

    Raises:
        InputError: For what is missing, there twice, or not held out.
    """
    import pandas as pd

    column = "prediction"
    if column not in table.columns:
        column = "score"
    if column not in table.columns:
        raise InputError(
            "the table of predicted ratings has no column 'prediction' or 'score'; give "
            "user_id, item_id and prediction for every row of fold.test"
        )
    # Each pair of a user and an item is looked up by its number.
    reported_pairs = _pairs(fold, table).pair_numbers
    predicted = pd.Series(finite_column(table, column), index=reported_pairs)
    held_out = _pair_numbers_in(fold, Part.TEST)
    without_prediction = np.setdiff1d(held_out, predicted.index)
    _refuse_any_ratings(
        fold,
        without_prediction,
        f"of {len(held_out):,} held-out ratings of fold {fold.index} have no prediction",
    )
    not_held_out = np.setdiff1d(predicted.index, held_out)
    _refuse_any_ratings(
        fold,
        not_held_out,
        f"of {len(predicted):,} predictions are not of what fold {fold.index} holds out",
    )
    return np.asarray(predicted[held_out], dtype=np.float64)


def _refuse_any_ratings(fold: TrackedFold, pair_numbers: NDArray[np.int64], what: str) -> None:
    """Refuse predictions where some pairs are wrong. Raises: InputError.

    Args:
        fold: The fold of which ratings are predicted.
        pair_numbers: The numbers of the wrong pairs, as of `_Pairs.pair_numbers`.
        what: Is wrong with them, for a sentence that begins with their number.
    """
    if len(pair_numbers):
        raise InputError(
            f"{len(pair_numbers):,} {what}, such as that of {_pair_words(fold, pair_numbers[0])}; "
            "predict every row of fold.test, and no others"
        )
