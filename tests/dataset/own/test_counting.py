"""Every row of a file is kept or counted by a reason; nothing is dropped in silence."""

import csv
import io
import json
from collections import Counter

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from ecv_core.dataset import own
from ecv_core.dataset.layout import TimeUnit
from ecv_core.dataset.losses import (
    LONG_ID,
    NAMES_AGAIN,
    NO_BASKET,
    NO_ITEM,
    NO_OBJECT,
    NO_RATING,
    NO_TEXT,
    NO_USER,
    NOT_ABOVE_ZERO,
    OF_A_BOT,
    REPEATED,
    SWALLOWED,
    WIDTH,
    loss_sentence,
)
from ecv_core.dataset.plain import no_report, plain_file
from ecv_core.dataset.reading import read_rows
from ecv_core.records.errors import DatasetError
from ecv_core.untrusted import limits
from tests.dataset.own.conftest import read_path, rows_of

HEAD = "user,item,rating,timestamp,basket\n"
GOOD = "ann,x,3,1700000000,7\n"


def test_the_first_row_of_each_reason_is_shown_with_its_number(read):
    rows = ["ann,x,3", ",y,3", "", '"a\nb",y,bad', "short", "bob,y,2", "1,2,3,4,5", ",z,1"]
    _, reading = read("user,item,rating\n" + "\n".join(rows) + "\n")
    assert reading.examples == {
        WIDTH: "short",
        NO_USER: "row 2: user '', item 'y', rating '3'",
        NO_RATING: "row 3: user 'a\nb', item 'y', rating 'bad'",
    }


def test_lines_of_json_that_are_none_are_counted_and_the_first_is_shown(read):
    good, bad = '{"user": "ann", "item": "%d"}', "[1, %d]"
    lines = [good % 0, *(bad % at for at in range(7)), good % 1, '{"user": "ann"}']
    _, reading = read("\n".join(lines), name="file.jsonl")
    assert reading.examples == {NO_OBJECT: "[1, 0]", NO_ITEM: "row 3: user 'ann', item ''"}
    assert reading.unused == {NO_OBJECT: 7, NO_ITEM: 1}


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        (",y,3,1700000000,7", NO_USER),
        ("  ,y,3,1700000000,7", NO_USER),
        ("ann,,3,1700000000,7", NO_ITEM),
        ("NULL,y,3,1700000000,7", NO_USER),
        ("None,y,3,1700000000,7", NO_USER),
        ("nan,y,3,1700000000,7", NO_USER),
        ("NA,y,3,1700000000,7", NO_USER),
        ("ann,N/A,3,1700000000,7", NO_ITEM),
        (r"ann,\N,3,1700000000,7", NO_ITEM),
        ("undefined,y,3,1700000000,7", NO_USER),  # as JavaScript writes it
        ("ann,y,,1700000000,7", NO_RATING),
        ("ann,y,good,1700000000,7", NO_RATING),
        ("ann,y,nan,1700000000,7", NO_RATING),
        ("ann,y,1e308,1700000000,7", NO_RATING),
        ("ann,y,3,,7", "no time, or not a time from 1700 to 2199 as seconds since 1970"),
        ("ann,y,3,1e308,7", "no time, or not a time from 1700 to 2199 as seconds since 1970"),
        ("ann,y,3,inf,7", "no time, or not a time from 1700 to 2199 as seconds since 1970"),
        (
            "ann,y,3,-8520336001,7",
            "no time, or not a time from 1700 to 2199 as seconds since 1970",
        ),  # the last second of 1699
        (
            "ann,y,3,7258118400,7",
            "no time, or not a time from 1700 to 2199 as seconds since 1970",
        ),  # the first one of 2200
        ("ann,y,3,1700000000,", NO_BASKET),
        (f"{'a' * 257},y,3,1700000000,7", LONG_ID),
        (f"ann,{'a' * 900_000},3,1700000000,7", LONG_ID),
        ("ann,y\0,3,1700000000,7", None),
        ("ann,y,3,1700000000", WIDTH),
        ("ann,y,3,1700000000,7,8", WIDTH),
        ("ann", WIDTH),
        ("ann,x,5,1700000001,7", REPEATED),
    ],
)
def test_a_row_that_cannot_be_used_is_counted_by_its_reason(read, row, reason):
    content = HEAD + GOOD + row + "\n" + "bob,x,1,1700000000,7\n"
    if reason is None:
        with pytest.raises(DatasetError, match="it is not text"):
            read(content)
        return
    _, reading = read(content)
    assert rows_of(reading) == [("ann", "x", 3.0, 1700000000, 0), ("bob", "x", 1.0, 1700000000, 0)]
    assert reading.rows == 3
    ((said, count),) = reading.unused.items()
    assert said.startswith(reason)
    assert count == 1


def test_a_row_has_one_reason_even_if_everything_is_wrong(read):
    _, reading = read(HEAD + GOOD + ",,x,y,\n")
    assert reading.unused == {NO_USER: 1}
    assert reading.rows == 2


def test_what_is_just_inside_the_limits_is_kept(read):
    name = "a" * 256
    row = f"{name},y,-1000000,-8520336000,z\n"
    _, reading = read(HEAD + "ann,x,1000000,7258118399,z\n" + row)
    assert rows_of(reading) == [("ann", "x", 1e6, 7258118399, 0), (name, "y", -1e6, -8520336000, 0)]


def test_of_a_repeated_pair_the_earliest_is_kept_whatever_the_order(read):
    text = "user,item,rating,time\na,x,1,30\nb,x,2,5\na,x,3,10\na,x,4,10\na,x,5,20\n"
    _, reading = read(text)
    assert rows_of(reading) == [("b", "x", 2.0, 5), ("a", "x", 3.0, 10)]
    assert reading.unused == {REPEATED: 3}


@pytest.mark.parametrize("separator", ["::", "   "])
def test_a_separator_of_many_signs_is_one_wherever_the_file_is_cut_into_pieces(
    read, separator, monkeypatch
):
    monkeypatch.setattr(limits, "LONGEST_LINE", 1000)  # as long as a piece
    lines = []
    for number in range(30_000):
        lines.append(f"{separator.strip(':')}{number}{separator}{number % 7}{separator}3")
    _, reading = read("\n".join(lines) + "\n", name="ratings.dat")
    assert (reading.rows, len(reading.interactions), reading.unused) == (30_000, 30_000, {})


def test_a_decimal_comma_is_read_where_a_comma_separates_nothing(read):
    _, reading = read("user;item;rating\na;x;3,5\nb;x;4\nc;x;1.5\nd;x;1,5,5\n")
    assert [row[2] for row in rows_of(reading)] == [3.5, 4.0, 1.5]
    assert reading.unused == {NO_RATING: 1}


def test_a_decimal_comma_in_quotation_marks_is_read_and_a_thousand_is_not_taken_for_one(read):
    _, reading = read('user,item,rating\na,x,"3,5"\nb,x,4\nc,x,"1,234"\n')
    assert [row[2] for row in rows_of(reading)] == [3.5, 4.0]
    assert reading.unused == {NO_RATING: 1}


def test_one_lost_row_has_its_cause_in_the_singular():
    assert loss_sentence({NO_RATING: 1}, 3).startswith(
        "1 of 3 rows (33 %) would be lost: 1 has no rating"
    )


@pytest.mark.parametrize(
    ("lost", "said"),
    [
        (10, ""),  # a tenth of 100 is not more than a tenth
        (
            11,
            "11 of 100 rows (11 %) would be lost: 11 have no rating, or a rating that is not a "
            "number up",
        ),
    ],
)
def test_more_than_a_tenth_lost_is_said_with_its_cause(read, lost, said):
    rows = [f"u{at},x,{'good' if at < lost else 3}" for at in range(90)] + ["u89,x,3"] * 10
    _, reading = read("user,item,rating\n" + "\n".join(rows) + "\n")
    found = loss_sentence(reading.unused, reading.rows)
    assert found.startswith(said)
    assert bool(found) == bool(said)  # the ten that repeat a pair are not lost
    assert found.endswith("choose another column for the rating, or none" if said else "")


def test_baskets_follow_as_numbers_even_huge_ones_and_texts_as_they_come(read):
    numbers = "user,item,basket\na,x,1234567890123456789\na,y,1234567890123456788\na,z,9\n"
    assert [row[2] for row in rows_of(read(numbers)[1])] == [2, 1, 0]
    texts = "user,item,basket\na,x,late\na,y,early\na,z,late\n"
    assert [row[2] for row in rows_of(read(texts)[1])] == [0, 1, 0]


def test_texts_with_line_breaks_are_one_row(read):
    text = 'user,item,text\na,x,"two\nlines, and\n""more"""\nb,y,one\n\n'
    _, reading = read(text)
    assert rows_of(reading) == [("a", "x"), ("b", "y")]
    assert reading.rows == 2


def test_a_stray_quotation_mark_is_a_sign_like_any_other_without_quotes(read):
    text = "user,item\n" + "a,x\n" * 3 + 'b,"y\n' + "c,z\n"
    _, reading = read(text, quotes=False)
    assert rows_of(reading) == [("a", "x"), ("b", '"y'), ("c", "z")]


def test_json_lines_that_are_none_are_counted(read):
    lines = [
        '{"user": "a", "item": "x"}',
        '{"user": "a", "item": ',
        '["a", "x"]',
        '{"user": "a"}',
        '{"user": {"id": 1}, "item": "x"}',
        '{"user": true, "item": "x"}',
        '{"user": ' + "9" * 5000 + ', "item": "x"}',
        '{"user": "\\ud800", "item": "x"}',
        "[" * 100_000,
    ]
    _, reading = read("\n".join(lines), "x.jsonl")
    assert rows_of(reading) == [("a", "x")]
    assert reading.unused == {NO_OBJECT: 4, NO_ITEM: 1, NO_USER: 3}


def test_an_id_with_a_null_character_is_no_text(read):
    lines = [{"user": "a", "item": "x"}, {"user": "a\0", "item": "x"}]
    _, reading = read("\n".join(map(json.dumps, lines)), "x.jsonl")
    assert rows_of(reading) == [("a", "x")]
    assert reading.unused == {NO_TEXT: 1}


def test_nothing_that_can_be_used_says_what_most_rows_lack(read):
    with pytest.raises(DatasetError, match=r"none of its 2 rows can be used; 2 of them have no ra"):
        read("user,item,rating\na,x,good\nb,x,bad\n")


FIELD = st.one_of(
    st.sampled_from(
        ["", " ", "ann", "bob", "x", "3", "-1", "1e400", "nan", "1700000000", "2025-01-02"]
    ),
    st.text(st.characters(blacklist_categories=["Cs"], blacklist_characters="\0"), max_size=6),
)
WHOLE = st.lists(FIELD, min_size=4, max_size=4)
ROWS = st.lists(
    st.one_of(WHOLE, WHOLE, WHOLE, st.lists(FIELD, min_size=1, max_size=6)), max_size=20
)
TIMES = {
    TimeUnit.SECONDS: "1700000000",
    TimeUnit.MILLISECONDS: "1700000000000",
    TimeUnit.MICROSECONDS: "1700000000000000",
    TimeUnit.NANOSECONDS: "1700000000000000000",
    TimeUnit.EXCEL_DAYS: "45244",
    TimeUnit.ISO: "2023-11-14",
    TimeUnit.DAY_FIRST: "14.11.2023",
    TimeUnit.MONTH_FIRST: "11/14/2023",
}


def usual_width(rows: list[list[str]]) -> int:
    """The number of fields that most rows have."""
    return Counter(map(len, rows)).most_common(1)[0][0]


@pytest.mark.slow
@settings(max_examples=120, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    rows=ROWS,
    separator=st.sampled_from([",", ";", "\t", "|"]),
    end=st.sampled_from(["\n", "\r\n"]),
    encoding=st.sampled_from(["utf-8", "utf-8-sig", "utf-16"]),
    unit=st.sampled_from(list(TimeUnit)),
)
@example(
    rows=[[""], [""] * 6, [""] * 6, [""] * 6, ["ann", "ann", "", "", "", ""]],
    separator=",",
    end="\n",
    encoding="utf-8",
    unit=TimeUnit.SECONDS,
)
@example(
    rows=[[""], *[[""] * 4] * 5, ["\r", "", "", "\n"]],  # one line ends a field and begins another
    separator=",",
    end="\n",
    encoding="utf-8",
    unit=TimeUnit.SECONDS,
)
def test_rows_are_those_kept_and_those_counted(tmp_path, rows, separator, end, encoding, unit):
    """Whatever is in the fields: each row that was written is kept, or counted under one reason."""
    written = io.StringIO()
    writer = csv.writer(written, delimiter=separator, lineterminator=end, quoting=csv.QUOTE_ALL)
    writer.writerow(["user", "item", "rating", "time"])
    writer.writerows([["ann", "x", "1", TIMES[unit]]] * 2)
    writer.writerows(rows)
    path = tmp_path / "rows.csv"
    path.write_bytes(written.getvalue().encode(encoding))
    asked = {"separator": separator, "unit": unit, "encoding": encoding.removesuffix("-sig")}
    try:
        layout, reading = read_path(path, **asked)
    except DatasetError:
        # Most rows have another width, so that other columns are the file's.
        if usual_width(rows) == 4:
            raise
        return
    kept = len(reading.interactions)
    assert kept + sum(reading.unused.values()) == reading.rows
    if layout.skip:
        # Rows of another width are the table; how many lines stand above it is a note of its own.
        assert usual_width(rows) != 4
        return
    assert reading.rows == len(rows) + 2
    pairs = {(user, item) for user, item, *_ in rows_of(reading)}
    assert len(pairs) == kept
    written_pairs = {(row[0], row[1]) for row in [["ann", "x"], *rows] if len(row) > 1}
    assert pairs <= written_pairs


def rows_with(field: str, every: int = 10) -> str:
    """Thirty rows of a user, an item and a title, some of which have this field as the title."""
    lines = []
    for number in range(30):
        title = "plain"
        if number % every == 3:
            title = field
        lines.append(f"u{number % 5},i{number % 6},{title}")
    return "user,item,title\n" + "\n".join(lines) + "\n"


def test_quotation_marks_are_letters_where_all_lines_agree_without_them(read):
    text = rows_with('"the quoted" band').replace("u4,i4,plain", 'u4,i4,"open', 1)
    layout, reading = read(text.replace("u4,i2,plain", 'u4,i2,closed"', 1))
    assert (layout.quotes, reading.rows, reading.unused) == (False, 30, {})


def test_rows_within_a_quotation_mark_that_is_not_closed_are_counted_as_lost(read):
    text = "user,item,title\n" + 'a,x,"one, two"\n' * 300 + 'b,y,"open\nc,z,t\nd,z,t\ne,z,closed"\n'
    _, reading = read(text)
    assert reading.rows == 304
    assert reading.unused[SWALLOWED] == 3  # of c, d and e
    assert reading.examples[SWALLOWED] == "c,z,t"


def test_a_text_with_line_breaks_swallows_no_rows(read):
    _, reading = read(rows_with('"good, and\nvery good\nindeed"'))
    assert (reading.rows, reading.unused) == (30, {})


SALES = "user,item,quantity\nann,x,2\nann,y,-1\nbob,x,0\nbob,y,1\n"


@pytest.mark.parametrize("separator", [",", "::"])
@pytest.mark.parametrize(
    ("written", "item"),
    [
        (r'"The \"Best\", {}"', 'The "Best", {}'),  # as Spark and MySQL write it
        (r'"{} \"Best\""', '{} "Best"'),
        (r'"C:\{}\"', r"C:\{}" + "\\"),  # the backslash at its end is its own
        (r'"a ""b\"" {}"', r'a "b\" {}'),  # doubled marks, the second behind a backslash
        (r"12\" {}", r"12\" {}"),  # not in quotation marks
    ],
)
def test_quotation_marks_behind_backslashes_are_a_part_of_a_quoted_text(
    read, separator, written, item
):
    lines = [separator.join([f"u{n % 3}", written.format(n), "5"]) for n in range(20)]
    _, reading = read("\n".join(lines))
    assert [row[1] for row in rows_of(reading)] == [item.format(n) for n in range(20)]
    assert reading.unused == {}


def test_a_text_with_marks_behind_backslashes_and_line_breaks_swallows_no_rows(read):
    text = r'"he said \"hi\"' + "\n" + r"\"oh, well\" said she" + "\n" + r'\""'
    lines = [f"u{n},i{n},{text}" for n in range(20)]
    _, reading = read("user,item,text\n" + "\n".join(lines))
    assert rows_of(reading)[19] == ("u19", "i19")
    assert (reading.rows, reading.unused) == (20, {})


def test_names_of_columns_between_the_rows_are_counted_and_are_no_row(read):
    _, reading = read("user,item\nann,x\nuser,item\nbob,y\nuser,item\nitem,user\n")
    assert rows_of(reading) == [("ann", "x"), ("bob", "y"), ("item", "user")]
    assert (reading.rows, reading.unused) == (5, {NAMES_AGAIN: 2})
    assert loss_sentence(reading.unused, reading.rows) == ""  # nothing of value is lost


def test_returns_are_left_out_where_the_owner_says_so(tmp_path):
    path = tmp_path / "sales.csv"
    path.write_text(SALES)
    plain = plain_file(path, path.name, tmp_path, no_report)
    layout = own.recognise_with_corrections(plain, {}, leave_out=own.LeaveOut("quantity")).layout
    reading = read_rows(plain, layout, "sales", no_report)
    assert rows_of(reading) == [("ann", "x"), ("bob", "y")]
    assert (reading.rows, reading.unused) == (4, {NOT_ABOVE_ZERO: 2})
    assert reading.examples == {NOT_ABOVE_ZERO: "row 2: user 'ann', item 'y', amount '-1'"}
    assert loss_sentence(reading.unused, reading.rows) == ""


def test_ratings_of_zero_are_left_out_where_the_owner_says_so(tmp_path):
    path = tmp_path / "books.csv"
    path.write_text("user;item;rating\nann;x;8\nann;y;0\nbob;x;0,5\n")
    plain = plain_file(path, path.name, tmp_path, no_report)
    layout = own.recognise_with_corrections(plain, {}, leave_out=own.LeaveOut("rating")).layout
    reading = read_rows(plain, layout, "books", no_report)
    assert rows_of(reading) == [("ann", "x", 8.0), ("bob", "x", 0.5)]
    assert reading.unused == {NOT_ABOVE_ZERO: 1}


def test_users_with_a_tenth_of_all_rows_are_left_out_where_the_owner_says_so(tmp_path):
    people = [f"u{number},i{number % 7}" for number in range(60)]
    crawler = [f"crawler,i{number}" for number in range(7)]
    path = tmp_path / "shop.csv"
    path.write_text("\n".join(["user,item", *crawler, *people]) + "\n")
    plain = plain_file(path, path.name, tmp_path, no_report)
    for bots, users in ((False, 61), (True, 60)):
        layout = own.recognise_with_corrections(plain, {}, leave_out=own.LeaveOut(bots=bots)).layout
        reading = read_rows(plain, layout, "shop", no_report)
        assert reading.interactions.n_users == users
        assert len(reading.interactions) + sum(reading.unused.values()) == reading.rows == 67
    assert reading.unused == {OF_A_BOT: 7}
    assert sorted(reading.interactions.user_ids) == sorted(f"u{number}" for number in range(60))
