"""The list of all runs: its rows, what is written on runs, deletion that can be undone."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
import sqlalchemy as sa

from ecv_core.jobs.executors import failure_sentence
from ecv_core.jobs.plan import next_fold
from ecv_core.records.errors import InputError, StoreError
from ecv_core.records.run import LARGEST_AMOUNT, RunState
from ecv_core.records.spec import RunSpec
from ecv_core.store.activity import current_activity
from ecv_core.store.imports import origins
from ecv_core.store.listing import Label, RunList, checked_label, label_runs
from ecv_core.store.schema import UNDO_MINUTES, folds, imports, labels, now, removed, runs
from ecv_core.store.store import Store, open_store
from tests.fake_folds import fold_result

SPEC = RunSpec(dataset="synthetic", algorithm="popular")


def finished(store: Store, scores=(0.2, 0.4, 0.9), *, stopped_at=None, joules=36.0, source="rapl"):
    run_id = store.create([SPEC], owner="me")[0]
    for index, score in enumerate(scores):
        energy = replace(fold_result(index, score).energy, joules=joules, source=source)
        fold = replace(fold_result(index, score), energy=energy)
        store.add_fold(run_id, fold, stopped_at=stopped_at)
    store.finish(run_id, RunState.FINISHED)
    return run_id


def test_a_row_says_what_the_table_shows(store):
    run_id = finished(store, stopped_at=2)
    (row,) = RunList(store).rows()
    assert (row.run_id, row.spec, row.state) == (run_id, SPEC, RunState.FINISHED)
    assert row.scores == (0.2, 0.4, 0.9)
    assert row.mean == pytest.approx(0.3)  # of the two folds up to the stop
    assert row.joules == pytest.approx(108)  # of all three, the one that checked the stop too
    assert row.created_at == store.run(run_id).created_at


def test_a_row_agrees_with_the_whole_run(store):
    for stopped_at in (None, 3):
        run = store.run(finished(store, stopped_at=stopped_at))
        row = RunList(store).rows()[0]
        assert row.joules == pytest.approx(sum(fold.energy.joules for fold in run.folds))
        assert row.mean == pytest.approx(0.5)


def test_a_row_says_what_its_energy_is_made_up_of_by_how_it_is_known(store):
    run_id = finished(store, (0.2, 0.4), joules=36)
    part = replace(
        fold_result(2, 0.9).energy, joules=10, cpu_joules=4, ram_joules=6, source="cpu-load"
    )
    store.requeue(run_id, SPEC, owner="me")
    store.add_fold(run_id, replace(fold_result(2, 0.9), energy=part), stopped_at=None)
    one = fold_result(0, 0.2)
    read, loaded = RunList(store).rows()[0].spent
    assert (read.energy.source, read.energy.joules) == ("rapl", 72)
    assert read.energy.cpu_joules == 2 * one.energy.cpu_joules
    assert read.total_seconds == 2 * one.total_seconds
    assert loaded.energy == part


def test_before_the_first_fold_and_without_a_meter_nothing_is_made_up(store):
    store.create([SPEC], owner="me")
    finished(store, source="none")
    unmetered, empty = RunList(store).rows()
    assert (empty.mean, empty.joules) == (None, None)
    assert unmetered.joules is None


def test_folds_that_arrive_later_are_in_the_next_rows(store):
    listed = RunList(store)
    run_id = store.create([SPEC], owner="me")[0]
    assert listed.rows()[0].scores == ()
    before = current_activity(store)
    store.add_fold(run_id, fold_result(0, 0.5), stopped_at=None)
    assert listed.rows()[0].scores == (0.5,)
    assert current_activity(store) != before
    store.add_fold(run_id, fold_result(1, 0.7), stopped_at=None)
    assert listed.rows()[0].scores == (0.5, 0.7)


def test_known_folds_are_not_read_again(store):
    run_id = finished(store, (0.5,))
    listed = RunList(store)
    listed.rows()
    with store.transaction("written") as connection:  # an error once it is read
        connection.execute(folds.update().where(folds.c.run_id == run_id).values(result="{"))
    assert listed.rows()[0].scores == (0.5,)
    (anew,) = RunList(store).rows()
    assert anew.scores == ()
    assert anew.damaged[0].startswith("is damaged in the database: ")


BROKEN = {
    "its spec": (runs, {"spec": "{}"}),
    "its state": (runs, {"state": "sleeping"}),
    "its time": (runs, {"created_at": "yesterday"}),
    "its stop": (runs, {"stopped_at": 99}),
}
BROKEN_FOLDS = {
    "all of it": "{",
    "a score": lambda text: text.replace("0.5", "1e308"),
    "an energy": lambda text: text.replace('"joules": 36.0', '"joules": 1e308'),
    "a time": lambda text: text.replace('"total_seconds": 0.8', '"total_seconds": -1'),
    "another's": lambda text: text.replace('"fold": 1', '"fold": 7'),
}


@pytest.mark.parametrize("what", BROKEN)
def test_one_damaged_run_is_told_apart_and_the_others_are_there(store, what):
    """Whatever was written over it: with `spec='{}'` no run could be read at all."""
    good, bad = finished(store, (0.5, 0.5)), finished(store, (0.5,))
    table, values = BROKEN[what]
    (column, value), mine = next(iter(values.items())), table.c.run_id == bad
    with store.transaction("written") as connection:
        before = connection.scalar(sa.select(table.c[column]).where(mine))
        after = value(before) if callable(value) else value
        assert after != before
        connection.execute(table.update().where(mine).values({column: after}))
    listed = RunList(store)
    assert [row.run_id for row in listed.rows()] == [good]
    assert list(listed.damaged) == [bad]
    assert [run.run_id for run in store.runs()] == [good]
    with pytest.raises(StoreError, match=f"run {bad} in the database is damaged.*delete it"):
        store.run(bad)
    store.delete(bad)
    assert RunList(store).rows()[0].run_id == good


@pytest.mark.parametrize("what", BROKEN_FOLDS)
def test_a_damaged_fold_hides_no_other_and_the_run_can_go_on_there(store, what):
    run_id = finished(store, (0.3, 0.5, 0.4))
    before, mine = store.run(run_id), (folds.c.run_id == run_id, folds.c.fold == 1)
    value = BROKEN_FOLDS[what]
    with store.transaction("written") as connection:
        text = connection.scalar(sa.select(folds.c.result).where(*mine))
        after = value(text) if callable(value) else value
        assert after != text
        connection.execute(folds.update().where(*mine).values(result=after))
    (row,) = RunList(store).rows()
    run = store.run(run_id)
    assert row.scores == (0.3, 0.4)
    assert [fold.fold for fold in run.folds] == [0, 2]
    assert list(row.damaged) == list(run.damaged) == [1]
    assert run.damaged[1].startswith("is damaged in the database: ")
    assert run.resumable
    assert next_fold(run) == 1
    assert run.at_stop.mean == pytest.approx(0.35)
    again = replace(before.folds[1], score=0.5)  # as it is computed where the run is resumed
    store.add_fold(run_id, again, stopped_at=None)
    assert [fold.score for fold in store.run(run_id).folds] == [0.3, 0.4, 0.5]
    assert not store.run(run_id).damaged


def test_a_damaged_fold_is_deleted_and_a_good_one_is_not(store):
    run_id = finished(store, (0.3, 0.5, 0.4))
    bad = (folds.c.run_id == run_id, folds.c.fold == 1)
    with store.transaction("written") as connection:
        connection.execute(folds.update().where(*bad).values(result="{"))
    store.delete_fold(run_id, 0)
    assert store.run(run_id).state is RunState.FINISHED
    store.delete_fold(run_id, 1)
    run = store.run(run_id)
    assert [fold.fold for fold in run.folds] == [0, 2]
    assert (run.state, run.stopped_at, dict(run.damaged)) == (RunState.INTERRUPTED, None, {})
    assert next_fold(run) == 1


@pytest.mark.parametrize(
    ("table", "values"),
    [
        (labels, {"tags": "{"}),
        (labels, {"tags": "[" * 2000}),
        (imports, {"made_with": "["}),
        (imports, {"imported_at": "x"}),
    ],
)
def test_what_is_written_about_a_run_hides_no_run_where_it_is_damaged(store, table, values):
    run_id = finished(store)
    label_runs(store, {run_id: Label(name="mine")})
    about = {"original_id": "a", "file_name": "c", "made_with": "{}"}
    with store.transaction("written") as connection:
        connection.execute(imports.insert().values(run_id=run_id, imported_at=now(), **about))
        connection.execute(table.update().values(values))
    assert [row.run_id for row in RunList(store).rows()] == [run_id]
    origins(store)


def test_without_an_active_run_nothing_goes_on(store):
    finished(store)
    assert not current_activity(store).runs


def test_what_is_written_on_runs_is_there_for_every_reader_and_can_be_taken_off(store):
    first, second = finished(store), finished(store)
    label = checked_label("  final   run ", ["paper", " paper", "gpu "], "compare with 3\n")
    assert label == Label(name="final run", tags=("paper", "gpu"), note="compare with 3")
    label_runs(store, {first: label, second: Label(tags=("paper",))})
    assert [row.label for row in RunList(open_store()).rows()] == [Label(tags=("paper",)), label]
    label_runs(store, {first: Label()})
    assert RunList(store).rows()[1].label == Label()


@pytest.mark.parametrize(
    ("label", "message"),
    [
        ({"name": "x" * 81}, "the name 'xxxxxxxxxxxxxxxxxxxx...' has 81 characters; at most 80"),
        ({"tags": ["y" * 31]}, "has 31 characters; at most 30"),
        ({"note": "z" * 2001}, "has 2001 characters; at most 2000"),
        ({"tags": [str(one) for one in range(13)]}, "at most 12 tags, but this one has 13"),
    ],
)
def test_what_is_too_long_is_a_sentence(label, message):
    with pytest.raises(InputError, match=message):
        checked_label(**label)


def test_removed_runs_are_in_no_list_and_come_back_whole(store):
    first, second = finished(store), finished(store)
    whole = store.run(first)
    label_runs(store, {first: Label(note="mine")})
    assert store.remove([first]) == [first]
    assert [run.run_id for run in store.runs()] == [second]
    assert [row.run_id for row in RunList(store).rows()] == [second]
    assert store.group(first) == []
    with pytest.raises(InputError, match="there is no run"):
        store.run(first)
    assert store.bring_back([first]) == 1
    assert store.run(first) == whole
    assert RunList(store).rows()[1].label.note == "mine"


def test_an_active_run_is_not_removed(store):
    run_id = store.create([SPEC], owner="me")[0]
    assert store.remove([run_id]) == []
    assert store.run(run_id).state is RunState.QUEUED


def test_after_an_hour_a_removed_run_is_gone_for_good(store):
    old, new = finished(store), finished(store)
    label_runs(store, {old: Label(note="mine")})
    store.remove([old, new])
    long_ago = (datetime.now(UTC) - timedelta(minutes=UNDO_MINUTES + 1)).isoformat()
    with store.transaction("written") as connection:
        mine = removed.c.run_id == old
        connection.execute(removed.update().where(mine).values(removed_at=long_ago))
    again = open_store()
    assert again.bring_back([old, new]) == 1
    assert [run.run_id for run in again.runs()] == [new]
    with again.transaction("read") as connection:
        for table in (folds, labels):
            left = sa.select(sa.func.count()).where(table.c.run_id == old)
            assert connection.scalar(left) == 0


def test_amounts_that_can_be_kept_can_be_read_whatever_their_sum(store):
    """Two folds of 1e15 J each: their sum was refused, and with it the run."""
    finished(store, (0.2, 0.4), joules=LARGEST_AMOUNT)
    (row,) = RunList(store).rows()
    assert row.joules == 2 * LARGEST_AMOUNT
    with pytest.raises(InputError, match=r"energy\.joules must be at most"):
        finished(store, (0.2,), joules=1.001 * LARGEST_AMOUNT)


def test_a_spec_that_could_not_be_read_is_not_kept(store):
    with pytest.raises(InputError, match="could not be read again"):
        store.create([replace(SPEC, n="ten")], owner="me")
    with pytest.raises(InputError, match="could not be read again"):
        store.create([replace(SPEC, params=(("name", "\ud800"),))], owner="me")
    assert RunList(store).rows() == []


@pytest.mark.usefixtures("each_database")
def test_text_that_a_database_does_not_take_is_kept_without_it(store):
    """PostgreSQL takes no NUL: a run whose error had one was never ended."""
    run_id = finished(store)
    store.finish(run_id, RunState.FAILED, error=failure_sentence(ValueError("a\0b\ud800c")))
    assert "a b c" in store.run(run_id).error
    label_runs(store, {run_id: checked_label("a\0b", ["\ud800"], "one\n\0two")})
    (row,) = RunList(store).rows()
    assert (row.label.name, row.label.tags, row.label.note) == ("a b", (), "one\n two")
