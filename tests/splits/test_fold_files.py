import gzip
import hashlib
from pathlib import Path

import numpy as np
import pytest

from ecv_core.records.errors import FoldsError
from ecv_core.records.interactions import Interactions
from ecv_core.splits import split
from ecv_core.splits.exchange import (
    folds_csv,
    read_split,
    store_folds,
    stored_folds_path,
    write_folds,
)

ROWS = ["a,x,0", "a,y,1", "b,x,1", "b,z,2"]
REFERENCE = Path(__file__).parents[3] / "shared" / "reference" / "ml-100k.folds.csv.gz"


@pytest.fixture
def small():
    return Interactions(
        dataset="small",
        users=np.array([0, 0, 1, 1], dtype=np.int32),
        items=np.array([0, 1, 0, 2], dtype=np.int32),
        user_ids=np.array(["a", "b", "unused"]),
        item_ids=np.array(["x", "y", "z"]),
    )


def csv(*rows, header="user_id,item_id,fold"):
    return "\n".join([header, *rows, ""]).encode()


@pytest.mark.parametrize(
    "content",
    [
        csv(*ROWS),
        csv(*ROWS).rstrip(),  # no newline at the end
        csv(*reversed(ROWS)),  # rows in any order
        csv(*ROWS).replace(b"\n", b"\r\n"),
        b"\xef\xbb\xbf" + csv(*ROWS),  # saved by a spreadsheet
        gzip.compress(csv(*ROWS), mtime=0),
        csv("0,q,x,a", "1,q,y,a", "1,q,x,b", "2,q,z,b", header="fold,note,item_id,user_id"),
        csv('"a","x","0"', "a,y,1", "b,x,1", "b,z,2", header='"user_id","item_id","fold"'),
    ],
)
def test_reads_each_interactions_fold(small, content):
    folds = read_split(content, small)
    assert (folds.strategy, folds.k, folds.seed) == ("imported", 3, None)
    assert folds.assignment.dtype == np.int16
    np.testing.assert_array_equal(folds.assignment, [0, 1, 1, 2])


@pytest.mark.parametrize("name", ["folds.csv", "folds.csv.gz"])
def test_what_was_written_is_read_back(tmp_path, make_interactions, name):
    interactions = make_interactions([12, 3, 0, 30])
    folds = split(interactions, "user-k-fold", 4, 5)
    path = tmp_path / name
    write_folds(path, interactions, folds)
    again = read_split(path, interactions)
    np.testing.assert_array_equal(again.assignment, folds.assignment)
    assert [file.name for file in tmp_path.iterdir()] == [name]


def test_folds_follow_interactions_that_are_not_sorted(make_interactions):
    tidy = make_interactions([12, 3, 30])
    order = np.random.default_rng(1).permutation(len(tidy))
    mixed = Interactions(
        dataset="mixed",
        users=tidy.users[order],
        items=tidy.items[order],
        user_ids=tidy.user_ids,
        item_ids=tidy.item_ids,
    )
    folds = split(tidy, "user-k-fold", 4, 5)
    again = read_split(folds_csv(tidy, folds), mixed)
    np.testing.assert_array_equal(again.assignment, folds.assignment[order])


def test_writes_plain_rows_with_a_header(small):
    folds = read_split(csv(*ROWS), small)
    assert folds_csv(small, folds) == csv(*ROWS)


def test_ids_with_commas_and_quotes_survive(small):
    odd = Interactions(
        dataset="odd",
        users=small.users,
        items=small.items,
        user_ids=np.array(["a,1", 'b"2', "c"]),
        item_ids=np.array(["x y", "ü", "NA"]),
    )
    folds = read_split(csv(*ROWS), small)
    again = read_split(folds_csv(odd, folds), odd)
    np.testing.assert_array_equal(again.assignment, folds.assignment)


def test_the_same_folds_give_the_same_bytes_at_any_time(monkeypatch, tmp_path, small):
    folds = read_split(csv(*ROWS), small)
    hashes = set()
    for name, now in (("one.csv.gz", 1e9), ("two.csv.gz", 2e9)):
        monkeypatch.setattr("time.time", lambda now=now: now)
        write_folds(tmp_path / name, small, folds)
        hashes.add(store_folds(tmp_path / name, tmp_path / "store"))
    assert len(hashes) == 1


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (csv(*ROWS[:3]), r"misses 1 of the 4 interactions of small, e\.g\. user b, item z"),
        (csv(), "misses 4 of the 4 interactions"),
        (csv(*ROWS, "a,x,0"), r"repeats 1 interactions, e\.g\. user a, item x"),
        (csv(*ROWS[:3], "a,x,2"), "repeats 1 interactions"),
        (csv(*ROWS, "c,x,0", "c,y,0"), r"names 1 users .* e\.g\. 'c' \(2 rows\)"),
        (csv(*ROWS, "a,w,0"), r"names 1 items that small does not have .* 'w'"),
        (csv(*ROWS, "b,y,0"), r"1 rows that are not interactions of small .* user b, item y"),
        (csv(*ROWS[:3], "b,z,1.5"), r"1 rows whose fold is not a whole number .* '1\.5'"),
        (csv(*ROWS[:3], "b,z,-1"), r"fold is not a whole number below 32767, e\.g\. '-1'"),
        (csv(*ROWS[:3], "b,z,"), "fold is not a whole number below 32767, e.g. ''"),
        (csv(*ROWS[:3], "b,z,two"), "e.g. 'two'"),
        (csv(*ROWS[:3], "b,z,99999"), "e.g. '99999'"),
        (csv(*ROWS[:3], "b,z,99999999999999999999"), "e.g. '9999"),
        (csv(*ROWS[:3], 'b,z,"' + 500 * "1\n" + '"'), r"e\.g\. '(1 ){19}1'; number"),
        (csv(*ROWS, 'c,"' + 500 * "x y\n" + '",0'), r"names 1 users .* e\.g\. 'c' "),
        (csv(*ROWS, 'a,"' + 500 * "x y\n" + '",0'), r"names 1 items .* e\.g\. '[xy ]{39}' "),
        (csv(*ROWS[:3], "b,z,4"), r"folds up to 4, but 2 of them are empty, e\.g\. fold 2"),
        (csv("a,x,0", "a,y,0", "b,x,0", "b,z,0"), "has only fold 0; at least 2"),
        (csv(*ROWS, header="user,item_id,fold"), "has no column user_id;"),
        (
            csv(*ROWS, header="user_id;item_id;fold"),
            "has no column user_id; its first line must be",
        ),
        (csv(*ROWS, header="user_id,item_id,fold,fold"), "not a readable CSV"),
        (b"", "is empty"),
        (csv(*ROWS, "a,x"), "not a readable CSV"),
        (csv("?,x,0").replace(b"?", b"\xff\xfe"), "not a readable CSV"),
        (bytes(range(256)), "is not a CSV file"),
        (b"\xfe\xed\xfa\xce, no text", "not a readable CSV"),
        (gzip.compress(csv(*ROWS), mtime=0)[:-12], "damaged or truncated gzip"),
        (gzip.compress(csv(*ROWS), mtime=0)[:5], "damaged or truncated gzip"),
        (gzip.compress(csv(*ROWS), mtime=0)[:10] + b"\xff" * 20, "damaged or truncated gzip"),
        (gzip.compress(gzip.compress(csv(*ROWS), mtime=0), mtime=0), "packed twice"),
    ],
)
def test_a_bad_file_is_refused_in_one_sentence(tmp_path, small, content, message):
    path = tmp_path / "bad.csv"
    path.write_bytes(content)
    with pytest.raises(FoldsError, match=message) as caught:
        read_split(path, small)
    assert str(caught.value).startswith("the fold file bad.csv ")
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 300  # what is quoted is cut


def test_a_file_that_is_not_there_is_refused(tmp_path, small):
    with pytest.raises(FoldsError, match=r"none\.csv cannot be read \(No such file"):
        read_split(tmp_path / "none.csv", small)


def test_a_decompression_bomb_is_refused(monkeypatch, small):
    monkeypatch.setattr("ecv_core.splits.exchange.MAX_FOLDS_BYTES", 2**20)
    with pytest.raises(FoldsError, match="larger than 1 MiB unpacked"):
        read_split(gzip.compress(b"x" * 2**21), small)


def test_a_file_that_cannot_be_written_is_reported_and_leaves_nothing(tmp_path, small):
    folds = read_split(csv(*ROWS), small)
    (tmp_path / "taken").write_text("a file, not a folder")
    with pytest.raises(FoldsError, match=r"cannot be written .*; free space or choose another"):
        write_folds(tmp_path / "taken" / "folds.csv", small, folds)
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(FoldsError, match="cannot be written"):
        write_folds(tmp_path / "folder.csv", small, folds)
    assert sorted(file.name for file in tmp_path.iterdir()) == ["folder.csv", "taken"]


@pytest.mark.parametrize(
    ("content", "suffix"), [(csv(*ROWS), ".csv"), (gzip.compress(csv(*ROWS), mtime=0), ".csv.gz")]
)
@pytest.mark.parametrize("as_path", [True, False])
def test_a_stored_file_is_found_by_its_hash(tmp_path, small, content, suffix, as_path):
    source = content
    if as_path:
        source = tmp_path / "given"
        source.write_bytes(content)
    sha256 = store_folds(source, tmp_path / "new" / "store")
    assert sha256 == hashlib.sha256(content).hexdigest()
    path = stored_folds_path(tmp_path / "new" / "store", sha256)
    assert path.name == sha256 + suffix
    assert path.read_bytes() == content
    assert read_split(path, small).k == 3


def test_a_stored_file_that_changed_is_refused(tmp_path):
    sha256 = store_folds(csv(*ROWS), tmp_path)
    (tmp_path / f"{sha256}.csv").write_bytes(csv(*ROWS[:3]))
    with pytest.raises(FoldsError, match="is damaged; import the file again"):
        stored_folds_path(tmp_path, sha256)


def test_a_hash_that_is_not_stored_is_refused(tmp_path):
    with pytest.raises(FoldsError, match="import the file again"):
        stored_folds_path(tmp_path, "0" * 64)


@pytest.mark.parametrize("name", ["", "../../etc/passwd", "0" * 63, "Z" * 64, "0" * 64 + "\n"])
def test_only_a_hash_can_name_a_stored_file(tmp_path, name):
    with pytest.raises(FoldsError, match="is not the SHA-256"):
        stored_folds_path(tmp_path, name)


def test_the_released_ml_100k_folds_go_through_unchanged(tmp_path):
    if not REFERENCE.exists():
        pytest.skip("needs ../shared/reference/ml-100k.folds.csv.gz")
    table = np.loadtxt(REFERENCE, delimiter=",", skiprows=1, dtype=np.int64)
    user_ids, users = np.unique(table[:, 0], return_inverse=True)
    item_ids, items = np.unique(table[:, 1], return_inverse=True)
    interactions = Interactions(
        dataset="ml-100k",
        users=users.astype(np.int32),
        items=items.astype(np.int32),
        user_ids=user_ids.astype(str),
        item_ids=item_ids.astype(str),
    )
    folds = read_split(REFERENCE, interactions)
    np.testing.assert_array_equal(folds.assignment, table[:, 2])
    assert folds.k == 10
    write_folds(tmp_path / "ours.csv.gz", interactions, folds)
    ours = gzip.decompress((tmp_path / "ours.csv.gz").read_bytes())
    assert ours == gzip.decompress(REFERENCE.read_bytes())
