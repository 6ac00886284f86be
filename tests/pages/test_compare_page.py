"""Runs compared: choosing, the address, what is compared and what is not, and the words."""

from dataclasses import replace

import numpy as np
import pytest

from ecv_core.analysis.comparison.paired_runs import Comparison
from ecv_core.analysis.significance import PairedTest
from ecv_core.figures.verdicts import comparison_sentence, p_words
from ecv_core.records.run import FoldResult, RunState, UserScores
from tests.pages.conftest import amounts, card_text, steps_of, verdict

pytestmark = pytest.mark.usefixtures("recorded")
SCORES = (0.30, 0.34, 0.31, 0.33, 0.32, 0.29, 0.31, 0.335, 0.30, 0.32)


@pytest.fixture
def record(move_to_recorded, a_run):
    """A recorded run that no database knows."""

    def put(dataset, algorithm, shift=0.0):
        scores = [score + shift * (1 + score) for score in SCORES]  # no fold differs as another
        run = a_run(scores, stopped_at=4, full=True, dataset=dataset, algorithm=algorithm)
        move_to_recorded(run)

    return put


def open_compare(app, *keys):
    if keys:
        app.query_params["runs"] = ",".join(keys)
    app.query_params["view"] = "Compare"
    app.switch_page("runs/runs.py").run()
    assert not app.exception
    return app


def texts(app):
    shown = [*app.markdown, *app.info, *app.caption, *app.warning, *app.header]
    return " ".join([card_text(app), *(one.value for one in shown)])


def table(app, first_column):
    frames = [one.value for one in app.dataframe]
    return next(frame for frame in frames if frame.columns[0] == first_column)


def table_of_runs(app):
    return next(one.value for one in app.dataframe if "saved %" in one.value.columns)


def with_users(a_fold, fold, values):
    """A fold whose score is the mean of these users' scores."""
    plain: FoldResult = a_fold(fold, float(np.mean(values)), "cpu-load")
    scores = UserScores(
        users=np.arange(len(values), dtype=np.int32),
        metrics=("ndcg@10",),
        values=np.array(values, dtype=np.float32)[:, None],
    )
    return FoldResult(
        **{name: getattr(plain, name) for name in plain.__dataclass_fields__}
        | {"user_scores": scores}
    )


def test_without_runs_the_page_says_what_it_is_for(app):
    open_compare(app)
    assert "Pick **two or more runs**" in texts(app)
    assert not app.dataframe
    assert not app.button


def test_one_click_opens_an_example_of_recorded_runs(app, record):
    record("ml-100k", "item-knn", 0.1)
    record("ml-100k", "popular")
    record("synthetic", "popular")
    open_compare(app)
    button = app.button(key="example")
    assert button.label == "Every algorithm on MovieLens 100K"
    button.click().run()
    assert not app.exception
    assert "ml-100k--popular,ml-100k--item-knn" in app.query_params["runs"]
    assert table_of_runs(app)["name"].tolist() == ["ItemKNN", "Popularity"]


def test_the_best_comes_first_with_its_savings(app, record):
    record("ml-100k", "popular")
    record("ml-100k", "item-knn", 0.1)
    open_compare(app, "ml-100k--popular", "ml-100k--item-knn")
    best, other = table_of_runs(app).to_dict("records")
    assert (best["name"], other["name"]) == ("ItemKNN", "Popularity")
    assert (best["folds"], best["stop"]) == ("4 of 10", "after 4")
    # Four folds of 0.01 Wh were used, six were not needed.
    assert best["energy Wh"] == pytest.approx(0.04)
    assert (best["saved Wh"], best["saved %"]) == pytest.approx((0.06, 60))
    # Of the first four 0.32, of all ten 0.3155, both 1.1 times that and 0.1 higher here.
    assert best["difference %"] == pytest.approx(100 * 0.00495 / (0.452 + 0.44705) * 2)


@pytest.fixture
def add_two_runs(a_run, a_fold, store):
    """Add popular, and item-knn whose 60 users score 0.3 more, with two folds each; gives ids."""

    def add(**energy):
        rng = np.random.default_rng(0)
        runs = []
        for algorithm, shift in (("popular", 0.0), ("item-knn", 0.3)):
            run = a_run(algorithm=algorithm)
            for fold in range(2):
                result = with_users(a_fold, fold, rng.random(60) / 2 + shift)
                result = replace(result, energy=replace(result.energy, **energy))
                store.add_fold(run.run_id, result, stopped_at=None)
            runs.append(run.run_id)
        return runs

    return add


def test_runs_with_users_scores_are_tested_user_by_user(app, add_two_runs):
    open_compare(app, *add_two_runs())
    assert "ItemKNN is better than Popularity by" in texts(app)
    tests = next(one.value for one in app.dataframe if "effect" in one.value)
    assert tests["over"].tolist() == ["60 users"]
    assert "after Holm" not in texts(app)  # one test alone is not corrected
    headers = [one.value for one in app.header]
    assert headers.index("How this is tested") < headers.index("Score, folds, energy")


def test_other_tests_are_a_click_away(app, a_run, a_fold, store):
    # One user in three is better by 0.3, so no sign differs; folds differ by 0.1 and 0.1001.
    runs = []
    for algorithm, better in (("popular", 0.0), ("item-knn", 0.3)):
        run = a_run(algorithm=algorithm)
        for fold in range(2):
            ahead = better * (1 + fold / 1000)
            result = with_users(a_fold, fold, np.array([0.2 + ahead, 0.3, 0.4]))
            store.add_fold(run.run_id, result, stopped_at=None)
        runs.append(run.run_id)
    open_compare(app, *runs)
    assert not [one for one in app.dataframe if "equivalent %" in one.value]
    app.toggle(key="compare-details").set_value(True).run()
    assert not app.exception
    (row,) = next(one.value for one in app.dataframe if "equivalent %" in one.value).to_dict(
        "records"
    )
    assert (row["first"], row["second"]) == ("ItemKNN", "Popularity")
    chances = (row["first better %"], row["equivalent %"], row["second better %"])
    assert chances == pytest.approx((100, 0, 0), abs=0.05)
    assert row["signed rank"] == row["randomization"] == "p = 1.00"


def test_runs_without_users_scores_are_tested_fold_by_fold_and_the_page_says_so(app, record):
    record("ml-100k", "popular")
    record("ml-100k", "item-knn", 0.1)
    open_compare(app, "ml-100k--popular", "ml-100k--item-knn")
    tests = next(one.value for one in app.dataframe if "effect" in one.value)
    assert tests["over"].tolist() == ["10 folds"]
    assert "share training data and so are not independent" in texts(app)


def test_an_unfair_comparison_is_refused_with_its_reason(app, a_run):
    runs = [a_run(SCORES), a_run(SCORES, algorithm="popular", seed=7)]
    open_compare(app, *(run.run_id for run in runs))
    said = texts(app).replace("\\", "")
    assert "Not tested, because it would not be fair" in said
    assert "different seeds, so other draws (7 and 42)" in said
    assert "is better than" not in said


def test_many_reasons_are_a_table_and_no_page_of_boxes(app, a_run):
    # Each pair of four seeds has a reason of its own: 4 * 3 / 2.
    runs = [a_run(SCORES, seed=seed) for seed in (1, 2, 3, 4)]
    open_compare(app, *(run.run_id for run in runs))
    assert "would not be fair" not in texts(app)
    (frame,) = [table.value for table in app.dataframe if "why" in table.value]
    assert len(frame) == 6
    assert "different seeds, so other draws (1 and 2)" in frame["why"].tolist()


def test_different_datasets_are_shown_apart_and_not_tested(app, record):
    record("ml-100k", "popular")
    record("synthetic", "popular")
    open_compare(app, "ml-100k--popular", "synthetic--popular")
    certainty, (headline, *_) = verdict(app)
    assert (certainty, headline) == ("not tested", "These scores cannot be compared")
    assert "1 pair is not tested" in texts(app)
    # Nothing is said of tests that there are none of, nor of a table of them.
    assert "How this is tested" not in [header.value for header in app.header]
    assert "are in the table" not in texts(app)


def test_two_runs_are_not_called_untested_while_they_may_come_to_share_folds(app, a_run, store):
    done = a_run(SCORES)
    going = a_run(SCORES[:1], algorithm="popular", state=RunState.RUNNING)
    open_compare(app, done.run_id, going.run_id)
    assert verdict(app)[0] == "not known yet"
    on_other_data = a_run(dataset="ml-100k", state=RunState.QUEUED)
    open_compare(app, done.run_id, on_other_data.run_id)
    assert verdict(app)[0] == "not tested"
    store.finish(going.run_id, RunState.CANCELLED)
    open_compare(app, done.run_id, going.run_id)
    assert verdict(app)[0] == "not tested"


def test_settings_that_differ_are_told_and_no_others(app, a_run):
    runs = [
        a_run(SCORES, params={"neighbours": 50}),
        a_run(SCORES, params={"neighbours": 20}),
        a_run(SCORES, algorithm="popular"),
    ]
    open_compare(app, *(run.run_id for run in runs))
    frame = table(app, "setting")
    assert {"algorithm", "ItemKNN: neighbours"} <= set(frame["setting"])
    assert not {"seed", "dataset", "k"} & set(frame["setting"])
    assert "ItemKNN, neighbours 50" in frame.columns


def test_runs_with_the_same_settings_are_said_to_have_them(app, a_run):
    runs = [a_run(SCORES), a_run(SCORES)]
    open_compare(app, *(run.run_id for run in runs))
    assert "**All settings are the same**" in texts(app)


def test_unknown_ids_in_the_address_are_a_sentence_and_the_others_are_shown(app, a_run):
    run = a_run(SCORES)
    open_compare(app, "nowhere", run.run_id, run.run_id, "<b>x</b>")
    (warning,) = app.warning
    assert "No run is called 'nowhere', '" in warning.value
    assert app.multiselect(key="compared").value == [run.run_id]
    assert "Add a second run" in texts(app)


def test_only_unknown_ids_lead_to_the_empty_page(app):
    open_compare(app, "nowhere")
    assert "No run is called 'nowhere' here" in app.warning[0].value
    assert "Pick **two or more runs**" in texts(app)


def test_what_is_picked_goes_into_the_address(app, a_run):
    runs = [a_run(SCORES), a_run(SCORES, algorithm="popular")]
    open_compare(app)
    app.multiselect(key="compared").set_value([run.run_id for run in runs]).run()
    both = ",".join(run.run_id for run in runs)
    assert replaced_in_address(app) == {"name": "runs", "value": both}
    app.query_params["runs"] = both  # as the browser has it then
    app.multiselect(key="compared").set_value([runs[1].run_id]).run()
    assert replaced_in_address(app) == {"name": "runs", "value": runs[1].run_id}
    app.run()  # before the browser has put it there
    assert app.multiselect(key="compared").value == [runs[1].run_id]
    app.query_params["runs"] = runs[1].run_id
    app.run()
    app.query_params["runs"] = both  # as Back may lead to it
    app.run()
    assert len(app.multiselect(key="compared").value) == 2
    app.multiselect(key="compared").set_value([]).run()
    assert replaced_in_address(app) == {"name": "runs", "value": ""}
    assert not app.exception


def test_a_link_with_the_runs_from_before_a_pick_has_these_again(app, a_run):
    runs = [a_run(SCORES), a_run(SCORES, algorithm="popular")]
    ids = [run.run_id for run in runs]
    open_compare(app, *ids)
    app.multiselect(key="compared").set_value(ids[:1]).run()
    app.switch_page("run/run.py").run()
    open_compare(app, *ids)
    assert sorted(app.multiselect(key="compared").value) == sorted(ids)


def test_the_example_can_be_opened_again_once_all_is_taken_out(app, record):
    record("ml-100k", "item-knn")
    record("ml-100k", "popular")
    open_compare(app)
    app.button(key="example").click().run()
    app.multiselect(key="compared").set_value([]).run()
    app.query_params["runs"] = ""  # as the browser has it then
    app.button(key="example").click().run()
    assert len(app.multiselect(key="compared").value) == 2


def replaced_in_address(app):
    """What the page has the browser put into the address."""
    return steps_of(app, "replace-runs")


def test_runs_without_a_fold_are_named_and_do_no_harm(app, a_run):
    runs = [a_run(SCORES), a_run(algorithm="popular", state=RunState.CANCELLED)]
    open_compare(app, *(run.run_id for run in runs))
    assert "No fold is finished: Popularity." in texts(app).replace("\\", "")
    runs = [run.run_id for run in runs[1:]]
    open_compare(app, *runs)
    assert "None of these runs has a finished fold yet" in texts(app)


@pytest.mark.parametrize(
    ("p", "words"),
    [(0.0, "p < 0.001"), (0.0009, "p < 0.001"), (0.0123, "p = 0.012"), (0.5, "p = 0.50")],
)
def test_p_values_are_said_with_the_digits_that_count(p, words):
    assert p_words(p) == words


def comparison(p):
    return Comparison(
        first="item-knn",
        second="popular",
        dataset="ml-100k",
        metric="nDCG@10",
        folds=(0, 1),
        test=PairedTest(
            over="users", pairs=943, difference=0.012, low=0.01, high=0.014, p=0.0005, effect=0.3
        ),
        p_holm=p,
    )


def test_the_card_says_what_several_runs_used_and_saved_and_which_is_best(app, a_run, store):
    # 144 J each, of which 80 J are memory's flat wattage; six folds of each are saved.
    runs = [a_run(SCORES[:4], stopped_at=4, algorithm=name) for name in ("popular", "ease")]
    open_compare(app, *[run.run_id for run in runs])
    assert verdict(app)[0] == "close"
    assert amounts(app)["folds"] == ("8 of 20", "12")
    assert amounts(app)["energy"] == (
        "36 to 80 mWh (at most 32 mg CO2e)",
        "45 to 140 mWh, about 60 %",
    )
    assert amounts(app)["time"] == ("16 s", "about 24 s")
    app.button(key="check-compared").click().run()
    assert not app.exception
    assert [store.run(run.run_id).state for run in runs] == [RunState.QUEUED] * 2


def test_the_best_is_not_sure_while_a_run_has_no_fold_and_its_energy_is_not_counted(
    app, a_run, add_two_runs, store
):
    runs = add_two_runs(other_work=0.9)
    open_compare(app, *runs)
    assert verdict(app)[0] == "sure"
    waiting = a_run(algorithm="ease", state=RunState.QUEUED)
    open_compare(app, *runs, waiting.run_id)
    certainty, (headline, *_) = verdict(app)
    assert (certainty, headline) == ("not known yet", "ItemKNN has the best mean")
    assert "Other programs used the machine during each of the runs" in texts(app)
    store.request_cancel(waiting.run_id)
    open_compare(app, *runs, waiting.run_id)
    assert verdict(app)[0] == "close"


def test_a_run_that_goes_on_and_can_never_be_tested_is_not_waited_for(app, a_run):
    done = a_run(SCORES)
    waiting = a_run(algorithm="popular", seed=7, state=RunState.QUEUED)
    open_compare(app, done.run_id, waiting.run_id)
    assert verdict(app)[0] == "not tested"
    reason = "ItemKNN and Popularity (different seeds, so other draws (7 and 42))"
    assert f"Not tested, because it would not be fair\\: {reason}" in texts(app)


def test_stopped_runs_that_are_not_ones_own_lead_to_the_replay_of_the_best(as_one, a_run):
    runs = [a_run(SCORES[:4], stopped_at=4, algorithm=name) for name in ("popular", "ease")]
    app = as_one("viewer")
    open_compare(app, *[run.run_id for run in runs])
    assert "check-compared" not in [button.key for button in app.button]
    links = {link.proto.label: link.proto for link in app.get("page_link")}
    (label,) = [label for label in links if label.startswith("Replay ")]
    assert "fold by fold" in label
    assert [run.run_id for run in runs if run.run_id in links[label].query_string]


def test_the_verdict_is_a_sentence_with_the_corrected_p():
    assert comparison_sentence(comparison(0.002)) == (
        "item-knn is better than popular by 0.0120 nDCG@10: 95 % interval of this pair "
        "alone 0.0100 to 0.0140, p = 0.002 after Holm. This holds for these fitted models, on new "
        "users."
    )
    of_two = comparison_sentence(comparison(0.06), on_dataset="MovieLens 100K")
    assert of_two.startswith("No difference found between item-knn and popular on MovieLens 100K")
    alone = comparison_sentence(comparison(0.002), is_one_of_several=False)
    assert "0.0140, p = 0.002. " in alone
    equal = replace(comparison(0.9), test=replace(comparison(0.9).test, low=-1e-6))
    assert "alone -1e-06 to 0.0140" in comparison_sentence(equal)


def test_of_learners_the_verdict_says_what_their_fitted_models_show_beside_it():
    of_samples = PairedTest(
        over="samples", pairs=178, difference=0.02, low=0.001, high=0.039, p=0.03, effect=0.2
    )
    of_folds = PairedTest(
        over="folds", pairs=10, difference=0.02, low=-0.01, high=0.05, p=0.2, effect=None
    )
    pair = replace(
        comparison(0.2),
        test=of_folds,
        test_of_fitted_models=of_samples,
        p_holm_of_fitted_models=0.03,
    )
    words = comparison_sentence(pair, is_one_of_several=False)
    assert "No difference found" in words
    assert "p = 0.20. This holds for these learners" in words
    assert words.endswith(
        "For these fitted models, on new samples: 95 % interval 0.0010 to 0.0390, p = 0.030."
    )
