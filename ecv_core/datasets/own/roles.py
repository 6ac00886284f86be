"""Names and first values of columns -> which is the user, the item, the rating, the time."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime

from ecv_core.datasets.own.layout import TimeUnit

_NAMES = {
    "user_id": """
        userid user uid customerid customer visitorid reviewerid memberid accountid clientid
        playerid readerid listenerid viewerid buyerid username reviewer member account client
        player reader listener visitor viewer buyer userhash useridx userindex usernumber u
        benutzer benutzerid nutzer nutzerid kunde kundennummer kundeid sessionid session
    """,
    "item_id": """
        itemid item iid productid product articleid article asin sku movieid movie filmid film
        bookid book isbn trackid track songid song artistid artist albumid businessid gameid
        game appid app recipeid newsid videoid video contentid parentasin stockcode itemidx
        itemindex itemnumber i artikel artikelnummer artikelid produkt produktid documentid
        pageid jobid hotelid
    """,
    "rating": """
        rating ratings score stars overall bookrating userrating vote preference value grade
        bewertung note weight playcount r
    """,
    "timestamp": """
        timestamp time unixreviewtime ts datetime date createdat eventtime unixtime created when
        at reviewtime reviewdate orderdate day t invoicedate transactiondate purchasedate
        ratingtime datum zeit zeitstempel timestampms eventtimestamp lastupdated
    """,
    "basket": """
        basket basketid orderid order invoiceno invoice invoiceid transactionid transaction
        receiptid receipt cartid warenkorb bestellung bestellnummer bon
    """,
}
_WORDS = {role: names.split() for role, names in _NAMES.items()}
"""Role -> names of its column, likeliest first, in small letters without other signs."""

_ISO = re.compile(
    r"\d{4}-\d{2}(-\d{2}([T ]\d{2}(:\d{2}){0,2}(\.\d{1,9})?)?)?( ?(Z|UTC|[+-]\d\d:?\d\d))?"
)
_NUMBER = re.compile(r"[+-]?(\d+([.,]\d*)?|[.,]\d+)([eE][+-]?\d{1,3})?")
_UNIX_FROM, _UNIX_TO = 1e8, 5e9
"""Unix seconds from 1973 to 2128: what a column of times has, and hardly another of numbers."""
_FEW = 120
"""More different values than this are no scale of ratings."""

Rows = Sequence[Sequence[str]]


def plain_name(name: str) -> str:
    """A column's name as it is compared: 'User_ID:token' is 'userid'."""
    return re.sub(r"[^a-z0-9]", "", name.split(":")[0].lower())


def is_role_name(name: str) -> bool:
    """Whether a text is what a column of interactions could be called."""
    plain = plain_name(name)
    return len(plain) > 1 and any(plain in words for words in _WORDS.values())


def is_number(text: str) -> bool:
    """Whether a field is a number."""
    return bool(_NUMBER.fullmatch(text.strip()))


def guess_roles(names: Sequence[str], rows: Rows, *, named: bool) -> dict[str, int]:
    """Which column is what: by names, and where these say nothing by values and order.

    Args:
        names: of the columns.
        rows: the first ones, as text.
        named: whether the names are the file's own.
    Returns: role -> column; needed roles may be missing, and an unclear column has none.
    """
    found = _by_names(names) if named else {}
    free = [at for at in range(len(names)) if at not in found.values()]
    values = {at: [row[at].strip() for row in rows if at < len(row)] for at in free}
    for role in ("user_id", "item_id"):
        if role not in found and free:
            ids = [at for at in free if not _are_dates(values[at])]
            found[role] = (ids or free)[0]
            free.remove(found[role])
    if "timestamp" not in found:
        when = next((at for at in free if _is_time(values[at])), None)
        if when is not None:
            found["timestamp"] = when
            free.remove(when)
    if "rating" not in found and not named:
        rating = next((at for at in free if _is_rating(values[at])), None)
        if rating is not None:
            found["rating"] = rating
    return found


def guess_unit(values: Sequence[str]) -> TimeUnit:
    """How these timestamps are written."""
    present = [value.strip() for value in values if value.strip()]
    numbers = sorted(abs(_number(value)) for value in present if is_number(value))
    if len(numbers) * 2 < len(present):
        return TimeUnit.ISO
    if numbers and numbers[len(numbers) // 2] > 20 * _UNIX_TO:
        return TimeUnit.MILLISECONDS
    return TimeUnit.SECONDS


def _by_names(names: Sequence[str]) -> dict[str, int]:
    plain = [plain_name(name) for name in names]
    found: dict[str, int] = {}
    for role, words in _WORDS.items():
        fits = [(words.index(name), at) for at, name in enumerate(plain) if name in words]
        if fits:
            found[role] = min(fits)[1]
    if "rating" in found and "timestamp" in found and found["rating"] == found["timestamp"]:
        del found["rating"]
    return found


def _is_time(values: Sequence[str]) -> bool:
    present = [value for value in values if value]
    if not present:
        return False
    if _are_dates(present):
        return True
    if not all(is_number(value) for value in present):
        return False
    seconds = [_number(value) for value in present]
    return all(_UNIX_FROM <= one <= _UNIX_TO for one in seconds) or all(
        _UNIX_FROM <= one / 1000 <= _UNIX_TO for one in seconds
    )


def _are_dates(values: Sequence[str]) -> bool:
    present = [value for value in values if value]
    return (
        bool(present)
        and all(len(value) > 7 and _ISO.fullmatch(value) for value in present)
        and any(_exists(value) for value in present)
    )


def _exists(text: str) -> bool:
    try:
        datetime.fromisoformat(text[:10])
    except ValueError:
        return False
    return True


def _is_rating(values: Sequence[str]) -> bool:
    present = [value for value in values if value]
    return (
        bool(present)
        and all(is_number(value) for value in present)
        and len(set(present)) <= _FEW
        and all(abs(_number(value)) <= 100 for value in present)
    )


def _number(text: str) -> float:
    return float(text.replace(",", "."))
