"""A plain file and its layout -> interactions or samples; all other rows counted by reason."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

import ecv_core.untrusted.limits as limits
from ecv_core.dataset.layout import OPTIONS, UNIT_TEXTS, Form, Layout, TimeUnit, Unreadable
from ecv_core.dataset.plain import Plain, Report, check_limits, refusals
from ecv_core.dataset.rows import NO_OBJECT, WIDTH, Batch, batches
from ecv_core.records.errors import DatasetError
from ecv_core.records.interactions import Interactions

if TYPE_CHECKING:
    import pandas as pd

# Dates as people and programs write them -> Unix seconds; which part comes first, by a sample.

_TIDY = (
    (r"\s?(UTC|GMT)$", "Z"),
    (r"\s?Uhr$", ""),
    (r"^[A-Za-z]{2,9}\.?,\s+", ""),  # the name of the day
    (r"(\d)\s?([AaPp])\.?[Mm]\.?$", r"\1 \2M"),
    (r"^(\d{1,2})[.\s-]+([A-Za-z\x{e4}]{3})[a-z]*[.,\s-]+(\d{4})", r"\3-\2-\1"),
    (r"^(\d{1,2})[.\s-]+([A-Za-z\x{e4}]{3})[a-z]*[.,\s-]+([0-6]\d)([\s,]|$)", r"20\3-\2-\1\4"),
    (r"^(\d{1,2})[.\s-]+([A-Za-z\x{e4}]{3})[a-z]*[.,\s-]+([7-9]\d)([\s,]|$)", r"19\3-\2-\1\4"),
    (r"^([A-Za-z\x{e4}]{3})[a-z]*[.\s]+(\d{1,2}),?\s+(\d{4})", r"\3-\1-\2"),
)
"""Patterns and what is written for them, in Arrow's syntax."""
_MONTHS = r"""
    jan feb m[a\x{e4}]r apr ma[iy] jun jul aug sep o[ck]t nov de[cz]
"""
"""The first three letters of their names in English and German."""
_NUMBERS = r"^(\d{1,2})[./-](\d{1,2})[./-](\d{4}|\d\d)(\D|$)"
_ORDERS = {
    TimeUnit.DAY_FIRST: (_NUMBERS, r"\3-\2-\1\4"),
    TimeUnit.MONTH_FIRST: (_NUMBERS, r"\3-\1-\2\4"),
}
_CENTURIES = ((r"^([0-6]\d)-(\d)", r"20\1-\2"), (r"^([7-9]\d)-(\d)", r"19\1-\2"))
"""Years of two digits are those from 1970 to 2069."""
_AFTER_DATE = ((r"^([\d-]+),\s*", r"\1 "), (r"^([\d-]+)\s+", r"\1 "))


def unix_seconds(texts: pa.Array, unit: TimeUnit) -> NDArray[np.float64]:
    """Unix seconds of dates with or without a time; NaN where there is none. Shape (rows,).

    A date without a zone is taken for UTC. ISO 8601 and names of months are read in any order.

    Args:
        texts: without space around them.
        unit: ISO, DAY_FIRST or MONTH_FIRST.
    """
    moments = _moments(texts, "ISO8601")
    for form in ("ISO8601", "%Y-%m-%d %I:%M:%S %p", "%Y-%m-%d %I:%M %p"):
        if not (missing := np.isnat(moments)).any():
            break
        moments[missing] = _moments(_year_first(texts.filter(pa.array(missing)), unit), form)
    return np.where(np.isnat(moments), np.nan, moments.astype(np.int64) / 1e9)


def _moments(texts: pa.Array, form: str) -> NDArray[np.datetime64]:
    import pandas as pd

    parsed = pd.to_datetime(texts.to_pandas(), format=form, utc=True, errors="coerce")
    return parsed.to_numpy(dtype="datetime64[ns]", copy=True)


def _year_first(texts: pa.Array, unit: TimeUnit) -> pa.Array:
    """The dates with year, month and day as numbers, in this order, wherever they have all."""
    changes: tuple[tuple[str, str], ...] = _TIDY
    if unit in _ORDERS:
        changes += (_ORDERS[unit], *_CENTURIES)
    changes += _AFTER_DATE
    if pc.any(pc.match_substring_regex(texts, r"[A-Za-z\x{e4}]{3}")).as_py():
        names = enumerate(_MONTHS.split(), start=1)
        changes += tuple((f"(?i)^(\\d{{4}})-{name}-", f"\\1-{at:02}-") for at, name in names)
    for pattern, written in changes:
        texts = pc.replace_substring_regex(texts, pattern, written)
    return texts


def orders(values: Sequence[str]) -> tuple[list[TimeUnit], int]:
    """The orders of day, month and year in which most of these are dates, and how many are.

    More than one order fits where no date tells: the likeliest comes first.
    """
    texts = pa.array(values, pa.string())
    fitting: dict[TimeUnit, int] = {}
    slash = any("/" in value for value in values)
    units = [TimeUnit.ISO, TimeUnit.DAY_FIRST, TimeUnit.MONTH_FIRST]
    for unit in units[:1] + units[1:][:: -1 if slash else 1]:
        fitting[unit] = int(np.isfinite(unix_seconds(texts, unit)).sum())
    most = max(fitting.values())
    if fitting[TimeUnit.ISO] == most:
        return [TimeUnit.ISO], most
    return [unit for unit, count in fitting.items() if count == most], most


# Arrow arrays of a column as it is written -> ids, numbers and Unix seconds; null is unusable.


_NUMBER = r"^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,3})?$"
_LONGEST_NUMBER = 64
_DECIMAL_COMMA = r"^([+-]?\d*),(\d+)$"
_NO_THOUSANDS = r"^([+-]?\d*),(\d{1,2}|\d{4,})$"
"""Where commas separate columns: '1,234' may be a thousand, '3,5' is none."""


def texts(values: pa.Array) -> pa.Array:
    """Ids as text, null where there is none; a longer one than may be is cut one sign after that.

    Raises: Unreadable for a column of lists, structures or bytes, which are no ids.
    """
    values = _decoded(values, limits.LONGEST_ID + 1)
    if not pa.types.is_string(values.type):
        try:
            values = values.cast(pa.string())
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
            raise Unreadable(
                f"a column of ids holds {values.type}, and ids are texts or numbers; choose "
                "another column"
            ) from error
        values = _decoded(values, limits.LONGEST_ID + 1)
    empty = pc.or_(pc.equal(values, ""), pc.utf8_is_space(values))
    return pc.if_else(empty, pa.scalar(None, pa.string()), values)


def numbers(values: pa.Array, *, decimal_comma: bool = False) -> NDArray[np.float64]:
    """Finite numbers; NaN where there is none. Shape (rows,).

    Args:
        values: numbers, or texts.
        decimal_comma: whether '1,234' is less than two; '3,5' is three and a half anyway.
    """
    values = _decoded(values, _LONGEST_NUMBER)
    if pa.types.is_string(values.type):
        values = _parsed(pc.utf8_trim_whitespace(values), decimal_comma)
    else:
        try:
            values = values.cast(pa.float64(), safe=False)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
            return np.full(len(values), np.nan)
    parsed: NDArray[np.float64] = values.to_numpy(zero_copy_only=False).astype(np.float64)
    return np.where(np.isfinite(parsed), parsed, np.nan)


def _decoded(values: pa.Array, longest: int) -> pa.Array:
    """Texts of at most `longest` characters, so that dictionaries can be spelled out."""
    if pa.types.is_dictionary(values.type):
        return _decoded(values.dictionary, longest).take(values.indices)
    if pa.types.is_large_string(values.type) or pa.types.is_string(values.type):
        return pc.utf8_slice_codeunits(values, 0, longest).cast(pa.string())
    return values


def _parsed(values: pa.Array, decimal_comma: bool) -> pa.Array:
    try:
        return values.cast(pa.float64())
    except pa.ArrowInvalid:
        pass
    comma = _DECIMAL_COMMA if decimal_comma else _NO_THOUSANDS
    values = pc.replace_substring_regex(values, comma, r"\1.\2")
    good = pc.match_substring_regex(values, _NUMBER)
    return pc.if_else(good, values, pa.scalar(None, values.type)).cast(pa.float64())


def ratings(values: pa.Array, *, decimal_comma: bool) -> NDArray[np.float64]:
    """Ratings; NaN where there is none, or one that is a mistake. Shape (rows,)."""
    parsed = numbers(values, decimal_comma=decimal_comma)
    return np.where(np.abs(parsed) <= limits.LARGEST_RATING, parsed, np.nan)


def seconds(values: pa.Array, unit: TimeUnit) -> NDArray[np.float64]:
    """Whole Unix seconds; NaN where there is no time, or one beyond the limits. Shape (rows,)."""
    if pa.types.is_temporal(values.type):
        moments = _of_moments(values)
    elif unit not in (TimeUnit.SECONDS, TimeUnit.MILLISECONDS):
        moments = _of_dates(values, unit)
    else:
        moments = numbers(values)
        if unit is TimeUnit.MILLISECONDS:
            moments = moments / 1000
    inside = (moments >= limits.EARLIEST) & (moments < limits.LATEST)
    return np.floor(np.where(inside, moments, np.nan))


def _of_moments(values: pa.Array) -> NDArray[np.float64]:
    """Of timestamps and dates as Parquet has them; a time of day alone is none."""
    try:
        moments = values.cast(pa.timestamp("s"), safe=False)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return np.full(len(values), np.nan)
    return numbers(moments.cast(pa.int64()))


def _of_dates(values: pa.Array, unit: TimeUnit) -> NDArray[np.float64]:
    values = _decoded(values, _LONGEST_NUMBER)
    if pa.types.is_integer(values.type):  # such as 20230122
        values = values.cast(pa.string())
    if not pa.types.is_string(values.type):
        return np.full(len(values), np.nan)
    return unix_seconds(pc.utf8_trim_whitespace(values), unit)


DATE = ("day", "month", "year")
"""Roles of columns that together tell a time, of files of the catalogue."""
NO_USER, NO_ITEM, NO_BASKET = "no user", "no item", "no basket"
_NO = {"user_id": NO_USER, "item_id": NO_ITEM, "basket": NO_BASKET, "cluster": "no cluster"}
LONG_ID = f"an id longer than {limits.LONGEST_ID} characters"
NO_TEXT = "an id with a null character, which no text has"
NO_RATING = f"no rating, or none that is a number up to {limits.LARGEST_RATING:,.0f}"
_ROLE_WORDS = {"user_id": "user", "item_id": "item", "timestamp": "time"}
_LONGEST = 30
"""Characters of a value that are shown."""
REPEATED = "a user and an item again; the earliest of them is kept"
_NO_TIME = {
    unit: f"no time, or none from 1700 to 2199 as {words}" for unit, words in UNIT_TEXTS.items()
}
_COLUMNS = "see whether the columns are what they are taken for"
_WAYS_OUT = {
    NO_RATING: "choose another column for the rating, or none",
    WIDTH: "see whether separator and quotation marks are what they are taken for",
    NO_OBJECT: "correct these lines",
} | dict.fromkeys(
    _NO_TIME.values(), "say how times are written, choose another column for them, or none"
)
MOST_LOST = 0.1
"""The share of rows that may be lost without a word: with more, something is read wrongly."""


def loss(unused: Mapping[str, int], rows: int) -> str:
    """Why more than MOST_LOST of the rows would be lost, and the way out; empty where they are not.

    Rows that repeat a user and an item are not lost: what they say is kept once.

    Args:
        unused: reason -> rows that cannot be used.
        rows: of the file.
    """
    reasons = Counter({why: count for why, count in unused.items() if why != REPEATED})
    lost = reasons.total()
    if not reasons or lost <= MOST_LOST * rows:
        return ""
    why, count = reasons.most_common(1)[0]
    share = f"{lost:,} of {rows:,} rows ({100 * lost / rows:.0f} %) would be lost"
    have = "has" if count == 1 else "have"
    return f"{share}: {count:,} {have} {why}; {_WAYS_OUT.get(why, _COLUMNS)}"


@dataclass(frozen=True, slots=True, kw_only=True)
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


def read_rows(plain: Plain, layout: Layout, name: str, report: Report) -> FileContent:
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
    with refusals(plain.name):
        return reading_of(_limited(plain, layout, report), layout, name)


def _limited(plain: Plain, layout: Layout, report: Report) -> Iterator[Batch]:
    rows = 0
    for batch in batches(plain, layout):
        rows += len(batch) + batch.unfit
        check_limits(rows=rows)
        yield batch
        report("read", int(1000 * min(batch.share, 1.0)), 1000)


def reading_of(pieces: Iterable[Batch], layout: Layout, name: str) -> FileContent:
    """What the rows of a file hold, that come in batches. Raises: Unreadable."""
    unused: Counter[str] = Counter()
    examples: dict[str, str] = {}
    kept: list[dict[str, Any]] = []
    fitting = 0
    no_row = NO_OBJECT if layout.form is Form.JSON_LINES else WIDTH
    looked_at = {"user_id": _FIRST_LOOK, "item_id": _FIRST_LOOK}
    for batch in pieces:
        if batch.unfit:
            unused[no_row] += batch.unfit
            examples.setdefault(no_row, batch.first)
        if len(batch):
            kept.append(_usable(batch, layout, unused, examples, fitting))
            for role, bytes_before in looked_at.items():
                looked_at[role] = _check_so_far([one[role] for one in kept], bytes_before)
        fitting += len(batch)
    rows = fitting + unused[no_row]
    if not any(len(piece["user_id"]) for piece in kept):
        raise Unreadable(_nothing(unused, rows))
    interactions, unused[REPEATED] = _joined(kept, name)
    unused = Counter({reason: count for reason, count in unused.items() if count})
    return FileContent(interactions=interactions, rows=rows, unused=unused, examples=examples)


def read_strictly(pieces: Iterable[Batch], layout: Layout, name: str) -> FileContent:
    """As `reading_of`, where every row must be one that can be used. Raises: Unreadable."""
    reading = reading_of(pieces, layout, name)
    for reason, example in reading.examples.items():
        count = f"{reading.unused[reason]:,} of its {reading.rows:,} rows"
        has = "has" if reading.unused[reason] == 1 else "have"
        raise Unreadable(f"{count} {has} {reason} ({example})")
    return reading


_FIRST_LOOK = limits.MAX_ID_BYTES // 4 * 21 // 20
"""Bytes of ids in all batches so far, each batch by itself. With fewer they are not too many, for
of ids of one length each takes four bytes a character later."""


def _check_so_far(pieces: list[pa.DictionaryArray], look_at: int) -> int:
    """Refuse ids that are too many already, without reading the rest; gives when to look again.

    Args:
        pieces: the batches so far.
        look_at: as of `_FIRST_LOOK`.
    Raises: Unreadable.
    """
    together: int = sum(piece.dictionary.nbytes for piece in pieces)
    if together < look_at:
        return look_at
    ids = pa.chunked_array(pieces).unify_dictionaries().chunk(0).dictionary
    check_ids(ids)
    # A look takes time in proportion, so the next comes once there is a quarter more.
    return together + max(_FIRST_LOOK - int(ids.nbytes), together // 4)


def _nothing(unused: Counter[str], rows: int) -> str:
    if not rows:
        return "it holds no rows"
    reason, count = unused.most_common(1)[0]
    return (
        f"none of its {rows:,} rows can be used; {count:,} of them have {reason}: "
        f"{_WAYS_OUT.get(reason, _COLUMNS)}"
    )


def _usable(
    batch: Batch, layout: Layout, unused: Counter[str], examples: dict[str, str], before: int
) -> dict[str, Any]:
    """The rows of a batch that can be used, and the others counted, the first of them told.

    Args: before: how many rows were in the batches before.
    """
    comma = layout.separator != ","
    columns: dict[str, Any] = {}
    good = np.ones(len(batch), dtype=np.bool_)

    def without(bad: NDArray[np.bool_], reason: str) -> None:
        if count := int(np.count_nonzero(bad & good)):
            unused[reason] += count
            if reason not in examples:
                at = int((bad & good).argmax())
                examples[reason] = f"row {before + at + 1:,}: {_shown(batch, at)}"
            good[bad] = False

    for role, written in batch.columns.items():
        if role in _NO:
            columns[role] = ids = texts(written)
            without(_mask(pc.is_null(ids)), _NO[role])
            without(_mask(pc.greater(pc.utf8_length(ids), limits.LONGEST_ID)), LONG_ID)
            without(_mask(pc.match_substring(ids, "\0")), NO_TEXT)
        elif role == "rating":
            columns[role] = ratings(written, decimal_comma=comma)
            without(np.isnan(columns[role]), NO_RATING)
        elif role in DATE:
            columns[role] = numbers(written)
            without(np.isnan(columns[role]), f"no {role}")
        else:
            columns[role] = seconds(written, layout.unit)
            without(np.isnan(columns[role]), _NO_TIME[layout.unit])
    chosen = pa.array(good)
    return {
        role: column.filter(chosen).dictionary_encode()
        if isinstance(column, pa.Array)
        else column[good].astype(np.int64 if role == "timestamp" else np.float32)
        for role, column in columns.items()
    }


def _shown(batch: Batch, at: int) -> str:
    """A row as its columns are written, each cut."""
    said = []
    for role, written in batch.columns.items():
        value = written[at].as_py()
        text = "" if value is None else str(value)[:_LONGEST]
        said.append(f"{_ROLE_WORDS.get(role, role)} '{text}'")
    return ", ".join(said)


def _mask(values: pa.Array) -> NDArray[np.bool_]:
    return pc.fill_null(values, False).to_numpy(zero_copy_only=False)


def _joined(kept: list[dict[str, Any]], name: str) -> tuple[Interactions, int]:
    """All batches as one dataset, and how many rows repeat a user and an item."""
    users, user_ids = _codes_and_ids([piece.pop("user_id") for piece in kept])
    items, item_ids = _codes_and_ids([piece.pop("item_id") for piece in kept])
    baskets = _baskets([piece.pop("basket") for piece in kept]) if "basket" in kept[0] else None
    clusters = None
    if "cluster" in kept[0]:
        clusters = _clusters([piece.pop("cluster") for piece in kept], users, user_ids)
    numbers = {role: np.concatenate([piece.pop(role) for piece in kept]) for role in [*kept[0]]}
    times = numbers.get("timestamp")
    if "year" in numbers:
        times = _seconds(*(numbers[role] for role in DATE))
    pa.default_memory_pool().release_unused()  # what is freed would stay with it else
    rows = one_per_pair(users, items, len(item_ids), baskets if times is None else times)
    whole = Interactions(
        dataset=name,
        users=users,
        items=items,
        user_ids=user_ids,
        item_ids=item_ids,
        ratings=numbers.get("rating"),
        timestamps=times,
        baskets=baskets,
        clusters=clusters,
    )
    return whole if len(rows) == len(users) else whole.take(rows), len(users) - len(rows)


def _codes_and_ids(pieces: list[pa.DictionaryArray]) -> tuple[NDArray[np.int32], NDArray[np.str_]]:
    """Codes in the order of first appearance, and the ids. Raises: Unreadable."""
    together = pa.chunked_array(pieces).unify_dictionaries().combine_chunks()
    check_ids(together.dictionary)
    ids = np.array(together.dictionary.to_pylist(), dtype=np.str_)  # at the width of the longest
    return together.indices.to_numpy().astype(np.int32, copy=False), ids


def _clusters(
    pieces: list[pa.DictionaryArray], users: NDArray[np.int32], user_ids: NDArray[np.str_]
) -> NDArray[np.int32]:
    """The cluster of each row's user. Raises: Unreadable."""
    codes, names = _codes_and_ids(pieces)
    way_out = "choose another column for the cluster, or none"
    if len(names) == 1:
        raise Unreadable(
            f"every user is in the cluster '{names[0]}', and of one cluster nothing tells how "
            f"clusters differ; {way_out}"
        )
    last = np.empty(len(user_ids), dtype=np.int32)
    last[users] = codes
    if len(wrong := np.flatnonzero(last[users] != codes)):
        user, cluster = users[wrong[0]], names[codes[wrong[0]]]
        raise Unreadable(
            f"user '{user_ids[user]}' is in two clusters, '{cluster}' and '{names[last[user]]}', "
            f"and can be in one; correct it, or {way_out}"
        )
    return codes


def check_ids(texts: pa.StringArray) -> None:
    """Refuse ids that are too long, or too many of that length. Raises: Unreadable."""
    longest = pc.max(pc.utf8_length(texts)).as_py() or 1
    if longest > limits.LONGEST_ID:
        raise Unreadable(f"it has an id longer than {limits.LONGEST_ID} characters")
    if limits.id_bytes(len(texts), longest) > limits.MAX_ID_BYTES:
        raise Unreadable(
            f"it has {len(texts):,} ids with up to {longest} characters, which together take more "
            f"than {limits.MAX_ID_BYTES >> 20:,} MB of memory; shorten the longest"
        )


def _seconds(
    day: NDArray[np.float32], month: NDArray[np.float32], year: NDArray[np.float32]
) -> NDArray[np.int64]:
    """Unix seconds at the start of each day, UTC."""
    months = ((year - 1970) * 12 + month - 1).astype(np.int64).astype("datetime64[M]")
    days = months.astype("datetime64[D]") + (day - 1).astype("timedelta64[D]")
    return days.astype("datetime64[s]").astype(np.int64)


def one_per_pair(
    users: NDArray[np.int32],
    items: NDArray[np.int32],
    n_items: int,
    times: NDArray[np.float64] | NDArray[np.int64] | NDArray[np.int32] | None,
) -> NDArray[np.intp]:
    """Indices of the rows to keep, ascending; shape (distinct pairs,)."""
    few = (int(users.max(initial=0)) + 1) * n_items < 1 << 31  # then half the room will do
    pairs = (users if few else users.astype(np.int64)) * n_items + items
    ascending = np.sort(pairs)
    if (ascending[1:] != ascending[:-1]).all():  # mostly so, and much faster to find out
        return np.arange(len(pairs))
    del ascending
    order = np.argsort(pairs, kind="stable")  # the file's order within a pair
    ascending = pairs[order]
    starts = np.flatnonzero(np.concatenate([[True], ascending[1:] != ascending[:-1]]))
    if times is None:
        return np.sort(order[starts])
    later = times[order]
    sizes = np.diff(starts, append=len(pairs))
    earliest = later == np.repeat(np.minimum.reduceat(later, starts), sizes)
    places = np.where(earliest, np.arange(len(pairs)), len(pairs))
    return np.sort(order[np.minimum.reduceat(places, starts)])


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
            # In the same order, from 0.
            return np.unique(found[codes], return_inverse=True)[1].astype(np.int32)
    return codes


# A plain file with a target column -> its columns as numbers or texts, a row for each sample.


_MISSING = ["?", "na", "n/a", "nan", "null", "none", "-"]
"""What stands for no value, in small letters."""


def read_samples(plain: Plain, layout: Layout, report: Report) -> tuple[pd.DataFrame, Counter[str]]:
    """Read all columns of a file.

    Args: as of `read_rows`.
    Returns: float64 where every value is a number or missing, else texts; and how many rows are
        none of the table, by reason.
    Raises: DatasetError for a file that is beyond the limits, or not as the layout says.
    """
    import pandas as pd

    whole = replace(layout, roles=tuple((str(at), at) for at in range(len(layout.names))))
    pieces: list[dict[str, pa.Array]] = []
    no_row = NO_OBJECT if layout.form is Form.JSON_LINES else WIDTH
    unfit: Counter[str] = Counter()
    with refusals(plain.name):
        for batch in batches(plain, whole):
            pieces.append({at: texts(values) for at, values in batch.columns.items()})
            if batch.unfit:
                unfit[no_row] += batch.unfit
            report("read", int(1000 * min(batch.share, 1.0)), 1000)
        rows = sum(len(piece["0"]) for piece in pieces)
        if not 0 < rows <= limits.MAX_ROWS:
            raise Unreadable(f"it has {rows:,} rows, and 1 to {limits.MAX_ROWS:,} are read")
        columns = [
            _typed(pa.chunked_array([piece[str(at)] for piece in pieces]), layout)
            for at in range(len(layout.names))
        ]
    frame = pd.concat(columns, axis=1)
    frame.columns = pd.Index(layout.names)
    return frame, unfit


def _typed(column: pa.ChunkedArray, layout: Layout) -> pd.Series:
    import pandas as pd

    values = pc.utf8_trim_whitespace(column.combine_chunks())
    missing = pc.is_in(pc.utf8_lower(values), pa.array(_MISSING))
    values = pc.if_else(missing, pa.scalar(None, pa.string()), values)
    found = numbers(values, decimal_comma=layout.separator != ",")
    if np.isnan(found).sum() == values.null_count:
        return pd.Series(found)
    return pd.Series(values.to_pandas())
