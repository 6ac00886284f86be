"""The Study page: opens on recorded runs, starts studies, follows and resumes them."""

import pytest

from ecv_core.fold.spec import make_spec
from ecv_core.jobs.plans.study import Cell, begin, cells_of_study
from ecv_core.records.run import RunState
from ecv_core.store.plans import STUDY, stored_plans
from pages.shared.live.state import manager
from pages.studies.own import progress_words, runs_frame

pytestmark = pytest.mark.usefixtures("recorded")
SCORES = (0.30, 0.34, 0.31, 0.33, 0.32, 0.29, 0.31, 0.335, 0.30, 0.32)


@pytest.fixture
def record(move_to_recorded, a_run):
    """A recorded run that no database knows."""

    def put(dataset, algorithm, shift=0.0, **more):
        scores = [score * (1 + shift) for score in SCORES]
        run = a_run(scores, dataset=dataset, algorithm=algorithm, full=True, **more)
        move_to_recorded(run)

    return put


def open_study(app, **query):
    for name, value in query.items():
        app.query_params[name] = value
    app.switch_page("studies/studies.py").run()
    assert not app.exception
    return app


def texts(app):
    found = [*app.markdown, *app.info, *app.caption, *app.get("html")]
    return " ".join(getattr(one, "value", None) or one.proto.body for one in found)


def start(app, algorithms):
    next(one for one in app.get("button_group") if one.key == "new_algorithms").set_value(
        algorithms
    )
    app.button(key="start-study").click().run()
    assert not app.exception


def press(app, label):
    next(one for one in app.button if one.label == label).click().run()
    assert not app.exception


def test_a_first_visitor_sees_the_recorded_study(app, record):
    record("ml-100k", "popular")
    record("ml-100k", "item-knn", 0.5)
    open_study(app)
    assert app.select_slider(key="explore_alpha").value == 1e-4
    assert "**2 runs**: 1 dataset, 2 algorithms" in texts(app)
    assert not [one for one in app.selectbox if one.key == "study"]  # nothing to choose yet


def test_without_recorded_runs_the_page_says_so_and_a_study_can_be_started(app):
    open_study(app)
    assert "No recorded runs came with this copy" in texts(app)
    assert not app.button(key="start-study").disabled


def test_a_damaged_recorded_file_is_a_sentence(app, damaged_runs):
    open_study(app)
    assert f"{damaged_runs} cannot be read" in app.error[0].value.replace("\\", "")


def test_a_started_study_is_queued_as_one_and_named_in_the_address(app, store):
    open_study(app)
    start(app, ["popular", "ease"])
    (study,) = stored_plans(store, STUDY)
    assert app.selectbox(key="study").value == study.plan_id
    runs = store.runs()
    assert {run.spec.algorithm for run in runs} == {"popular", "ease"}
    assert len({run.group for run in runs}) == 1
    assert all(run.state is RunState.QUEUED and run.spec.full for run in runs)
    assert "The figures come as soon as a run has all its folds" in texts(app)
    assert "**0 of 2 runs** finished · 0 of 20 folds" in texts(app)


def test_recorded_cells_are_reused(app, record, store):
    record("synthetic", "popular")
    open_study(app)
    start(app, ["popular", "ease"])
    assert [run.spec.algorithm for run in store.runs()] == ["ease"]
    assert "1 reused from earlier runs" in texts(app)


def test_an_unknown_study_in_the_address_is_a_sentence_and_the_recorded_one_is_shown(app, record):
    record("ml-100k", "popular")
    open_study(app, study="nope")
    assert "'nope' is not known here" in app.warning[0].value.replace("\\", "")
    assert "**1 run**: 1 dataset, 1 algorithm" in texts(app)


def test_cancel_all_and_resume(app, store):
    open_study(app)
    start(app, ["popular", "ease"])
    app.button(key="cancel-study").click().run()
    assert {run.state for run in store.runs()} == {RunState.CANCELLED}
    press(app, "Resume")
    assert {run.state for run in store.runs()} == {RunState.QUEUED}
    assert not app.exception


def test_a_study_that_ended_early_offers_its_remaining_folds(app, store, a_run):
    run = a_run(SCORES[:4], stopped_at=4, algorithm="popular")
    study_id = begin(store, manager(), [Cell(spec=run.spec)])
    open_study(app, study=study_id)
    assert "The figures come as soon" in texts(app)
    press(app, "Run the remaining folds")
    assert store.run(run.run_id).state is RunState.QUEUED


def test_own_complete_cells_are_drawn_while_others_are_still_to_come(app, store, a_run):
    done = a_run(SCORES, stopped_at=4, algorithm="popular", full=True)
    waiting = make_spec(dataset="synthetic", algorithm="ease", full=True)
    study_id = begin(store, manager(), [Cell(spec=done.spec), Cell(spec=waiting)])
    open_study(app, study=study_id)
    assert app.select_slider(key="explore_alpha").value == 1e-4
    pills = {one.key: one.value for one in app.get("button_group")}
    assert pills["study_algorithms"] == ["popular", "ease"]


def test_a_removed_study_keeps_its_runs(app, store, a_run):
    done = a_run(SCORES, stopped_at=4, algorithm="popular", full=True)
    study_id = begin(store, manager(), [Cell(spec=done.spec)])
    open_study(app, study=study_id)
    app.button(key="forget-study").click().run()
    assert not app.exception
    assert stored_plans(store, STUDY) == []
    assert store.run(done.run_id).run_id == done.run_id
    assert not app.warning
    assert "No recorded runs came with this copy" in texts(app)


@pytest.mark.parametrize(("key", "value", "words"), [("new_seed", -1, "seed"), ("new_k", 0, "k ")])
def test_a_setting_that_cannot_be_is_a_sentence(app, key, value, words):
    open_study(app)
    app.number_input(key=key).set_value(value).run()
    assert not app.exception
    assert words in app.error[0].value.lower()
    assert app.button(key="start-study").disabled


def test_the_table_says_state_folds_score_and_error(store, a_run):
    half = a_run(SCORES[:5], state=RunState.CANCELLED, algorithm="popular", full=True)
    failed = a_run([], state=RunState.FAILED, algorithm="ease", full=True, error="out of <memory>")
    study_id = begin(store, _Still(), [Cell(spec=half.spec), Cell(spec=failed.spec)])
    cells = cells_of_study(store, study_id)
    rows = runs_frame(cells).set_index("algorithm")
    half = rows.loc["Popularity"]
    assert half["state"] == "cancelled"
    assert half["folds"] == "5 of 10"
    assert half["done"] == 0.5
    assert half["score"] == pytest.approx(sum(SCORES[:5]) / 5)
    assert rows.loc["EASE", "note"] == "out of <memory>"
    assert "**0 of 2 runs** finished · 5 of 20 folds" in progress_words(cells)


class _Still:
    """A queue in which nothing moves."""

    def start(self, specs, **how):
        raise AssertionError

    def resume(self, run_id, **how):
        pass

    def cancel(self, run_id):
        pass


def test_a_study_can_have_any_split_of_several_folds_and_any_metric(app, store):
    open_study(app)
    app.selectbox(key="new_split").set_value("temporal-windows").run()
    app.selectbox(key="new_metric").set_value("gini").run()
    app.number_input(key="new_k").set_value(4).run()
    start(app, ["popular"])
    (run,) = store.runs()
    assert (run.spec.split, run.spec.metric, run.spec.k) == ("temporal-windows", "gini", 4)


def test_single_splits_are_not_offered_for_a_study(app):
    open_study(app)
    options = " ".join(app.selectbox(key="new_split").options)
    assert "Windows in time" in options
    assert "One point in time" not in options


def test_a_split_that_the_data_cannot_serve_is_a_sentence_and_starts_nothing(app, store):
    open_study(app)
    app.selectbox(key="new_split").set_value("leave-last-basket").run()
    start(app, ["popular"])
    assert "basket" in " ".join(one.value for one in app.error)
    assert store.runs() == []
