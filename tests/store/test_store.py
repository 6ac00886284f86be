"""What is written is there for every reader, whoever opens the database next."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from ecv_core.records.errors import InputError, StoreError
from ecv_core.records.run import RunState, UserScores
from ecv_core.records.spec import RunSpec
from ecv_core.store.ownership import interrupt
from ecv_core.store.rows import RunRows, run_rows
from ecv_core.store.store import Store, open_store
from tests.fake_folds import fold_result

SPEC = RunSpec(dataset="synthetic", algorithm="popular", params=(("a", 1), ("b", 0.5)))


def test_a_run_comes_back_as_it_was_created(store: Store) -> None:
    run_id = store.create([SPEC], owner="me")[0]
    run = open_store().run(run_id)
    assert (run.spec, run.state, run.folds) == (SPEC, RunState.QUEUED, ())


def test_folds_come_back_in_the_order_in_which_they_finished(store: Store) -> None:
    run_id = store.create([SPEC], owner="me")[0]
    for fold in (2, 0, 1):
        store.add_fold(run_id, fold_result(fold, 0.1 * fold), stopped_at=None)
    assert store.run(run_id).folds == tuple(fold_result(f, 0.1 * f) for f in (2, 0, 1))


def test_active_runs_come_as_the_queue_goes_the_running_one_first(store: Store) -> None:
    assert store.active() == []
    first, second, third = store.create([SPEC] * 3, owner="me")
    store.start(second, owner="me")
    store.add_fold(second, fold_result(0, 0.5), stopped_at=None)
    assert [run.run_id for run in store.active()] == [second, first, third]
    assert len(store.active()[0].folds) == 1
    store.finish(second, RunState.FINISHED)
    store.request_cancel(first)
    assert [run.run_id for run in store.active()] == [third]


def test_a_run_that_ends_while_the_active_ones_are_read_comes_last(store, monkeypatch) -> None:
    first, second = store.create([SPEC] * 2, owner="me")

    def meanwhile(*where: object) -> RunRows:
        rows = run_rows(*where)
        return replace(rows, queue=[row for row in rows.queue if row.run_id != first])

    monkeypatch.setattr("ecv_core.store.store.run_rows", meanwhile)
    assert [run.run_id for run in store.active()] == [second, first]


def test_a_fold_is_kept_once_and_never_overwritten(store: Store) -> None:
    run_id = store.create([SPEC], owner="me")[0]
    store.add_fold(run_id, fold_result(0, 0.5), stopped_at=None)
    store.add_fold(run_id, fold_result(0, 0.9), stopped_at=3)
    run = store.run(run_id)
    assert [result.score for result in run.folds] == [0.5]
    assert run.stopped_at == 3


def test_user_scores_come_back_to_the_last_bit(store: Store) -> None:
    run_id = store.create([SPEC], owner="me")[0]
    scores = UserScores(
        users=np.array([1, 4, 9], np.int32),
        metrics=("ndcg", "mrr"),
        values=np.array([[0.1, 1], [0, 0.5], [np.pi, 0]], np.float32),
    )
    store.add_fold(run_id, replace(fold_result(3, 0.5), user_scores=scores), stopped_at=None)
    back = store.user_scores(run_id)[3]
    np.testing.assert_array_equal(back.users, scores.users)
    np.testing.assert_array_equal(back.of("mrr"), scores.of("mrr"))


def test_a_run_that_a_plan_has_is_not_made_again_until_it_is_deleted(store: Store) -> None:
    other_spec = replace(SPEC, seed=7)
    (run_id,) = store.create([replace(SPEC, only_folds=(0,))], owner="a", plan_id="plan")
    both = store.create([replace(SPEC, only_folds=(1,)), other_spec], owner="b", plan_id="plan")
    assert both[0] == run_id
    assert [run.run_id for run in store.group("plan")] == both
    assert store.run(run_id).spec.only_folds == (0,)
    assert store.create([SPEC], owner="a", plan_id="another plan") != [run_id]
    store.request_cancel(run_id)
    store.remove([run_id])
    assert store.create([SPEC], owner="a", plan_id="plan") != [run_id]


def test_runs_are_listed_newest_first_and_groups_in_their_order(store: Store) -> None:
    first = store.create([SPEC, replace(SPEC, seed=1)], owner="me")
    second = store.create([SPEC], owner="me")
    assert [run.run_id for run in store.runs()] == [*second, *first[::-1]]
    assert [run.run_id for run in store.group(first[0])] == first


def test_the_queue_is_first_come_first_served_and_each_owners_own(store: Store) -> None:
    mine = store.create([SPEC, SPEC], owner="me")
    store.create([SPEC], owner="other")
    assert store.next_queued("me") == mine[0]
    assert store.start(mine[0], owner="me")
    assert store.next_queued("me") == mine[1]
    assert store.run(mine[1]).queue_position == 1
    assert store.run(mine[0]).queue_position is None


def test_a_run_that_was_cancelled_in_the_queue_does_not_start(store: Store) -> None:
    run_id = store.create([SPEC], owner="me")[0]
    store.request_cancel(run_id)
    assert not store.start(run_id, owner="me")
    assert store.run(run_id).state is RunState.CANCELLED


def test_runs_of_a_dead_owner_become_interrupted_and_others_are_left_alone(store: Store) -> None:
    running, queued = store.create([SPEC, SPEC], owner="dead")
    store.start(running, owner="dead")
    alive = store.create([SPEC], owner="alive")[0]
    finished = store.create([SPEC], owner="dead")[0]
    store.finish(finished, RunState.FINISHED)
    interrupt(store, ["dead"])
    states = {run.run_id: run.state for run in store.runs()}
    assert states == {
        running: RunState.INTERRUPTED,
        queued: RunState.INTERRUPTED,
        alive: RunState.QUEUED,
        finished: RunState.FINISHED,
    }


def test_progress_keeps_the_start_of_its_fold_and_goes_with_it(store: Store) -> None:
    run_id = store.create([SPEC], owner="me")[0]
    store.set_progress(run_id, 0, "fit", 1, 9)
    begun = store.run(run_id).progress
    store.set_progress(run_id, 0, "evaluate", 5, 7)
    now = store.run(run_id).progress
    assert begun is not None
    assert now is not None
    assert (now.phase, now.step, now.steps) == ("evaluate", 5, 7)
    assert now.started_at == begun.started_at
    store.add_fold(run_id, fold_result(0, 0.5), stopped_at=None)
    assert store.run(run_id).progress is None


def test_delete_forgets_everything_but_not_while_the_run_is_going(store: Store) -> None:
    run_id = store.create([SPEC], owner="me")[0]
    with pytest.raises(InputError, match="cancel it before"):
        store.delete(run_id)
    store.add_fold(run_id, fold_result(0, 0.5), stopped_at=None)
    store.finish(run_id, RunState.CANCELLED)
    store.delete(run_id)
    with pytest.raises(InputError, match="no run"):
        store.run(run_id)
    assert store.user_scores(run_id) == {}


def test_a_broken_database_file_says_so_and_the_way_out(tmp_path: Path) -> None:
    broken = tmp_path / "broken.sqlite"
    broken.write_bytes(b"this is no database, and long enough to be taken for one" * 40)
    with pytest.raises(StoreError, match=r"broken\.sqlite.*not a database.*move the damaged file"):
        open_store(f"sqlite:///{broken}")


def test_a_database_of_a_newer_version_is_refused(store: Store) -> None:
    with store.transaction("written") as connection:
        connection.exec_driver_sql("INSERT INTO ecv_schema VALUES (99)")
    with pytest.raises(StoreError, match="newer version"):
        open_store()


def test_an_unusable_address_is_named() -> None:
    with pytest.raises(StoreError, match="'nonsense' is not a usable database address"):
        open_store("nonsense")


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(StoreError, match="set ECV_DATABASE_URL"):
        open_store(f"sqlite:///{tmp_path}/file/below/runs.sqlite")


def test_a_full_disk_is_one_sentence() -> None:
    store = open_store()
    run_id = store.create([SPEC], owner="me")[0]
    with store._engine.connect() as connection:  # SQLite's own way to have a disk this small
        pages = connection.exec_driver_sql("PRAGMA page_count").scalar_one()
        connection.exec_driver_sql(f"PRAGMA max_page_count={pages}")
        connection.commit()
    big = UserScores(
        users=np.arange(99_999, dtype=np.int32),
        metrics=("a",),
        values=np.random.default_rng(1).random((99_999, 1), np.float32),  # does not pack
    )
    with pytest.raises(StoreError, match=r"full.*free some disk space"):
        store.add_fold(run_id, replace(fold_result(0, 0.5), user_scores=big), stopped_at=None)
    assert store.run(run_id).folds == ()


def test_the_tests_of_the_store_and_of_folds_run_on_both_databases(store, request) -> None:
    """Those of folds, in tests/jobs, have the same `store`."""
    assert store.url.startswith(request.node.callspec.params["each_database"])
