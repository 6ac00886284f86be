"""What the opening of a page costs: those who open the same run share what is read of it."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import copy_context

import pytest
import sqlalchemy as sa
from streamlit.testing.v1 import AppTest

from ecv_core.fold.spec import make_spec
from ecv_core.records.run import RunRecord, RunState
from ecv_core.store.activity import current_activity
from ecv_core.store.rows import OUTSIDE
from ecv_core.store.store import Store
from pages.shared.live.watch import Watch
from tests.fake_folds import fold_result


@contextmanager
def statements() -> Iterator[list[str]]:
    """What all databases are asked within the block."""
    asked: list[str] = []

    def keep(connection, cursor, statement, *more) -> None:
        asked.append(statement)

    sa.event.listen(sa.Engine, "before_cursor_execute", keep)
    try:
        yield asked
    finally:
        sa.event.remove(sa.Engine, "before_cursor_execute", keep)


def on_a_page(watch: Watch, group: str) -> list[RunRecord]:
    """The runs of a group, as a page reads them that is drawn now."""

    def draw() -> list[RunRecord]:
        watch.begin_page()
        return watch.runs_of_group(group)

    return copy_context().run(draw)


def test_a_look_asks_twice_however_much_goes_on(store, a_run):
    for _ in range(3):
        a_run([0.3, 0.4], state=RunState.RUNNING)
    with statements() as asked:
        assert [run.folds for run in current_activity(store).runs] == [2, 2, 2]
    assert len(asked) == 2


def test_runs_that_go_on_are_read_once_for_all_who_open_them(
    store: Store, a_run: Callable[..., RunRecord], monkeypatch: pytest.MonkeyPatch
) -> None:
    run = a_run([0.3], state=RunState.RUNNING)
    known, watch = store.group(run.group), Watch(store)
    assert on_a_page(watch, run.group) == known
    with monkeypatch.context() as patch, statements() as asked:
        patch.setattr(Store, "group", lambda *_: pytest.fail("read again"))
        assert on_a_page(watch, run.group) == known
    assert len(asked) == 2  # the look
    store.add_fold(run.run_id, fold_result(1, 0.4), stopped_at=2)
    (seen,) = on_a_page(watch, run.group)
    assert (len(seen.folds), seen.stopped_at) == (2, 2)


def test_of_a_group_with_a_run_that_is_over_all_are_read(store):
    specs = [make_spec(dataset="synthetic", algorithm=name) for name in ("popular", "item-knn")]
    first, second = store.create(specs, owner="test")
    watch = Watch(store)
    assert [run.run_id for run in on_a_page(watch, first)] == [first, second]
    store.start(first, owner="test")
    store.finish(first, RunState.FAILED, error="out of memory")
    assert [run.error for run in on_a_page(watch, first)] == ["out of memory", None]
    assert on_a_page(watch, second) == []  # no group has its id


@pytest.mark.parametrize(
    "change",
    [
        lambda store, run_id, spec: store.requeue(run_id, spec, owner=OUTSIDE),
        lambda store, run_id, spec: store.requeue(
            run_id, make_spec(dataset=spec.dataset, algorithm=spec.algorithm, full=True), owner="me"
        ),
    ],
    ids=["another owner", "another spec"],
)
def test_a_run_that_was_queued_anew_is_read_anew(store, change):
    """Though nothing was looked at meanwhile, and it waits with as many folds as before."""
    spec = make_spec(dataset="synthetic", algorithm="popular")
    (run_id,) = store.create([spec], owner="me")
    watch = Watch(store)
    on_a_page(watch, run_id)
    store.request_cancel(run_id)
    change(store, run_id, spec)
    assert on_a_page(watch, run_id) == store.group(run_id)


def test_the_second_page_of_a_run_asks_the_database_little(app, a_run):
    run = a_run([0.3, 0.4, 0.35], state=RunState.RUNNING)
    app.query_params["run"] = run.group
    app.run()
    with statements() as asked:
        second = AppTest.from_file(app._script_path, default_timeout=30).switch_page("run/run.py")
        second.query_params["run"] = run.group
        second.run()
    assert not second.exception
    assert [one.value for one in second.title] == [one.value for one in app.title]
    # The look, whether it was asked to stop, where the run came from, and the scores of its users.
    assert len(asked) == 5, asked


def test_a_run_that_is_over_is_read_once_for_its_page(app, a_run):
    app.query_params["run"] = a_run([0.3, 0.4, 0.35]).group
    with statements() as asked:
        app.run()
    assert app.title
    assert len([one for one in asked if "folds.result" in one]) == 1, asked
