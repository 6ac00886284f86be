"""The form of the Run page: presets, links, and how long a run would take."""

from dataclasses import replace

from ecv_core.energy.savings import KnownCosts
from ecv_core.fold.spec import make_spec
from ecv_core.records.run import RunState
from ecv_core.store.listing import RunList
from pages.run.expectation import expectation_words
from tests.pages.test_run_page_form import button


def test_new_run_goes_back_to_the_form_with_the_settings_of_the_run(app, a_run, store):
    run = a_run(
        [0.3, 0.31, 0.3],
        stopped_at=3,
        algorithm="popular",
        k=5,
        alpha=1e-3,
        seed=9,
        metric="recall",
        state=RunState.FINISHED,
    )
    app.query_params["run"] = run.run_id
    app.run()
    button(app, "New run").click().run()
    assert not app.exception
    assert "run" not in app.query_params
    button(app, "Start").click().run()
    assert store.runs()[0].run_id != run.run_id
    assert store.runs()[0].spec == run.spec


def test_the_precision_rule_takes_a_tolerance_and_may_stop_after_one_fold(app, store):
    app.run()
    app.segmented_control(key="rule").set_value("precision").run()
    app.select_slider(key="tolerance").set_value(0.05).run()
    button(app, "Start").click().run()
    spec = store.runs()[0].spec
    assert (spec.rule, dict(spec.rule_params)["tolerance"], spec.min_folds) == (
        "precision",
        0.05,
        1,
    )


def test_a_link_to_what_is_not_here_says_so(app):
    app.query_params["dataset"] = "nope"
    app.query_params["k"] = "many"
    app.query_params["alpha"] = "-5"
    app.run()
    said = " ".join(one.value for one in app.warning)
    assert "'nope' is not known here" in said
    assert "k must be a number, but is 'many'" in said
    assert "no alpha -5" in said.replace("\\", "")


def test_a_link_to_an_alpha_of_the_slider_is_taken_without_a_word(app):
    app.query_params["alpha"] = "5e-5"
    app.run()
    assert not app.warning
    assert app.select_slider(key="alpha").value == 5e-5


def test_the_number_of_the_rule_fixed_is_where_the_rule_is_picked(app):
    app.query_params["rule"] = "fixed"
    app.run()
    folded = [one.label for box in app.expander for one in box.number_input]
    assert "Number of folds" in [one.label for one in app.number_input]
    assert "Number of folds" not in folded
    app.number_input(key="min_folds-fixed").set_value(4).run()
    assert "fixed 4" in " ".join(one.value for one in app.markdown)


def test_before_start_the_form_says_how_long_and_how_much_or_that_it_is_not_known():
    spec = make_spec(dataset="ml-100k", algorithm="item-knn")  # 3 to 10 folds
    known = [KnownCosts(spec=spec, seconds=(9.0, 2.0, 4.0), joules=(90.0, 20.0, 40.0))]
    # 3 x 2 s x 0.7 to 10 x 4 s x 1.3; 3 x 20 J x 0.7 = 11.7 mWh to 520 J = 144.4 mWh
    assert expectation_words([spec], known) == (
        "3 to 10 folds will take about 4.2 s to 52 s and 12 to 140 mWh, judging by 1 "
        "earlier run of this dataset and algorithm."
    )
    assert expectation_words([spec], []) == (
        "Time and energy are not known yet for this dataset and algorithm."
    )
    other = make_spec(dataset="ml-100k", algorithm="popular")
    assert "Popularity" in expectation_words([spec, other], known)
    # Two programs on each processor beside it: it may take three times as long.
    assert "about 4.2 s to 2 min 36 s" in expectation_words([spec], known, load_per_core=2.0)


def test_the_form_knows_the_runs_of_the_database(app, store, a_run, monkeypatch):
    monkeypatch.setattr("psutil.getloadavg", lambda: (0.0, 0.0, 0.0))
    app.query_params["dataset"] = "synthetic"
    app.query_params["algorithm"] = "nmf"
    app.run()
    assert any("the dataset nearest in size" in one.value for one in app.caption)
    a_run([0.2, 0.3, 0.4], algorithm="nmf")  # 2 s and 36 J a fold: 3 x 1.4 s to 10 x 2.6 s
    app.run()
    assert any("take about 4.2 s to 26 s" in one.value for one in app.caption)


def test_a_run_beside_other_work_is_known_by_its_processor_time(app, store, a_run, monkeypatch):
    monkeypatch.setattr("psutil.getloadavg", lambda: (0.0, 0.0, 0.0))
    run = a_run([0.2, 0.3, 0.4], algorithm="nmf")
    (row,) = (row for row in RunList(store).rows() if row.run_id == run.run_id)
    busy = replace(row, fold_seconds=(90.0,) * 3, processor_seconds=6.0, other_work=True)
    monkeypatch.setattr(RunList, "rows", lambda _: [busy])
    app.query_params["dataset"] = "synthetic"
    app.query_params["algorithm"] = "nmf"
    app.run()  # 2 s of processor a fold, of one core or two: 3 x 1 s x 0.7 to 10 x 2 s x 1.3
    assert any("take about 2.1 s to 26 s" in one.value for one in app.caption)


def test_the_precision_rule_may_be_adjusted_by_cheap_models_but_not_by_the_run_itself(app, store):
    app.run()
    app.segmented_control(key="rule").set_value("precision").run()
    cheap = app.multiselect(key="adjust_by")
    assert "popular" in cheap.options
    assert "multi-vae" not in cheap.options  # it draws random numbers: not a cheap one
    cheap.set_value(["popular", "item-knn"]).run()
    assert not app.exception
    button(app, "Start").click().run()
    spec = store.runs()[-1].spec  # ItemKNN, which is chosen first
    assert (spec.algorithm, dict(spec.rule_params)["adjust_by"]) == ("item-knn", "popular")
