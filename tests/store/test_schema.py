"""The database itself: opened by many at once, deleted under way, with a password."""

from __future__ import annotations

import sqlite3
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from threading import Barrier

import pytest

from ecv_core.records.errors import StoreError
from ecv_core.records.spec import RunSpec
from ecv_core.store.store import open_store

SPEC = RunSpec(dataset="synthetic", algorithm="popular", k=5, rule="never")


@pytest.mark.slow
def test_many_may_open_a_fresh_database_at_once(tmp_path):
    together = Barrier(8)

    def opened(trial: int) -> int:
        together.wait()
        return len(open_store(f"sqlite:///{tmp_path / f'{trial}.sqlite'}").runs())

    with ThreadPoolExecutor(8) as pool:
        for trial in range(10):
            assert list(pool.map(opened, [trial] * 8)) == [0] * 8


def test_a_database_that_was_deleted_under_way_takes_nothing_in_silence(tmp_path):
    path = tmp_path / "runs.sqlite"
    store = open_store(f"sqlite:///{path}")
    store.create([SPEC], owner="me")
    aside = path.rename(tmp_path / "aside.sqlite")
    with pytest.raises(StoreError, match="was deleted or replaced while it was in use"):
        store.create([SPEC], owner="me")
    aside.rename(path)
    store.create([SPEC], owner="me")
    assert len(store.runs()) == 2


def test_a_new_connection_to_a_database_that_was_deleted_says_so_too(tmp_path):
    """SQLite makes an empty file where it finds none."""
    path = tmp_path / "runs.sqlite"
    store = open_store(f"sqlite:///{path}")
    store._engine.dispose()
    for one in tmp_path.glob("runs.sqlite*"):
        one.unlink()
    with pytest.raises(StoreError, match="was deleted or replaced while it was in use"):
        store.runs()


@pytest.mark.parametrize(
    "url",
    [
        "nosuch://me:s3cret@host/runs",
        "postgresql://me:s3cret@host:nan/runs",
        "postgresql+nosuch://me:s3cret@127.0.0.1:1/runs",
    ],
)
def test_a_password_is_in_no_message(url):
    with pytest.raises(StoreError) as error:
        open_store(url)
    assert "s3cret" not in str(error.value)


@pytest.mark.parametrize(
    ("version", "words"),
    [
        (6, "before 0.2.0 .*schema 6.*set ECV_DATABASE_URL"),
        (99, "newer version .*schema 99.*update"),
    ],
)
def test_a_database_of_another_version_is_refused_and_left_as_it_is(tmp_path, version, words):
    path = tmp_path / "runs.sqlite"
    with closing(sqlite3.connect(path)) as other:
        other.execute("CREATE TABLE ecv_schema (version INTEGER PRIMARY KEY)")
        other.execute("INSERT INTO ecv_schema VALUES (?)", (version,))
        other.commit()
    with pytest.raises(StoreError, match=words) as error:
        open_store(f"sqlite:///{path}")
    assert str(path) in str(error.value)
    with closing(sqlite3.connect(path)) as other:
        tables = other.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
    assert tables == [("ecv_schema",)]
