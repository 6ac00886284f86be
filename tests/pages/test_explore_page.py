"""How many folds?: what is chosen, the slider, the advice, an order played, bad files."""

import json
from dataclasses import replace

import numpy as np
import pytest

from ecv_core.analysis.exploration import Scores
from ecv_core.analysis.replay import replayed
from ecv_core.analysis.tradeoff import System
from ecv_core.records import RunState, UserScores
from ecv_core.runs.document import run_document
from ecv_core.runs.recorded import user_scores_path
from ecv_core.runs.user_scores import write_user_scores
from pages.components.folds.adviser import careful_step
from pages.components.folds.order import order_of, order_steps

SCORES = (0.30, 0.34, 0.31, 0.33, 0.32, 0.29, 0.31, 0.335, 0.30, 0.32)


@pytest.fixture(autouse=True)
def recorded(tmp_path, monkeypatch):
    folder = tmp_path / "recorded"
    folder.mkdir()
    monkeypatch.setattr("ecv_core.runs.recorded.FOLDER", folder)
    return folder


@pytest.fixture
def record(recorded, a_run, store):
    """A recorded run that no database knows."""

    def put(dataset, algorithm, shift=0.0, **more):
        run = a_run([s + shift for s in SCORES], dataset=dataset, algorithm=algorithm, **more)
        (recorded / f"{dataset}--{algorithm}.json").write_text(json.dumps(run_document(run)))
        store.delete(run.run_id)

    return put


def open_explore(app):
    app.switch_page("pages/folds.py").run()
    assert not app.exception
    return app


def texts(app):
    return " ".join(one.value for one in [*app.markdown, *app.info, *app.caption])


def test_recorded_runs_are_preselected_so_that_the_page_is_never_blank(app, record):
    record("synthetic", "item-knn")
    record("ml-100k", "popular", 0.1)
    open_explore(app)
    assert app.get("button_group")[0].value == "Recorded"
    assert app.select_slider(key="explore_alpha").value == 1e-4
    assert "### On these recorded runs, at most 2 % from the 10-fold mean in 95 %" in texts(app)
    assert "**2 runs**: 2 datasets, 2 algorithms" in texts(app)
    # datasets as in the catalogue, algorithms as in the registry
    assert "Not recorded: Popularity on Synthetic, ItemKNN on MovieLens 100K." in texts(app)


def test_one_press_unpicks_everything_and_another_picks_it_again(app, record):
    record("synthetic", "item-knn")
    record("ml-100k", "popular")
    open_explore(app)
    app.button(key="pick-all").click().run()
    assert not app.exception
    assert "Pick at least one dataset and one algorithm" in app.info[0].value
    assert not app.select_slider
    app.button(key="pick-all").click().run()
    assert not app.exception
    assert app.select_slider(key="explore_alpha").value == 1e-4


def test_own_runs_count_once_all_their_folds_are_in(app, a_run):
    done = a_run(SCORES, stopped_at=4)
    a_run(SCORES[:4], stopped_at=4)
    open_explore(app)
    assert app.multiselect(key="runs").value == [done.run_id]
    assert len(app.multiselect(key="runs").options) == 1
    assert "### On your data, at most 2 % from the 10-fold mean" in texts(app)


def test_the_batch_of_the_newest_run_is_picked(app, store, a_run, a_fold):
    old = a_run(SCORES, stopped_at=4)
    specs = [replace(old.spec, algorithm=name) for name in ("popular", "item-knn")]
    batch = store.create(specs, owner="test")
    for run_id in batch:
        store.start(run_id, owner="test")
        for index, score in enumerate(SCORES):
            store.add_fold(run_id, a_fold(index, score, "cpu-load"), stopped_at=4)
        store.finish(run_id, RunState.FINISHED)
    open_explore(app)
    assert sorted(app.multiselect(key="runs").value) == sorted(batch)
    assert "**2 runs**: 1 dataset, 2 algorithms" in texts(app)


def test_without_anything_to_explore_the_page_asks_for_a_file(app):
    open_explore(app)
    assert "One column per system" in texts(app)
    assert not app.select_slider


def test_a_damaged_recorded_file_is_a_sentence_and_own_runs_still_work(app, recorded, a_run):
    (recorded / "a--b.json").write_text("{")
    a_run(SCORES, stopped_at=4)
    open_explore(app)
    assert "The recorded run a--b.json cannot be read" in app.error[0].value
    assert app.select_slider(key="explore_alpha").value == 1e-4


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"a,b\n0.1,0.2\n", "has 1 rows of scores"),
        (b"a,b\n0.1,x\n0.2,0.3\n", "is 'x', not a number"),
        (b"a,b\n0.1,\n0.2,0.3\n", "is missing"),
        (b"a\n0.1\n0.1\n", "scores of column 'a' in the file are 0.1"),
        (b"a,b\n0.1\n0.2,0.3\n", "has 1 values for 2 columns"),
        (b"a\n" + b"0.1\n0.2\n" * 12, "between 2 and 22 folds"),
    ],
)
def test_a_bad_file_is_one_clear_sentence(app, content, words):
    open_explore(app)
    app.get("file_uploader")[0].set_value(("scores.csv", content, "text/csv")).run()
    assert not app.exception
    (error,) = app.error
    assert words in error.value.replace("\\", "")
    assert not app.select_slider


def test_a_file_of_another_scale_moves_the_slider_to_its_alphas(app):
    app.session_state["explore_alpha"] = 1e-4
    open_explore(app)
    text = "a,b\n" + "".join(f"{100 * s},{90 * s + 1}\n" for s in SCORES)
    app.get("file_uploader")[0].set_value(("scores.csv", text.encode(), "text/csv")).run()
    assert not app.exception
    assert not app.error
    slider = app.select_slider(key="explore_alpha")
    assert float(slider.value) >= 1e-3
    assert "no energy was recorded" in texts(app).lower()


def test_the_advice_moves_the_slider(app, a_run):
    a_run(SCORES, stopped_at=4)
    open_explore(app)
    app.number_input(key="off").set_value(0.5).run()
    app.button(key="use-advice").click().run()
    assert app.select_slider(key="explore_alpha").value < 1e-4
    assert not app.exception


def test_a_dataset_left_out_is_checked_once_there_are_two(app, record):
    record("synthetic", "item-knn")
    record("ml-100k", "item-knn", 0.1)
    open_explore(app)
    options, check = (frame.value for frame in app.dataframe[:2])
    assert options["cost"].is_monotonic_increasing
    assert options["rule"].iloc[-1] == "All 10 folds"
    assert "two datasets say little" in texts(app)
    assert check["dataset left out"].tolist() == ["Synthetic", "MovieLens 100K"]


@pytest.mark.parametrize(
    ("limit", "share", "words"),
    [
        (0.1, 100, "in every order: :primary[all 10 folds. No rule keeps this with fewer.]"),
        (50, 100, "in every order: :primary[1 fold (10 % of the energy).]"),
        (50, 50, "in 50 % of orders: :primary[1 fold (10 % of the energy).]"),
    ],
)
def test_the_edges_of_the_promise_read_right(app, record, limit, share, words):
    record("synthetic", "item-knn")
    open_explore(app)
    app.number_input(key="off").set_value(limit)
    app.number_input(key="orders").set_value(share).run()
    assert not app.exception
    assert words in texts(app)
    assert ("What would be enough" in texts(app)) == (limit == 0.1)


def test_a_column_that_numbers_the_folds_is_asked_about(app):
    open_explore(app)
    text = "fold,a\n" + "".join(f"{n},{score}\n" for n, score in enumerate(SCORES))
    app.get("file_uploader")[0].set_value(("scores.csv", text.encode(), "text/csv")).run()
    assert not app.exception
    assert "The column 'fold' seems to number the folds" in texts(app)
    assert "1 system with 10 folds each" in texts(app)
    assert app.selectbox(key="order-system").options == ["a"]


def test_the_system_box_follows_the_choice(app, record, a_run):
    record("ml-100k", "popular")
    a_run(SCORES, stopped_at=4)
    open_explore(app)
    assert app.selectbox(key="order-system").value == "Popularity on MovieLens 100K"
    app.get("button_group")[0].set_value("My runs").run()
    assert not app.exception
    box = app.selectbox(key="order-system")
    assert (box.value, box.options) == ("ItemKNN on Synthetic", ["ItemKNN on Synthetic"])


def test_the_decision_can_be_cited_and_described(app, record):
    record("ml-100k", "popular")
    open_explore(app)
    app.session_state["cite-folds"] = True
    app.run()
    assert not app.exception
    blocks = " ".join(code.value for code in app.code)
    assert "MovieLens 100K (Harper and Konstan, 2015)" in blocks
    assert r"\cite{baumgart2024efold}" in blocks
    assert "@article{harper2015movielens" in blocks


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
    app.switch_page("pages/folds.py")
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
    app.switch_page("pages/folds.py")
    app.query_params["order-system"] = "*nobody*"
    app.run()
    assert not app.exception
    assert any("no system \\*nobody\\*" in one.value for one in app.warning)


def test_a_warning_about_the_link_outlives_the_second_look_at_many_systems(app, record):
    for algorithm in ("item-knn", "popular", "ease", "user-knn", "implicit-mf"):
        record("synthetic", algorithm)
    app.switch_page("pages/folds.py")
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
    system = System(
        name="s",
        dataset="d",
        metric="m",
        scores=Scores(folds=np.array([0.3, 0.4, 0.35, 0.36, 0.1])),
    )
    played = replayed(system.scores.folds, [0, 1, 2, 3, 4], 0.95)
    stops, steps, sentences = order_steps(played, 5, [1e-9, 1.0], system)
    assert stops == [5, 3]
    assert list(steps.variants) == [0, 1]
    assert sentences[0] == "The rule never says stop here: all 5 folds are used."
    # mean of the first three 0.35, of all 0.302: |0.048| / 0.326
    assert sentences[1] == (
        "The rule stops after fold 3 and saves 2 of 5; its score is 14.72 % from the 5-fold mean."
    )


def test_a_fold_not_shown_yet_gives_no_stop_away():
    system = System(
        name="s", dataset="d", metric="m", scores=Scores(folds=np.array([0.3, 0.4, 0.35, 0.36]))
    )
    played = replayed(system.scores.folds, [0, 1, 2, 3], 0.95)
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
    monkeypatch.setattr("pages.components.folds.curves._AT_ONCE", at_once)
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
