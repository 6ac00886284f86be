"""The database itself: opened by many at once, deleted under way, with a password."""

from __future__ import annotations

import sqlite3
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from threading import Barrier

import pytest
import sqlalchemy as sa

from ecv_core.records.errors import StoreError
from ecv_core.records.run import RunState
from ecv_core.records.spec import RunSpec
from ecv_core.store.listing import RunList
from ecv_core.store.schema import metadata
from ecv_core.store.store import Store, open_store

RELEASES = Path(__file__).parent / "releases"
"""Databases that releases have written, as SQL: one finished run, one tracked, one deleted."""
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


@pytest.fixture(params=sorted(path.stem for path in RELEASES.glob("*.sql")))
def released_store(request, tmp_path) -> Store:
    """A database as a release has written it, opened by this version."""
    path = tmp_path / "runs.sqlite"
    with closing(sqlite3.connect(path)) as database:
        database.executescript((RELEASES / f"{request.param}.sql").read_text("utf-8"))
    return open_store(f"sqlite:///{path}")


def test_runs_of_every_release_are_read(released_store):
    """The numbers are what `runs --json` and `show` of release 0.2.0 printed."""
    tracked, finished = released_store.runs()
    assert finished.state is RunState.FINISHED
    scores = [fold.score for fold in finished.folds]
    assert scores == [0.5344815403006857, 0.5687228134073211, 0.748688539322892]
    assert finished.stopped_at == 3
    assert finished.spec.rule_params == (("alpha", 0.5),)
    users_by_fold = [
        len(scores.users) for scores in released_store.user_scores(finished.run_id).values()
    ]
    assert users_by_fold == [8, 10, 8]
    (label,) = [row.label for row in RunList(released_store).rows() if row.label.name]
    assert (label.name, label.tags, label.note) == ("first", ("a", "b"), "two\nlines")
    assert tracked.state is RunState.RUNNING
    assert [fold.score for fold in tracked.folds] == [0.5]


def test_a_database_of_every_release_takes_runs_and_gives_them_up(released_store):
    tracked, finished = released_store.runs()
    (run_id,) = released_store.create([SPEC], owner="me")
    assert released_store.run(run_id).spec == SPEC
    assert released_store.remove([finished.run_id]) == [finished.run_id]
    assert {run.run_id for run in released_store.runs()} == {tracked.run_id, run_id}
    assert released_store.bring_back([finished.run_id]) == 1


def test_tables_of_every_release_have_the_columns_of_this_version(released_store):
    for table in metadata.sorted_tables:
        rows = released_store.rows(table.select().where(sa.false()))
        assert list(rows) == []
