"""The Studies page: the paper's cells beside the others, and runs that their rule ended early."""

import pytest

from ecv_core.jobs.plans.study import Cell, begin
from ecv_core.store.recorded import recorded_path
from pages.shared.live.state import manager
from tests.pages.conftest import steps_of
from tests.pages.test_study_page import SCORES, open_study, record, texts

__all__ = ["record"]
pytestmark = pytest.mark.usefixtures("recorded")


def part_of(app, tab):
    """What the page says with another tab open."""
    app.session_state["study-part"] = tab
    app.run()
    assert not app.exception
    return texts(app)


def test_the_headline_says_what_the_papers_cells_give_by_themselves(app, record):
    for place, name in enumerate(["popular", "item-knn", "ease"]):
        record("ml-100k", name, 0.2 * place)
    open_study(app)
    sentence = steps_of(app, "study-numbers")["sentences"][0]
    assert "Over the 2 runs of the paper's algorithms, these are " in sentence
    pills = next(one for one in app.get("button_group") if one.key == "study_algorithms")
    pills.set_value(["popular", "item-knn"]).run()
    assert not app.exception
    assert "of the paper's algorithms" not in steps_of(app, "study-numbers")["sentences"][0]


@pytest.fixture
def early(recorded, move_to_recorded, a_run):
    """A recorded run that its rule ended after four of ten folds."""
    run = a_run(SCORES[:4], stopped_at=4, dataset="ml-100k", algorithm="ngcf")
    move_to_recorded(run, path=recorded_path(recorded, "ml-100k", "ngcf", ends_at_stop=True))
    return run


def test_a_run_that_its_rule_ended_has_its_score_and_is_in_no_average(app, record, early):
    for place, name in enumerate(["popular", "ease"]):
        record("ml-100k", name, -0.1 * place)
    open_study(app)
    shown = texts(app)
    assert "**3 runs**: 1 dataset, 3 algorithms, seed 42, 1 of them ended early †" in shown
    assert "on average over 2 runs" in steps_of(app, "study-numbers")["sentences"][0]
    # The mean of .30, .34, .31, .33 is .32; popular's ten folds have .3155.
    scores = part_of(app, "Scores")
    assert "Best of 3 algorithms by nDCG@10\\: NGCF on MovieLens 100K." in scores
    # Figures 2 and 3 have no column for it, so that its sign is only among the scores.
    assert "† ran only until its own rule said stop" in scores
    assert "† ran only until its own rule said stop" not in shown


def test_a_run_that_is_recorded_whole_takes_the_place_of_the_one_that_ended_early(
    app, record, early
):
    record("ml-100k", "popular")
    record("ml-100k", "ngcf", -0.5)
    open_study(app)
    shown = texts(app)
    assert "**2 runs**: 1 dataset, 2 algorithms" in shown
    assert "ended early" not in shown
    assert "Best of 2 algorithms by nDCG@10\\: Popularity on MovieLens 100K." in part_of(
        app, "Scores"
    )


def test_a_study_of_ones_own_shows_the_scores_of_runs_that_ended_early(app, store, a_run):
    run = a_run(SCORES[:4], stopped_at=4, algorithm="popular")
    study_id = begin(store, manager(), [Cell(spec=run.spec)])
    open_study(app, study=study_id)
    assert "**1 run**: 1 dataset, 1 algorithm, seed 42, 1 of them ended early †" in texts(app)
    assert "† ran only until its own rule said stop" in texts(app)


def test_names_in_the_address_that_are_none_are_said(app, record):
    record("ml-100k", "popular")
    record("ml-100k", "ease", 0.1)
    open_study(app, study_algorithms=["nonsense", "ease"], study_datasets=["bogus"])
    said = " ".join(one.value for one in app.warning)
    assert "'nonsense' is not known here" in said
    assert "'bogus' is not known here" in said
    pills = {one.key: one.value for one in app.get("button_group")}
    assert pills["study_algorithms"] == ["ease"]


def test_a_click_on_a_run_that_its_rule_ended_plays_it(app, early):
    app.switch_page("replay/replay.py")
    app.query_params["run"] = early.run_id
    app.run()
    assert not app.exception
    assert not app.warning
    assert app.selectbox(key="run-choice").value == early.run_id
    assert "Only 4 of 10 folds ran, as its rule stopped it. " in texts(app)
