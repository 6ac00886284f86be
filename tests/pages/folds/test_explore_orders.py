"""How many folds?: orders shuffled, stepped and played, what the address keeps, the figures."""

import json

import numpy as np
import pytest

from ecv_core.analysis.replay import replayed
from ecv_core.records.run import Scores, UserScores
from ecv_core.store.recorded import user_scores_path, write_user_scores
from pages.folds.adviser import careful_step
from pages.folds.order import order_of, order_steps
from tests.pages.folds.conftest import SCORES, open_explore, texts


def test_orders_are_shuffled_stepped_and_played(app, a_run):
    a_run(SCORES, stopped_at=4)
    open_explore(app)
    assert "Order of the folds: 0 1 2 3 4 5 6 7 8 9 (as recorded)." in texts(app)
    app.button(key="shuffle").click().run()
    shuffled = " ".join(map(str, order_of(10, 1)))
    assert f"Order of the folds: {shuffled}." in texts(app)
    app.button(key="next").click().run()
    assert app.session_state["order-shown"] == 1
    app.button(key="play").click().run()
    assert app.session_state["order-playing"]
    app.button(key="all").click().run()
    assert app.session_state["order-shown"] == 10
    app.button(key="unshuffle").click().run()
    assert "(as recorded)" in texts(app)
    assert not app.exception


def test_an_address_opens_the_system_the_order_and_the_folds_shown(app, record):
    record("synthetic", "item-knn")
    record("synthetic", "popular", 0.1)
    app.switch_page("folds/folds.py")
    app.query_params["order-system"] = "popular on synthetic"
    app.query_params["order-seed"] = "7"
    app.query_params["order-shown"] = "6"
    app.run()
    assert not app.exception
    assert not app.warning
    assert app.selectbox(key="order-system").value == "Popularity on Synthetic"
    order = " ".join(map(str, order_of(10, 7)))
    assert f"Order of the folds: {order}." in texts(app)
    assert app.slider(key="order-shown").value == 6


def test_what_is_played_is_in_the_address(app, a_run):
    a_run(SCORES, stopped_at=4)
    open_explore(app)
    app.button(key="shuffle").click().run()
    app.button(key="next").click().run()
    assert list(app.query_params["order-seed"]) == ["1"]
    assert list(app.query_params["order-shown"]) == ["1"]


def test_two_steps_at_once_are_two_although_the_browser_knew_of_none(app, a_run):
    a_run(SCORES, stopped_at=4)
    open_explore(app)
    for _ in range(3):
        app.slider(key="order-shown").set_value(10)  # what it showed at the press
        app.button(key="next").click().run()
    assert app.session_state["order-shown"] == 3


def test_a_link_to_a_system_that_is_not_here_says_so(app, a_run):
    a_run(SCORES, stopped_at=4)
    app.switch_page("folds/folds.py")
    app.query_params["order-system"] = "*nobody*"
    app.run()
    assert not app.exception
    assert any("no system \\*nobody\\*" in one.value for one in app.warning)


def test_a_warning_about_the_link_outlives_the_second_look_at_many_systems(app, record):
    for algorithm in ("item-knn", "popular", "ease", "user-knn", "implicit-mf"):
        record("synthetic", algorithm)
    app.switch_page("folds/folds.py")
    app.query_params["explore_alpha"] = "5"
    app.run()
    assert not app.exception
    assert [one.value for one in app.warning if "no alpha 5" in one.value]
    app.run()
    assert not app.warning


def test_random_orders_hold_every_fold_once_and_come_again_with_their_seed():
    assert sorted(order_of(10, 3)) == list(range(10))
    assert order_of(10, 3) == order_of(10, 3)
    assert order_of(10, 3) != order_of(10, 4)


def test_the_figure_has_one_variant_per_stop_the_slider_can_lead_to():
    system = Scores(
        name="s",
        dataset="d",
        metric="m",
        folds=np.array([0.3, 0.4, 0.35, 0.36, 0.1]),
    )
    played = replayed(system.folds, [0, 1, 2, 3, 4], 0.95)
    stops, steps, sentences = order_steps(played, 5, [1e-9, 1.0], system)
    assert stops == [5, 3]
    assert list(steps.variants) == [0, 1]
    assert sentences[0] == "The rule never says stop here: all 5 folds are used."
    # mean of the first three 0.35, of all 0.302: |0.048| / 0.326
    assert sentences[1] == (
        "The rule stops after fold 3 and saves 2 of 5; its score is 14.72 % from the 5-fold mean."
    )


def test_a_fold_not_shown_yet_gives_no_stop_away():
    system = Scores(name="s", dataset="d", metric="m", folds=np.array([0.3, 0.4, 0.35, 0.36]))
    played = replayed(system.folds, [0, 1, 2, 3], 0.95)
    stops, _, sentences = order_steps(played, 2, [1.0], system)
    assert stops == [None]
    assert sentences == ["After fold 2 of 4: the rule says go on."]


def test_the_advised_step_is_never_less_careful_than_the_advice():
    assert careful_step([1e-6, 1e-5, 1.3e-5], 1.2e-5) == 1e-5
    assert careful_step([1e-6, 1e-5, 1.3e-5], 1e-7) == 1e-6


def test_an_alpha_of_another_scale_gives_way_to_what_spends_as_the_paper_does(app, a_run):
    a_run([100 * s for s in SCORES], stopped_at=4)
    app.session_state["explore_alpha"] = 1e-6
    open_explore(app)
    alphas = [float(one) for one in app.select_slider(key="explore_alpha").options]
    assert alphas[0] < app.select_slider(key="explore_alpha").value < alphas[-1]


@pytest.mark.parametrize("at_once", [0, 9])
def test_the_precision_rule_is_there_once_the_page_has_settled(
    app, record, recorded, monkeypatch, at_once
):
    monkeypatch.setattr("pages.folds.curves._AT_ONCE", at_once)
    record("synthetic", "item-knn")
    rng = np.random.default_rng(at_once)
    people = np.arange(50)
    scores = {
        fold: UserScores(
            users=people, metrics=("ndcg@10",), values=score + rng.normal(0, 0.01, (50, 1))
        )
        for fold, score in enumerate(SCORES)
    }
    path = user_scores_path(recorded / "synthetic--item-knn.json")
    write_user_scores(scores, ["ndcg@10"], path)
    open_explore(app)
    assert "Precision" in app.dataframe[0].value["rule"].tolist()


def links(app):
    """What each 'Copy link' says that it cannot carry."""
    found = [json.loads(one.proto.json) for one in app.get("bidi_component")]
    return [data["without"] for data in found if "without" in data]


def test_the_link_says_that_it_cannot_carry_an_uploaded_file(app, record):
    record("synthetic", "item-knn")
    open_explore(app)
    assert links(app) == [""]
    app.get("button_group")[0].set_value("My file").run()
    app.get("file_uploader")[0].set_value(("s.csv", b"a\n0.3\n0.31\n0.3\n", "text/csv")).run()
    assert not app.exception
    assert links(app) == ["the scores file: whoever opens it adds it again"]
