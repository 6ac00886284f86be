"""The form of the Run page: one click starts, the address keeps choices, mistakes are sentences."""

import pytest

from ecv_core import datasets
from ecv_core.energy.expected import KnownCosts
from ecv_core.fold import export_folds
from ecv_core.models import ALGORITHMS
from ecv_core.records import RunState
from ecv_core.spec import make_spec
from pages.components.run.expectation import expectation_words


def button(app, label):
    return next(one for one in app.button if one.label == label)


def said(app):
    return " ".join(one.value for one in app.error)


def test_one_click_starts_item_knn_on_synthetic_and_puts_the_run_into_the_address(app, store):
    app.run()
    assert not app.exception
    button(app, "Start").click().run()
    assert not app.exception
    (run,) = store.runs()
    assert (run.spec.dataset, run.spec.algorithm, run.spec.k) == ("synthetic", "item-knn", 10)
    assert (run.spec.rule, run.spec.alpha, run.spec.full) == ("e-fold", 1e-4, False)
    assert app.query_params["run"] == run.run_id
    assert app.title[0].value == "ItemKNN on Synthetic"


def test_the_dataset_shows_its_size_and_density(app):
    app.run()
    line = next(one.value for one in app.markdown if "density" in one.value)
    assert "**943** users" in line
    assert "**1,360** items" in line
    assert "**101,325** interactions" in line
    assert "**7.90\u00a0%**" in line  # 101325 / (943 * 1360)


def test_several_algorithms_become_several_runs_of_one_group(app, store):
    app.run()
    app.pills(key="algorithm").set_value(["implicit-mf", "popular"]).run()
    button(app, "Start").click().run()
    assert not app.exception
    runs = store.group(app.query_params["run"])
    assert [run.spec.algorithm for run in runs] == ["popular", "implicit-mf"]


def test_without_an_algorithm_nothing_can_start(app):
    app.run()
    app.pills(key="algorithm").set_value([]).run()
    assert button(app, "Start").disabled
    assert any("at least one algorithm" in one.value for one in app.markdown)


def test_choices_in_the_address_fill_the_form_in(app, store):
    app.query_params["algorithm"] = "popular"
    app.query_params["alpha"] = "1e-3"
    app.query_params["k"] = "5"
    app.query_params["metric"] = "Recall"
    app.query_params["country"] = "France"
    app.run()
    button(app, "Start").click().run()
    (run,) = store.runs()
    assert (run.spec.algorithm, run.spec.alpha, run.spec.k) == ("popular", 1e-3, 5)
    assert (run.spec.metric, run.spec.country) == ("recall", "FRA")


def test_nonsense_in_the_address_falls_back_to_the_defaults(app):
    app.query_params["alpha"] = "minus one"
    app.query_params["dataset"] = "no-such"
    app.query_params["k"] = "0"
    app.run()
    assert not app.exception
    assert app.select_slider(key="alpha").value == 1e-4
    assert app.selectbox(key="dataset").value == "synthetic"


def test_a_preset_moves_alpha_and_moving_alpha_leaves_the_preset(app):
    app.run()
    app.segmented_control(key="preset").set_value("Careful").run()
    assert app.select_slider(key="alpha").value == 1e-5
    app.select_slider(key="alpha").set_value(2e-5).run()
    assert app.segmented_control(key="preset").value is None
    app.select_slider(key="alpha").set_value(1e-3).run()
    assert app.segmented_control(key="preset").value == "Thrifty"


def test_the_meaning_of_alpha_has_the_numbers_of_the_rule(app):
    app.query_params["alpha"] = "1e-5"  # 0.01 wide, changing by 0.001: the product is alpha
    app.run()
    meaning = next(one.value for one in app.caption if one.value.startswith("Stops once"))
    assert "0.01 wide changes by no more than 0.001" in meaning


def test_never_stop_is_plain_cross_validation(app, store):
    app.run()
    app.segmented_control(key="rule").set_value("never").run()
    assert not app.select_slider
    button(app, "Start").click().run()
    assert store.runs()[0].spec.rule == "never"


def test_every_setting_reaches_the_run(app, store):
    app.run()
    app.number_input(key="k").set_value(4).run()
    app.number_input(key="n").set_value(20)
    app.number_input(key="seed").set_value(7)
    app.number_input(key="confidence").set_value(0.9)
    app.number_input(key="min_folds-e-fold").set_value(4)
    app.toggle(key="full").set_value(True)
    app.selectbox(key="split").set_value("record-k-fold")
    app.number_input(key="param-item-knn-neighbours").set_value(20)
    app.selectbox(key="country").set_value("USA").run()
    button(app, "Start").click().run()
    spec = store.runs()[0].spec
    assert (spec.k, spec.n, spec.seed, spec.confidence) == (4, 20, 7, 0.9)
    assert (spec.min_folds, spec.full, spec.split) == (4, True, "record-k-fold")
    assert (dict(spec.params)["neighbours"], spec.country) == (20, "USA")


def test_two_folds_can_start_although_three_are_the_usual_minimum(app, store):
    app.query_params["k"] = "2"
    app.run()
    assert not app.error
    button(app, "Start").click().run()
    assert store.runs()[0].spec.k == 2


def test_a_setting_that_cannot_work_is_one_sentence_and_no_start(app):
    app.query_params["k"] = "100"
    app.run()
    app.number_input(key="n").set_value(1000).run()
    assert not app.error
    app.number_input(key="k").set_value(None).run()
    assert not app.exception


def test_an_algorithm_that_the_data_cannot_serve_is_one_sentence_and_no_start(app):
    app.query_params["algorithm"] = ["popular", "vbcar"]
    app.run()
    assert not app.exception
    assert "Synthetic has no baskets (a column 'basket'), which vbcar learns from" in said(app)
    assert button(app, "Start").disabled


def test_a_dataset_that_is_not_on_disk_shows_licence_citation_and_a_download(app, monkeypatch):
    monkeypatch.setattr(datasets, "available", lambda entry: entry.generated)
    app.query_params["dataset"] = "ml-1m"
    app.run()
    assert not app.exception
    assert button(app, "Start").disabled
    text = " ".join(one.value for one in app.markdown)
    assert "not on disk" in text
    assert "**Licence.**" in text
    assert "**Please cite.**" in text
    assert any(one.label.startswith("Download (about 6 MB") for one in app.button)


def test_a_failed_download_is_one_sentence(app, monkeypatch):
    def fail(entry, progress):
        progress(10, 100)
        raise datasets._catalogue.DatasetError("the download of 'ml-1m' was cut off; try again")

    monkeypatch.setattr(datasets, "available", lambda entry: entry.generated)
    monkeypatch.setattr(datasets, "download", fail)
    app.query_params["dataset"] = "ml-1m"
    app.run()
    app.button(key="download").click().run()
    assert not app.exception
    assert "The download of 'ml-1m' was cut off" in said(app)


def test_a_fold_file_sets_k_and_is_kept(app, store, tmp_path):
    path = tmp_path / "folds.csv.gz"
    export_folds(make_spec(dataset="synthetic", algorithm="popular", k=4), path)
    app.query_params["split"] = "imported"
    app.run()
    assert button(app, "Start").disabled
    app.file_uploader[0].upload("folds.csv.gz", path.read_bytes(), "application/gzip").run()
    assert not app.exception
    assert not app.error
    button(app, "Start").click().run()
    spec = store.runs()[0].spec
    assert (spec.split, spec.k) == ("imported", 4)
    assert spec.folds_sha256


@pytest.mark.parametrize(
    "content", [b"user_id,item_id,fold\n1,2,0\n", b"a,b\n1,2\n", b"", b"\xff\xfe\x00"]
)
def test_a_bad_fold_file_is_one_sentence_and_no_start(app, content):
    app.query_params["split"] = "imported"
    app.run()
    app.file_uploader[0].upload("folds.csv", content, "text/csv").run()
    assert not app.exception
    assert len(app.error) == 1
    assert button(app, "Start").disabled


def test_an_unknown_run_in_the_address_is_a_sentence_and_the_form(app):
    app.query_params["run"] = "nope"
    app.run()
    assert not app.exception
    assert "no run 'nope'" in said(app)
    assert not button(app, "Start").disabled


def test_a_broken_database_is_one_sentence_that_names_it(app, tmp_path, monkeypatch):
    broken = tmp_path / "broken.sqlite"
    broken.write_bytes(b"this is no database" * 100)
    monkeypatch.setenv("ECV_DATABASE_URL", f"sqlite:///{broken}")
    app.run()
    assert not app.exception
    assert "broken.sqlite" in said(app).replace("\\", "")
    assert not app.title


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
    assert (spec.rule, spec.tolerance, spec.min_folds) == ("precision", 0.05, 1)


def test_a_preset_fills_in_the_values_of_the_paper(app, store):
    app.query_params["algorithm"] = "multi-vae"
    app.run()
    paper = dict(ALGORITHMS["multi-vae"].paper_default)
    button(app, "paper default").click().run()
    button(app, "Start").click().run()
    params = dict(store.runs()[0].spec.params)
    assert paper
    assert {name: params[name] for name in paper} == paper


def test_a_link_to_what_is_not_here_says_so(app):
    app.query_params["dataset"] = "nope"
    app.query_params["k"] = "many"
    app.query_params["alpha"] = "5"
    app.run()
    said = " ".join(one.value for one in app.warning)
    assert "No dataset is called 'nope'" in said
    assert "must be a number, but is 'many'" in said
    assert "no alpha 5" in said


def test_a_link_to_an_alpha_of_the_slider_is_taken_without_a_word(app):
    app.query_params["alpha"] = "5e-5"
    app.run()
    assert not app.warning
    assert app.select_slider(key="alpha").value == 5e-5


def test_a_preset_holds_although_start_came_with_the_alpha_from_before_it(app, store):
    app.run()
    app.segmented_control(key="preset").set_value("Thrifty").run()
    app.select_slider(key="alpha").set_value(1e-4)  # what the browser showed at the press
    button(app, "Start").click().run()
    assert store.runs()[0].spec.alpha == 1e-3


def test_two_presets_in_a_row_hold_although_the_browser_knew_of_neither(app, store):
    app.run()
    app.segmented_control(key="preset").set_value("Thrifty").run()
    app.select_slider(key="alpha").set_value(1e-4)
    app.segmented_control(key="preset").set_value("Careful").run()
    app.select_slider(key="alpha").set_value(1e-4)
    button(app, "Start").click().run()
    assert store.runs()[0].spec.alpha == 1e-5


def test_alpha_holds_although_start_came_with_the_preset_that_it_had_left(app, store):
    app.run()
    app.select_slider(key="alpha").set_value(2e-5).run()
    app.segmented_control(key="preset").set_value("Balanced")
    button(app, "Start").click().run()
    assert store.runs()[0].spec.alpha == 2e-5


@pytest.mark.parametrize("pause", [False, True])
def test_alpha_can_go_back_to_where_it_was_before_a_preset(app, store, pause):
    app.run()
    app.segmented_control(key="preset").set_value("Thrifty").run()
    if pause:
        app.toggle(key="full").set_value(True).run()
    app.select_slider(key="alpha").set_value(1e-4).run()
    assert app.select_slider(key="alpha").value == 1e-4
    assert app.segmented_control(key="preset").value == "Balanced"
    button(app, "Start").click().run()
    assert store.runs()[0].spec.alpha == 1e-4


def test_the_parameters_of_a_preset_hold_although_start_came_with_the_ones_before(app, store):
    app.query_params["algorithm"] = "multi-vae"
    app.run()
    before = {one.key: one.value for one in app.number_input if one.key.startswith("param-")}
    button(app, "paper default").click().run()
    for key, value in before.items():
        app.number_input(key=key).set_value(value)
    button(app, "Start").click().run()
    params = dict(store.runs()[0].spec.params)
    paper = dict(ALGORITHMS["multi-vae"].paper_default)
    assert {name: params[name] for name in paper} == paper


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
    # 3 x 2 s x 0.85 to 10 x 4 s x 1.15; 3 x 20 J x 0.85 = 14.2 mWh to 460 J = 127.8 mWh
    assert expectation_words([spec], known) == (
        "3 to 10 folds will take about 5.1 s to 46 s and 14 to 130 mWh, by 1 earlier run of "
        "this dataset and algorithm."
    )
    assert expectation_words([spec], []) == (
        "Time and energy: not known yet for this dataset and algorithm."
    )
    other = make_spec(dataset="ml-100k", algorithm="popular")
    assert expectation_words([spec, other], known).endswith("Not known yet: popular.")


def test_the_form_knows_the_runs_of_the_database(app, store, a_run):
    app.query_params["dataset"] = "synthetic"
    app.query_params["algorithm"] = "nmf"
    app.run()
    assert any("not known yet" in one.value for one in app.caption)
    a_run([0.2, 0.3, 0.4], algorithm="nmf")  # 2 s and 36 J a fold: 3 x 1.7 s to 10 x 2.3 s
    app.run()
    assert any("take about 5.1 s to 23 s" in one.value for one in app.caption)


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
    assert (spec.algorithm, spec.adjust_by) == ("item-knn", ("popular",))
