"""The pages in their order, the doors of the front page, views in the address."""

import runpy

import pytest
import streamlit as st

from ecv_core.records.run import RunState

ORDER = [
    *("Home", "Learn", "Data", "Run", "Which is best?", "How many folds?", "Runs", "Replay"),
    *("Studies", "Splits", "Baselines"),
]
PATHS = [
    *("", "learn", "data", "run", "best", "folds", "runs", "replay", "studies", "splits"),
    "baselines",
]


def titles(app):
    return [one.value for one in app.title]


def test_the_pages_come_in_their_order(app):
    app.run()
    pages = app._registered_pages.values()
    shown = [page["page_name"] for page in pages if page["url_pathname"] in PATHS]
    assert shown == ORDER


def test_the_front_page_shows_a_race_and_four_doors(app):
    app.switch_page("home/home.py").run()
    assert titles(app) == ["Know when you have evaluated enough"]
    assert "stopped after **3 of 10 folds**" in app.markdown[0].value
    doors = {link.proto.label for link in app.get("page_link")}
    assert {"Learn it", "My data", "My scores", "Choose"} <= doors


def test_one_press_on_the_front_page_runs_all_folds_though_they_are_there(app, a_run, store):
    a_run([0.3] * 10, algorithm="multi-vae", full=True)
    app.switch_page("home/home.py").run()
    app.button(key="try-it").click().run()
    (waiting,) = [run for run in store.runs() if run.state is RunState.QUEUED]
    assert (waiting.spec.algorithm, waiting.k, waiting.spec.full) == ("multi-vae", 10, True)
    assert waiting.folds == ()


@pytest.mark.parametrize(
    ("page", "view", "title"),
    [
        ("runs", None, "Runs"),
        ("runs", "Compare", "Compare runs"),
        ("studies", "Splits and ranks", "Does the split change the ranks?"),
        ("replay", "Race", "Race: e-fold against k-fold"),
    ],
)
def test_a_view_is_in_the_address(app, page, view, title):
    app.run()
    if view:
        app.query_params["view"] = view
    app.switch_page(f"{page}/{page}.py").run()
    assert not app.exception
    assert titles(app) == [title]


@pytest.mark.parametrize(
    ("view", "warnings"),
    [
        ("Racing", ["From the link: 'Racing' is not known here; there is Fold by fold and Race."]),
        ("", []),  # as Streamlit writes it once everything is taken out of a widget
    ],
)
def test_the_usual_view_is_in_place_of_one_that_is_none_and_a_wrong_name_is_said(
    app, view, warnings
):
    app.run()
    app.query_params["view"] = view
    app.switch_page("replay/replay.py").run()
    assert not app.exception
    assert titles(app) == ["Replay: see why it stopped"]
    assert [one.value.replace("\\", "") for one in app.warning] == warnings


def test_a_process_that_is_started_while_a_page_is_drawn_draws_none(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Python gives such a process, a node of `local:3`, the script under this name."""
    drawn: list[object] = []
    monkeypatch.setattr(st, "navigation", lambda *given, **named: drawn.append(given))
    monkeypatch.setattr(st, "set_page_config", lambda **named: drawn.append(named))
    runpy.run_path("pages/main.py", run_name="__mp_main__")
    assert not drawn
