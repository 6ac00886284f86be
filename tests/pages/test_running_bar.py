"""The bar of what runs: what it says, cancels and lists, and that it is not there without a run."""

import pytest
from streamlit.testing.v1 import AppTest

from ecv_core.records.run import RunState
from tests.pages.conftest import progress


def learn() -> None:
    """A page of the dashboard; in AppTest only the first run of app.py has a navigation."""
    from types import SimpleNamespace

    from streamlit import query_params

    from pages.shared.live.running import draw_running_bar

    draw_running_bar(SimpleNamespace(title="Learn", url_path=query_params.get("page", "learn")))


@pytest.fixture
def bar() -> AppTest:
    return AppTest.from_function(learn, default_timeout=30)


def shown_beside(bar: AppTest, run) -> AppTest:
    """On the page of the run itself, which needs no link to it."""
    bar.query_params["run"] = run.run_id
    bar.query_params["page"] = "run"
    return bar.run()


def labels(bar: AppTest) -> list[str]:
    return [one.label for one in bar.button]


def test_without_an_active_run_there_is_no_bar_and_nothing_is_polled(bar, a_run):
    shown_beside(bar, a_run([0.3, 0.3, 0.3], stopped_at=3))
    assert labels(bar) == []
    assert progress(bar) is None
    assert not bar.exception


def test_the_bar_says_what_runs_and_how_far_it_is(bar, a_run, store):
    run = a_run([0.3, 0.31], state=RunState.RUNNING)
    store.set_progress(run.run_id, 2, "fit", 3, 20)
    said = progress(shown_beside(bar, run))
    assert (said["title"], said["words"]) == ("ItemKNN on Synthetic", "fold 3 of 10 · fit 3 of 20")
    # Folds of 2 s each: what runs now has only begun, and 8 folds remain.
    assert 4 <= said["elapsed"] < 34
    assert said["ticks"]
    assert said["rest"] == "at most about 16 s remaining"
    assert said["part"] == pytest.approx(0.215)  # 2.15 of 10 folds


def test_no_remaining_time_is_told_while_it_waits(bar, a_run, store):
    run = a_run([0.3, 0.31], state=RunState.RUNNING)
    store.set_progress(run.run_id, 2, "waits for another program's fold", 0, 0)
    assert progress(shown_beside(bar, run))["rest"] == ""


def test_cancel_asks_the_run_to_stop(bar, a_run, store):
    run = a_run([0.3], state=RunState.RUNNING)
    shown_beside(bar, run).button(key="cancel").click().run()
    assert store.cancel_requested(run.run_id)
    assert (bar.button(key="cancel").label, bar.button(key="cancel").disabled) == (
        "Cancelling",
        True,
    )


def test_the_queue_is_listed_in_its_order_and_each_can_be_removed(bar, a_run, store):
    running = a_run([0.3], state=RunState.RUNNING)
    first = a_run(state=RunState.QUEUED, algorithm="ease")
    second = a_run(state=RunState.QUEUED, algorithm="popular")
    shown_beside(bar, running)
    assert [one.value for one in bar.markdown] == ["EASE on Synthetic", "Popularity on Synthetic"]
    bar.button(key=f"unqueue-{first.run_id}").click().run()
    assert store.run(first.run_id).state is RunState.CANCELLED
    assert store.run(second.run_id).state is RunState.QUEUED


def test_on_the_page_of_the_run_the_bar_stays_when_it_is_over(bar, a_run, store):
    run = a_run([0.3, 0.3, 0.3], state=RunState.RUNNING)
    shown_beside(bar, run)
    store.finish(run.run_id, RunState.FINISHED)
    for _ in range(2):
        bar.run()
        said = progress(bar)  # so that nothing below it moves up
        assert (said["part"], said["words"]) == (1, "3 of 10 folds · 6.0 s of computing")
        assert (said["elapsed"], said["ticks"]) == (None, False)
    bar.query_params.clear()
    assert progress(bar.run()) is None


def test_the_bar_of_a_run_that_was_deleted_goes(bar, a_run, store):
    run = a_run([0.3, 0.3, 0.3], state=RunState.RUNNING)
    shown_beside(bar, run)
    store.finish(run.run_id, RunState.FINISHED)
    assert progress(bar.run())
    store.remove([run.run_id])
    assert progress(bar.run()) is None


def test_elsewhere_the_bar_leads_to_the_run_and_cancels_nothing(bar, a_run):
    a_run([0.3], state=RunState.RUNNING)
    assert progress(bar.run())
    assert labels(bar) == []


def test_run_opens_on_what_runs(app, a_run):
    run = a_run([0.3], state=RunState.RUNNING)
    app.run()
    assert app.query_params["run"] == run.run_id
    assert app.title[0].value == "ItemKNN on Synthetic"


def test_a_link_to_the_form_opens_the_form_though_something_runs(app, a_run):
    a_run([0.3], state=RunState.RUNNING)
    app.query_params["algorithm"] = "ease"
    app.run()
    assert "run" not in app.query_params
    assert "Start" in labels(app)
