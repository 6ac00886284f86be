"""All runs as one file while others write, and back; whatever is no such file is refused."""

from __future__ import annotations

import sqlite3
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event

import pytest

from ecv_core import cli
from ecv_core.records.errors import InputError, StoreError
from ecv_core.records.run import RunState
from ecv_core.records.spec import RunSpec
from ecv_core.store.backup import back_up, restore
from ecv_core.store.store import Store, open_store
from tests.databases import PostgresServer
from tests.fake_folds import fold_result

SPEC = RunSpec(dataset="synthetic", algorithm="popular", k=5, rule="never")


def finished(store: Store, *scores: float) -> str:
    run_id = store.create([SPEC], owner="me")[0]
    for fold, score in enumerate(scores):
        store.add_fold(run_id, fold_result(fold, score), stopped_at=None)
    store.finish(run_id, RunState.FINISHED)
    return run_id


def scores(store: Store) -> dict[str, list[float]]:
    return {run.run_id: [fold.score for fold in run.folds] for run in store.runs()}


def test_what_was_backed_up_comes_back_and_what_was_there_is_kept(tmp_path: Path) -> None:
    store = open_store()
    first = finished(store, 0.5, 0.25)
    copy = tmp_path / "copy.sqlite"
    assert back_up(store, copy) == 1
    second = finished(store, 0.75)
    store.delete(first)
    runs, before = restore(store, copy)
    assert runs == 1
    assert scores(store) == {first: [0.5, 0.25]}  # the store that was open all the time
    assert scores(open_store(f"sqlite:///{before}")) == {second: [0.75]}
    assert sorted(path.name for path in tmp_path.glob("*copy*")) == ["copy.sqlite"]


def test_a_copy_is_of_one_moment_while_others_write(tmp_path: Path) -> None:
    store, done = open_store(), Event()

    def write() -> None:
        while not done.is_set():
            finished(open_store(), *[0.5] * 5)

    with ThreadPoolExecutor(1) as pool:
        writing = pool.submit(write)
        try:
            copies = [tmp_path / f"{number}.sqlite" for number in range(5)]
            for copy in copies:
                back_up(store, copy)
        finally:
            done.set()
        writing.result(60)
    for copy in copies:
        for run in open_store(f"sqlite:///{copy}").runs():
            # A finished run has all of its folds: none was caught between two transactions.
            assert run.state is not RunState.FINISHED or len(run.folds) == 5


def test_nothing_is_restored_while_a_run_is_going(tmp_path: Path) -> None:
    store = open_store()
    back_up(store, tmp_path / "copy.sqlite")
    run_id = store.create([SPEC], owner="me")[0]
    with pytest.raises(InputError, match=f"run {run_id} is still going; cancel it"):
        restore(store, tmp_path / "copy.sqlite")
    assert list(scores(store)) == [run_id]


def test_what_is_no_copy_is_refused_and_nothing_changes(tmp_path: Path) -> None:
    store = open_store()
    kept = finished(store, 0.5)
    copy = tmp_path / "copy.sqlite"
    back_up(store, copy)
    bad = {
        "text": b"no database" * 400,
        "cut": copy.read_bytes()[:-5000],
        "empty": b"",
    }
    for name, content in bad.items():
        (tmp_path / name).write_bytes(content)
        with pytest.raises(InputError, match=f"{name} is (no copy|damaged)"):
            restore(store, tmp_path / name)
    with sqlite3.connect(copy) as connection:
        connection.execute("INSERT INTO ecv_schema VALUES (99)")
    connection.close()
    with pytest.raises(InputError, match="written by a newer version"):
        restore(store, copy)
    with pytest.raises(InputError, match="there is no file"):
        restore(store, tmp_path / "nothing")
    assert list(scores(store)) == [kept]


def test_the_database_is_not_its_own_copy_and_a_full_place_leaves_the_old_one(
    tmp_path: Path,
) -> None:
    store = open_store()
    with pytest.raises(InputError, match="is the database itself"):
        back_up(store, tmp_path / "runs.sqlite")
    (tmp_path / "file").touch()
    with pytest.raises(StoreError, match="cannot be written"):
        back_up(store, tmp_path / "file" / "copy.sqlite")


@pytest.mark.slow
def test_another_database_has_tools_of_its_own(postgres: PostgresServer, tmp_path: Path) -> None:
    url = postgres.database()
    store = open_store(url)
    with pytest.raises(InputError, match="pg_dump"):
        back_up(store, tmp_path / "copy.sqlite")
    del store
    postgres.forget()


def test_both_commands(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    finished(open_store(), 0.5)
    copy = tmp_path / "copy.sqlite"
    assert cli.main(["backup", str(copy)]) == 0
    assert f"{copy}: 1 run, " in capsys.readouterr().out
    assert cli.main(["restore", str(copy)]) == 0
    assert "1 run is here now; those of before are in " in capsys.readouterr().out
    assert cli.main(["restore", str(tmp_path / "none")]) == 2
