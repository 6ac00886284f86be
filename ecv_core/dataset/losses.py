"""Why a row of a file cannot be used, in words, and when too many cannot."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

import ecv_core.untrusted.limits as limits
from ecv_core.dataset.layout import UNIT_TEXTS, TimeUnit
from ecv_core.records.parameters import percent_text

NO_USER = "no user"
NO_ITEM = "no item"
NO_BASKET = "no basket"
NO_ID = {
    "user_id": NO_USER,
    "item_id": NO_ITEM,
    "basket": NO_BASKET,
    "cluster": "no cluster",
}
"""Role of a column of ids -> the reason where there is none."""
LONG_ID = f"an id longer than {limits.LONGEST_ID} characters"
NO_TEXT = "an id with a null character"
NO_RATING = f"no rating, or a rating that is not a number up to {limits.LARGEST_RATING:,.0f}"
REPEATED = "a repeated user and item pair; the earliest is kept"
WIDTH = "a different number of columns than the other rows"
SWALLOWED = "their text within a quotation mark of an earlier row"
NO_OBJECT = "no JSON object on the line"
NOT_ABOVE_ZERO = "0 or less in a column for which you leave such rows out"
OF_A_BOT = "a user who has more than a tenth of all rows"
NAMES_AGAIN = "the names of the columns once more"
_NO_LOSS = (REPEATED, NOT_ABOVE_ZERO, OF_A_BOT, NAMES_AGAIN)
"""Reasons of rows that are said once, or that their owner leaves out."""
MOST_LOST = 0.1
"""The share of rows that may be lost without a word: with more, something is read wrongly."""


def no_time_reason(unit: TimeUnit) -> str:
    """The reason where there is no time that is written so."""
    return f"no time, or not a time from 1700 to 2199 as {UNIT_TEXTS[unit]}"


_WAYS_OUT = {
    NO_RATING: "choose another column for the rating, or none",
    WIDTH: "check whether separator and quotation marks are recognised correctly",
    NO_BASKET: "choose another column for the basket, or none",
    SWALLOWED: "read the file without quotation marks",
    NO_OBJECT: "correct these lines",
}
for _unit in TimeUnit:
    _WAYS_OUT[no_time_reason(_unit)] = (
        "set the format of the times, choose another column for them, or none"
    )


def way_out(reason: str) -> str:
    """What to do where many rows have this reason."""
    return _WAYS_OUT.get(reason, "check whether the columns have the right roles")


def count_lost(unused: Mapping[str, int]) -> int:
    """How many rows are lost; those that repeat others or were to be left out are not."""
    return sum(unused.values()) - sum(unused.get(reason, 0) for reason in _NO_LOSS)


def no_value_reason(role: str, unit: TimeUnit) -> str:
    """Why a row cannot be used that lacks what an optional role needs; empty for other roles."""
    reasons = {"rating": NO_RATING, "timestamp": no_time_reason(unit), "basket": NO_BASKET}
    return reasons.get(role, "")


def loss_sentence(unused: Mapping[str, int], rows: int) -> str:
    """Why more than MOST_LOST of the rows would be lost, and the way out; empty where they are not.

    Rows that repeat a user and an item are not lost, for what they say is kept once; neither are
    those that their owner leaves out.

    Args:
        unused: Reason -> rows that cannot be used.
        rows: The rows of the file.
    """
    lost_rows = count_lost(unused)
    if not lost_rows or lost_rows <= MOST_LOST * rows:
        return ""
    counts = Counter(unused)
    for reason in _NO_LOSS:
        # A Counter raises nothing for a reason that is not in it.
        del counts[reason]
    ((reason, count),) = counts.most_common(1)
    return (
        f"{lost_rows:,} of {rows:,} rows ({percent_text(lost_rows / rows, '.0f')}) would be lost: "
        f"{count:,} {has_or_have(count)} {reason}; {way_out(reason)}"
    )


def has_or_have(count: int) -> str:
    """The verb of so many rows."""
    if count == 1:
        return "has"
    return "have"
