"""The form of the Run page: one click starts, the address keeps choices, mistakes are sentences."""

import pytest

from ecv_core import dataset as datasets
from ecv_core.records.errors import DatasetError


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
    assert (run.spec.rule, dict(run.spec.rule_params)["alpha"], run.spec.full) == (
        "e-fold",
        1e-4,
        False,
    )
    assert app.query_params["run"] == run.run_id
    assert app.title[0].value == "ItemKNN on Synthetic"


def test_the_dataset_shows_its_size_and_density_and_says_what_it_is(app):
    app.run()
    shown = next(one for one in app.markdown if "density" in one.value)
    line = shown.value
    assert "the size and density of MovieLens 100K" in shown.help
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
    assert any("at least one algorithm first" in one.value for one in app.markdown)
    assert not any("Press **Start**" in one.value for one in app.markdown)


@pytest.mark.parametrize(
    ("choices", "way"),
    [
        ({}, "Press **Start**, or change anything below first."),
        ({"dataset": "ml-1m"}, "Download the dataset first."),
        ({"n": "1500"}, "Change the settings first, as the sentence below Start says."),
    ],
)
def test_it_is_said_what_to_do_before_start_can_be_pressed(
    app, monkeypatch, tmp_path, choices, way
):
    monkeypatch.setenv("ECV_DATA_DIR", str(tmp_path))
    monkeypatch.setenv("ECV_DATA_PATH", "")
    for name, value in choices.items():
        app.query_params[name] = value
    app.run()
    said_ways = [one.value for one in app.markdown if "tart" in one.value or "first" in one.value]
    assert said_ways[0] == way
    assert button(app, "Start").disabled == bool(choices)


def test_choices_in_the_address_fill_the_form_in(app, store):
    app.query_params["algorithm"] = "popular"
    app.query_params["alpha"] = "1e-3"
    app.query_params["k"] = "5"
    app.query_params["metric"] = "Recall"
    app.query_params["country"] = "France"
    app.run()
    button(app, "Start").click().run()
    (run,) = store.runs()
    assert (run.spec.algorithm, dict(run.spec.rule_params)["alpha"], run.spec.k) == (
        "popular",
        1e-3,
        5,
    )
    assert (run.spec.metric, run.spec.country) == ("recall", "FRA")


@pytest.mark.parametrize(("k", "seed"), [("0", "-1"), ("1e400", "inf")])
def test_nonsense_in_the_address_falls_back_to_the_defaults(app, k, seed):
    app.query_params["alpha"] = "minus one"
    app.query_params["dataset"] = "no-such"
    app.query_params["k"] = k
    app.query_params["seed"] = seed
    app.run()
    assert not app.exception
    assert app.select_slider(key="alpha").value == 1e-4
    assert app.selectbox(key="dataset").value == "synthetic"


def test_an_id_that_reads_like_an_endless_number_is_no_number(app):
    app.query_params["run"] = "12e456789012"
    app.run()
    assert said(app).startswith("There is no run '12e456789012' here")


def test_the_meaning_of_alpha_has_the_numbers_of_the_rule(app):
    app.query_params["alpha"] = "1e-5"  # 0.01 wide, changing by 0.001: the product is alpha
    app.run()
    meaning = next(one.value for one in app.caption if "stops once" in one.value)
    assert "0.01 wide changes by no more than 0.001" in meaning
    assert "Usual values: thrifty 1e-3, balanced 1e-4, careful 1e-5." in meaning


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


def test_an_error_calls_models_and_metrics_as_the_form_does_and_stands_above_the_settings(app):
    app.query_params.update({"algorithm": "item-knn", "metric": "rmse"})
    app.run()
    words = "RMSE is of predicted ratings, but ItemKNN ranks items; choose nDCG, or another"
    assert said(app) == f"{words} algorithm, such as Bias (damped means)."
    page = [element.value for element in app.main if hasattr(element, "value")]
    assert page.index(said(app)) < page.index("What to evaluate")


def test_a_setting_that_cannot_work_is_one_sentence_and_no_start(app):
    app.query_params["k"] = "100"
    app.run()
    app.number_input(key="n").set_value(1000).run()
    assert not app.error
    app.number_input(key="k").set_value(None).run()
    assert not app.exception


@pytest.mark.parametrize(
    ("key", "number", "words"),
    [
        ("n", 100_000, "List length (n) must be at most the 1,360 items of Synthetic, but is"),
        ("k", 1, "Folds (k) must be at least 2, but is 1"),
    ],
)
def test_a_wrong_number_is_said_by_the_label_of_its_field(app, key, number, words):
    app.run()
    app.number_input(key=key).set_value(number).run()
    assert words in said(app)


def test_an_algorithm_that_the_data_cannot_serve_is_one_sentence_and_no_start(app):
    app.query_params["algorithm"] = ["popular", "vbcar"]
    app.run()
    assert not app.exception
    assert "Synthetic has no baskets" in said(app)
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
        raise DatasetError("the download of 'ml-1m' was cut off; try again")

    monkeypatch.setattr(datasets, "available", lambda entry: entry.generated)
    monkeypatch.setattr(datasets, "download", fail)
    app.query_params["dataset"] = "ml-1m"
    app.run()
    app.button(key="download").click().run()
    assert not app.exception
    assert "The download of 'ml-1m' was cut off" in said(app)


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


def test_named_meters_are_read_live(app, monkeypatch):
    monkeypatch.setenv("ECV_METER", "")
    app.run()
    assert any("No meter is set up" in one.value for one in app.caption)
    monkeypatch.setenv("ECV_METER", "echo 47.3")
    app.run()
    app.toggle(key="read-meters").set_value(True).run()
    assert next(one.value for one in app.metric if one.label == "echo 47.3") == "47.3 W"
    assert not app.exception


def test_of_one_fold_no_rule_can_be_picked(app, store):
    app.query_params["split"] = "leave-last-item"
    app.query_params["k"] = "1"
    app.run()
    assert not app.exception
    rules = next(one for one in app.get("button_group") if one.key == "rule")
    assert rules.disabled
    assert not any("alpha" in (slider.key or "") for slider in app.select_slider)
    button(app, "Start").click().run()
    assert not app.exception
    (run,) = store.runs()
    assert (run.spec.k, run.spec.rule) == (1, "never")
