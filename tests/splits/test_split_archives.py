"""Any split travels: what was exported is read back, and others' files in the same form are."""

import io
import zipfile

import numpy as np
import pytest

from ecv_core.records.errors import FoldsError
from ecv_core.records.interactions import Interactions, Part
from ecv_core.records.tasks import Task
from ecv_core.splits import SPLITS, serving, split
from ecv_core.splits.exchange import read_split, split_archive, store_folds, stored_folds_path

USED = (Part.TRAIN, Part.VALIDATION, Part.TEST)


@pytest.fixture
def timed(make_interactions):
    times = np.random.default_rng(0).permutation(200)
    return make_interactions([20] * 10, times=times, baskets=times // 20)


@pytest.fixture
def small():
    return Interactions(
        dataset="small",
        users=np.array([0, 0, 1, 1], dtype=np.int32),
        items=np.array([0, 1, 0, 2], dtype=np.int32),
        user_ids=np.array(["a", "b"]),
        item_ids=np.array(["x", "y", "z"]),
        timestamps=np.array([3, 4, 5, 6]),
    )


def unpacked(content):
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return {name: archive.read(name).decode() for name in archive.namelist()}


def packed(**files):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return out.getvalue()


@pytest.mark.parametrize("name", serving(Task.TOP_N))
def test_what_was_exported_is_read_back(timed, name):
    folds = split(timed, name, min(3, SPLITS[name].most_k), 5)
    again = read_split(split_archive(timed, folds), timed)
    assert (again.strategy, again.k, again.seed) == ("imported", folds.k, None)
    for index in range(folds.k):
        before, after = folds.parts(index), again.parts(index)
        for part in USED:
            np.testing.assert_array_equal(before == part, after == part)


def test_validation_travels_too_and_more_than_ten_folds_stay_in_order(timed):
    folds = split(timed, "leave-one-out", 12, 5, {"validation": True})
    again = read_split(split_archive(timed, folds), timed)
    for index in range(12):
        np.testing.assert_array_equal(folds.parts(index), again.parts(index))


def test_plain_files_name_the_part_of_each_interaction(small):
    files = unpacked(split_archive(small, split(small, "leave-last-item", 1, 0)))
    assert files["fold-0.csv"] == (
        "user_id,item_id,part\na,x,train\na,y,test\nb,x,train\nb,z,test\n"
    )


def test_k_folds_stay_one_released_file(timed):
    files = unpacked(split_archive(timed, split(timed, "user-k-fold", 4, 1)))
    assert set(files) == {"README.md", "folds.csv"}
    assert files["folds.csv"].startswith("user_id,item_id,fold\n")


def test_the_readme_says_what_papers_ask_for(timed):
    folds = split(timed, "temporal-global", 1, 7, {"test": 0.3})
    text = unpacked(split_archive(timed, folds, facts=[("Licence", "do as you like")]))["README.md"]
    for words in (
        "`temporal-global`",
        "**Parameter `test`.** `0.3`",
        "**Seed.** 7",
        "10 users",
        "200 interactions",
        "**Licence.** do as you like",
        "| 0 | train | 10 |",
        "| 140 |",  # 70 % of 200, one per moment
        "of the same user 0.0 %",
        "1970-01-01",
    ):
        assert words in text


def test_the_same_split_is_the_same_bytes(timed):
    once, again = (split_archive(timed, split(timed, "leave-one-out", 2, 7)) for _ in range(2))
    assert once == again


def test_a_stored_archive_is_found_again_by_its_hash(tmp_path, timed):
    path = tmp_path / "split.zip"
    folds = split(timed, "temporal-user", 1, 7)
    path.write_bytes(split_archive(timed, folds))
    found = stored_folds_path(tmp_path / "kept", store_folds(path, tmp_path / "kept"))
    assert found.suffix == ".zip"
    np.testing.assert_array_equal(read_split(found, timed).parts(0), folds.parts(0))


def test_rows_in_any_order_and_left_out_ones_are_read(small):
    rows = "user_id,item_id,part\nb,z,test\na,y,validation\na,x,train\n"
    folds = read_split(packed(**{"any/folder/fold-0.csv": rows}), small)
    assert folds.parts(0).tolist() == [Part.TRAIN, Part.VALIDATION, Part.UNUSED, Part.TEST]


GOOD = "user_id,item_id,part\na,x,train\nb,z,test\n"


@pytest.mark.parametrize(
    ("files", "words"),
    [
        ({"notes.txt": "hello"}, "holds no split: it must hold folds.csv"),
        ({"fold-1.csv": GOOD}, "has no fold-0.csv; number the folds from 0"),
        ({"fold-0.csv": GOOD, "fold-2.csv": GOOD}, "has no fold-1.csv"),
        ({"fold-0.csv": GOOD.replace("test", "tests")}, "has a part 'tests'; parts are train"),
        (
            {"fold-0.csv": GOOD.replace("test", 500 * "a ")},
            f"has a part '{' '.join(20 * 'a')}'; parts are train",
        ),
        ({"fold-0.csv": GOOD.replace("test", "train")}, "has no test interactions"),
        ({"fold-0.csv": GOOD.replace("train", "test")}, "has no train interactions"),
        ({"fold-0.csv": GOOD + "a,x,test\n"}, "repeats 1 interactions, e.g. user a, item x"),
        ({"fold-0.csv": GOOD + "a,z,train\n"}, "has 1 rows that are not interactions of small"),
        ({"fold-0.csv": GOOD + "q,x,train\n"}, "names 1 users that small does not have"),
        ({"fold-0.csv": "user_id,item_id\na,x\n"}, "has no column part"),
        ({"fold-0.csv": ""}, "is empty; its first line must be user_id,item_id,part"),
        ({"folds.csv": "user_id,item_id,fold\na,x,0\n"}, "misses 3 of the 4 interactions"),
    ],
)
def test_an_archive_that_is_no_split_of_the_data_is_refused(small, files, words):
    with pytest.raises(FoldsError) as caught:
        read_split(packed(**files), small)
    assert words in str(caught.value)


def test_a_damaged_archive_is_refused(tmp_path, timed):
    content = split_archive(timed, split(timed, "leave-one-out", 2, 7))
    at = content.index(b"fold-0.csv") + 60
    for broken in (content[: len(content) // 2], content[:at] + b"\0" * 50 + content[at + 50 :]):
        path = tmp_path / "broken.zip"
        path.write_bytes(broken)
        with pytest.raises(FoldsError, match=r"the split archive broken.zip is damaged"):
            read_split(path, timed)


def test_a_decompression_bomb_is_refused(monkeypatch, small):
    monkeypatch.setattr("ecv_core.splits.exchange.MAX_FOLDS_BYTES", 2**20)
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("fold-0.csv", b"\n" * 2**21)
    with pytest.raises(FoldsError, match="larger than 1 MiB unpacked"):
        read_split(out.getvalue(), small)


def test_an_archive_whose_offsets_point_before_it_is_damaged(small):
    """Found by `benchmarks.fuzz`: Python then seeks to a negative place."""
    content = bytearray(split_archive(small, split(small, "user-k-fold", 2, 1)))
    at = content.index(b"PK\x05\x06") + 16  # where the table of contents is said to begin
    said = int.from_bytes(content[at : at + 4], "little")
    content[at : at + 4] = (said + 50_000).to_bytes(4, "little")
    with pytest.raises(FoldsError, match="is damaged or encrypted"):
        read_split(bytes(content), small)
