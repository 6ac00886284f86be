"""Interactions as they were read -> which ids and times their owner may have meant otherwise."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from ecv_core.records.arrays import Ids
from ecv_core.records.interactions import Interactions
from ecv_core.records.parameters import counted

_YEAR_SECONDS = 365 * 24 * 3600


def interaction_remarks(data: Interactions, columns: Mapping[str, str]) -> dict[str, str]:
    """Column -> what in it may have been meant otherwise.

    Args:
        data: All interactions of a file.
        columns: Role -> the name of its column.

    Returns:
        Ends of sentences that begin with the column.
    """
    remarks = {}
    for role, ids in (("user_id", data.user_ids), ("item_id", data.item_ids)):
        remark = _remark_on_ids(ids) or _remark_on_shortened_ids(ids)
        if remark:
            remarks[columns[role]] = remark
    if data.timestamps is not None:
        remark = _remark_on_times(data.timestamps)
        if remark:
            remarks[columns["timestamp"]] = remark
    return remarks


def _remark_on_ids(ids: Ids) -> str:
    """How many ids are another one but for spaces or '.0'; empty for none."""
    texts = pa.array(ids.tolist(), pa.string())
    plain_texts = pc.utf8_trim_whitespace(texts)
    plain_texts = pc.replace_substring_regex(plain_texts, r"^(-?\d+)\.0+$", r"\1")
    distinct = plain_texts.dictionary_encode()
    codes = distinct.indices.to_numpy()
    alike_count = len(ids) - len(distinct.dictionary)
    if not alike_count:
        return ""
    is_shared = np.bincount(codes)[codes] > 1
    code = codes[is_shared][0]
    first, second = ids[codes == code][:2]
    words = "ids that differ"
    if alike_count == 1:
        words = "id that differs"
    return (
        f"has {alike_count:,} {words} from another by spaces or '.0' alone, such as '{first}' and "
        f"'{second}'; each counts by itself"
    )


def _remark_on_shortened_ids(ids: Ids) -> str:
    """How many ids a spreadsheet has shortened to '7.65612E+16'; empty for none."""
    texts = pa.array(ids.tolist(), pa.string())
    is_shortened = pc.match_substring_regex(texts, r"^\d[.,]\d+E\+\d\d$").to_numpy(False)
    if not is_shortened.any():
        return ""
    count = counted(int(is_shortened.sum()), "id")
    return (
        f"has {count} such as '{ids[is_shortened][0]}', as spreadsheets shorten long numbers, so "
        "that several ids may have become one: make the column a text there, and save it again"
    )


def _remark_on_times(timestamps: NDArray[np.int64]) -> str:
    """How many times are 0 or -1 where all others are later by more than a year; empty for none."""
    is_placeholder = (timestamps == 0) | (timestamps == -1)
    others = timestamps[~is_placeholder]
    placeholder_count = len(timestamps) - len(others)
    # Times that count from the start of a recording may well begin with 0.
    if not placeholder_count or others.min(initial=_YEAR_SECONDS) < _YEAR_SECONDS:
        return ""
    return (
        f"has {counted(placeholder_count, 'time')} of 0 or -1, as programs write a missing one, "
        "which counts as the start of 1970"
    )
