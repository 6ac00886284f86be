import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from ecv_core.dataset.array_file import read_or_make
from ecv_core.records.interactions import Interactions

NAMES = ("users", "items", "user_ids", "item_ids")
NAMES += ("ratings", "timestamps", "baskets", "sequence")


def made(size: int = 3, *, extras: bool = True) -> Interactions:
    return Interactions(
        dataset="ma dé",
        users=np.arange(size, dtype=np.int32),
        items=np.arange(size, dtype=np.int32)[::-1].copy(),
        user_ids=np.array([f"ü{n}" for n in range(size)]),
        item_ids=np.array([f"item {n}" for n in range(size)]),
        ratings=np.full(size, 2.5, dtype=np.float32) if extras else None,
        timestamps=np.arange(size) * 10**9 if extras else None,
        baskets=np.arange(size, dtype=np.int32) + 7 if extras else None,
        sequence=np.arange(size, dtype=np.int32)[::-1].copy() if extras else None,
    )


def never() -> Interactions:
    raise AssertionError("it was to come from the cache")


def assert_equal(one: Interactions, two: Interactions) -> None:
    assert one.dataset == two.dataset
    for name in NAMES:
        left, right = getattr(one, name), getattr(two, name)
        assert (left is None) == (right is None)
        if left is not None:
            assert left.dtype == right.dtype
            np.testing.assert_array_equal(left, right)


@pytest.mark.parametrize("extras", [True, False])
def test_what_was_made_once_is_read_back_whole(tmp_path: Path, extras: bool):
    folder = tmp_path / "not" / "yet"
    first = read_or_make("key", folder, lambda: made(extras=extras))
    assert_equal(first, made(extras=extras))
    assert_equal(read_or_make("key", folder, never), made(extras=extras))


def test_another_key_is_made_anew(tmp_path: Path):
    read_or_make("one", tmp_path, made)
    assert len(read_or_make("two", tmp_path, lambda: made(5))) == 5


def damage_by_cutting(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-100])


def damage_a_byte(path: Path) -> None:
    content = bytearray(path.read_bytes())
    where = content.index(np.full(3, 2.5, dtype=np.float32).tobytes())
    content[where] ^= 1
    path.write_bytes(content)


def damage_by_emptying(path: Path) -> None:
    path.write_bytes(b"")


def damage_by_dropping_an_array(path: Path) -> None:
    np.savez(path, dataset=np.array("made"), users=np.arange(3))


def damage_by_a_pickle(path: Path) -> None:
    arrays = {name: getattr(made(), name) for name in NAMES}
    arrays["users"] = arrays["users"].astype(object)  # complete, but only a pickle can hold it
    np.savez(path, dataset=np.array("made"), **arrays)


@pytest.mark.parametrize(
    "damage",
    [
        damage_by_cutting,
        damage_a_byte,
        damage_by_emptying,
        damage_by_dropping_an_array,
        damage_by_a_pickle,
    ],
)
def test_a_damaged_file_is_made_anew_and_replaced(tmp_path: Path, damage):
    read_or_make("key", tmp_path, made)
    (path,) = tmp_path.iterdir()
    damage(path)
    assert_equal(read_or_make("key", tmp_path, made), made())
    assert_equal(read_or_make("key", tmp_path, never), made())


def test_a_folder_that_cannot_be_written_to_costs_only_time(tmp_path: Path):
    (tmp_path / "file").touch()
    assert_equal(read_or_make("key", tmp_path / "file" / "folder", made), made())


@contextmanager
def no_file_larger_than(size: int) -> Iterator[None]:
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_a_disk_that_fills_up_fails_nothing_and_leaves_nothing(tmp_path: Path):
    with no_file_larger_than(50_000):
        data = read_or_make("key", tmp_path, lambda: made(10_000))
    assert_equal(data, made(10_000))
    assert list(tmp_path.iterdir()) == []


def test_an_error_while_making_passes_through_and_leaves_nothing(tmp_path: Path):
    with pytest.raises(AssertionError, match="it was to come"):
        read_or_make("key", tmp_path, never)
    assert list(tmp_path.iterdir()) == []
