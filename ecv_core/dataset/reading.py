"""Batches of rows and their layout -> interactions; all other rows are counted by reason."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

import ecv_core.untrusted.limits as limits
from ecv_core.dataset.bots import rows_of_bots
from ecv_core.dataset.columns import read_ids, read_numbers, read_ratings, read_seconds
from ecv_core.dataset.layout import ABOVE_ZERO, OPTIONS, ROLE_WORDS, Form, Layout, Unreadable
from ecv_core.dataset.losses import (
    LONG_ID,
    NAMES_AGAIN,
    NO_ID,
    NO_RATING,
    NO_TEXT,
    NOT_ABOVE_ZERO,
    OF_A_BOT,
    REPEATED,
    has_or_have,
    no_time_reason,
    way_out,
)
from ecv_core.dataset.plain import PlainFile, Report, check_limits, errors_as_dataset_error
from ecv_core.dataset.rows import Batch, batches
from ecv_core.records.arrays import Codes, Floats, Ids, Indices, Mask
from ecv_core.records.errors import DatasetError
from ecv_core.records.interactions import Interactions

DATE = ("day", "month", "year")
"""Roles of columns that together tell a time, of files of the catalogue."""
_LONGEST_SHOWN = 30
"""Characters of a value that are shown."""


@dataclass(frozen=True, kw_only=True)
class FileContent:
    """What a file holds."""

    interactions: Interactions
    """One per user and item, in the order of the file."""
    rows: int
    """Of the file, without its header and blank lines: those kept and those counted."""
    unused: Mapping[str, int]
    """Reason -> rows that cannot be used; each row has one reason."""
    examples: Mapping[str, str]
    """Reason -> the first of these rows, but for those that repeat others. Its number counts rows
    with the right number of columns, without the one that names them."""


def read_rows(plain: PlainFile, layout: Layout, name: str, report: Report) -> FileContent:
    """Read the whole file.

    Args:
        plain: The file.
        layout: How it is read; it must have a user and an item.
        name: The id of the dataset.
        report: Called with 'read', per mille done, 1000.

    Raises:
        InputError: For a layout without user or item.
        DatasetError: For a file that is beyond the limits, not as the layout says, or has no row
            that can be used.
    """
    if layout.missing:
        words = " and ".join("a " + role.removesuffix("_id") for role in layout.missing)
        options = " and ".join(f"{OPTIONS[role]} COLUMN" for role in layout.missing)
        if not layout.roles:
            options += f", or of a table of samples {OPTIONS['target']} COLUMN"
        raise DatasetError(
            f"the file {plain.name} has no column that looks like "
            f"{words.replace('a item', 'an item')}; name the column ({options})"
        )
    with errors_as_dataset_error(plain.name):
        return read_batches(_limited_batches(plain, layout, report), layout, name)


def _limited_batches(plain: PlainFile, layout: Layout, report: Report) -> Iterator[Batch]:
    """The batches of a file, up to the limit of rows. Raises: Unreadable beyond it."""
    rows = 0
    for batch in batches(plain, layout):
        rows += len(batch) + batch.unfit.count
        check_limits(rows=rows)
        yield batch
        report("read", batch.per_mille, 1000)


def read_strictly(file_batches: Iterable[Batch], layout: Layout, name: str) -> FileContent:
    """As `read_batches`, where every row must be one that can be used. Raises: Unreadable."""
    content = read_batches(file_batches, layout, name)
    for reason, example in content.examples.items():
        count = content.unused[reason]
        raise Unreadable(
            f"{count:,} of its {content.rows:,} rows {has_or_have(count)} {reason} ({example})"
        )
    return content


def read_batches(file_batches: Iterable[Batch], layout: Layout, name: str) -> FileContent:
    """What the rows of a file hold, that come in batches.

    Args:
        file_batches: In the order of the file.
        layout: How the file is read.
        name: The id of the dataset.

    Raises:
        Unreadable if no row can be used, or the ids are too long or too many.
    """
    losses = _Losses()
    # By role, the usable values of each batch.
    chunks: dict[str, list[Any]] = {}
    id_limits = {"user_id": _IdLimit(), "item_id": _IdLimit()}
    row_count = 0
    unfit_line_count = 0
    for batch in file_batches:
        losses.add(batch.unfit.reason, batch.unfit.count, batch.unfit.first)
        unfit_line_count += batch.unfit.count
        if len(batch):
            for role, values in _usable_values(batch, layout, losses, row_count).items():
                chunks.setdefault(role, []).append(values)
            for role, id_limit in id_limits.items():
                id_limit.check(chunks[role])
        row_count += len(batch)
    if not any(map(len, chunks.get("user_id", ()))):
        # No batch has a row that can be used.
        raise Unreadable(_nothing_usable_sentence(losses, row_count + unfit_line_count))
    interactions = _join_and_empty(chunks, name)
    # Arrow would keep the freed memory for itself otherwise.
    pa.default_memory_pool().release_unused()
    interactions = _without_repetitions(interactions, losses)
    if layout.without_bots:
        interactions = _without_bots(interactions, losses)
    return FileContent(
        interactions=interactions,
        rows=row_count + unfit_line_count,
        unused=losses.unused,
        examples=losses.examples,
    )


def _without_repetitions(interactions: Interactions, losses: _Losses) -> Interactions:
    """One interaction of each user and item; the others are counted."""
    kept = _first_row_of_each_pair(interactions)
    repeated_count = len(interactions) - len(kept)
    if not repeated_count:
        return interactions
    losses.unused[REPEATED] = repeated_count
    return interactions.take(kept)


def _without_bots(interactions: Interactions, losses: _Losses) -> Interactions:
    """The interactions of users who may be people; the others are counted."""
    is_of_bot = rows_of_bots(interactions.users, interactions.n_users)
    if not is_of_bot.any():
        return interactions
    first_row = is_of_bot.argmax()
    example = interactions.user_ids[interactions.users[first_row]]
    losses.add(OF_A_BOT, int(is_of_bot.sum()), f"user '{example}'")
    others = interactions.take(np.flatnonzero(~is_of_bot))
    # Codes go from 0 without a gap, so that those of the users who stay are made anew.
    remaining_users, users = np.unique(others.users, return_inverse=True)
    return replace(
        others, users=users.astype(np.int32), user_ids=interactions.user_ids[remaining_users]
    )


def _nothing_usable_sentence(losses: _Losses, rows: int) -> str:
    """Why a file has no row that can be used, and the way out."""
    if not rows:
        return "it has no rows"
    reason, count = losses.unused.most_common(1)[0]
    return (
        f"none of its {rows:,} rows can be used; {count:,} of them have {reason}: {way_out(reason)}"
    )


@dataclass(frozen=True)
class _Losses:
    """The rows so far that cannot be used."""

    unused: Counter[str] = field(default_factory=Counter)
    """Reason -> how many."""
    examples: dict[str, str] = field(default_factory=dict)
    """Reason -> the first of these rows."""

    def add(self, reason: str, count: int, example: str) -> None:
        """Count rows, the first of which reads like the example."""
        if count:
            self.unused[reason] += count
            self.examples.setdefault(reason, example)


# A batch -> the values of its rows that can be used.


def _usable_values(
    batch: Batch, layout: Layout, losses: _Losses, rows_before: int
) -> dict[str, Any]:
    """The values of the rows of a batch that can be used; the other rows are counted.

    Args:
        batch: At least one row.
        layout: How the file is read.
        losses: Where the other rows are counted.
        rows_before: How many rows were in the batches before.

    Returns:
        Role -> ids as an Arrow dictionary, or numbers as an array.
    """
    usable = np.ones(len(batch), dtype=np.bool_)

    def leave_out(reason: str, mask: Mask) -> None:
        # A row counts only for the first reason why it is left out.
        lost_rows = np.flatnonzero(mask & usable)
        if len(lost_rows):
            row = int(lost_rows[0])
            example = f"row {rows_before + row + 1:,}: {_row_words(batch, row)}"
            losses.add(reason, len(lost_rows), example)
            usable[lost_rows] = False

    leave_out(NAMES_AGAIN, _has_names_again(batch, layout))
    if layout.above_zero is not None:
        # The numbers of one column have to be above zero.
        role_of_place = {place: role for role, place in layout.columns_to_read}
        column = batch.columns[role_of_place[layout.above_zero]]
        numbers = read_numbers(column, decimal_comma=layout.decimal_comma)
        leave_out(NOT_ABOVE_ZERO, numbers <= 0)
    columns: dict[str, Any] = {}
    for role, column in batch.columns.items():
        if role == ABOVE_ZERO:
            continue
        values, refusals = _read_column(role, column, layout)
        for reason, mask in refusals.items():
            leave_out(reason, mask)
        columns[role] = values
    # Only now is it known which rows can be used.
    for role, values in columns.items():
        if isinstance(values, pa.Array):
            columns[role] = values.filter(pa.array(usable)).dictionary_encode()
        elif role == "timestamp":
            columns[role] = values[usable]
        else:
            columns[role] = values[usable].astype(np.float32)
    return columns


def _has_names_again(batch: Batch, layout: Layout) -> Mask:
    """Which rows have the names of columns, as where files were joined one after the other."""
    # Numbers that pandas gives to columns without names are ids of users and items, too.
    are_numbered = any(map(str.isdigit, layout.names))
    may_have_names = layout.form is Form.DELIMITED and layout.header and not are_numbered
    has_names = np.full(len(batch), may_have_names)
    if not may_have_names:
        return has_names
    for role, place in layout.roles:
        if role in ("user_id", "item_id"):
            has_names &= _mask(pc.equal(batch.columns[role], layout.names[place]))
    return has_names


def _read_column(
    role: str, column: pa.Array, layout: Layout
) -> tuple[pa.Array | Floats, dict[str, Mask]]:
    """The values of a column with this role, and reason -> which rows it refuses."""
    if role in NO_ID:
        ids = read_ids(column, words_are_missing=layout.words_are_missing)
        refusals = {
            NO_ID[role]: _mask(pc.is_null(ids)),
            LONG_ID: _mask(pc.greater(pc.utf8_length(ids), limits.LONGEST_ID)),
            NO_TEXT: _mask(pc.match_substring(ids, "\0")),
        }
        return ids, refusals
    if role == "rating":
        numbers = read_ratings(column, decimal_comma=layout.decimal_comma)
        reason = NO_RATING
    elif role in DATE:
        numbers = read_numbers(column)
        reason = f"no {role}"
    else:
        numbers = read_seconds(column, layout.unit)
        reason = no_time_reason(layout.unit)
    return numbers, {reason: np.isnan(numbers)}


def _mask(values: pa.Array) -> Mask:
    return pc.fill_null(values, False).to_numpy(zero_copy_only=False)


def _row_words(batch: Batch, row: int) -> str:
    """A row as its columns are written, each cut."""
    words = []
    for role, column in batch.columns.items():
        value = column[row].as_py()
        text = ""
        if value is not None:
            text = str(value)[:_LONGEST_SHOWN]
        words.append(f"{ROLE_WORDS.get(role, role)} '{text}'")
    return ", ".join(words)


# Ids are stored at the width of the longest one, so few long ones among many take much memory.


_ID_BYTES_WITHOUT_CHECK = limits.MAX_ID_BYTES // 4
"""With fewer bytes of ids in the batches so far, it is not checked whether they are too many.

Ids of one length cannot be too many then: a character has one byte here or more, and four bytes in
the NumPy array whose size is limited. Ids of several lengths can, which the check at the end sees.
"""


class _IdLimit:
    """Refuses ids that are too many already, without reading the rest of the file."""

    def __init__(self) -> None:
        self._bytes_so_far = 0
        self._next_check_at = _ID_BYTES_WITHOUT_CHECK

    def check(self, chunks: list[pa.DictionaryArray]) -> None:
        """Check the ids of the batches so far, if they may be too many.

        Args:
            chunks: The chunks of all batches so far; the last one is new.

        Raises:
            Unreadable.
        """
        newest = chunks[-1]
        self._bytes_so_far += newest.dictionary.nbytes
        if self._bytes_so_far < self._next_check_at:
            return
        ids = _join_chunks(chunks).dictionary
        check_ids(ids)
        # The bytes so far count an id once for each batch that has it, but the distinct ids joined
        # here hold it once, so they may have far fewer bytes. A check takes time in proportion to
        # the ids, so the next one waits until at least a quarter is added.
        bytes_until_check_needed = _ID_BYTES_WITHOUT_CHECK - int(ids.nbytes)
        bytes_to_next_check = max(bytes_until_check_needed, self._bytes_so_far // 4)
        self._next_check_at = self._bytes_so_far + bytes_to_next_check


def check_ids(ids: pa.StringArray) -> None:
    """Refuse ids that are too long, or too many of that length. Raises: Unreadable."""
    longest = pc.max(pc.utf8_length(ids)).as_py() or 1
    if longest > limits.LONGEST_ID:
        raise Unreadable(f"it has an id longer than {limits.LONGEST_ID} characters")
    # NumPy stores each id at the width of the longest, four bytes a character.
    bytes_as_array = 4 * longest * len(ids)
    if bytes_as_array > limits.MAX_ID_BYTES:
        raise Unreadable(
            f"it has {len(ids):,} ids with up to {longest} characters, which together need more "
            f"than {limits.MAX_ID_BYTES >> 20:,} MB of memory; shorten the longest"
        )


# The values of all batches -> interactions.


def _join_and_empty(chunks: dict[str, list[Any]], name: str) -> Interactions:
    """All batches as one dataset, in which a user and an item may still stand several times.

    Args:
        chunks: Role -> the values of each batch; empty afterwards.
        name: The name of the dataset.

    Raises:
        Unreadable.
    """
    # Each role is taken away once it is joined, so that its memory is free for the next.
    users, user_ids = _codes_and_ids(chunks.pop("user_id"))
    items, item_ids = _codes_and_ids(chunks.pop("item_id"))
    baskets = None
    if "basket" in chunks:
        baskets = _baskets(chunks.pop("basket"))
    clusters = None
    if "cluster" in chunks:
        clusters = _clusters(chunks.pop("cluster"), users, user_ids)
    numbers = {}
    for role in list(chunks):
        numbers[role] = np.concatenate(chunks.pop(role))
    timestamps = None
    sequence = None
    if "timestamp" in numbers:
        moments = numbers["timestamp"]
        timestamps = np.floor(moments).astype(np.int64)
        # Times are kept as whole seconds. Where these do not tell the order, a sequence does.
        sequence = _order_within_seconds(moments, timestamps, users)
    # Some files of the catalogue have the day, the month and the year in columns of their own.
    if "year" in numbers:
        timestamps = _starts_of_days(numbers["day"], numbers["month"], numbers["year"])
    return Interactions(
        dataset=name,
        users=users,
        items=items,
        user_ids=user_ids,
        item_ids=item_ids,
        ratings=numbers.get("rating"),
        timestamps=timestamps,
        baskets=baskets,
        sequence=sequence,
        clusters=clusters,
    )


def _order_within_seconds(
    moments: Floats, seconds: NDArray[np.int64], users: Codes
) -> NDArray[np.int32] | None:
    """The ranks of all moments, where a user has several in one second; else None.

    Args:
        moments: Unix seconds with fractions; shape (rows,).
        seconds: The same without fractions.
        users: The user of each row.
    """
    if np.array_equal(moments, seconds):  # Most files have whole seconds.
        return None
    # This is the order by user, and within a user from the earliest to the latest.
    by_user = np.lexsort((moments, users))
    is_same_user = np.diff(users[by_user]) == 0
    is_same_second = np.diff(seconds[by_user]) == 0
    is_later = np.diff(moments[by_user]) > 0
    if not (is_same_user & is_same_second & is_later).any():
        # No user has two moments in one second, so that whole seconds tell every order.
        return None
    _, ranks = np.unique(moments, return_inverse=True)
    return ranks.astype(np.int32)


def _codes_and_ids(chunks: list[pa.DictionaryArray]) -> tuple[Codes, Ids]:
    """Codes in the order of first appearance, and the ids. Raises: Unreadable."""
    column = _join_chunks(chunks)
    check_ids(column.dictionary)
    # Each id takes as much memory as the longest one.
    ids = np.array(column.dictionary.to_pylist(), dtype=np.str_)
    return column.indices.to_numpy().astype(np.int32, copy=False), ids


def _join_chunks(chunks: list[pa.DictionaryArray]) -> pa.DictionaryArray:
    """All chunks as one, the ids in the order in which they first appear.

    Batches of one row group of a Parquet file share all its ids, which are looked at once: batch by
    batch, that would take time that grows with the square of the rows.
    """
    # Neighbours with the same ids are joined by their codes alone, and only then all ids unified.
    joined_neighbours = []
    begin = 0
    for end in range(1, len(chunks) + 1):
        ids = chunks[begin].dictionary
        if end == len(chunks) or not chunks[end].dictionary.equals(ids):
            codes = pa.concat_arrays([chunk.indices for chunk in chunks[begin:end]])
            joined_neighbours.append(pa.DictionaryArray.from_arrays(codes, ids))
            begin = end
    return pa.chunked_array(joined_neighbours).unify_dictionaries().combine_chunks()


def _baskets(chunks: list[pa.DictionaryArray]) -> Codes:
    """Baskets from 0: numbers in their order, texts in the order in which they first appear."""
    column = _join_chunks(chunks)
    codes: Codes = column.indices.to_numpy().astype(np.int32, copy=False)
    # A larger number is a later basket. Whole numbers are tried first, as floats round large ones.
    for kind in (pa.int64(), pa.float64()):
        try:
            numbers = column.dictionary.cast(kind).to_numpy(zero_copy_only=False)
        except pa.ArrowInvalid:
            continue
        if np.isfinite(numbers).all():
            _, ranks = np.unique(numbers[codes], return_inverse=True)
            return ranks.astype(np.int32)
    return codes  # Texts keep the order in which they first appear.


def _clusters(chunks: list[pa.DictionaryArray], users: Codes, user_ids: Ids) -> Codes:
    """The cluster of each row's user. Raises: Unreadable if a user is in two, or all in one."""
    codes, names = _codes_and_ids(chunks)
    remedy = "choose another column for the cluster, or none"
    if len(names) == 1:
        raise Unreadable(
            f"every user is in the cluster '{names[0]}', and a single cluster cannot show how "
            f"clusters differ; {remedy}"
        )
    cluster_of_user = np.empty(len(user_ids), dtype=np.int32)
    # The last row of a user stays, and the user's other rows are compared with it below.
    cluster_of_user[users] = codes
    contradictions = np.flatnonzero(cluster_of_user[users] != codes)
    if len(contradictions):
        row = contradictions[0]
        user = users[row]
        raise Unreadable(
            f"user '{user_ids[user]}' is in two clusters, '{names[codes[row]]}' and "
            f"'{names[cluster_of_user[user]]}', but can be in only one; correct it, or {remedy}"
        )
    return codes


def _starts_of_days(
    day: NDArray[np.float32], month: NDArray[np.float32], year: NDArray[np.float32]
) -> NDArray[np.int64]:
    """Unix seconds at the start of each day, UTC; shape (rows,)."""
    # NumPy takes whole numbers for months since 1970, and a month for its first day.
    months = ((year - 1970) * 12 + month - 1).astype(np.int64).astype("datetime64[M]")
    days = months.astype("datetime64[D]") + (day - 1).astype("timedelta64[D]")
    return days.astype("datetime64[s]").astype(np.int64)


def _first_row_of_each_pair(interactions: Interactions) -> Indices:
    """Which row of each user and item is kept: the earliest, or the first where none is earlier.

    Returns:
        Places of the rows to keep, ascending; shape (distinct pairs,).
    """
    users = interactions.users
    n_items = interactions.n_items
    if interactions.n_users * n_items >= 1 << 31:
        # Otherwise 32 bits are enough for a pair, and take half the memory.
        users = users.astype(np.int64)
    pairs = users * n_items + interactions.items
    ascending = np.sort(pairs)
    if (ascending[1:] != ascending[:-1]).all():
        # Most files have no pair twice, and this is found out much faster than which one is.
        return np.arange(len(pairs))
    del ascending
    keys: tuple[NDArray[np.integer], ...] = (pairs,)
    if interactions.history is not None:
        # The last key is the first by which rows are sorted.
        keys = (interactions.history, pairs)
    # The rows of a pair lie side by side in this order, the earliest first; of several that are
    # equally early, that which the file has first, as the sort is stable.
    by_pair = np.lexsort(keys)
    is_first_of_pair = np.diff(pairs[by_pair], prepend=-1) > 0
    return np.sort(by_pair[is_first_of_pair])
