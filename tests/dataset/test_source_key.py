import os
import subprocess
import sys
from pathlib import Path

import pytest

from ecv_core import dataset as datasets
from ecv_core.records.errors import DatasetError

ROOT = Path(__file__).resolve().parents[2]


def key_of(dataset_id: str) -> str:
    return datasets.source_key(datasets.entry(dataset_id))


@pytest.fixture
def mine(data_folder: Path) -> Path:
    path = data_folder / "mine.csv"
    path.write_text("user_id,item_id\nu,i\n")
    return path


def key_in_a_new_process() -> str:
    code = "from ecv_core import dataset; print(dataset.source_key(dataset.entry('mine')))"
    words = [sys.executable, "-c", code]
    return subprocess.run(
        words, cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.strip()


def test_is_fit_for_a_file_name_and_stays_the_same(mine: Path):
    key = key_of("mine")
    assert len(key) == 64
    assert set(key) <= set("0123456789abcdef")
    assert key_in_a_new_process() == key
    for remembered in datasets.cache_dir().glob("*.sha256"):
        remembered.unlink()
    assert key_in_a_new_process() == key


def test_changes_with_the_content(mine: Path):
    key = key_of("mine")
    mine.write_text("user_id,item_id\nu,j\n")
    os.utime(mine, (1, 1))  # clocks are coarse: a rewrite may fall into the same tick
    assert key_of("mine") != key


def test_differs_between_datasets_with_equal_files(mine: Path):
    mine.with_name("twin.csv").write_bytes(mine.read_bytes())
    assert key_of("mine") != datasets.source_key(datasets.entry("twin"))


def test_an_unchanged_file_is_not_read_again(mine: Path):
    stamp = mine.stat()
    key = key_of("mine")
    mine.write_text("user_id,item_id\nX,i\n")  # same size, and then the same time
    os.utime(mine, ns=(stamp.st_atime_ns, stamp.st_mtime_ns))
    assert key_of("mine") == key
    assert key_in_a_new_process() == key


@pytest.mark.parametrize("content", [b"", b"no hash", b"\xff"])
def test_a_broken_memory_is_ignored(mine: Path, content: bytes):
    key = key_of("mine")
    (memory,) = datasets.cache_dir().glob("*.sha256")
    memory.write_bytes(content)
    assert key_in_a_new_process() == key


def test_works_where_nothing_can_be_written(mine: Path):
    datasets.cache_dir().write_text("a file where the folder should be")
    assert key_of("mine")


def test_a_missing_dataset_says_how_to_get_it(data_folder: Path):
    with pytest.raises(DatasetError, match="'ml-100k' is not on this machine; download it on"):
        key_of("ml-100k")


def test_the_synthetic_dataset_has_one_too(data_folder: Path):
    assert len(key_of("synthetic")) == 64
