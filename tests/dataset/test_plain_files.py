import gzip
import lzma
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

from ecv_core import dataset as datasets
from ecv_core.dataset import rows as rows_of_files
from ecv_core.records.errors import DatasetError

# Ids are text: 007 is not 7, and NA is an item like any other.
TEXT = "user_id,item_id,rating,timestamp\n007,b,3,30\nann,NA,4.5,10\n007,a,1,20\n"
ROWS = {("007", "b", 3.0, 30), ("ann", "NA", 4.5, 10), ("007", "a", 1.0, 20)}


def rows(dataset_id: str) -> list[tuple[object, ...]]:
    data = datasets.load(dataset_id)
    columns: list[list[object]] = [
        data.user_ids[data.users].tolist(),
        data.item_ids[data.items].tolist(),
    ]
    columns += [x.tolist() for x in (data.ratings, data.timestamps) if x is not None]
    return list(zip(*columns, strict=True))


def parquet(path: Path, **columns: object) -> None:
    pa.parquet.write_table(pa.table(columns), path)


WRITERS: dict[str, Callable[[Path], object]] = {
    "mine.csv": lambda path: path.write_text(TEXT),
    "mine.csv.gz": lambda path: path.write_bytes(gzip.compress(TEXT.encode())),
    "mine.csv.xz": lambda path: path.write_bytes(lzma.compress(TEXT.encode())),
    "mine.parquet": lambda path: parquet(
        path,
        user_id=["007", "ann", "007"],
        item_id=["b", "NA", "a"],
        rating=[3.0, 4.5, 1.0],
        timestamp=[30, 10, 20],
    ),
}


@pytest.mark.parametrize("name", WRITERS)
def test_every_plain_form_reads_the_same(data_folder: Path, name: str):
    WRITERS[name](data_folder / name)
    data = datasets.load("mine")
    assert set(rows("mine")) == ROWS
    assert data.dataset == "mine"
    assert (data.users.dtype, data.items.dtype) == (np.int32, np.int32)
    assert data.ratings is not None
    assert data.timestamps is not None
    assert (data.ratings.dtype, data.timestamps.dtype) == (np.float32, np.int64)
    assert data.user_ids.tolist() == ["007", "ann"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("user_id,item_id\nu,i\n", [("u", "i")]),
        ("user_id,item_id\nu,i", [("u", "i")]),  # no newline at the end
        ("\ufeffuser_id,item_id\r\nu,i\r\n", [("u", "i")]),  # as Excel saves it
        ('"user_id","item_id"\n"a,b","i"\n', [("a,b", "i")]),
        ("note,item_id,user_id\nx,i,u\n", [("u", "i")]),  # other order, another column
        ("user_id,item_id,timestamp\nu,i,1400630400.0\n", [("u", "i", 1_400_630_400)]),
        ("user_id,item_id\ru,i\r", [("u", "i")]),  # as old Macs do
        ("user_id,item_id\nü,ΩΩ\n", [("ü", "ΩΩ")]),
    ],
)
def test_reads_what_people_write(data_folder: Path, text: str, expected: list[tuple[object]]):
    (data_folder / "mine.csv").write_bytes(text.encode())
    assert rows("mine") == expected


def test_of_repeated_pairs_the_earliest_is_kept(data_folder: Path):
    (data_folder / "mine.csv").write_text(
        "user_id,item_id,rating,timestamp\nu,i,1,30\nv,i,2,5\nu,i,3,10\nu,i,4,10\n"
    )
    assert rows("mine") == [("v", "i", 2.0, 5), ("u", "i", 3.0, 10)]


def test_of_repeated_pairs_without_times_the_first_is_kept(data_folder: Path):
    (data_folder / "mine.csv").write_text("user_id,item_id,rating\nu,i,1\nv,i,2\nu,i,3\n")
    assert rows("mine") == [("u", "i", 1.0), ("v", "i", 2.0)]


def test_parquet_may_hold_numbers_and_dates(data_folder: Path):
    when = np.array(["1970-01-02"], dtype="datetime64[ns]")
    parquet(data_folder / "mine.parquet", user_id=[5], item_id=[7], timestamp=when, other=["x"])
    assert rows("mine") == [("5", "7", 86_400)]


def test_codes_follow_the_rows_whatever_blocks_and_dictionaries_the_file_has(
    data_folder: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(rows_of_files, "_BATCH_ROWS", 2)
    users = pa.DictionaryArray.from_arrays([2, 0, 2, 3, 0], ["z", "never", "a", "b"])
    parquet(data_folder / "mine.parquet", user_id=users, item_id=[30, 4, 5, 4, 30])
    data = datasets.load("mine")
    assert data.user_ids.tolist() == ["a", "z", "b"]
    assert data.item_ids.tolist() == ["30", "4", "5"]
    assert data.users.tolist() == [0, 1, 0, 2, 1]
    assert data.items.tolist() == [0, 1, 2, 1, 0]


NO_TIME = "no time, or not a time from 1700 to 2199 as seconds since 1970"
BAD_CSV = {
    "": "lacks the columns 'user_id' and 'item_id'",
    "user_id,item_id\n": "has no rows",
    "user_id;item_id\nu;i\n": "it reads 'user_id;item_id'",
    "user,item\nu,i\n": "lacks the columns 'user_id' and 'item_id'; it reads 'user, item'",
    "user_id,rating\nu,1\n": "lacks the column 'item_id'",
    "1,2,3\n1,3,4\n": "lacks the columns 'user_id' and 'item_id'; it reads '1, 2, 3'",
    "user_id,item_id,rating\nu,i,1\nu,j,good\n": (
        "1 of its 2 rows has no rating, or a rating that is not a number up to 1,000,000 (row 2: "
        "user 'u', item 'j', rating 'good')"
    ),
    "user_id,item_id,rating\nu,i,1\nu,j,\n": "(row 2: user 'u', item 'j', rating '')",
    "user_id,item_id,rating\nu,i,nan\n": "none of its 1 rows can be used; 1 of them have no rating",
    "user_id,item_id,timestamp\nu,i,inf\nu,j,1\n": f"{NO_TIME} (row 1: ",
    "user_id,item_id,timestamp\nu,i,1e308\nu,j,1\n": f"{NO_TIME} (row 1: ",
    "user_id,item_id,timestamp\nu,j,1\nu,i,7258118400\n": f"{NO_TIME} (row 2: ",
    "a" * 200_000 + "\n": "lacks the columns 'user_id' and 'item_id'",
    '"' + "a" * 200_000 + "\n": "lacks the columns 'user_id' and 'item_id'",
    "user_id,item_id\nu,i\n,j\n": "1 of its 2 rows has no user (row 2: user '', item 'j')",
    "user_id,item_id\nu,i\nu\n": "a different number of columns than the other rows (u)",
    f"user_id,item_id\nv,i\n{'u' * 300},i\n": "an id longer than 256 characters (row 2: ",
}


@pytest.mark.parametrize("text", BAD_CSV)
def test_a_bad_csv_is_refused_with_file_and_reason(data_folder: Path, text: str):
    (data_folder / "mine.csv").write_text(text)
    with pytest.raises(DatasetError) as caught:
        datasets.load("mine")
    message = str(caught.value)
    assert message.startswith(f"{data_folder / 'mine.csv'} cannot be used as mine: ")
    assert BAD_CSV[text] in message
    assert "; correct it: the first line must be user_id,item_id and" in message
    assert "\n" not in message


BIG = "user_id,item_id\n" + "".join(f"u{n},i{n * 7919 % 1000}\n" for n in range(5000))
DAMAGED = {
    "truncated.csv.gz": gzip.compress(BIG.encode())[:-2000],
    "flipped.csv.gz": gzip.compress(BIG.encode())[:-8] + b"\0\0\0\0\0\0\0\0",
    "truncated.csv.xz": lzma.compress(BIG.encode())[:-50],
    "html.csv.gz": b"<html>404</html>",
    "text.parquet": b"PAR1 it is not",
    "latin1.csv": "user_id,item_id\nJos\u00e9,i\n".encode("latin-1"),
    "binary.csv": bytes(range(256)) * 10,
}


@pytest.mark.parametrize("name", DAMAGED)
def test_a_damaged_file_is_refused_in_one_sentence(data_folder: Path, name: str):
    (data_folder / name).write_bytes(DAMAGED[name])
    with pytest.raises(DatasetError, match=rf"{name} cannot be used as .*; correct it: "):
        datasets.load(name.split(".")[0])


def test_a_folder_in_place_of_the_file_is_not_taken_for_it(data_folder: Path):
    (data_folder / "mine.csv").mkdir()
    with pytest.raises(DatasetError, match="'mine' is not on this machine"):
        datasets.load("mine")


def test_a_parquet_file_without_the_columns_is_refused(data_folder: Path):
    parquet(data_folder / "mine.parquet", user=["u"], item_id=["i"])
    with pytest.raises(DatasetError, match="lacks the column 'user_id'"):
        datasets.load("mine")
