"""Ten pages in their order, views in the address, and where old addresses lead."""

from urllib.parse import parse_qs, urlsplit

import pytest
from streamlit.util import calc_hash

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


def moved(app):
    """Where the page leads: path and parameters of its one link."""
    (said,) = [one.value for one in app.markdown if "This page has moved" in one.value]
    address = urlsplit(said.split("](")[1].rstrip(")."))
    return address.path, parse_qs(address.query)


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


def test_a_link_from_when_run_was_the_front_page_leads_to_run(app):
    app.switch_page("home/home.py")
    app.query_params["algorithm"] = "EASE"
    app.run()
    assert moved(app) == ("run", {"algorithm": ["EASE"]})


@pytest.mark.parametrize(
    ("old", "query", "path", "expected"),
    [
        ("explore", {"explore_alpha": "1e-3"}, "folds", {"explore_alpha": ["1e-3"]}),
        ("compare", {"runs": "a,b"}, "runs", {"runs": ["a,b"], "view": ["Compare"]}),
        ("history", {"find": "ml 100k"}, "runs", {"find": ["ml 100k"]}),
        ("study", {"study_datasets": ["a", "b"]}, "studies", {"study_datasets": ["a", "b"]}),
        ("race", {"run": "x", "fold": "3"}, "replay", {"run": ["x"], "fold": ["3"]}),
        ("race", {}, "replay", {"view": ["Race"]}),
        ("explore", {}, "folds", {}),
    ],
)
def test_an_old_address_leads_to_the_new_place_with_its_parameters(app, old, query, path, expected):
    app.run()
    for name, value in query.items():
        app.query_params[name] = value
    app._page_hash = calc_hash(old)  # a hidden page has no file
    app.run()
    assert not app.exception
    found_path, found = moved(app)
    assert found_path == path
    assert expected.items() <= found.items()


def test_the_ranking_half_of_splits_is_a_view_of_studies(app):
    app.run()
    app.query_params["view"] = "What it does to the ranking"
    app.query_params["swaps_metric"] = "recall@10"
    app.switch_page("splits/splits.py").run()
    assert moved(app) == (
        "studies",
        {"view": ["Splits and ranks"], "swaps_metric": ["recall@10"]},
    )


@pytest.mark.parametrize(
    ("page", "view", "title"),
    [
        ("runs", None, "Runs"),
        ("runs", "Compare", "Compare runs"),
        ("studies", "Splits and ranks", "Does another split change the ranking?"),
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
