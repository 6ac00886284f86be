"""Names and first values of columns -> which is the user, the item, the rating, the time."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from ecv_core.dataset.dates import date_orders
from ecv_core.dataset.layout import UNITS_A_SECOND, TimeUnit

_NAMES = {
    "user_id": """
        userid user uid customerid customer visitorid reviewerid memberid accountid clientid
        studentid learnerid personid authorid deviceid cookieid householdkey householdid
        playerid readerid listenerid viewerid buyerid username reviewer member account client
        player reader listener visitor viewer buyer userhash useridx userindex usernumber u
        benutzer benutzerid nutzer nutzerid kunde kundennummer kundeid sessionid session
    """,
    "item_id": """
        itemid item iid productid product articleid article asin sku movieid movie filmid film
        bookid book isbn trackid track songid song artistid artist albumid businessid gameid
        game appid app recipeid newsid videoid video contentid parentasin stockcode itemidx
        itemindex itemnumber i artikel artikelnummer artikelid produkt produktid documentid
        pageid jobid hotelid cityid venueid placeid locationid poiid poi restaurantid animeid
        beerid jokeid courseid episodeid showid postid tweetid adid
    """,
    "rating": """
        rating ratings score stars overall bookrating userrating vote preference value grade
        bewertung note weight playcount r
    """,
    "timestamp": """
        timestamp time unixreviewtime ts datetime date createdat eventtime unixtime created when
        at reviewtime reviewdate orderdate day t invoicedate transactiondate purchasedate
        ratingtime datum zeit zeitstempel zeitpunkt kaufdatum bestelldatum timestampms
        eventtimestamp lastupdated
    """,
    "basket": """
        basket basketid orderid order invoiceno invoice invoiceid transactionid transaction
        receiptid receipt cartid warenkorb bestellung bestellnummer bon
    """,
    "target": """
        target class label y outcome response species diagnosis klasse zielwert
    """,
}
_WORDS = {role: names.split() for role, names in _NAMES.items()}
"""Role -> names of its column, likeliest first, in small letters without other signs."""
_ID_WORDS = {
    "user_id": ("user", "customer", "member", "person", "visitor", "profile", "session"),
    "item_id": ("item", "product", "movie", "film", "book", "song", "track", "article", "artist"),
}
"""Role -> what the name of its column may contain where no name of _NAMES is there."""
_QUANTITIES = ("quantity", "qty", "menge", "anzahl", "units")
_TIME_PARTS = ("date", "time", "datum", "zeit")

_DAY = r"(19|20)\d\d(0[1-9]|1[0-2])(0[1-9]|[12]\d|3[01])"
_TIME_OF_DAY = r"([01]\d|2[0-3])[0-5]\d([0-5]\d)?"
_DAY_NUMBER = re.compile(f"{_DAY}({_TIME_OF_DAY})?")
"""A day as 20180103, or a moment as 201801031305 or 20180103130509."""
_NUMBER = re.compile(r"[+-]?(\d+([.,]\d*)?|[.,]\d+)([eE][+-]?\d{1,3})?")
_FRACTION = re.compile(r"[+-]?\d*[.,](\d+)([eE][+-]?\d{1,3})?")
_UNIX_FROM = 1e8
_UNIX_TO = 5e9
"""Unix seconds from 1973 to 2128: what a column of times has, and hardly another of numbers."""
_EXCEL_FROM = 20_000
_EXCEL_TO = 60_000
"""Excel's serial days from 1954 to 2064."""
_FEW = 120
"""More different values than this are no scale of ratings."""
_SCALE = 10
"""No more different numbers than this are a scale of ratings rather than items."""
_MOST_DECIMALS = 2
"""A rating with more decimals than this is a measurement, such as a latitude."""
NEARLY_ALL = 0.9
"""More than this share of a column's values decide what it holds; the others are mistakes."""
_SHORTEST_DATE = 8
"""Characters, as of 1.1.2020."""
_TELLING = 10
"""With fewer values than this, that all differ or none does is chance."""

Rows = Sequence[Sequence[str]]
Values = Sequence[str]
"""The first values of a column."""


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


def says_time(name: str) -> bool:
    """Whether a column is called a date or a time, in English or German."""
    plain = plain_name(name)
    return any(part in plain for part in _TIME_PARTS)


def says_quantity(name: str) -> bool:
    """Whether a column is called a quantity, in English or German."""
    return plain_name(name) in _QUANTITIES


def guess_roles(names: Sequence[str], rows: Rows, *, has_names: bool) -> dict[str, int]:
    """Which column is what: by names, and where these say nothing by values and order.

    Args:
        names: The names of the columns.
        rows: The first ones, as text.
        has_names: Whether the names are the file's own.

    Returns:
        Role -> column; needed roles may be missing, and an unclear column has none.
    """
    roles: dict[str, int] = {}
    if has_names:
        roles = roles_by_names(names, rows)
    # Without users and items it is a table of samples; beside them a target is just a column.
    if "target" in roles and "user_id" not in roles and "item_id" not in roles:
        return {"target": roles["target"]}
    roles.pop("target", None)
    return _with_roles_by_values(roles, names, rows, has_names=has_names)


def _with_roles_by_values(
    named_roles: Mapping[str, int], names: Sequence[str], rows: Rows, *, has_names: bool
) -> dict[str, int]:
    """The roles that names tell, and those that values tell beside these."""
    roles = dict(named_roles)
    columns_without_role = _columns_without_role(roles, rows, len(names))
    for role in ("user_id", "item_id"):
        if role not in roles and columns_without_role:
            roles[role] = _likeliest_id(role, names, columns_without_role)
            del columns_without_role[roles[role]]
    for place, values in columns_without_role.items():
        if "timestamp" not in roles and is_time(values):
            roles["timestamp"] = place
        # Where columns have names, a column of ratings would be called so. Numbers decide only
        # where there are no names.
        elif "rating" not in roles and not has_names and _is_rating(values):
            roles["rating"] = place
    return roles


def _columns_without_role(roles: Mapping[str, int], rows: Rows, width: int) -> dict[int, Values]:
    """The first values of the columns that have no role, by their places."""
    columns: dict[int, Values] = {}
    for place in range(width):
        if place not in roles.values():
            columns[place] = [row[place].strip() for row in rows if place < len(row)]
    return columns


def roles_by_names(names: Sequence[str], rows: Rows) -> dict[str, int]:
    """Role -> column, for those whose names tell.

    Args:
        names: The names of the columns.
        rows: The first ones, as text.
    """
    # Beside 'row.item', the column 'row.user' is called 'user' here.
    plain_names = [plain_name(name) for name in _names_within_row_object(names)]
    roles: dict[str, int] = {}
    for role, words in _WORDS.items():
        # The likeliest word comes first, so that its column does too.
        places = [plain_names.index(word) for word in words if word in plain_names]
        if role == "timestamp" and places:
            places = [_likeliest_time(places, rows)]
        if places:
            roles[role] = places[0]
    if _is_day_of_month(roles.get("timestamp"), plain_names, rows):
        # Without the month, the day of a month tells no order.
        del roles["timestamp"]
    return roles


def _likeliest_time(places: Sequence[int], rows: Rows) -> int:
    """The first of these columns, or if it has no times, the first of the others that has some.

    In the first column any numbers are times. The others must have moments, because numbers in a
    column such as 'day' may be days of a week.
    """
    first, *others = places
    values = filled_values(rows, first)
    numbers = list(filter(is_number, values))
    if len(numbers) > NEARLY_ALL * len(values) or are_dates(values):
        return first
    for place in others:
        values = filled_values(rows, place)
        if values and is_time(values):
            return place
    return first


def filled_values(rows: Rows, place: int) -> list[str]:
    """The values of a column that are not empty, without the space around them."""
    values = []
    for row in rows:
        if place < len(row) and row[place].strip():
            values.append(row[place].strip())
    return values


def _is_day_of_month(place: int | None, plain_names: Sequence[str], rows: Rows) -> bool:
    """Whether a column holds numbers from 1 to 31 beside the months; not dates, or a count of days.

    Args:
        place: That of the column; None for none.
        plain_names: As `plain_name` gives them.
        rows: The first ones, as text.
    """
    if place is None or plain_names[place] != "day" or "month" not in plain_names:
        return False
    for row in rows:
        value = row[place]
        if value.strip() and not (is_number(value) and 1 <= _number(value) <= 31):
            return False
    return True


def _names_within_row_object(names: Sequence[str]) -> list[str]:
    """The names in the object of JSON that has a user and an item, without its path.

    Elasticsearch writes such rows: '_source.user_id' and '_source.rating' beside its own '_id'. Of
    several such objects the outermost is the row, which may have the user and item it answers to.
    """
    # By the path of an object, the names in it as `plain_name` gives them.
    names_of_object: dict[str, set[str]] = {}
    for name in names:
        path, dot, child = name.rpartition(".")
        names_of_object.setdefault(path + dot, set()).add(plain_name(child))
    paths_of_rows = []
    for path, names_in_object in names_of_object.items():
        has_user = not names_in_object.isdisjoint(_WORDS["user_id"])
        has_item = not names_in_object.isdisjoint(_WORDS["item_id"])
        if has_user and has_item:
            paths_of_rows.append(path)
    prefix = min(paths_of_rows, key=_depth, default="")
    return [name.removeprefix(prefix) for name in names]


def _depth(path: str) -> int:
    return path.count(".")


def _likeliest_id(role: str, names: Sequence[str], columns: Mapping[int, Values]) -> int:
    """The column that is likeliest to hold users or items.

    A column whose name contains the word for it comes first, then the first one whose values can
    be ids, then the first one that holds no dates.

    Args:
        role: 'user_id' or 'item_id'.
        names: The names of all columns.
        columns: Their first values, of those that have no role yet.
    """
    for place, values in columns.items():
        plain = plain_name(names[place])
        if any(part in plain for part in _ID_WORDS[role]) and not _always_changes(values):
            return place
    for place, values in columns.items():
        if _can_be_ids(role, values):
            return place
    # Nothing looks like ids. People see the guess and can correct it, so some column is taken.
    for place, values in columns.items():
        if not are_dates(values):
            return place
    return next(iter(columns))


def _can_be_ids(role: str, values: Values) -> bool:
    """Whether values are what ids of users or items look like.

    Decimals are measurements, a number for each row counts rows, and few different numbers are a
    scale. Of a file that is sorted by users all the first rows may have the same user.
    """
    if role == "item_id" and _never_changes(values):
        return False
    if are_dates(values) or _have_decimals(values) or _always_changes(values):
        return False
    return role == "user_id" or not _is_scale(values)


def _always_changes(values: Values) -> bool:
    """Whether every row has another value, as the number of a row has."""
    return len(values) >= _TELLING and len(set(values)) == len(values)


def _never_changes(values: Values) -> bool:
    """Whether every row has the same value."""
    return len(values) >= _TELLING and len(set(values)) == 1


def _have_decimals(values: Values) -> bool:
    """Whether most of the values are numbers with decimals."""
    decimals = len(list(filter(_FRACTION.fullmatch, values)))
    return decimals * 2 > len(values)


def _is_scale(values: Values) -> bool:
    """Whether these are the same few numbers again and again."""
    different_values = set(values)
    if len(values) < _TELLING * _SCALE or len(different_values) > _SCALE:
        return False
    return all(map(is_number, different_values))


def guess_unit(values: Values, name: str = "") -> TimeUnit:
    """How these timestamps are written.

    Args:
        values: As they are written.
        name: The name of their column; a date in it makes numbers of five digits days of Excel.
    """
    non_empty = list(filter(None, map(str.strip, values)))
    numbers = sorted(abs(_number(value)) for value in non_empty if is_number(value))
    if len(numbers) * 2 < len(non_empty):
        return date_orders(non_empty).orders[0]  # The first order is the likeliest.
    if not numbers:
        return TimeUnit.SECONDS
    if all(map(_DAY_NUMBER.fullmatch, non_empty)):  # The numbers are days, such as 20180103.
        return TimeUnit.ISO
    if says_time(name) and numbers[0] >= _EXCEL_FROM and numbers[-1] <= _EXCEL_TO:
        return TimeUnit.EXCEL_DAYS
    median = numbers[len(numbers) // 2]
    return _unit_of_size(median)


def _unit_of_size(median: float) -> TimeUnit:
    """The unit in which so many since 1970 are a moment of our time."""
    unit = TimeUnit.SECONDS
    latest_time = _UNIX_TO
    for finer_unit, per_second in UNITS_A_SECOND.items():
        # A number far beyond the latest time in one unit is a time in the next finer one.
        if median > 20 * latest_time:
            unit = finer_unit
        latest_time = _UNIX_TO * per_second
    return unit


def is_time(values: Values) -> bool:
    """Whether values are moments, as dates or as numbers since 1970."""
    non_empty = [value for value in values if value]
    if not all(map(is_number, non_empty)):
        return are_dates(non_empty)
    if not non_empty:
        return False
    if all(map(_DAY_NUMBER.fullmatch, non_empty)):  # The numbers are days, such as 20180103.
        return True
    # All are Unix times of likely years, in one and the same unit.
    times = [_number(value) for value in non_empty]
    earliest = min(times)
    latest = max(times)
    for per_second in UNITS_A_SECOND.values():
        if earliest >= _UNIX_FROM * per_second and latest <= _UNIX_TO * per_second:
            return True
    return False


def are_dates(values: Values) -> bool:
    """Whether nearly all values are dates that are written as texts."""
    non_empty = [value for value in values if value]
    # Reading dates takes time, so what cannot be one is left out first.
    texts = [value for value in non_empty if len(value) >= _SHORTEST_DATE and not is_number(value)]
    nearly_all = NEARLY_ALL * len(non_empty)
    return len(texts) > nearly_all and date_orders(texts).date_count > nearly_all


def _is_rating(values: Values) -> bool:
    """Whether values are few numbers on a grid, and neither the same in every row nor row numbers.

    Where every row has another value, only those with decimals may be ratings, as Jester's are.
    """
    different_values = {value for value in values if value}
    if not different_values or len(different_values) > _FEW or _never_changes(values):
        return False
    if _always_changes(values) and all(map(str.isdecimal, different_values)):
        return False
    return all(map(_can_be_rating, different_values))


def _can_be_rating(value: str) -> bool:
    """Whether a value is a number up to 100, with few decimals."""
    if not is_number(value) or abs(_number(value)) > 100:
        return False
    fraction = _FRACTION.fullmatch(value)
    return fraction is None or len(fraction.group(1)) <= _MOST_DECIMALS


def _number(text: str) -> float:
    return float(text.replace(",", "."))
