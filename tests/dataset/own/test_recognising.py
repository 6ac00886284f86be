"""What people have on their desktops, and how each is read; by hand."""

import gzip
import io
import json
import zipfile

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ecv_core.dataset.layout import SPACES, Form, Layout, TimeUnit, rewritten_lines
from ecv_core.dataset.losses import REPEATED, WIDTH
from ecv_core.dataset.own import recognise_with_corrections
from ecv_core.dataset.own.recognise import first_rows_sentences, recognise
from ecv_core.dataset.own.roles import guess_roles, guess_unit, plain_name
from ecv_core.dataset.plain import no_report, plain_file
from ecv_core.records.errors import DatasetError, InputError, UnknownName
from tests.dataset.own.conftest import rows_of

TWO = [("ann", "x"), ("bob", "y")]


def named(layout):
    return {role: layout.names[at] for role, at in layout.roles}


@pytest.mark.parametrize(
    ("text", "columns", "rows"),
    [
        ("user_id,item_id\nann,x\nbob,y\n", ("user_id", "item_id"), TWO),
        ("Kunde;Artikel\nann;x\nbob;y", ("Kunde", "Artikel"), TWO),
        ("item\tuser\nx\tann\ny\tbob\n", ("user", "item"), TWO),
        ("user|item\nann|x\nbob|y\n", ("user", "item"), TWO),
        (
            "[user],[item]\n[ann],[x]\n[bob],[y]\n",  # as SQL Server quotes
            ("[user]", "[item]"),
            [("[ann]", "[x]"), ("[bob]", "[y]")],
        ),
        ("ann::x\nbob::y\n", ("column 1", "column 2"), TWO),
        ("ann x\nbob y\n", ("column 1", "column 2"), TWO),
        ("sep=;\nuser;item\nann;x\nbob;y\n", ("user", "item"), TWO),
        ("\n\nuser,item\n\nann,x\n\nbob,y\n\n", ("user", "item"), TWO),
        ("user,item\r\nann,x\r\nbob,y\r\n", ("user", "item"), TWO),
        ("user,item\rann,x\rbob,y\r", ("user", "item"), TWO),
        ("user_id:token\titem_id:token\nann\tx\nbob\ty\n", ("user_id:token", "item_id:token"), TWO),
        (",userId,movieId\n0,ann,x\n1,bob,y\n", ("userId", "movieId"), TWO),
        ("user,item\nann,x,\nbob,y,\n", ("user", "item"), TWO),  # a sign at the end of each row
        ("user,item\n1,ann,x\n2,bob,y\n", ("user", "item"), TWO),  # no name for the row's number
        ("user;model\nann;3,5\nbob;4,5\n", ("user", "model"), [("ann", "3,5"), ("bob", "4,5")]),
        (
            "user;text\nann;a, b, c\nbob;d, e, f\n",
            ("user", "text"),
            [("ann", "a, b, c"), ("bob", "d, e, f")],
        ),
        ('user,item\n"ann",x\n"bob",y\n', ("user", "item"), TWO),
        ("who,what\nann,x\nbob,y\n", ("column 1", "column 2"), [("who", "what"), *TWO]),
        ("who,what,n\nann,x,1\nbob,y,2\n", ("who", "what"), TWO),  # a word above numbers
    ],
)
def test_separators_headers_and_line_ends_are_recognised(read, text, columns, rows):
    layout, reading = read(text)
    assert (named(layout)["user_id"], named(layout)["item_id"]) == columns
    assert [row[:2] for row in rows_of(reading)] == rows
    assert reading.rows == len(rows)


@pytest.mark.parametrize(
    ("content", "encoding"),
    [
        ("user,item\nJosé,Ω\n".encode(), "utf-8"),
        ("user,item\nJosé,Ω\n".encode("utf-8-sig"), "utf-8"),
        ("user,item\nJosé,Ω\n".encode("utf-16"), "utf-16"),
        ("user,item\nJosé,é\n".encode("latin-1"), "cp1252"),
        ("user,item\nJosé,€\n".encode("cp1252"), "cp1252"),
        (b"user,item\nJos\xe9,\x81\n", "latin-1"),
    ],
)
def test_encodings_are_recognised(read, content, encoding):
    layout, reading = read(content)
    assert layout.encoding == encoding
    assert rows_of(reading)[0][0] == "José"


def test_a_letter_far_down_still_tells_the_encoding(read):
    text = "user;item\n" + "ann;x\n" * 300_000 + "José;y\n"
    layout, reading = read(text.encode("latin-1"))
    assert layout.encoding == "cp1252"
    assert rows_of(reading) == [("ann", "x"), ("José", "y")]


def test_movielens_without_a_header_is_understood_by_its_values(read):
    layout, reading = read("196\t242\t3\t881250949\n186\t302\t3\t891717742\n")
    assert [role for role, _ in layout.roles] == ["user_id", "item_id", "rating", "timestamp"]
    assert not layout.header
    assert rows_of(reading) == [("196", "242", 3.0, 881250949), ("186", "302", 3.0, 891717742)]


def test_a_date_before_the_ids_is_not_taken_for_one(read):
    layout, reading = read("2025-03-01,ann,x\n2025-03-02,bob,y\n")
    assert dict(layout.roles) == {"user_id": 1, "item_id": 2, "timestamp": 0}
    assert layout.unit is TimeUnit.ISO
    assert rows_of(reading) == [("ann", "x", 1740787200), ("bob", "y", 1740873600)]


@pytest.mark.parametrize(
    ("written", "unit", "seconds"),
    [
        ("1700000000", TimeUnit.SECONDS, 1700000000),
        ("1700000000.75", TimeUnit.SECONDS, 1700000000),
        ("1700000000123", TimeUnit.MILLISECONDS, 1700000000),
        ("1700000000123456", TimeUnit.MICROSECONDS, 1700000000),
        ("1700000000123456789", TimeUnit.NANOSECONDS, 1700000000),
        ("20231114221320", TimeUnit.ISO, 1700000000),
        ("202311142213", TimeUnit.ISO, 1699999980),
        ("2023111422", TimeUnit.ISO, 1699999200),  # no Unix time: it would be one of 2034
        ("20231114221320123", TimeUnit.ISO, 1700000000),
        ("20231114-221320", TimeUnit.ISO, 1700000000),
        ("2023-11-14", TimeUnit.ISO, 1699920000),
        ("2023-11-14T22:13:20Z", TimeUnit.ISO, 1700000000),
        ("2023-11-14 22:13:20 UTC", TimeUnit.ISO, 1700000000),
        ("2023-11-14T23:13:20+01:00", TimeUnit.ISO, 1700000000),
        ("12", TimeUnit.SECONDS, 12),  # a day's number: the order is what counts
    ],
)
def test_times_are_recognised_by_how_they_are_written(read, written, unit, seconds):
    layout, reading = read(f"user,item,time\nann,x,{written}\n")
    assert layout.unit is unit
    assert rows_of(reading) == [("ann", "x", seconds)]


JAN_22 = 1674345600  # 2023-01-01 is 1672531200, and 21 days have 1814400 seconds
AT_16_37 = JAN_22 + 59820


@pytest.mark.parametrize(
    ("written", "unit", "seconds"),
    [
        ("22.01.2023 16:37", TimeUnit.DAY_FIRST, AT_16_37),
        ("22.1.2023, 16:37:00 Uhr", TimeUnit.DAY_FIRST, AT_16_37),
        ("22.01.23", TimeUnit.DAY_FIRST, JAN_22),
        ("22-01-2023T17:37:00+01:00", TimeUnit.DAY_FIRST, AT_16_37),
        ("22/01/2023 9:05", TimeUnit.DAY_FIRST, JAN_22 + 32700),
        ("01/22/2023", TimeUnit.MONTH_FIRST, JAN_22),
        ("1/22/2023 4:37 PM", TimeUnit.MONTH_FIRST, AT_16_37),
        ("1/22/2023 12:00:01 a.m.", TimeUnit.MONTH_FIRST, JAN_22 + 1),
        ("2023/01/22 16:37", TimeUnit.ISO, AT_16_37),
        ("2023.1.22", TimeUnit.ISO, JAN_22),
        ("20230122", TimeUnit.ISO, JAN_22),
        ("22. Januar 2023 16:37", TimeUnit.ISO, AT_16_37),
        ("22-Jan-2023", TimeUnit.ISO, JAN_22),
        ("Sun Jan 22 16:37:00 2023", TimeUnit.ISO, AT_16_37),  # as C's ctime
        ("Sun Jan 22 16:37:00 +0000 2023", TimeUnit.ISO, AT_16_37),
        ("Sun Jan 22 11:37:00 EST 2023", TimeUnit.ISO, AT_16_37),  # five hours behind
        ("Sun, 22 Jan 2023 17:37:00 +0100", TimeUnit.ISO, AT_16_37),
        ("2023-01-22 17:37 CET", TimeUnit.ISO, AT_16_37),
        ("22/Jan/2023:16:37:00 +0000", TimeUnit.ISO, AT_16_37),  # as web servers
        ("01 22, 2023", TimeUnit.ISO, JAN_22),  # as Amazon
        ("22JAN2023", TimeUnit.ISO, JAN_22),  # as SAS
        ("22JAN2023:16:37:00", TimeUnit.ISO, AT_16_37),
        ("2023-01-22 16:37:00,123", TimeUnit.ISO, AT_16_37),  # as Python's logs
        ("2023-01-22T17:37:00+01:00[Europe/Paris]", TimeUnit.ISO, AT_16_37),  # as Java
        ("2023-01-22T11:37:00-05:00[America/Port-au-Prince]", TimeUnit.ISO, AT_16_37),
        ("22 Jan 2023, 16:37", TimeUnit.ISO, AT_16_37),  # as Last.fm
        ("22-Jan-23", TimeUnit.ISO, JAN_22),
        ("22-JAN-23 04:37:00 PM", TimeUnit.ISO, AT_16_37),
        ("31-Dec-70", TimeUnit.ISO, 364 * 86400),
        ("Jan 22 2023 4:37 pm", TimeUnit.ISO, AT_16_37),
        ("1. März 2023", TimeUnit.ISO, JAN_22 + 38 * 86400),  # nine days, and February's 28, and 1
        (
            "31.12.69",
            TimeUnit.DAY_FIRST,
            36524 * 86400,
        ),  # 100 years, 25 of them leap years, less a day
        ("31.12.70", TimeUnit.DAY_FIRST, 364 * 86400),
    ],
)
def test_dates_of_any_common_form_are_read(read, written, unit, seconds):
    layout, reading = read(f"user;item;time\nann;x;{written}\n")
    assert layout.unit is unit
    assert rows_of(reading) == [("ann", "x", seconds)]


def test_numbers_of_five_digits_under_a_date_are_days_of_excel(read):
    layout, reading = read("user,item,date\nann,x,44948\nbob,y,44948.75\n")
    assert layout.unit is TimeUnit.EXCEL_DAYS
    assert rows_of(reading) == [("ann", "x", JAN_22), ("bob", "y", JAN_22 + 64800)]


def roles_of(columns):
    """Role -> number of the column, from 1, of rows without names: a column for each argument."""
    rows = [tuple(map(str, row)) for row in zip(*columns, strict=True)]
    places = guess_roles([""] * len(columns), rows, has_names=False)
    return {role: place + 1 for role, place in places.items()}


USERS = [number // 5 for number in range(100)]
ITEMS = [f"i{number % 13}" for number in range(100)]


def test_what_counts_measures_or_never_changes_is_neither_id_nor_rating():
    counts = range(5_000, 5_100)
    latitudes = [f"{30 + number % 7 / 7:.6f}" for number in range(100)]
    zones = [-240] * 100
    assert roles_of([USERS, latitudes, zones, ITEMS]) == {"user_id": 1, "item_id": 4}
    assert roles_of([counts, USERS, ITEMS]) == {"user_id": 2, "item_id": 3}


def test_few_numbers_are_a_rating_and_no_item():
    stars = [number % 5 + 1 for number in range(100)]
    assert roles_of([USERS, stars, ITEMS]) == {"user_id": 1, "item_id": 3, "rating": 2}


@pytest.mark.parametrize("first", [0, 1])
def test_row_numbers_of_a_small_file_are_no_ratings(first):
    numbers = range(first, first + 100)
    stars = [number % 5 + 1 for number in range(100)]
    expected = {"user_id": 2, "item_id": 3, "rating": 4}
    assert roles_of([numbers, USERS, ITEMS, stars]) == expected


def test_a_file_that_is_sorted_by_items_has_its_users_first():
    users = [number * 37 % 1009 for number in range(100)]
    stars = [number % 5 + 1 for number in range(100)]
    seconds = [1_000_000_000 + number for number in range(100)]
    expected = {"user_id": 1, "item_id": 2, "rating": 3, "timestamp": 4}
    assert roles_of([users, [7] * 100, stars, seconds]) == expected
    two_items = [number // 50 for number in range(100)]
    assert roles_of([users, two_items, stars, seconds]) == expected


def test_a_file_that_is_sorted_by_users_has_its_items_behind_them():
    items = [number * 37 % 1009 for number in range(100)]
    stars = [number % 5 + 1 for number in range(100)]
    row_numbers = range(100)
    expected = {"user_id": 2, "item_id": 3, "rating": 4}
    assert roles_of([row_numbers, [7] * 100, items, stars]) == expected
    assert roles_of([["", ""] * 50, [7] * 100, items, stars]) == expected


def test_a_number_of_thousands_of_digits_is_an_id():
    users = [*range(19), "9" * 5000]
    assert roles_of([users, ITEMS[:20]]) == {"user_id": 1, "item_id": 2}


@pytest.mark.parametrize(
    ("names", "row", "roles"),
    [
        (",0,1,2", "{},{0},{1},{2}", {"user_id": "0", "item_id": "1", "rating": "2"}),
        ("0,1,2", "u{0},i{1},{2}", {"user_id": "0", "item_id": "1", "rating": "2"}),
        (
            "0,1,2,3",
            "{0},{1},{2},15149847{1}",
            {"user_id": "0", "item_id": "1", "rating": "2", "timestamp": "3"},
        ),
    ],
)
def test_numbers_of_columns_as_pandas_writes_them_are_names(read, names, row, roles):
    row = row.replace("{}", "{3}")
    # The 35th is of user 0 and item 1, as the names are.
    rows = [row.format(n % 7, n % 17, n % 5, n) for n in range(60)]
    layout, reading = read("\n".join([names, *rows]))
    assert named(layout) == roles
    assert (reading.rows, reading.unused) == (60, {})


def test_a_name_before_numbers_of_columns_tells(read):
    rows = [f"{n},a{n % 7},b{n % 17},{n % 5}" for n in range(60)]
    layout, _ = read("\n".join(["user,1,2,3", *rows]))
    assert named(layout)["user_id"] == "user"


def test_small_numbers_of_a_first_row_are_no_names(read):
    layout, reading = read("0,1,2\n0,2,4\n1,1,3\n1,2,5\n")
    assert (layout.header, reading.rows) == (False, 4)


def test_an_id_of_several_numbers_is_read_where_its_column_is_named(read):
    rows = [f"u{n % 7};{n % 5} {n % 3}{' 4' * (n % 2)};{n % 5}\n" for n in range(30)]
    text = "who;what;stars\n" + "".join(rows)
    with pytest.raises(DatasetError, match=r"if each is one id, name the column \(--item what\)"):
        read(text)
    layout, reading = read(text, columns={"item_id": "what"})
    assert named(layout)["user_id"] == "who"
    assert rows_of(reading)[1] == ("u1", "1 1 4", 1.0)


@pytest.mark.parametrize(
    ("plays", "said"),
    [
        (["950", "1.250"], ["1.250 is read as 1.25: if it is more than a thousand, write"]),
        (["950", "1,250"], ["1,250 is read as 1.25: if it is more than a thousand, write"]),
        (["4.125", "4.5"], []),
        (["0.250", "0.125"], []),
    ],
)
def test_decimals_that_may_be_thousands_are_said(tmp_path, plays, said):
    path = tmp_path / "plays.csv"
    path.write_text("user;item;playcount\n" + "".join(f"a;{play};{play}\n" for play in plays))
    recognised = recognise(plain_file(path, path.name, tmp_path, no_report))
    sentences = [text for text in first_rows_sentences(recognised) if "thousand" in text]
    assert [sentence[: len(said[0])] for sentence in sentences] == said


def test_one_scale_is_a_rating_and_no_item():
    stars = [number % 5 + 1 for number in range(100)]
    latitudes = [f"{30 + number % 50 / 7:.6f}" for number in range(100)]
    assert roles_of([USERS, stars, latitudes]) == {"user_id": 1, "rating": 2}
    halves = [number % 10 / 2 for number in range(100)]
    dates = ["2020-01-01"] * 100
    assert "item_id" not in roles_of([USERS, halves, dates])


def test_few_items_are_items():
    few = [number * 3 % 7 for number in range(100)]
    stars = [number % 5 + 1 for number in range(100)]
    seconds = [1_000_000_000 + number for number in range(100)]
    expected = {"user_id": 1, "item_id": 2}
    assert roles_of([USERS, few]) == expected
    assert roles_of([USERS, few, [1] * 100]) == expected
    assert roles_of([USERS, few, seconds]) == {**expected, "timestamp": 3}
    assert roles_of([USERS, few, stars, seconds]) == {**expected, "rating": 3, "timestamp": 4}


def test_few_users_are_users(read):
    rows = "".join(f"p{n // 5},{n % 5 + 1},{n % 7}\n" for n in range(100))
    layout, _ = read("item,rater,stars\n" + rows)
    assert named(layout) == {"user_id": "rater", "item_id": "item", "rating": "stars"}


@pytest.mark.parametrize("form", ["SW{}A 1AA", "+49 30 {}", "48.2;16.{}"])
def test_ids_of_as_many_parts_each_are_no_lists(form):
    ids = [form.format(number // 5) for number in range(100)]
    assert roles_of([ids, ITEMS]) == {"user_id": 1, "item_id": 2}


def test_kinds_of_events_are_no_items():
    kinds = [("view", "view", "cart")[number % 3] for number in range(100)]
    assert roles_of([USERS, kinds, ITEMS]) == {"user_id": 1, "item_id": 3}
    users = [number * 37 % 1009 for number in range(100)]
    items = [f"i{number * 41 % 997}" for number in range(100)]
    groups = [number % 17 for number in range(100)]
    assert roles_of([users, items, groups, kinds])["item_id"] == 2
    assert roles_of([USERS, kinds]) == {"user_id": 1, "item_id": 2}


def test_what_is_the_same_in_all_rows_of_an_item_is_no_rating():
    kinds = [number % 13 % 4 for number in range(100)]
    stars = [number % 5 + 1 for number in range(100)]
    assert roles_of([USERS, ITEMS, kinds, stars]) == {"user_id": 1, "item_id": 2, "rating": 4}


@pytest.mark.parametrize("product", ["B0001{:02}ABC", "{}"])
def test_products_of_amazon_are_no_users(product):
    books = ["0306406152", "0131103628", "020161622X"]  # each ends as its other digits say
    products = []
    for number in range(100):
        products.append(product.format(number % 3 if "B" in product else books[number % 3]))
    users = [f"A{number // 5:013}" for number in range(100)]
    assert roles_of([products, users]) == {"user_id": 2, "item_id": 1}


def test_stars_are_no_users_where_each_user_comes_once():
    users = [f"A{number:013}" for number in range(100)]
    products = [f"B0001{number // 40:02}ABC" for number in range(100)]
    stars = [number % 5 + 1 for number in range(100)]
    assert roles_of([users, products, stars]) == {"user_id": 1, "item_id": 2, "rating": 3}


def test_a_wide_table_without_names_is_none_of_interactions(read):
    rows = "".join(",".join(str((n * k) % 7) for k in range(1, 14)) + "\n" for n in range(100))
    with pytest.raises(DatasetError, match=r"a user and an item; .* a table of samples --target"):
        read(rows)


@pytest.mark.parametrize("value", ["3,{}", "2023-01-22 16:{:02}"])
def test_numbers_with_a_comma_and_dates_with_a_time_are_no_lists(read, value):
    rows = "".join(f"{n / 7:.4f};{value.format(n)}\n" for n in range(20))
    with pytest.raises(DatasetError, match="no column that looks like"):
        read("length;made\n" + rows)


def test_lists_do_no_harm_where_the_target_is_known(tmp_path):
    path = tmp_path / "samples.csv"
    rows = "".join(f'{n / 7:.4f},"[1, 2, {n}]",{n % 2}\n' for n in range(20))
    path.write_text("x,coordinates,flag\n" + rows)
    plain = plain_file(path, path.name, tmp_path, no_report)
    (note,) = recognise(plain).notes
    assert note.startswith("'coordinates' has lists")
    layout = recognise_with_corrections(plain, {"target": "flag"}).layout
    assert named(layout) == {"target": "flag"}


def test_whole_numbers_with_a_point_are_ids():
    floats = [f"{number // 5}.0e+00" for number in range(100)]
    assert roles_of([floats, ITEMS]) == {"user_id": 1, "item_id": 2}


def test_of_two_names_that_tell_a_role_that_of_a_filled_column_counts(read):
    rows = "".join(f"s{n % 4};{'NA' if n % 5 else 'u1'};i{n % 3}\n" for n in range(20))
    layout, reading = read("sessionId;userId;itemId\n" + rows)
    assert named(layout) == {"user_id": "sessionId", "item_id": "itemId"}
    assert reading.unused == {REPEATED: 8}  # of 20 rows, 4 sessions with 3 items each stay


def test_a_name_that_ends_as_those_of_ids_do_comes_before_others(read):
    rows = "".join(f"{n % 2},m{n % 3},k{n % 2},f{n % 4}\n" for n in range(12))
    layout, _ = read("user_age,user_hash,movie_genre,movie_no\n" + rows)
    assert named(layout) == {"user_id": "user_hash", "item_id": "movie_no"}


@pytest.mark.parametrize(
    "name", ["user_zip_code", "userAge", "customercity", "gender", "Member ZIP"]
)
def test_what_users_are_like_is_no_user(read, name):
    rows = "".join(f"{n % 7},r{n % 5},i{n % 6}\n" for n in range(30))
    layout, _ = read(f"{name},who,item_title\n{rows}")
    assert named(layout) == {"user_id": "who", "item_id": "item_title"}
    without_users = "".join(f"{n % 7},i{n % 6}\n" for n in range(30))
    with pytest.raises(DatasetError, match=r"looks like a user; name the column \(--user COLUMN\)"):
        read(f"{name},item\n{without_users}")


@pytest.mark.parametrize(
    "name", ["item_price", "productCategoryCode", "movie_year", "price", "qty"]
)
def test_what_items_are_like_is_no_item(read, name):
    rows = "".join(f"u{n % 7},k{n % 16},t{n % 13}\n" for n in range(60))
    layout, _ = read(f"user,{name},what\n{rows}")
    assert named(layout) == {"user_id": "user", "item_id": "what"}


def test_a_number_of_members_and_a_title_are_ids(read):
    rows = "".join(f"{n % 7},{n % 3},Film {n % 13}\n" for n in range(60))
    layout, _ = read(f"Member_number,movie_genre,movie_title\n{rows}")
    assert named(layout) == {"user_id": "Member_number", "item_id": "movie_title"}


def test_an_amount_behind_items_is_no_user(read):
    rows = "".join(f"i{n % 17},Pen {n % 17},{n % 5 + 1}\n" for n in range(100))
    with pytest.raises(DatasetError, match="looks like a user"):
        read("product_id,product_name,units\n" + rows)


def test_ids_of_facebook_are_users_and_no_books(read):
    rows = "".join(f"f{n % 13},t{n % 17},{n}\n" for n in range(100))
    layout, _ = read("facebook_id,kind,thing\n" + rows)
    assert named(layout)["user_id"] == "facebook_id"


def test_the_owner_of_a_product_is_a_user_and_no_product(read):
    rows = "".join(f"o{n % 13},p{n % 17},{n % 11}\n" for n in range(100))
    layout, _ = read("product_owner,product,n\n" + rows)
    assert named(layout)["user_id"] == "product_owner"


def test_the_place_in_an_order_is_no_user(read):
    rows = "".join(f"{n // 9},p{n % 31},{n % 9 + 1}\n" for n in range(108))
    with pytest.raises(DatasetError, match="looks like a user"):
        read("order_id,product_id,add_to_cart_order\n" + rows)


def test_a_name_that_contains_user_or_item_tells(read):
    rows = "".join(f"{number},u{number % 3},i{number % 4}\n" for number in range(12))
    layout, _ = read("key,USER_MD5,movie_code\n" + rows)
    assert named(layout) == {"user_id": "USER_MD5", "item_id": "movie_code"}


@pytest.mark.parametrize(
    "titles",
    [
        "Report,,,\nDate,2024-01-01,,\n,,,\n",  # as a spreadsheet fills lines up
        "# comment, with, commas, here\n",
        "# of 2024\n# a, b, c, d\n",
    ],
)
def test_titles_of_as_many_fields_as_rows_are_no_names(read, titles):
    rows = "".join(f"u{number % 3},i{number % 4},{number % 5},{number}\n" for number in range(12))
    layout, reading = read(f"{titles}user,item,rating,time\n{rows}")
    assert layout.names == ("user", "item", "rating", "time")
    assert len(rows_of(reading)) == 12


def test_names_before_a_column_without_one_stay_names(read):
    layout, reading = read("user,item,\nann,x,good\nbob,y,\ncid,z,bad\n")
    assert named(layout) == {"user_id": "user", "item_id": "item"}
    assert len(rows_of(reading)) == 3


def test_a_title_of_as_many_words_as_columns_is_none_of_their_names(read):
    rows = "".join(f"u{number % 3},i{number % 4},{number % 5}\n" for number in range(12))
    layout, reading = read(f"Report,Ratings,2024\nuser,item,rating\n{rows}")
    assert layout.names == ("user", "item", "rating")
    assert reading.rows == 12


def test_a_short_first_row_is_no_heading(read):
    rows = "".join(f"{n % 5},{n % 7},{n % 4}{',7' if n % 9 else ''}\n" for n in range(30))
    layout, _ = read(rows)
    assert len(layout.names) == 4


def test_lines_that_follow_each_other_are_no_headings(read):
    rows = "".join(f"u{number % 3},i{number % 4}\n" for number in range(12))
    layout, _ = read(f"# 1\n# 2\n# 3\nuser,item\n{rows}")
    assert layout.names == ("user", "item")


@pytest.mark.parametrize("value", [" 5", ""])  # in a matrix of a pattern, entries have no value
def test_the_sizes_of_a_sparse_matrix_are_no_row(read, value):
    rows = "".join(f"{number % 5 + 1} {number + 1}{value}\n" for number in range(20))
    text = f"%%MatrixMarket matrix coordinate integer general\n%\n5 20 20\n{rows}"
    _, reading = read(text)
    assert reading.rows == 20
    assert rows_of(reading)[0][:2] == ("1", "1")


@pytest.mark.parametrize(
    ("lines", "row"),
    [
        ("integer general\n% one entry\n%\n3 4 1\n2 3 5", ("2", "3", 5.0)),
        ("pattern general\n3 4 1\n2 3", ("2", "3")),
        ("real general\n  3   4  1\n  2  13  5.0", ("2", "13", 5.0)),
    ],
)
def test_a_sparse_matrix_of_one_entry_is_a_row(read, lines, row):
    _, reading = read(f"%%MatrixMarket matrix coordinate {lines}\n")
    assert rows_of(reading) == [row]


def test_a_comment_with_numbers_names_no_columns(read):
    rows = "".join(f"{n % 7 + 1} {n % 11} {n % 5} 15149847{n}\n" for n in range(10, 40))
    layout, reading = read(f"% bip weighted\n% 30 7 40\n{rows}")  # as KONECT writes it
    assert [role for role, _ in layout.roles] == ["user_id", "item_id", "rating", "timestamp"]
    assert rows_of(reading)[0] == ("4", "10", 0.0, 1514984710)


ALIGNED_ROWS = [("ann", "i7", 3.0), ("bo", "i12", 4.5), ("christine", "i7", 1.0)]


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("form", ["{:<10} {:<5} {}", "{:>10} {:>5} {:>7}  ", "{}   {}  {}"])
@pytest.mark.parametrize("names", [("user", "item", "rating"), ()])
def test_columns_that_are_aligned_by_spaces_are_read(read, form, end, names):
    lines = [form.format(*row) for row in ALIGNED_ROWS]
    if names:
        lines.insert(0, form.format(*names))
    layout, reading = read(end.join(lines))
    assert layout.header is bool(names)
    assert rows_of(reading) == ALIGNED_ROWS


def test_a_quoted_text_between_aligned_columns_keeps_its_spaces(read):
    rows = "".join(f'"u{n % 3}"    "The  Film {n:<3}"   {n % 5}\n' for n in range(12))
    _, reading = read(f"user   title   rating\n{rows}")
    assert rows_of(reading)[11] == ("u2", "The  Film 11 ", 1.0)


@pytest.mark.parametrize("quotes", [True, False])
def test_a_million_spaces_between_aligned_columns_are_as_good_as_two(quotes):
    layout = Layout(form=Form.DELIMITED, names=("user", "item"), separator=SPACES, quotes=quotes)
    wide = b' \r\n"a" ' + b" " * 1_000_000 + b"b \r\nc d\n"
    assert rewritten_lines(wide, layout) == b'\r\n"a"\x1fb\r\nc\x1fd\n'


def test_numbers_of_rows_before_aligned_columns_have_no_name(read):
    lines = ["   user item rating"]  # as pandas and R print a table
    for number, row in enumerate(ALIGNED_ROWS, start=9):
        lines.append(f"{number:<2} {row[0]:>9} {row[1]:>4} {row[2]:>6}")
    _, reading = read("\n".join(lines))
    assert rows_of(reading) == ALIGNED_ROWS


def test_a_row_without_a_value_between_aligned_columns_is_lost(read):
    lines = [f"u{n % 5:<5} i{n:<7} {n % 4}\n" for n in range(20)]
    lines[7] = "u2     i7\n"
    _, reading = read("".join(lines))
    assert reading.unused == {WIDTH: 1}
    assert len(reading.interactions) == 19


@pytest.mark.parametrize(
    ("row", "count"),
    [("u{0}  i{1}              1514984709", 3), ("u{0}  The Film {1}  5  1514984709", 6)],
)
def test_aligned_columns_with_values_missing_or_in_pieces_are_refused(read, row, count):
    rows = "".join(row.format(n % 3, n) + "\n" for n in range(12))
    with pytest.raises(
        DatasetError, match=f"4 columns, but its rows have {count} .* tabs or commas"
    ):
        read("user   title   rating   time\n" + rows)


@pytest.mark.parametrize(
    ("names", "end"),
    [("name,user,kind,", ""), ("#id,user,piece,kind", ""), ("name,user,item,kind", ",")],
)
def test_no_names_are_titles_where_a_value_could_name_a_column(read, names, end):
    rows = "".join(f"b{number},u{number % 3},i{number % 4},book{end}\n" for number in range(12))
    layout, reading = read(f"{names}\n{rows}")
    assert layout.names[1] == "user"
    assert len(rows_of(reading)) == 12


@pytest.mark.parametrize(
    "text",
    [
        "ann,x,book\nbob,y,song\ncid,x,book\n",  # it comes again
        "1,10,book,5\n2,20,pen,4\n3,10,pen,3\n",  # numbers stand beside it
    ],
)
def test_a_first_row_with_a_value_that_could_name_a_column_is_a_row(read, text):
    layout, reading = read(text)
    assert not layout.header
    assert reading.rows == 3


@pytest.mark.parametrize(
    "text",
    [
        "who,what,book\nann,x,b1\nbob,y,b2\n",  # one word alone
        "user,item\nann,x\nuser,item\nbob,y\n",  # files one after the other
        "user,item,2019\nann,x,1\nbob,y,2\n",
        "who,item\nann,x\nwho,item\nbob,y\n",
        "user,level_1,0\n17,0,42\n17,1,43\n18,0,44\n",  # pandas numbers what has no name
    ],
)
def test_words_for_columns_in_the_first_row_name_them(read, text):
    layout, _ = read(text)
    assert layout.header


def test_line_breaks_that_cut_rows_in_halves_of_one_width_are_in_fields(read):
    rows = [f'u{number % 3},i{number % 4},"good\nor bad, {number}",4\n' for number in range(12)]
    layout, reading = read("user,item,review,rating\n" + "".join(rows))
    assert layout.quotes
    assert len(rows_of(reading)) == 12


def test_a_day_of_a_month_is_no_time(read):
    layout, _ = read("userID,artistID,day,month,year\n1,2,1,4,2009\n1,3,2,3,2009\n")
    assert named(layout) == {"user_id": "userID", "item_id": "artistID"}


@pytest.mark.parametrize(
    "days", [("20180103", "20180301"), ("30", "60"), ("2018-01-03", "2018-03-01")]
)
def test_a_day_beside_its_month_is_a_time_where_it_is_none_of_the_month(read, days):
    layout, _ = read(f"user,item,day,month\n1,2,{days[0]},1\n1,3,{days[1]},3\n")
    assert named(layout)["timestamp"] == "day"


def test_the_object_that_has_user_and_item_names_the_columns(read):
    line = '{"_id": "%d", "_source": {"user_id": 1, "item_id": %d, "rating": 4}}\n'
    layout, _ = read("".join(line % (number, number) for number in range(12)))
    names = {"user_id": "_source.user_id", "item_id": "_source.item_id"}
    assert named(layout) == {**names, "rating": "_source.rating"}


def test_the_user_and_item_of_an_object_within_a_row_are_not_those_of_the_row(read):
    line = '{"user": 1, "item": %d, "reply": {"user_id": 2, "item_id": %d}}\n'
    layout, _ = read("".join(line % (number, number) for number in range(12)))
    assert named(layout) == {"user_id": "user", "item_id": "item"}


def test_a_date_that_is_not_read_is_said(tmp_path):
    path = tmp_path / "shop.csv"
    path.write_text("user,item,date_added\na,x,gestern\nb,y,heute\n")
    (sentence,) = first_rows_sentences(recognise(plain_file(path, path.name, tmp_path, no_report)))
    assert (
        sentence == "The column date_added is not read as a time, because it begins with gestern."
    )


@pytest.mark.parametrize(
    ("names", "sentence"),
    [
        ("user,item,day,month,year", "These columns are not used: day, month and year."),
        ("user,item,rating,timestamp,zip", "The column zip is not used."),
    ],
)
def test_columns_that_are_not_used_are_named(tmp_path, names, sentence):
    path = tmp_path / "days.csv"
    path.write_text(f"{names}\n" + "".join(f"u{n % 4},i{n},{n + 1},2,2020\n" for n in range(20)))
    plain = plain_file(path, path.name, tmp_path, no_report)
    assert sentence in first_rows_sentences(recognise(plain))


def test_a_date_beside_a_time_of_day_is_the_time(tmp_path):
    path = tmp_path / "visits.csv"
    rows = [f"u{n % 4},i{n},2020-01-{n + 1:02},10:00:{n:02}\n" for n in range(20)]
    path.write_text("user,item,date,time\n" + "".join(rows))
    recognition = recognise(plain_file(path, path.name, tmp_path, no_report))
    assert named(recognition.layout)["timestamp"] == "date"
    assert first_rows_sentences(recognition)[-1] == "The column time is not used."


def test_a_column_that_is_called_a_time_is_one_before_numbers_as_large(read):
    row = "u{},p{},{},15068254232717{:02},15068254{:02}000\n"
    rows = "".join(row.format(n % 4, n, 10**18 + n % 7, n % 4, n) for n in range(20))
    layout, _ = read("user,post,tweet_no_id,visit_start,click_timestamp\n" + rows)
    assert named(layout)["timestamp"] == "click_timestamp"
    rows = "".join(f"u{n % 4},p{n % 5},{10**18 + n % 7}\n" for n in range(20))
    layout, _ = read("user,post,tweet_no_id\n" + rows)
    assert "timestamp" not in named(layout)


@pytest.mark.parametrize(("name", "value"), [("day", "{}"), ("t", "{}.5"), ("at", "1")])
def test_numbers_beside_a_time_of_day_are_no_moments(tmp_path, name, value):
    path = tmp_path / "visits.csv"
    rows = [f"u{n % 4},i{n},10:00:{n:02},{value.format(n % 7)}\n" for n in range(20)]
    path.write_text(f"user,item,time,{name}\n" + "".join(rows))
    recognition = recognise(plain_file(path, path.name, tmp_path, no_report))
    assert "timestamp" not in named(recognition.layout)


def test_a_column_that_is_told_to_be_no_rating_is_not_told_again(tmp_path):
    path = tmp_path / "words.csv"
    path.write_text("user,item,rating\n" + "".join(f"u{n % 4},i{n},good\n" for n in range(20)))
    sentences = first_rows_sentences(recognise(plain_file(path, path.name, tmp_path, no_report)))
    assert [sentence[:36] for sentence in sentences] == ["The column rating is not used as the"]


def test_returns_are_said_before_they_are_kept(tmp_path):
    path = tmp_path / "shop.csv"
    path.write_text("user,item,Quantity\na,x,2\nb,y,-1\nc,z,0\n")
    sentence, _ = first_rows_sentences(recognise(plain_file(path, path.name, tmp_path, no_report)))
    assert sentence.startswith("2 of the first 3 rows have a Quantity of 0 or less, as returns")


def test_no_row_is_shown_that_the_look_at_the_file_cuts(tmp_path):
    lines = ["user,item,text", *(f"u{row},i{row},{'漢' * 2000}" for row in range(300))]
    (tmp_path / "long.csv").write_text("\n".join(lines), encoding="utf-8")
    plain = plain_file(tmp_path / "long.csv", "long.csv", tmp_path, no_report)
    assert {len(text) for _, _, text in recognise(plain).rows} == {2000}


def test_day_or_month_first_is_decided_by_the_whole_sample(read):
    rows = "ann;x;02/01/2023\nbob;y;03/01/2023\ncid;z;31/01/2023\n"
    layout, reading = read("wer;was;wann\n" + rows)  # a word above dates is a header
    assert named(layout) == {"user_id": "wer", "item_id": "was", "timestamp": "wann"}
    assert layout.unit is TimeUnit.DAY_FIRST
    assert [row[2] for row in rows_of(reading)] == [
        JAN_22 - 20 * 86400,
        JAN_22 - 19 * 86400,
        JAN_22 + 9 * 86400,
    ]
    assert read("user;item;time\n" + rows, unit=TimeUnit.MONTH_FIRST)[1].unused == {
        "no time, or not a time from 1700 to 2199 as dates, month first: 01/22/2023": 1
    }


@pytest.mark.parametrize(("sign", "taken", "day"), [(".", "day first", 2), ("/", "month first", 1)])
def test_dates_that_fit_both_orders_are_said(tmp_path, sign, taken, day):
    path = tmp_path / "shop.csv"
    path.write_text(f"user;item;time;stars\na;x;02{sign}01{sign}2023;3,5\nb;x;gestern;gut\n")
    found = recognise(plain_file(path, path.name, tmp_path, no_report))
    rating, time, both = first_rows_sentences(found)
    assert rating == "1 of the first 2 rows have a rating."
    assert time.startswith(f"1 of the first 2 rows have a time (dates, {taken}: ")
    month = "January" if day == 2 else "February"
    assert time.endswith(f": 02{sign}01{sign}2023 is {day} {month} 2023, 00:00 UTC.")
    assert both.startswith("These dates fit both day first and month first")


def test_the_unit_is_that_of_most_values():
    assert guess_unit(["", "1700000000000", "x"]) is TimeUnit.MILLISECONDS
    assert guess_unit([]) is TimeUnit.SECONDS


def test_names_are_compared_without_signs_and_types():
    assert plain_name("User_ID:token") == "userid"


def test_json_lines(read):
    lines = [
        {"reviewerID": "A1", "asin": "B7", "overall": 4.0, "unixReviewTime": 1400000000},
        {"reviewerID": 17, "asin": "B8", "overall": 5, "unixReviewTime": 1400000001, "more": [1]},
    ]
    layout, reading = read("\n".join(map(json.dumps, lines)), "reviews.jsonl")
    assert layout.form is Form.JSON_LINES
    assert rows_of(reading) == [("A1", "B7", 4.0, 1400000000), ("17", "B8", 5.0, 1400000001)]


def test_parquet_with_numbers_categories_and_dates(read, tmp_path):
    table = pa.table(
        {
            "when": pa.array([1700000000123, None], pa.timestamp("ms")),
            "customer_id": pa.array([7.0, 8.0]),
            "product": pa.array(["x", "y"]).dictionary_encode(),
            "stars": pa.array([3, 4], pa.int8()),
        }
    )
    buffer = io.BytesIO()
    pq.write_table(table, buffer)
    layout, reading = read(buffer.getvalue(), "events.parquet", columns={"timestamp": "when"})
    assert layout.form is Form.PARQUET
    assert rows_of(reading) == [("7", "x", 3.0, 1700000000)]
    assert sum(reading.unused.values()) == 1  # the row without a time


def zipped(**members: str) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in members.items():
            archive.writestr(name, text)
    return buffer.getvalue()


PLAIN = "user,item\nann,x\nbob,y\n"


@pytest.mark.parametrize(
    "content",
    [
        gzip.compress(PLAIN.encode(), mtime=0),
        zipped(**{"data/ratings.csv": PLAIN}),
        zipped(**{"ratings.csv": PLAIN, "README.txt": "read me", "__MACOSX/._ratings.csv": "x"}),
        zipped(ratings=PLAIN),
    ],
)
def test_what_is_packed_is_unpacked_whatever_its_name(read, content):
    _, reading = read(content, "file.bin")
    assert rows_of(reading) == TWO


CSV = "a,b,c\nann,x,7\nbob,y,8\n"


def test_columns_can_be_named_by_name_whatever_its_case_or_by_number(read):
    layout, reading = read(CSV, columns={"user_id": "B", "item_id": "1", "timestamp": "c"})
    assert named(layout) == {"user_id": "b", "item_id": "a", "timestamp": "c"}
    assert rows_of(reading) == [("x", "ann", 7), ("y", "bob", 8)]


def test_a_column_that_gets_a_role_loses_the_one_that_it_had(read):
    layout, _ = read("user,item,rating\nann,x,1\nbob,y,2\n", columns={"basket": "rating"})
    assert named(layout) == {"user_id": "user", "item_id": "item", "basket": "rating"}
    layout, _ = read("user,item,rating\nann,x,1\nbob,y,2\n", columns={"rating": "none"})
    assert named(layout) == {"user_id": "user", "item_id": "item"}


@pytest.mark.parametrize(
    ("asked", "error", "message"),
    [
        ({"columns": {"user_id": "user"}}, UnknownName, "no column is called 'user'"),
        ({"columns": {"user_id": "9"}}, UnknownName, "no column is called '9'"),
        (
            {"columns": {"user_id": "0000000019"}},
            UnknownName,
            "no column is called '0000000019'",
        ),
        ({"columns": {"user_id": "a", "item_id": "a"}}, InputError, "only one of user, item"),
        (
            {"columns": {"user_id": "none"}},
            InputError,
            "no column that looks like a user; .*--user",
        ),
    ],
)
def test_corrections_that_cannot_be_are_one_sentence(read, asked, error, message):
    with pytest.raises(error, match=message):
        read(CSV, **asked)


def test_what_is_known_better_goes_first(read):
    text = "user,item\nann,x\nbob,y\n"
    assert rows_of(read(text, header=False)[1]) == [("user", "item"), *TWO]
    assert rows_of(read("a;b,c\na;d,e\n", separator=";", header=False)[1]) == [
        ("a", "b,c"),
        ("a", "d,e"),
    ]
    latin = "user,item\nJos\xe9,x\n".encode("latin-1")
    with pytest.raises(DatasetError, match="not UTF-8 throughout; choose another encoding"):
        read(latin, encoding="utf-8")
