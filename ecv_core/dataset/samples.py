"""A plain file with a target column -> its columns as numbers or texts, a row for each sample."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

import ecv_core.untrusted.limits as limits
from ecv_core.dataset.columns import read_ids, read_numbers
from ecv_core.dataset.layout import Layout, Unreadable, default_names
from ecv_core.dataset.plain import PlainFile, Report, errors_as_dataset_error
from ecv_core.dataset.rows import batches

if TYPE_CHECKING:
    import pandas as pd

_MISSING = ["?", "na", "n/a", "nan", "null", "none", "-"]
"""What stands for no value, in small letters."""
_ERRORS_OF_SPREADSHEETS = ["#div/0!", "#n/a", "#name?", "#null!", "#num!", "#ref!", "#value!"]
"""What a spreadsheet writes where it cannot work out a number."""
_PARQUET_INDEX = "__index_level_0__"
"""How pandas names an index without a name in a Parquet file."""


def read_samples(
    plain: PlainFile, layout: Layout, report: Report
) -> tuple[pd.DataFrame, Counter[str]]:
    """Read all columns of a file.

    Args:
        plain: The file.
        layout: How it is read.
        report: Called with 'read', per mille done, 1000.

    Returns:
        Float64 where every value is a number or missing, else texts; and how many rows are none of
        the table, by reason.

    Raises:
        DatasetError: For a file that is beyond the limits, or not as the layout says.
    """
    import pandas as pd

    places = range(len(layout.names))
    # Every column is read, and its place stands for the role by which a batch has it.
    all_columns = replace(layout, roles=tuple((str(place), place) for place in places))
    chunks: list[list[pa.Array]] = [[] for _ in places]
    unfit_by_reason: Counter[str] = Counter()
    rows = 0
    with errors_as_dataset_error(plain.name):
        for batch in batches(plain, all_columns):
            rows += len(batch)
            for place in places:
                # As ids, values are read as texts of a limited length, null where there is none.
                chunks[place].append(read_ids(batch.columns[str(place)]))
            if batch.unfit.count:
                unfit_by_reason[batch.unfit.reason] += batch.unfit.count
            report("read", batch.per_mille, 1000)
        if not 0 < rows <= limits.MAX_ROWS:
            raise Unreadable(f"it has {rows:,} rows, but must have 1 to {limits.MAX_ROWS:,}")
        columns = [
            _numbers_or_texts(pa.chunked_array(column), layout.decimal_comma) for column in chunks
        ]
    frame = pd.concat(columns, axis=1)
    frame.columns = pd.Index(layout.names)
    return frame, unfit_by_reason


def row_number_columns(frame: pd.DataFrame) -> list[str]:
    """The columns without a name that number the rows, as pandas writes an index.

    They would tell the target: of a sorted file by the place, and of one that was sorted before
    it was shuffled or rows were taken from it, by the number that each row has kept.

    Args:
        frame: As `read_samples` gives it.
    """
    nameless = []
    for name, default_name in zip(frame.columns, default_names(len(frame.columns)), strict=True):
        # pandas gives an index without a name such a name in Parquet, or as it reads it from CSV.
        if name in (default_name, _PARQUET_INDEX) or name.startswith("Unnamed: "):
            nameless.append(name)
    numbering = []
    for name in nameless:
        # If no column has a name, a column of whole numbers may be a feature, unless these count
        # the rows up.
        if len(nameless) == len(frame.columns):
            numbers_rows = _counts_up(frame[name])
        else:
            numbers_rows = _are_row_numbers(frame[name])
        if numbers_rows:
            numbering.append(name)
    return numbering


def _counts_up(values: pd.Series) -> bool:
    """Whether values are 0, 1, 2 and so on, or 1, 2, 3."""
    first_number = values.iloc[0]
    return first_number in (0, 1) and bool((values == first_number + np.arange(len(values))).all())


def _are_row_numbers(values: pd.Series) -> bool:
    """Whether every row has a whole number of its own, from 0, in any order."""
    if values.dtype != np.float64 or not values.is_unique:
        return False
    return bool(((values >= 0) & (values % 1 == 0)).all())


def column_remarks(frame: pd.DataFrame, *, decimal_comma: bool) -> dict[str, str]:
    """Column -> what was made of the values in it that do not fit the others.

    Args:
        frame: As `read_samples` gives it.
        decimal_comma: Whether '1,234' is less than two.

    Returns:
        Ends of sentences that begin with the column.
    """
    remarks = {}
    for name, column in frame.items():
        if column.dtype == np.float64:
            remark = _remark_on_infinite(column)
        else:
            remark = _remark_on_texts(column, decimal_comma)
        if remark:
            remarks[str(name)] = remark
    return remarks


def _remark_on_infinite(numbers: pd.Series) -> str:
    """How many numbers are infinite; empty for none."""
    infinite_count = int(np.isinf(numbers).sum())
    if not infinite_count:
        return ""
    if infinite_count == 1:
        return "has 1 infinite value, which counts as missing"
    return f"has {infinite_count:,} infinite values, which count as missing"


def _remark_on_texts(column: pd.Series, decimal_comma: bool) -> str:
    """That most of the texts are numbers, and which one is not; else empty."""
    texts = column.dropna()
    is_infinite = texts.str.fullmatch(r"[+-]?inf(inity)?", case=False).to_numpy(np.bool_)
    numbers = read_numbers(pa.array(texts), decimal_comma=decimal_comma)
    is_number = is_infinite | ~np.isnan(numbers)
    number_count = int(is_number.sum())
    if number_count * 2 <= len(texts):
        return ""
    first_text = texts[~is_number].iloc[0]
    return (
        f"is read as texts, because '{first_text[:100]}' is no number, although {number_count:,} "
        f"of {len(texts):,} values are numbers: change or empty what is none"
    )


def _numbers_or_texts(column: pa.ChunkedArray, decimal_comma: bool) -> pd.Series:
    """A column of texts as numbers, where every value is one or missing; some may be infinite."""
    import pandas as pd

    texts = pc.utf8_trim_whitespace(column.combine_chunks())
    in_small_letters = pc.utf8_lower(texts)
    missing = pc.is_in(in_small_letters, pa.array(_MISSING + _ERRORS_OF_SPREADSHEETS))
    texts = pc.if_else(missing, pa.scalar(None, pa.string()), texts)
    numbers = read_numbers(texts, decimal_comma=decimal_comma)
    # `read_numbers` gives NaN for infinite numbers. They are put in again, so that they can be
    # counted, and refused in a target.
    for pattern, infinite in ((r"^\+?inf(inity)?$", np.inf), (r"^-inf(inity)?$", -np.inf)):
        is_infinite = pc.match_substring_regex(in_small_letters, pattern).fill_null(False)
        numbers[is_infinite.to_numpy(zero_copy_only=False)] = infinite
    if np.isnan(numbers).sum() == texts.null_count:
        # Every text that is not missing is a number.
        return pd.Series(numbers)
    return pd.Series(texts.to_pandas())
