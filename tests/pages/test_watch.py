"""What is read of what goes on: once for all who watch."""

import pytest

from ecv_core.records.run import RunState
from ecv_core.store.activity import current_activity
from ecv_core.store.schema import progress
from ecv_core.store.store import Store
from pages.shared.live.watch import Watch
from tests.fake_folds import fold_result


def test_runs_are_read_again_only_when_one_has_gone_on(store, a_run, monkeypatch):
    run_id = a_run([0.3], state=RunState.RUNNING).run_id
    reads = []
    active = Store.active

    def counted(self: Store):
        reads.append(1)
        return active(self)

    monkeypatch.setattr(Store, "active", counted)
    watch = Watch(store)
    for step in range(3):
        store.set_progress(run_id, 1, "fit", step, 9)
        (run,) = watch.active_runs()
        assert run.progress is not None
        assert (run.progress.step, len(run.folds)) == (step, 1)
    assert len(reads) == 1
    store.add_fold(run_id, fold_result(1, 0.3), stopped_at=None)
    assert [len(run.folds) for run in watch.active_runs()] == [2]
    assert len(reads) == 2


def test_progress_that_cannot_be_read_takes_no_page_down(store, a_run):
    run_id = a_run([0.3], state=RunState.RUNNING).run_id
    store.set_progress(run_id, 1, "fit", 1, 9)
    with store.transaction("written") as connection:
        connection.execute(progress.update().values(started_at="yesterday"))
    (run,) = current_activity(store).runs
    assert (run.run_id, run.folds, run.progress) == (run_id, 1, None)


def test_without_an_active_run_nothing_is_read(store, a_run, monkeypatch):
    a_run([0.3])
    monkeypatch.setattr(Store, "active", lambda self: pytest.fail("asked"))
    assert Watch(store).active_runs() == []
