"""All runs as one file while others write."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event

import pytest

from ecv_core import cli
from ecv_core.records.errors import InputError, StoreError
from ecv_core.records.run import RunState
from ecv_core.records.spec import RunSpec
from ecv_core.store.rescue import back_up
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


def test_a_copy_has_what_was_there_and_opens_as_a_database(tmp_path: Path) -> None:
    store = open_store()
    first = finished(store, 0.5, 0.25)
    copy = tmp_path / "copy.sqlite"
    assert back_up(store, copy) == 1
    finished(store, 0.75)
    assert scores(open_store(f"sqlite:///{copy}")) == {first: [0.5, 0.25]}
    assert back_up(store, copy) == 2  # in the place of the older copy
    assert sorted(path.name for path in tmp_path.glob("*.part")) == []


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


def test_the_database_is_not_its_own_copy_and_a_full_place_leaves_the_old_one(
    tmp_path: Path,
) -> None:
    store = open_store()
    with pytest.raises(InputError, match="is the database of runs"):
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


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    finished(open_store(), 0.5)
    copy = tmp_path / "copy.sqlite"
    assert cli.main(["backup", str(copy)]) == 0
    assert f"{copy}: 1 run, " in capsys.readouterr().out
