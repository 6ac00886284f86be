"""Interactions -> their k-core, with dense codes, sorted by user and item."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ecv_core.records.arrays import Codes, Ids, Indices
from ecv_core.records.errors import DatasetError
from ecv_core.records.interactions import SOMETIMES, Interactions

CORE = 5
"""Users and items with fewer interactions are pruned, as in the paper."""


def prepare(interactions: Interactions, core: int = CORE) -> Interactions:
    """The k-core: users and items with at least `core` interactions each, pruned until stable.

    Args:
        interactions: at most one per (user, item).
        core: at least 0; 0 and 1 only drop ids without any interaction.
    Returns: codes are dense and follow the text order of the ids, interactions are sorted by user
        and then item, so the result does not depend on the order of rows in the source.
    Raises: DatasetError if nothing is left.
    """
    kept = core_rows(interactions, core)
    if not len(kept):
        raise DatasetError(
            f"nothing of dataset '{interactions.dataset}' survives {core}-core pruning: no part of "
            f"its {len(interactions):,} interactions ({interactions.n_users:,} users, "
            f"{interactions.n_items:,} items) gives every user and item {core} of them; "
            "use a denser or larger dataset"
        )
    users, user_ids = _recode(interactions.users[kept], interactions.user_ids)
    items, item_ids = _recode(interactions.items[kept], interactions.item_ids)
    order = ascending_places(users.astype(np.int64) * len(item_ids) + items)
    rows = kept[order]
    attributes = {}
    for name in SOMETIMES:
        values = getattr(interactions, name)
        if values is not None:
            attributes[name] = values[rows]
    return replace(
        interactions,
        users=users[order],
        items=items[order],
        user_ids=user_ids,
        item_ids=item_ids,
        **attributes,
    )


def ascending_places(numbers: NDArray[np.int64]) -> Indices:
    """The places of numbers that all differ, in the order in which the numbers ascend.

    Numbers sort several times faster than places by the numbers there: so each is sorted with its
    place in its last bits, where 63 bits hold both.

    Args:
        numbers: at least 0; shape (places,).
    """
    if (numbers[1:] > numbers[:-1]).all():  # as of rows that are in order, which many files have
        return np.arange(len(numbers))
    bits = len(numbers).bit_length()
    if len(numbers) and int(numbers.max()) >= 1 << (63 - bits):
        return np.argsort(numbers)
    numbers_and_places = (numbers << bits) | np.arange(len(numbers))
    numbers_and_places.sort()
    return numbers_and_places & ((1 << bits) - 1)


def core_rows(interactions: Interactions, core: int) -> Indices:
    """Which interactions are left by pruning to the k-core; their places, ascending."""
    rows = np.arange(len(interactions))
    users = interactions.users
    items = interactions.items
    while True:
        users_have_enough = np.bincount(users, minlength=1) >= core
        items_have_enough = np.bincount(items, minlength=1) >= core
        kept = users_have_enough[users] & items_have_enough[items]
        if kept.all():
            return rows
        # What goes takes interactions from others, who may then have too few.
        rows = rows[kept]
        users = users[kept]
        items = items[kept]


def _recode(codes: Codes, ids: Ids) -> tuple[Codes, Ids]:
    """Dense codes in the text order of the ids that occur, and those ids."""
    occurring = np.flatnonzero(np.bincount(codes, minlength=len(ids)))
    by_text = occurring[np.argsort(ids[occurring], kind="stable")]
    new_code = np.full(len(ids), -1, dtype=np.int32)
    new_code[by_text] = np.arange(len(by_text), dtype=np.int32)
    return new_code[codes], ids[by_text]
