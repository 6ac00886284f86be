"""How many folds?: what is chosen, the slider, the advice, an order played, bad files."""

import re
from dataclasses import replace

import pytest

from ecv_core.records.run import RunState
from ecv_core.stopping import RULES
from pages.run.settings import rule_param_key
from tests.pages.conftest import amounts, steps_of
from tests.pages.folds.conftest import SCORES, open_explore, texts


def test_recorded_runs_are_preselected_so_that_the_page_is_never_blank(app, record):
    record("synthetic", "item-knn")
    record("ml-100k", "popular", 0.1)
    open_explore(app)
    assert app.get("button_group")[0].value == "Recorded"
    assert app.select_slider(key="explore_alpha").value == 1e-4
    assert (
        "For the 2 recorded runs on 2 datasets, to end at most 2 % from the 10-fold mean"
        in texts(app)
    )
    assert "**2 runs**: 2 datasets, 2 algorithms" in texts(app)


def test_with_nothing_picked_the_page_says_what_to_pick(app, record):
    record("synthetic", "item-knn")
    open_explore(app)
    next(one for one in app.get("button_group") if one.key == "datasets").set_value([]).run()
    assert not app.exception
    assert "at least one dataset" in app.info[0].value
    assert not app.select_slider


def test_a_link_to_a_run_that_is_gone_or_lacks_folds_says_so(app, a_run):
    a_run(SCORES, stopped_at=4)
    stopped = a_run(SCORES[:4], stopped_at=4)
    app.query_params["source"] = "My runs"
    app.query_params["runs"] = ["zzz", f"ItemKNN · {stopped.run_id}"]
    open_explore(app)
    warnings = " ".join(warning.value for warning in app.warning)
    assert "no run of yours with all its folds is called 'zzz'" in warnings
    assert stopped.run_id in warnings
    assert "0 runs" not in texts(app)


def test_own_runs_count_once_all_their_folds_are_in(app, a_run):
    done = a_run(SCORES, stopped_at=4)
    a_run(SCORES[:4], stopped_at=4)
    open_explore(app)
    assert app.multiselect(key="runs").value == [done.run_id]
    assert len(app.multiselect(key="runs").options) == 1
    assert "For ItemKNN on Synthetic, to end at most 2 % from the 10-fold mean" in texts(app)
    assert "No interval for new users" in texts(app)  # nobody kept their scores
    own_stop = "The mean of 4 folds, after which this run itself stopped (alpha 1e-4), is 0."
    assert own_stop in texts(app)


def test_runs_of_ten_and_of_four_folds_have_seven_on_average(app, a_run):
    a_run(SCORES, stopped_at=4)
    a_run(SCORES[:4], k=4, algorithm="popular")
    open_explore(app)
    used, _, of_all = amounts(app)["folds"][0].partition(" of ")
    saved = amounts(app)["folds"][1]
    assert of_all == "7"
    assert float(used) + float(saved) == pytest.approx(7, abs=0.11)  # each is rounded
    sentence = steps_of(app, "explore-numbers")["sentences"][0]
    assert re.search(r"of 7 folds on average .* from the k-fold mean", sentence)
    # Each run has such a bound of its own.
    assert "% of that mean, averaged over the runs, and" in sentence


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
    assert "One column per run" in texts(app)
    assert not app.select_slider


def test_a_damaged_recorded_file_is_a_sentence_and_own_runs_still_work(app, damaged_runs, a_run):
    a_run(SCORES, stopped_at=4)
    open_explore(app)
    assert f"{damaged_runs} cannot be read" in app.error[0].value.replace("\\", "")
    assert app.select_slider(key="explore_alpha").value == 1e-4


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"a,b\n0.1,0.2\n", "has 1 fold;"),
        (b"a,b\n0.1,x\n0.2,0.3\n", "'x' in the column 'b' of the file scores.csv is not a number"),
        (b"a,b\n0.1,\n0.2,0.3\n", "fold 1 of 'b' has the score nan, which is not a finite number"),
        (b"a\n0.1\n0.1\n", "All scores of 'a' in the file scores.csv are 0.1"),
        (b"a,b\n0.1\n0.2,0.3\n", "cannot be read as a table of scores"),
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


def test_a_file_says_its_direction_and_what_is_left_out(app):
    open_explore(app)
    rows = "".join(f"{n},{s},{s + 0.1},1.5\n" for n, s in enumerate(SCORES))
    content = f"fold,a_rmse,b_rmse,fit_time\n{rows}Mean,0.3,0.4,1.5\n".encode()
    app.get("file_uploader")[0].set_value(("scores.csv", content, "text/csv")).run()
    assert not app.exception
    assert not app.error
    assert f"2 runs with {len(SCORES)} folds each" in texts(app)
    assert app.toggle(key="lower").value
    said = texts(app).replace("\\", "")
    assert (
        "Lower is better, by 'rmse' in the contenders' names; if this is wrong, use the switch."
        in said
    )
    assert "fit_time (times or costs)" in said
    assert "Mean (no folds)" in said


def test_the_answer_is_carried_to_the_form_with_its_rule_and_value(app, a_run):
    done = a_run(SCORES, stopped_at=4)
    open_explore(app)
    setting = app.dataframe[0].value.iloc[0]  # the cheapest that keeps the promise
    app.button(key="use-advice").click().run()
    assert not app.exception
    rule = next(one for one in RULES.values() if one.title == setting["rule"])
    assert app.session_state["rule"] == rule.id
    numbers = [float(one) for one in re.findall(r"\d[\d.e-]*", setting["setting"])]
    if len(numbers) == 2:  # 'tolerance 2.13 %, at least 1 fold'
        share = 100 if "%" in setting["setting"] else 1
        value = app.session_state[rule_param_key(rule, rule.axis)]
        assert value == pytest.approx(numbers[0] / share)
    assert app.session_state[f"min_folds-{rule.id}"] == numbers[-1]
    assert app.session_state["algorithm"] == [done.spec.algorithm]


def test_a_dataset_left_out_is_checked_once_there_are_two(app, record):
    record("synthetic", "item-knn")
    record("ml-100k", "item-knn", 0.1)
    open_explore(app)
    options = app.dataframe[0].value
    assert options["cost"].is_monotonic_increasing
    assert options["rule"].iloc[-1] == "All 10 folds"
    assert "two datasets are weak evidence" in texts(app)
    assert options["kept on other datasets"].str.contains("of 2 datasets").any()


@pytest.mark.parametrize(
    ("limit", "share", "words"),
    [
        (0.1, 100, ["All 10 folds", "in every order.", "No rule keeps this promise with fewer."]),
        (50, 100, ["1 fold", "in every order.", "1 of 10", "10 %", "90 %"]),
        (50, 50, ["1 fold", "in 50 % of orders.", "1 of 10", "10 %", "90 %"]),
    ],
)
def test_the_edges_of_the_promise_read_right(app, record, limit, share, words):
    record("synthetic", "item-knn")
    open_explore(app)
    app.number_input(key="off").set_value(limit)
    app.number_input(key="orders").set_value(share).run()
    assert not app.exception
    for part in words:
        assert part in texts(app)
    assert ("would be enough" in texts(app)) == (limit == 0.1)


def test_a_column_that_numbers_the_folds_is_no_system(app):
    open_explore(app)
    text = "fold,a\n" + "".join(f"{n},{score}\n" for n, score in enumerate(SCORES))
    app.get("file_uploader")[0].set_value(("scores.csv", text.encode(), "text/csv")).run()
    assert not app.exception
    assert "1 run with 10 folds each: a." in texts(app)


def test_the_decision_can_be_cited_and_described(app, record):
    record("ml-100k", "popular")
    open_explore(app)
    app.session_state["paper-folds"] = True
    app.run()
    assert not app.exception
    blocks = " ".join(code.value for code in app.code)
    assert "MovieLens 100K (Harper and Konstan, 2015)" in blocks
    assert r"\cite{baumgart2024efold}" in blocks
    assert "@article{harper2015movielens" in blocks


def test_a_link_to_scores_from_nowhere_is_said_and_opens_the_usual_ones(app, record):
    record("synthetic", "item-knn")
    app.query_params["source"] = "zzz"
    open_explore(app)
    assert any("zzz" in warning.value for warning in app.warning)
    assert next(one for one in app.get("button_group") if one.key == "source").value == "Recorded"
