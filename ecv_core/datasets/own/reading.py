"""A plain file and its layout -> interactions, and every other row counted by its reason."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

import ecv_core.limits as limits
from ecv_core.datasets._content import Unreadable
from ecv_core.datasets._load import ids_of, numbered, one_per_pair
from ecv_core.datasets.own import values
from ecv_core.datasets.own.layout import OPTIONS, Form, Layout, TimeUnit
from ecv_core.datasets.own.plain import Plain, Report, refusals
from ecv_core.datasets.own.rows import Batch, batches
from ecv_core.errors import DatasetError
from ecv_core.records import Interactions

NO_USER, NO_ITEM, NO_BASKET = "no user", "no item", "no basket"
LONG_ID = f"an id longer than {limits.LONGEST_ID} characters"
NO_TEXT = "an id with a null character, which no text has"
NO_RATING = f"no rating, or none that is a number up to {limits.LARGEST_RATING:,.0f}"
REPEATED = "a user and an item again; the earliest of them is kept"
_NO_TIME = {
    TimeUnit.SECONDS: "no time, or none in seconds from the years 1700 to 2199",
    TimeUnit.MILLISECONDS: "no time, or none in milliseconds from the years 1700 to 2199",
    TimeUnit.ISO: "no time, or none as an ISO 8601 date from the years 1700 to 2199",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """What a file holds."""

    interactions: Interactions
    """One per user and item, in the order of the file."""
    rows: int
    """Of the file, without its header and blank lines: those kept and those counted."""
    unused: Mapping[str, int]
    """Reason -> rows that cannot be used; each row has one reason."""
    inner_lines: int
    """Line breaks that end no row: blank lines, and breaks within quotation marks."""


def read_rows(plain: Plain, layout: Layout, name: str, report: Report) -> Reading:
    """Read the whole file.

    Args:
        plain: the file.
        layout: how it is read; it must have a user and an item.
        name: the id of the dataset.
        report: called with 'read', per mille done, 1000.
    Raises: InputError for a layout without user or item; DatasetError for a file that is beyond
        the limits, not as the layout says, or has no row that can be used.
    """
    if layout.missing:
        words = " and ".join("a " + role.removesuffix("_id") for role in layout.missing)
        options = " and ".join(f"{OPTIONS[role]} COLUMN" for role in layout.missing)
        raise DatasetError(
            f"the file {plain.name} has no column that looks like "
            f"{words.replace('a item', 'an item')}; say which one it is ({options})"
        )
    unused: Counter[str] = Counter()
    kept: list[dict[str, Any]] = []
    rows = 0
    with refusals(plain.name):
        for batch in batches(plain, layout):
            count = len(batch.columns["user_id"])
            rows += count + batch.unfit.total()
            if rows > limits.MAX_ROWS:
                raise Unreadable(
                    f"it has more than {limits.MAX_ROWS:,} rows, the most that are read; take a "
                    "part of it"
                )
            unused.update(batch.unfit)
            if count:
                kept.append(_usable(batch, layout, unused))
            report("read", int(1000 * min(batch.share, 1.0)), 1000)
        if not any(len(piece["user_id"]) for piece in kept):
            raise Unreadable(_nothing(unused, rows))
        interactions, repeated = _joined(kept, name)
    unused[REPEATED] = repeated
    return Reading(
        interactions=interactions,
        rows=rows,
        unused={reason: count for reason, count in unused.items() if count},
        inner_lines=_inner_lines(plain, layout, rows),
    )


def _inner_lines(plain: Plain, layout: Layout, rows: int) -> int:
    if layout.form is Form.PARQUET or layout.encoding.startswith("utf-16"):
        return 0
    return max(
        plain.lines - rows - layout.header * (layout.form is Form.DELIMITED) - layout.skip, 0
    )


def _nothing(unused: Counter[str], rows: int) -> str:
    if not rows:
        return "it holds no rows"
    reason, count = unused.most_common(1)[0]
    return (
        f"none of its {rows:,} rows can be used; {count:,} of them have {reason}: see whether the "
        "columns are what they are taken for"
    )


def _usable(batch: Batch, layout: Layout, unused: Counter[str]) -> dict[str, Any]:
    """The rows of a batch that can be used, and the others counted."""
    comma = layout.separator != ","
    columns: dict[str, Any] = {}
    good = np.ones(len(batch.columns["user_id"]), dtype=np.bool_)

    def without(bad: NDArray[np.bool_], reason: str) -> None:
        unused[reason] += int(np.count_nonzero(bad & good))
        good[bad] = False

    for role, written in batch.columns.items():
        if role in ("user_id", "item_id", "basket"):
            columns[role] = ids = values.texts(written)
            without(_mask(pc.is_null(ids)), _NO[role])
            without(_mask(pc.greater(pc.utf8_length(ids), limits.LONGEST_ID)), LONG_ID)
            without(_mask(pc.match_substring(ids, "\0")), NO_TEXT)
        elif role == "rating":
            columns[role] = values.ratings(written, decimal_comma=comma)
            without(np.isnan(columns[role]), NO_RATING)
        else:
            columns[role] = values.seconds(written, layout.unit)
            without(np.isnan(columns[role]), _NO_TIME[layout.unit])
    chosen = pa.array(good)
    return {
        role: column.filter(chosen).dictionary_encode()
        if isinstance(column, pa.Array)
        else column[good].astype(np.int64 if role == "timestamp" else np.float32)
        for role, column in columns.items()
    }


_NO = {"user_id": NO_USER, "item_id": NO_ITEM, "basket": NO_BASKET}


def _mask(values: pa.Array) -> NDArray[np.bool_]:
    found: NDArray[np.bool_] = pc.fill_null(values, False).to_numpy(zero_copy_only=False)
    return found


def _joined(kept: list[dict[str, Any]], name: str) -> tuple[Interactions, int]:
    """All batches as one dataset, and how many rows repeat a user and an item."""
    roles = kept[0].keys()

    def whole(role: str) -> NDArray[Any] | None:
        if role not in roles:
            return None
        return np.concatenate([piece.pop(role) for piece in kept])

    users, user_ids = _codes([piece.pop("user_id") for piece in kept])
    items, item_ids = _codes([piece.pop("item_id") for piece in kept])
    baskets = _baskets([piece.pop("basket") for piece in kept]) if "basket" in roles else None
    times, ratings = whole("timestamp"), whole("rating")
    rows = one_per_pair(users, items, len(item_ids), baskets if times is None else times)
    return (
        Interactions(
            dataset=name,
            users=users[rows],
            items=items[rows],
            user_ids=user_ids,
            item_ids=item_ids,
            ratings=None if ratings is None else ratings[rows],
            timestamps=None if times is None else times[rows],
            baskets=None if baskets is None else baskets[rows],
        ),
        len(users) - len(rows),
    )


def _codes(pieces: list[pa.DictionaryArray]) -> tuple[NDArray[np.int32], NDArray[np.str_]]:
    """Codes in the order of first appearance, and the ids. Raises: Unreadable."""
    together = pa.chunked_array(pieces).unify_dictionaries().combine_chunks()
    return together.indices.to_numpy().astype(np.int32, copy=False), ids_of(together.dictionary)


def _baskets(pieces: list[pa.DictionaryArray]) -> NDArray[np.int32]:
    """Numbers as they follow each other; texts in the order in which they first appear."""
    together = pa.chunked_array(pieces).unify_dictionaries().combine_chunks()
    codes: NDArray[np.int32] = together.indices.to_numpy().astype(np.int32, copy=False)
    for kind in (pa.int64(), pa.float64()):
        try:
            found = together.dictionary.cast(kind).to_numpy(zero_copy_only=False)
        except pa.ArrowInvalid:
            continue
        if np.isfinite(found).all():
            return numbered(found[codes])
    return codes
