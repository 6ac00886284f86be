"""Interactions -> their k-core, with dense codes, sorted by user and item."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ecv_core.records.arrays import Codes, Ids, Indices
from ecv_core.records.errors import DatasetError
from ecv_core.records.interactions import Interactions

CORE = 5
"""Users and items with fewer interactions are pruned, as in the paper."""
WITHOUT_PRUNING = 0
"""The k of a k-core that has all interactions."""


def prepare(interactions: Interactions, core: int = CORE) -> Interactions:
    """The k-core: users and items with at least `core` interactions each, pruned until stable.

    Args:
        interactions: At most one per (user, item).
        core: At least 0; 0 and 1 only drop ids without any interaction.

    Returns:
        Codes are dense and follow the text order of the ids, interactions are sorted by user and
        then item, so the result does not depend on the order of rows in the source.

    Raises:
        DatasetError: If nothing is left.
    """
    kept_rows = core_rows(interactions, core)
    if not len(kept_rows):
        raise DatasetError(
            f"nothing of dataset '{interactions.dataset}' survives {core}-core pruning: no part of "
            f"its {len(interactions):,} interactions ({interactions.n_users:,} users, "
            f"{interactions.n_items:,} items) gives every user and item {core} of them; "
            "use a denser or larger dataset"
        )
    users, user_ids = _dense_codes(interactions.users[kept_rows], interactions.user_ids)
    items, item_ids = _dense_codes(interactions.items[kept_rows], interactions.item_ids)
    by_user_and_item = ascending_places(users.astype(np.int64) * len(item_ids) + items)
    return replace(
        interactions.take(kept_rows[by_user_and_item]),
        users=users[by_user_and_item],
        items=items[by_user_and_item],
        user_ids=user_ids,
        item_ids=item_ids,
    )


def ascending_places(numbers: NDArray[np.int64]) -> Indices:
    """The places of numbers that all differ, in the order in which the numbers ascend.

    Args:
        numbers: At least 0; shape (places,).
    """
    if (numbers[1:] > numbers[:-1]).all():
        # The rows of many files are in order already.
        return np.arange(len(numbers))
    bits_of_place = len(numbers).bit_length()
    do_both_fit = not len(numbers) or int(numbers.max()) < 1 << (63 - bits_of_place)
    if not do_both_fit:
        return np.argsort(numbers)
    # A number and its place are packed into one integer, as these sort several times faster than
    # places do: the number in the higher bits, its place in the lower ones.
    packed = (numbers << bits_of_place) | np.arange(len(numbers))
    packed.sort()
    lower_bits = (1 << bits_of_place) - 1
    return packed & lower_bits


def core_rows(interactions: Interactions, core: int) -> Indices:
    """Which interactions are left by pruning to the k-core; their places, ascending."""
    rows = np.arange(len(interactions))
    users = interactions.users
    items = interactions.items
    while True:
        users_have_enough = np.bincount(users, minlength=1) >= core
        items_have_enough = np.bincount(items, minlength=1) >= core
        is_kept = users_have_enough[users] & items_have_enough[items]
        if is_kept.all():
            return rows
        # What goes takes interactions from others, who may then have too few.
        rows = rows[is_kept]
        users = users[is_kept]
        items = items[is_kept]


def _dense_codes(codes: Codes, ids: Ids) -> tuple[Codes, Ids]:
    """Dense codes in the text order of the ids that occur, and those ids."""
    occurring_codes = np.flatnonzero(np.bincount(codes, minlength=len(ids)))
    in_order_of_ids = occurring_codes[np.argsort(ids[occurring_codes], kind="stable")]
    new_code = np.full(len(ids), -1, dtype=np.int32)  # -1 stands for ids that do not occur.
    new_code[in_order_of_ids] = np.arange(len(in_order_of_ids), dtype=np.int32)
    return new_code[codes], ids[in_order_of_ids]
