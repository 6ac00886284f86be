"""Names and first values of columns -> which is the user, the item, the rating, the time."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import pairwise

from ecv_core.dataset.columns import WORDS_FOR_MISSING
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
        rating ratings score stars overall bookrating userrating starrating movierating
        reviewrating reviewoverall yourrating myscore vote preference value grade bewertung note
        weight playcount r
    """,
    "timestamp": """
        timestamp time unixreviewtime ts timems datetime date createdat eventtime unixtime created
        when at reviewtime reviewdate orderdate day t invoicedate transactiondate purchasedate
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
    "user_id": (
        *("user", "customer", "member", "person", "visitor", "profile", "session"),
        *("owner", "buyer", "client"),
        "facebook",  # whose ids are no books'
    ),
    "item_id": (
        *("item", "product", "movie", "film", "book", "song", "track", "article", "artist"),
        *("beer", "hotel"),
    ),
}
"""Role -> what the name of its column may contain where no name of _NAMES is there."""
_ID_ENDINGS = ("id", "key", "code", "no", "nr", "number", "ref", "sku", "hash", "md5", "index")
"""How the name of a column of ids ends, unlike 'user_age' or 'product_category'."""
_QUANTITIES = ("quantity", "qty", "menge", "anzahl", "units")
_ATTRIBUTES = (
    *_QUANTITIES,
    *("age", "gender", "sex", "zip", "zipcode", "plz", "postal", "postcode", "city"),
    *("country", "state", "region", "language", "locale", "job", "occupation", "education"),
    *("income", "status", "type", "kind", "category", "genre", "year", "month", "day"),
    *("hour", "date", "time", "price", "cost", "discount", "count", "amount"),
    *("total", "average", "avg", "mean", "score", "rating", "rank", "position", "length"),
    *("duration", "latitude", "lat", "longitude", "lon", "lng", "alter", "geschlecht"),
    *("stadt", "ort", "land", "kategorie", "jahr", "preis"),
)
"""What the name of a column says of users or items that are not named by it: 'user_zip_code'."""
_NAME_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_TIME_PARTS = ("date", "time", "datum", "zeit")

_DAY = r"(19|20)\d\d(0[1-9]|1[0-2])(0[1-9]|[12]\d|3[01])"
_TIME_OF_DAY = r"([01]\d|2[0-3])([0-5]\d([0-5]\d(\d{3})?)?)?"
_DAY_NUMBER = re.compile(f"{_DAY}({_TIME_OF_DAY})?")
"""A day as 20180103, or a moment, from its hour, 2018010313, to milliseconds, 20180103130509123."""
_NUMBER = re.compile(r"[+-]?(\d+([.,]\d*)?|[.,]\d+)([eE][+-]?\d{1,3})?")
_ROW_NUMBER = re.compile(r"\d{1,20}")
"""With far more digits, int() would fail."""
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
_BY_CHANCE = 0.001
"""What is less likely than this by chance is none."""
_PRODUCT_CODE = re.compile(r"B0[0-9A-Z]{8}")
"""How Amazon names a product; in its ratings of 2018, products come before users."""
_ISBN = re.compile(r"\d{9}[\dX]")
"""How it names a book, by its ISBN; the last sign is worked out from the others."""
_BETWEEN_ENTRIES = re.compile(r"[\s,;|]+")
_AROUND_LISTS = "[](){}'\" "
_MOST_NAMELESS = 12
"""Files of interactions that do not name their columns have no more than this."""
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


def _is_attribute(name: str) -> bool:
    """Whether a name says what users or items are like, as 'user_zip_code' and 'itemPrice' do."""
    for word in _NAME_WORD.findall(name.split(":")[0]):
        attribute = word.lower()
        for id_word in (*_ID_WORDS["user_id"], *_ID_WORDS["item_id"]):
            attribute = attribute.removeprefix(id_word)
        if attribute in _ATTRIBUTES:
            return True
    return False


def says_item(name: str) -> bool:
    """Whether a column is called as items are, or as what happens with them."""
    plain = plain_name(name)
    return plain in _WORDS["item_id"] or _contains_word(plain, "item_id") or "event" in plain


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
    elif len(names) > _MOST_NAMELESS:
        # It is a table of samples, or a matrix with a column for each item.
        return {}
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
    columns: dict[int, Values] = {}
    for place in range(len(names)):
        columns[place] = [row[place].strip() for row in rows]
    for role in _missing_ids(roles):
        place_by_name = _place_by_part_of_name(role, names, _without_role(columns, roles))
        if place_by_name is not None:
            roles[role] = place_by_name
    roles |= _ids_by_values(roles, names, _without_role(columns, roles))
    if "timestamp" not in roles:
        roles |= _time_by_values(names, _without_role(columns, roles))
    if "rating" not in roles and not has_names:
        # Where columns have names, a column of ratings would be called so. Numbers decide only
        # where there are no names.
        items: Values = ()
        if "item_id" in roles:
            items = columns[roles["item_id"]]
        roles |= _rating_by_values(_without_role(columns, roles), items)
    return roles


def _time_by_values(names: Sequence[str], columns: Mapping[int, Values]) -> dict[str, int]:
    """The column of times, as a role; one that is called a time first, and empty for none.

    Numbers that are called an id, such as 'tweet_id', are no times however large they are.

    Args:
        names: The names of all columns.
        columns: The first values of those without a role.
    """
    guess: dict[str, int] = {}
    for place, values in columns.items():
        is_called_id = plain_name(names[place]).endswith("id") and not are_dates(values)
        if is_called_id or not is_time(values):
            continue
        if says_time(names[place]):
            return {"timestamp": place}
        guess.setdefault("timestamp", place)
    return guess


def _rating_by_values(columns: Mapping[int, Values], items: Values) -> dict[str, int]:
    """The first column that looks like ratings, as a role; empty for none."""
    for place, values in columns.items():
        if _is_rating(values, items):
            return {"rating": place}
    return {}


def _missing_ids(roles: Mapping[str, int]) -> list[str]:
    """Which of user and item have no column yet."""
    return [role for role in ("user_id", "item_id") if role not in roles]


def _without_role(columns: Mapping[int, Values], roles: Mapping[str, int]) -> dict[int, Values]:
    """The columns that have none of the roles."""
    return {place: values for place, values in columns.items() if place not in roles.values()}


def roles_by_names(names: Sequence[str], rows: Rows) -> dict[str, int]:
    """Role -> column, for those whose names tell.

    Args:
        names: The names of the columns.
        rows: The first ones, as text.
    """
    # The column 'row.user' is called 'user' here if its object has an item too, such as 'row.item'.
    plain_names = [plain_name(name) for name in _names_within_row_object(names)]
    roles: dict[str, int] = {}
    for role, words in _WORDS.items():
        # The likeliest word comes first, so that its column does too.
        places = [plain_names.index(word) for word in words if word in plain_names]
        if role == "timestamp" and places:
            roles[role] = _likeliest_time(places, rows)
        elif places:
            roles[role] = _first_filled(places, rows)
    if _is_day_of_month(roles.get("timestamp"), plain_names, rows):
        # Without the month, the day of a month tells no order.
        del roles["timestamp"]
    return roles


def _first_filled(places: Sequence[int], rows: Rows) -> int:
    """The first of these columns with a value in most rows; the first of all where none has.

    In Diginetica's files 'userId' is NA for most sessions, and 'sessionId' is not.
    """
    for place in places:
        values = [value for value in filled_values(rows, place) if value not in WORDS_FOR_MISSING]
        if len(values) * 2 > len(rows):
            return place
    return places[0]


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


def _place_by_part_of_name(
    role: str, names: Sequence[str], columns: Mapping[int, Values]
) -> int | None:
    """The column whose name contains a word for users or items; None for none.

    Of several it is one whose name ends as those of ids do: not 'user_age' but 'user_hash'.

    Args:
        role: 'user_id' or 'item_id'.
        names: The names of all columns.
        columns: Their first values, of those that have no role yet.
    """
    first_place = None
    for place, values in columns.items():
        plain = plain_name(names[place])
        if not _contains_word(plain, role) or _is_attribute(names[place]):
            continue
        if _always_changes(values):
            continue
        if plain.endswith((*_ID_ENDINGS, *_ID_WORDS[role])):
            return place
        if first_place is None and _can_be_ids(role, values):
            first_place = place
    return first_place


def _contains_word(plain: str, role: str) -> bool:
    return any(word in plain for word in _ID_WORDS[role])


def _ids_by_values(
    roles: Mapping[str, int], names: Sequence[str], columns: Mapping[int, Values]
) -> dict[str, int]:
    """The users or items that no name tells, by the values and the order of columns.

    Args:
        roles: Those that names tell.
        names: The names of all columns.
        columns: The first values of those without a role.

    Returns:
        Role -> column; a role for which nothing looks like ids is missing.
    """
    missing = _missing_ids(roles)
    candidates = {}
    for role in missing:
        candidates[role] = _candidates(role, roles, names, columns)
    guesses = _repeated_ids(candidates)
    user = guesses.get("user_id")
    has_no_item = "item_id" in missing and "item_id" not in guesses
    if user is not None and (has_no_item or _is_scale(columns[user])):
        # What looks like users may be the items of a file that is sorted by them, or their ratings:
        # no user comes twice in its first rows.
        del guesses["user_id"]
    for role in missing:
        if role in guesses:
            continue
        likely_place = _place_of_likely_ids(role, guesses, candidates[role])
        if likely_place is not None:
            guesses[role] = likely_place
    return guesses


def _repeated_ids(candidates: Mapping[str, Mapping[int, Values]]) -> dict[str, int]:
    """Role -> the first of its candidates whose values look like ids and come again."""
    guesses: dict[str, int] = {}
    for role, columns in candidates.items():
        for place, values in _without_role(columns, guesses).items():
            if _can_be_ids(role, values):
                guesses[role] = place
                break
    return guesses


def _candidates(
    role: str, roles: Mapping[str, int], names: Sequence[str], columns: Mapping[int, Values]
) -> dict[int, Values]:
    """The columns that may be users or items as far as their names tell.

    Behind items without ratings, few numbers are amounts or places in an order, and no users.
    """
    last_place_of_scale = len(names)
    if role == "user_id" and "rating" not in roles:
        last_place_of_scale = roles.get("item_id", len(names))
    candidates = {}
    for place, values in columns.items():
        is_amount = place > last_place_of_scale and _is_scale(values)
        is_of_other_role = _is_of_other_role(role, names[place])
        if not (is_amount or is_of_other_role or _is_attribute(names[place])):
            candidates[place] = values
    return candidates


def _place_of_likely_ids(
    role: str, guesses: Mapping[str, int], columns: Mapping[int, Values]
) -> int | None:
    """The likeliest column of ids of those in which all values differ or none does.

    So are the first rows of a file that is sorted by users or by items. Items are looked for behind
    the users first.

    Args:
        role: 'user_id' or 'item_id'.
        guesses: The columns that are taken already, by role.
        columns: The first values of those that may be taken.
    """
    user = guesses.get("user_id", -1)
    free_columns = _without_role(columns, guesses)
    scales: list[int] = []
    if role == "item_id":
        scales = _scales_of_items(free_columns)
    likely_places = []
    for place, values in free_columns.items():
        if place in scales or _may_be_ids(role, values):
            unlikelihood = _unlikelihood(role, values)
            likely_places.append((unlikelihood, place < user, place))
    if likely_places:
        *_, place = min(likely_places)
        return place
    return None


def _unlikelihood(role: str, values: Values) -> tuple[bool, ...]:
    """What makes a column of possible ids unlikely to be these, the weightiest first."""
    are_kinds = False
    tell_little = False
    if role == "item_id":
        is_scale = _is_scale(values)
        are_kinds = not is_scale and _are_few(values)
        tell_little = is_scale or _never_changes(values)
    return is_time(values), are_kinds, tell_little, _count_up(values)


def _scales_of_items(columns: Mapping[int, Values]) -> list[int]:
    """The columns with the same few whole numbers again and again that may be few items.

    Of two scales, one may be the rating of the other. A single one has ratings rather than items,
    unless nothing is left beside it but times and the same rating in every row.
    """
    scales: list[int] = []
    others = []
    for place, values in columns.items():
        if _is_scale(values):
            scales.append(place)
        elif not is_time(values) and not (place - 1 in scales and _never_changes(values)):
            others.append(place)
    if len(scales) == 1 and others:
        return []
    return [place for place in scales if not _have_decimals(columns[place])]


def _is_of_other_role(role: str, name: str) -> bool:
    """Whether a name says items where users are looked for, or users where items are."""
    other_role = {"user_id": "item_id", "item_id": "user_id"}[role]
    plain = plain_name(name)
    return _contains_word(plain, other_role) and not _contains_word(plain, role)


def _can_be_ids(role: str, values: Values) -> bool:
    """Whether values are what ids of users or items look like.

    A number for each row counts rows. Of a file that is sorted by users all the first rows may have
    the same user.
    """
    if role == "item_id" and (_never_changes(values) or _are_few(values)):
        return False
    return not _always_changes(values) and _may_be_ids(role, values)


def _may_be_ids(role: str, values: Values) -> bool:
    """Whether values may be ids, also if all of them differ or none does.

    Decimals are measurements, and few different numbers are a scale. In very few rows all but dates
    may be ids.
    """
    if not any(values) or are_dates(values):
        return False
    if len(values) < _TELLING:
        return True
    if all(map(_DAY_NUMBER.fullmatch, values)):  # The numbers are days, such as 20180103.
        return False
    if _have_decimals(values) or are_lists(values):
        return False
    if role == "item_id":
        return not _is_scale(values)
    return not _are_product_codes(values)


def _always_changes(values: Values) -> bool:
    """Whether every row has another value, as the number of a row has."""
    return len(values) >= _TELLING and len(set(values)) == len(values)


def _never_changes(values: Values) -> bool:
    """Whether every row has the same value."""
    return len(values) >= _TELLING and len(set(values)) == 1


def _count_up(values: Values) -> bool:
    """Whether each value is the number after that of the row before, as numbers of rows are."""
    if not all(map(_ROW_NUMBER.fullmatch, values)):
        return False
    numbers = map(int, values)
    return all(next_number - number == 1 for number, next_number in pairwise(numbers))


def are_lists(values: Values) -> bool:
    """Whether most of the values are several ids in a row, such as 'N1 N2' or '[1, 2]'.

    Each entry has a digit, as words of a title mostly have not. Lists differ in length or stand in
    brackets; ids such as 'SW1A 1AA' or '+49 30 1000' do not.
    """
    lists = []
    for value in values:
        entries = _BETWEEN_ENTRIES.split(value.strip(_AROUND_LISTS))
        # '3,5' is a number, with a decimal comma.
        if len(entries) > 1 and all(map(_has_digit, entries)) and not is_number(value):
            lists.append(value)
    if len(lists) * 2 <= len(values) or are_dates(values):
        return False
    counts = Counter(len(_BETWEEN_ENTRIES.split(value)) for value in values)
    return max(counts.values()) <= NEARLY_ALL * len(values) or lists[0].startswith("[")


def _has_digit(text: str) -> bool:
    return any(map(str.isdecimal, text))


def _are_product_codes(values: Values) -> bool:
    """Whether nearly all values are what Amazon calls its products."""
    code_count = 0
    for value in values:
        if _PRODUCT_CODE.fullmatch(value) or _is_isbn(value):
            code_count += 1
    return code_count > NEARLY_ALL * len(values)


def _is_isbn(value: str) -> bool:
    """Whether the last of ten signs is that which the nine digits before it give."""
    if not _ISBN.fullmatch(value):
        return False
    weighted = 0
    for place, digit in enumerate(value[:9], start=1):
        weighted += place * int(digit)
    return value[9] == "0123456789X"[weighted % 11]


def _describes_items(values: Values, items: Values) -> bool:
    """Whether values are the same in all rows of an item, as its category is, and not by chance."""
    value_of_item: dict[str, str] = {}
    repeated_count = 0
    for item, value in zip(items, values, strict=False):
        if item in value_of_item:
            repeated_count += 1
            if value_of_item[item] != value:
                return False
        value_of_item[item] = value
    share_alike = 0.0  # So often two rows have the same value whatever their items are.
    for count in Counter(values).values():
        share_alike += (count / len(values)) ** 2
    return share_alike**repeated_count < _BY_CHANCE


def _have_decimals(values: Values) -> bool:
    """Whether more than a few of the values are numbers with decimals; '7.0' has none."""
    decimal_count = 0
    for value in values:
        if is_number(value) and not _number(value).is_integer():
            decimal_count += 1
    return decimal_count > (1 - NEARLY_ALL) * len(values)


def _is_scale(values: Values) -> bool:
    """Whether these are the same few numbers again and again."""
    return _are_few(values) and all(map(is_number, values))


def _are_few(values: Values) -> bool:
    """Whether these are the same few values again and again, as ratings and kinds of events are.

    Of a file that is sorted by items, all rows of the first one come first, then those of the next.
    """
    different_values = set(values)
    if len(values) < _TELLING * _SCALE or len(different_values) > _SCALE:
        return False
    change_count = sum(value != next_value for value, next_value in pairwise(values))
    is_sorted = change_count < len(different_values)
    return not is_sorted


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


def _is_rating(values: Values, items: Values) -> bool:
    """Whether values are few numbers on a grid, and neither the same in every row nor row numbers.

    Where every row has another value, only those with decimals may be ratings, as Jester's are.
    What is the same in all rows of an item describes it.

    Args:
        values: The first ones of a column.
        items: The item of each of these rows; empty where it is not known.
    """
    different_values = {value for value in values if value}
    if not different_values or len(different_values) > _FEW or _never_changes(values):
        return False
    if _always_changes(values) and all(map(str.isdecimal, different_values)):
        return False
    return all(map(_can_be_rating, different_values)) and not _describes_items(values, items)


def _can_be_rating(value: str) -> bool:
    """Whether a value is a number up to 100, with few decimals."""
    if not is_number(value):
        return False
    number = _number(value)
    return abs(number) <= 100 and number == round(number, _MOST_DECIMALS)


def _number(text: str) -> float:
    return float(text.replace(",", "."))
