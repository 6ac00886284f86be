"""Columns and ids of tables that other code gives, checked against the dataset."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ecv_core.records.errors import InputError

if TYPE_CHECKING:
    import pandas as pd


def known_columns(table: pd.DataFrame, needed: Sequence[str], way_out: str) -> None:
    """Refuse a table that lacks a column. Raises: InputError."""
    if missing := [name for name in needed if name not in table.columns]:
        has = ", ".join(map(str, table.columns))[:200] or "none"
        raise InputError(f"the table has no column '{missing[0]}' (it has: {has}); {way_out}")


def codes_of(
    ids: Collection[Any], known: NDArray[np.str_], what: str, dataset: str
) -> NDArray[np.intp]:
    """Ids as codes of the dataset; numbers and texts that read the same are the same.

    Args:
        ids: as other code has them.
        known: code -> id.
        what: 'user' or 'item'.
        dataset: for the error.
    Raises: InputError for an id that the dataset does not have.
    """
    import pandas as pd

    values = pd.Series(list(ids))
    if values.dtype.kind == "f" and np.isfinite(values).all() and (values % 1 == 0).all():
        values = values.astype(np.int64)  # as pandas turns whole numbers into where one is missing
    codes: NDArray[np.intp] = pd.Index(known.astype(object)).get_indexer(
        values.astype(str).astype(object)
    )
    if len(wrong := np.flatnonzero(codes < 0)):
        more = f" (and {len(wrong) - 1:,} more)" if len(wrong) > 1 else ""
        raise InputError(
            f"there is no {what} '{values.iloc[wrong[0]]}'{more} in {dataset} as it is prepared; "
            f"use the {what} ids of fold.train and fold.test"
        )
    return codes


def finite(table: pd.DataFrame, column: str) -> NDArray[np.float64]:
    """A column's numbers. Raises: InputError for what is none, or is not finite."""
    import pandas as pd

    values = pd.to_numeric(table[column], errors="coerce").to_numpy(dtype=np.float64)
    if len(wrong := np.flatnonzero(~np.isfinite(values))):
        raise InputError(
            f"row {wrong[0] + 1} of the table has the {column} '{table[column].iloc[wrong[0]]}', "
            "which is no finite number"
        )
    return values


def some(ids: NDArray[np.str_], codes: NDArray[np.integer]) -> str:
    """The first of these by its id, with how many more there are: '17 (and 3 more)'."""
    more = f" (and {len(codes) - 1:,} more)" if len(codes) > 1 else ""
    return f"'{ids[codes[0]]}'{more}"
