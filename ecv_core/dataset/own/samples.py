"""A plain file with a target column -> its columns as numbers or texts, a row for each sample."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

import ecv_core.untrusted.limits as limits
from ecv_core.dataset._load import Unreadable
from ecv_core.dataset.own.layout import Form, Layout
from ecv_core.dataset.own.plain import Plain, Report, refusals
from ecv_core.dataset.own.reading import numbers, texts
from ecv_core.dataset.own.rows import NO_OBJECT, WIDTH, batches

if TYPE_CHECKING:
    import pandas as pd

_MISSING = ["?", "na", "n/a", "nan", "null", "none", "-"]
"""What stands for no value, in small letters."""


def read_samples(plain: Plain, layout: Layout, report: Report) -> tuple[pd.DataFrame, Counter[str]]:
    """Read all columns of a file.

    Args: as of `reading.read_rows`.
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
