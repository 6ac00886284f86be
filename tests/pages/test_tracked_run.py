"""Runs that the dashboard does not compute: tracked ones, and those of code that is not here."""

from __future__ import annotations

import sys
from dataclasses import replace

import pytest

from ecv_core.evaluation import METRICS, Metric
from ecv_core.records import codec
from ecv_core.records.run import RunState
from ecv_core.stopping import Never, moments
from ecv_core.store.listing import RunList, label_runs
from ecv_core.store.ownership import take_fold
from ecv_core.store.rows import OUTSIDE
from ecv_core.store.schema import folds
from pages.run.answer import run_answer
from pages.runs.history import matching, runs_frame

SCORES = [0.30, 0.31, 0.305, 0.3075]
MINE = {"algorithm": "my model", "tracked": True, "rule": "fixed", "min_folds": 4}


def labels(app):
    return [one.label for one in app.button]


def said(app):
    return [one.value for one in (*app.caption, *app.info, *app.warning, *app.success)]


def open_run(app, run):
    app.query_params["run"] = run.run_id
    app.run()
    assert not app.exception
    assert not app.error
    return app


def test_a_tracked_run_has_its_name_and_says_how_its_stop_is_checked(app, a_run):
    open_run(app, a_run(SCORES, stopped_at=4, **MINE))
    assert app.title[0].value == "my model on Synthetic"
    assert any("Tracked\\: 'my model' is code outside e-fold" in one for one in said(app))
    assert any("To check the stop with the other 6 folds" in one for one in said(app))
    assert not {"Resume", "Run the remaining folds to check"} & set(labels(app))
    assert any("with full=True (--full)" in one for one in said(app))


@pytest.mark.usefixtures("registries_as_they_were")
def test_a_metric_of_ones_own_has_no_entry_in_the_glossary_and_needs_none(app, a_run):
    clicks = Metric("clicks", higher_is_better=True, unit="EUR")
    run = a_run(SCORES, stopped_at=4, **MINE, metric=clicks)
    del METRICS["clicks"]  # another process reported them
    open_run(app, run)
    assert "0.3056" in run_answer(run).headline


def test_data_that_were_only_in_memory_are_not_missed(app, a_run):
    open_run(app, a_run(SCORES, stopped_at=4, **MINE, data_sha256="0" * 64))
    assert not any("The data of this run" in one.value for one in app.warning)


def test_one_that_was_cut_off_goes_on_with_its_own_program(app, a_run):
    run = a_run(SCORES[:2], state=RunState.INTERRUPTED, error="gone", **MINE)
    app.query_params["details"] = "Repeat this run"
    open_run(app, run)
    assert "Resume" not in labels(app)
    assert any("run its own program again" in one for one in said(app))
    command = app.code[0].value
    assert command.startswith("python -m ecv_core track 'my model' synthetic")


def test_a_new_run_from_a_tracked_one_has_its_settings_and_an_algorithm_that_is_here(app, a_run):
    open_run(app, a_run(SCORES, stopped_at=4, k=7, **MINE))
    next(one for one in app.button if one.label == "New run").click().run()
    assert not app.exception
    assert app.number_input(key="k").value == 7


def test_one_that_waits_to_be_told_says_what_to_type(app, a_run, store):
    run = a_run(**MINE, state=RunState.QUEUED)
    store.request_cancel(run.run_id)
    store.requeue(run.run_id, run.spec, owner=OUTSIDE)
    store.start(run.run_id, owner=OUTSIDE)
    for fold in (0, 1):
        assert take_fold(store, run.run_id, (0, 1), seconds=60) == fold
    open_run(app, store.run(run.run_id))
    waits = (
        "It waits for the scores of fold 1 (requested just now), fold 2 (requested just now). "
        "Commands count folds from 0:"
    )
    assert any(waits in one.replace("\\", "") for one in said(app))
    assert app.code[0].value == f"python -m ecv_core tell {run.run_id} 0 --scores FILE"


def test_a_run_that_the_dashboard_computes_comes_before_one_that_waits(a_run, store):
    waiting = a_run(**MINE, state=RunState.QUEUED)
    store.request_cancel(waiting.run_id)
    store.requeue(waiting.run_id, waiting.spec, owner=OUTSIDE)
    store.start(waiting.run_id, owner=OUTSIDE)
    mine = a_run(state=RunState.RUNNING)
    assert [run.run_id for run in store.active()] == [mine.run_id, waiting.run_id]


def test_the_table_of_runs_says_that_it_was_tracked(a_run, store):
    a_run(SCORES, **MINE)
    a_run(SCORES)
    rows = RunList(store).rows()
    frame = runs_frame(rows)
    assert list(frame["from"]) == ["", "tracked"]
    assert list(frame["algorithm"])[1] == "my model"
    assert matching(rows[1:], "tracked my")
    assert label_runs(store, {}) is None


def test_a_tracked_run_is_picked_compared_and_never_resumed_here(app, a_run):
    runs = [a_run(SCORES, state=RunState.CANCELLED, **MINE), a_run(SCORES, k=10)]
    app.session_state["runs-picked"] = [runs[0].run_id]
    app.switch_page("runs/runs.py").run()
    assert not app.exception
    assert "Resume" not in labels(app)
    app.query_params["view"] = "compare"
    app.query_params["runs"] = ",".join(run.run_id for run in runs)
    app.run()
    assert not app.exception
    assert not app.error


GONE = {
    "model": {"algorithm": "gone-model", "params": (("depth", 3),)},
    "component": {"algorithm": "lenskit:gone.Scorer"},
    "rule": {"rule": "gone-rule"},
}


@pytest.fixture
def gone(a_run, store):
    """A run of each kind with code that is not here, as a program that had it left it."""

    def put(what, state):
        run = a_run(SCORES * 2, state=state, k=8, rule="never")
        store.requeue(run.run_id, replace(run.spec, **GONE[what]), owner="test")
        store.start(run.run_id, owner="test")
        store.finish(run.run_id, state)
        with store.transaction("written") as connection:
            for at in moments(Never(), run.folds, 0.95):
                mine = (folds.c.run_id == run.run_id) & (folds.c.fold == at.fold)
                text = codec.json_text(at)
                connection.execute(folds.update().where(mine).values(moment=text))
        return store.run(run.run_id)

    return put


@pytest.mark.parametrize("what", GONE)
def test_a_run_of_a_plug_in_that_is_not_here_can_be_looked_at(app, gone, what):
    open_run(app, gone(what, RunState.INTERRUPTED))
    assert ("Resume" in labels(app)) == (what == "rule")


@pytest.mark.parametrize("page", ["runs", "best", "folds", "replay", "studies"])
def test_runs_of_plug_ins_that_are_not_here_break_no_page(app, a_run, gone, page):
    a_run(SCORES)
    for what in GONE:
        gone(what, RunState.FINISHED)
    app.switch_page(f"{page}/{page}.py")
    for name in ("datasets", "study_datasets"):  # all that is recorded takes seconds
        app.query_params[name] = "ml-100k"
    app.run()
    assert not app.exception
    assert not app.error


def test_a_link_cannot_name_code_to_import(app, tmp_path, monkeypatch):
    (tmp_path / "evil_by_link.py").write_text("raise SystemExit('imported')")
    monkeypatch.syspath_prepend(tmp_path)
    app.query_params["algorithm"] = "lenskit:evil_by_link.Scorer"
    app.run()
    assert not app.exception
    assert any("lenskit" in one.value and "is not known here" in one.value for one in app.warning)
    assert "evil_by_link" not in sys.modules
