"""Tables of samples through the fold engine: scikit-learn's own scores; refusals in a sentence."""

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import KFold, StratifiedKFold, cross_val_score

from ecv_core import evaluation, models
from ecv_core.cli.data_commands import summary
from ecv_core.dataset import catalogue, entry, own, tables
from ecv_core.dataset.about import ABOUT, ADDED, read_about
from ecv_core.dataset.folders import data_dir
from ecv_core.dataset.sources import source_of
from ecv_core.figures.estimators import estimators_frame
from ecv_core.fold import check_needs, data_of
from ecv_core.fold.computing import run_fold
from ecv_core.fold.spec import make_spec
from ecv_core.records.errors import DatasetError, EcvError, RunError
from ecv_core.records.interactions import Table
from ecv_core.records.tasks import Task
from ecv_core.store.recorded import FOLDER

ALGORITHMS = [name for task in (Task.CLASSES, Task.NUMBERS) for name in models.serving(task)]
CHEAP = {"n_estimators": 10, "max_iter": 20, "hidden": 5}


def cheap(algorithm):
    known = models.ALGORITHMS[algorithm]
    return {one.name: CHEAP[one.name] for one in known.parameters if one.name in CHEAP}


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_scores_are_those_of_cross_val_score(algorithm):
    classes = models.ALGORITHMS[algorithm].task is Task.CLASSES
    spec = make_spec(
        dataset="wine" if classes else "diabetes",
        algorithm=algorithm,
        params=cheap(algorithm),
        k=3,
        seed=7,
    )
    table = data_of(spec)
    splitter = (StratifiedKFold if classes else KFold)(3, shuffle=True, random_state=7)
    expected = cross_val_score(
        models.ALGORITHMS[algorithm].build(dict(spec.params)).estimator(7),
        table.features,
        table.targets,
        cv=splitter,
    )
    assert [run_fold(spec, fold).score for fold in range(3)] == expected.tolist()


SCORERS = {
    "accuracy": "accuracy",
    "balanced-accuracy": "balanced_accuracy",
    "f1-macro": "f1_macro",
    "roc-auc": "roc_auc_ovr",
    "cross-entropy": "neg_log_loss",
    "r2": "r2",
    "mean-absolute-error": "neg_mean_absolute_error",
    "root-mean-squared-error": "neg_root_mean_squared_error",
}


@pytest.mark.parametrize("metric", SCORERS)
def test_every_metric_is_scikit_learns_and_the_mean_of_what_samples_tell(metric):
    classes = metric in Task.CLASSES.metrics
    spec = make_spec(
        dataset="iris" if classes else "diabetes",
        algorithm="logistic-regression" if classes else "ridge",
        metric=metric,
        k=3,
    )
    table, fold = data_of(spec), run_fold(spec, 1)
    expected = cross_val_score(
        models.ALGORITHMS[spec.algorithm].build(dict(spec.params)).estimator(spec.seed),
        table.features,
        table.targets,
        cv=(StratifiedKFold if classes else KFold)(3, shuffle=True, random_state=spec.seed),
        scoring=SCORERS[metric],
    )[1]
    known = evaluation.METRICS[metric]
    assert fold.score == (expected if known.higher_is_better else -expected)
    assert fold.user_scores.of(metric).mean() == pytest.approx(fold.score, rel=1e-5)
    assert set(fold.metrics) == spec.task.metrics


def test_the_embedded_tables_are_what_the_catalogue_promises():
    for known in catalogue().values():
        if known.task is not None:
            table = tables.read_table(source_of(known))
            assert table.features.shape == (known.samples, known.features), known.id
            assert (table.classes is None) == (known.task is Task.NUMBERS), known.id
            assert table.classes is None or len(table.classes) == known.classes, known.id


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (("iris", "ease", {}), "iris is for classified samples, but ease ranks items"),
        (("synthetic", "svm", {}), "but svm classifies samples; .* such as breast-cancer"),
        (("diabetes", "svm", {}), "for predicted numbers of samples, but svm classifies"),
        (("iris", "svm", {"metric": "r2"}), "R2 is of predicted numbers .* choose accuracy or"),
        (("iris", "svm", {"metric": "cross-entropy"}), "needs probabilities, which svm"),
        (("iris", "svm", {"split": "user-k-fold"}), "choose one of: stratified-k-fold"),
        (
            ("synthetic", "ease", {"split": "sample-k-fold"}),
            "is for classified samples or .* the model ranks",
        ),
        (
            ("synthetic", "ease", {"metric": "accuracy"}),
            "of classified samples, but",
        ),
        (("iris", "svm", {"k": 151}), "k must be at most the 150 samples of iris"),
    ],
)
def test_what_cannot_be_is_said_before_anything_starts(asked, said):
    dataset, algorithm, more = asked
    with pytest.raises(EcvError, match=said):
        make_spec(dataset=dataset, algorithm=algorithm, **more)


def test_more_folds_than_samples_of_any_class_are_refused():
    spec = make_spec(dataset="iris", algorithm="svm", k=60)
    with pytest.raises(EcvError, match="largest class has 50 samples; choose k from 2 to 50"):
        run_fold(spec, 0)


def test_without_probabilities_several_classes_have_no_roc_auc():
    with pytest.raises(RunError, match=r"no ROC AUC .* predicts no probabilities"):
        run_fold(make_spec(dataset="iris", algorithm="svm", metric="roc-auc"), 0)


def small(targets):
    frame = pd.DataFrame({"a": np.arange(len(targets)), "y": targets})
    return tables.table_of("own", frame, "y")


@pytest.mark.parametrize(
    ("targets", "said"),
    [
        ([1.5, None, 2.5, 3.5], r"no value in 1 of 4 rows \(row 2 is the first\)"),
        ([1, 1, 1, 1], "has the same value in every row"),
        (["a", "b", "c", "a"], "'.' only once"),
        ([0.1, float("inf"), 1.2, 1.7], "not a finite number"),
    ],
)
def test_a_target_that_cannot_serve_is_one_sentence(targets, said):
    with pytest.raises(DatasetError, match=said):
        small(targets)


def test_a_fold_that_learns_from_one_class_is_one_sentence():
    table = small([0] * 6 + [1] * 6)
    estimator = models.ALGORITHMS["naive-bayes"].build({}).estimator(0)
    with pytest.raises(RunError, match="one class alone; choose the split stratified-k-fold"):
        evaluation.fit_samples(estimator, table, np.arange(6))


def test_texts_become_features_and_what_names_rows_is_none():
    frame = pd.DataFrame(
        {
            "name": [f"person {row}" for row in range(60)],
            "colour": ["red", "green", None] * 20,
            "size": [1.5, None, float("inf"), 2.5] * 15,
            "same": [1] * 60,
            "y": [0.5 * row for row in range(60)],
        }
    )
    table = tables.table_of("own", frame, "y")
    assert table.features.shape == (60, 3)  # green, red, size
    assert table.features[0].tolist() == [0, 1, 1.5]
    assert np.isnan(table.features[1:3, 2]).all()
    assert table.classes is None
    with pytest.raises(DatasetError, match="can be learnt from: the others"):
        tables.table_of("own", frame[["name", "same", "y"]], "y")


def test_few_whole_numbers_are_classes_and_many_are_numbers():
    assert small([0, 1, 2] * 4).classes.tolist() == ["0", "1", "2"]
    assert small(list(range(30))).classes is None
    assert entry("diabetes").task is Task.NUMBERS


def test_needs_are_checked_with_the_samples():
    check_needs(make_spec(dataset="iris", algorithm="k-nn"))
    assert isinstance(data_of(make_spec(dataset="iris", algorithm="k-nn")), Table)


@pytest.fixture
def shop(tmp_path, monkeypatch):
    monkeypatch.setenv("ECV_DATA_DIR", str(tmp_path / "data"))
    rng = np.random.default_rng(3)
    frame = pd.DataFrame(
        {"size": rng.normal(size=90).round(3), "colour": ["red", "blue", "?"] * 30}
    )
    frame["class"] = np.where(frame["size"] > 0, "large", "small")
    frame["price"] = 10 * frame["size"] + 0.5

    def add(name, target=None, **how):
        path = tmp_path / f"{name}.csv"
        frame.drop(columns="price" if target is None else "class").to_csv(path, index=False, **how)
        columns = {} if target is None else {"target": target}
        return own.add_file(name, path, columns, lambda *_: None)

    return add


@pytest.mark.parametrize(
    ("header", "left_out"),
    [("", ["column 1"]), ("Unnamed: 0", ["Unnamed: 0"]), ("day", [])],
)
@pytest.mark.parametrize("first_number", [0, 1])
def test_numbers_of_rows_are_no_feature_of_a_table(
    tmp_path, monkeypatch, header, left_out, first_number
):
    # Sorted by its class, the table would give the class away by the number of the row.
    monkeypatch.setenv("ECV_DATA_DIR", str(tmp_path / "data"))
    rows = [f"{header},size,class"]
    for number in range(90):
        rows.append(f"{number + first_number},{number % 7},{number // 45}")
    path = tmp_path / "sorted.csv"
    path.write_text("\n".join(rows))
    about, _ = own.add_file("sorted", path, {"target": "class"}, lambda *_: None)
    assert list(about.left_out) == left_out
    spec = make_spec(dataset="sorted", algorithm="decision-tree", k=3)
    assert data_of(spec).features.shape == (90, 2 - len(left_out))


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_numbers_that_rows_kept_in_another_order_are_no_feature(tmp_path, monkeypatch, form):
    # Of a table that was sorted, they give the class away, however its rows are shuffled.
    monkeypatch.setenv("ECV_DATA_DIR", str(tmp_path / "data"))
    numbers = np.arange(120)
    frame = pd.DataFrame({"size": numbers % 7, "class": numbers // 60})
    training = frame.sample(90, random_state=1)
    path = tmp_path / f"training.{form}"
    getattr(training, f"to_{form}")(path)
    about, _ = own.add_file("training", path, {"target": "class"}, lambda *_: None)
    assert (len(about.left_out), about.raw_items) == (1, 1)


@pytest.mark.parametrize(
    "values", [[number // 2 for number in range(90)], [number / 2 for number in range(90)]]
)
def test_a_column_without_a_name_that_numbers_no_rows_stays_a_feature(
    tmp_path, monkeypatch, values
):
    monkeypatch.setenv("ECV_DATA_DIR", str(tmp_path / "data"))
    rows = [",size,class"]
    for number, value in enumerate(values):
        rows.append(f"{value},{number % 7},{number % 2}")
    path = tmp_path / "halves.csv"
    path.write_text("\n".join(rows))
    about, _ = own.add_file("halves", path, {"target": "class"}, lambda *_: None)
    assert (about.left_out, about.raw_items) == ({}, 2)


def test_in_a_file_without_names_only_numbers_in_order_are_no_feature(tmp_path, monkeypatch):
    monkeypatch.setenv("ECV_DATA_DIR", str(tmp_path / "data"))
    rows = [f"{number},{number * 3},{number % 2}" for number in range(90)]
    path = tmp_path / "nameless.csv"
    path.write_text("\n".join(rows))
    about, _ = own.add_file("nameless", path, {"target": "3"}, lambda *_: None)
    assert (list(about.left_out), about.raw_items) == (["column 1"], 1)


def test_a_table_of_a_target_and_the_numbers_of_its_rows_is_refused(tmp_path, monkeypatch):
    monkeypatch.setenv("ECV_DATA_DIR", str(tmp_path / "data"))
    path = tmp_path / "series.csv"
    pd.DataFrame({"class": [0, 1] * 45}).to_csv(path)
    with pytest.raises(DatasetError, match="the others only number the rows"):
        own.add_file("series", path, {"target": "class"}, lambda *_: None)


def added_table(tmp_path, monkeypatch, frame, target="class"):
    """A frame, written as CSV and added."""
    monkeypatch.setenv("ECV_DATA_DIR", str(tmp_path / "data"))
    path = tmp_path / "table.csv"
    frame.to_csv(path, index=False)
    about, _ = own.add_file("table", path, {"target": target}, lambda *_: None)
    return about


@pytest.mark.parametrize("infinite", ["inf", "-inf", "Infinity", "-Inf", "+INF"])
def test_an_infinite_number_leaves_a_column_of_numbers(tmp_path, monkeypatch, infinite):
    # Ten different numbers: as texts they would be ten features, and the infinite one an eleventh.
    sizes = [str(number % 10) for number in range(90)]
    sizes[3] = infinite
    frame = pd.DataFrame({"size": sizes, "class": [0, 1] * 45})
    about = added_table(tmp_path, monkeypatch, frame)
    assert about.raw_items == 1
    assert about.remarks == {"size": "has 1 infinite value, which counts as missing"}
    features = data_of(make_spec(dataset="table", algorithm="decision-tree", k=3)).features[:, 0]
    assert np.isnan(features).sum() == 1
    assert features[4] == 4
    assert "  size has 1 infinite value, which counts as missing" in summary(about)


def test_a_column_of_infinite_numbers_has_no_value(tmp_path, monkeypatch):
    frame = pd.DataFrame({"ratio": ["inf", "-inf"] * 45, "size": range(90), "class": [0, 1] * 45})
    frame["rate"] = ["inf", "3.5"] * 45
    about = added_table(tmp_path, monkeypatch, frame)
    assert about.left_out == {"ratio": "it has no value", "rate": "it has only one value"}
    assert about.raw_items == 1


def test_an_infinite_target_is_refused_with_its_row(tmp_path, monkeypatch):
    prices = [str(number / 4) for number in range(90)]
    prices[3] = "inf"
    frame = pd.DataFrame({"size": range(90), "price": prices})
    with pytest.raises(DatasetError, match=r"'price' has the value inf in row 4, .*leave such"):
        added_table(tmp_path, monkeypatch, frame, "price")


def test_the_errors_of_a_spreadsheet_are_missing_numbers(tmp_path, monkeypatch):
    sizes = [str(number) for number in range(90)]
    sizes[3:6] = ["#DIV/0!", "#N/A", "#VALUE!"]
    frame = pd.DataFrame({"size": sizes, "class": [0, 1] * 45})
    about = added_table(tmp_path, monkeypatch, frame)
    assert (about.raw_items, about.remarks) == (1, {})


def test_a_text_among_numbers_is_told(tmp_path, monkeypatch):
    sizes = [str(number % 10) for number in range(90)]
    sizes[5] = "inf"  # a number, so it is not the reason
    sizes[7] = "about 7"
    frame = pd.DataFrame({"size": sizes, "class": [0, 1] * 45, "step": ["1", "2", "a"] * 30})
    about = added_table(tmp_path, monkeypatch, frame)
    assert list(about.remarks) == ["size", "step"]
    assert about.remarks["size"] == (
        "is read as texts, because 'about 7' is no number, although 89 of 90 values are numbers: "
        "change or empty what is none"
    )


def test_every_column_that_is_no_feature_is_told(tmp_path, monkeypatch):
    frame = pd.DataFrame(
        {
            "name": [f"person {row}" for row in range(90)],
            "country": ["de"] * 90,
            "notes": [""] * 90,
            "size": range(90),
            "class": [0, 1] * 45,
        }
    )
    about = added_table(tmp_path, monkeypatch, frame)
    assert about.raw_items == 1
    assert about.left_out == {
        "name": "it has 90 different texts, more than 50",
        "country": "it has only one value",
        "notes": "it has no value",
    }


def test_a_table_that_an_earlier_version_kept_is_read(shop):
    shop("sizes")
    path = data_dir() / ADDED / "sizes" / ABOUT
    fields = json.loads(path.read_text())
    del fields["left_out"]
    path.write_text(json.dumps(fields))
    about = read_about(path.parent)
    assert about is not None
    assert (about.left_out, about.classes) == ({}, 2)


def test_a_file_with_a_target_becomes_a_table_that_runs(shop):
    about, _ = shop("sizes")
    assert (about.columns, about.task, about.classes) == ({"target": "class"}, Task.CLASSES, 2)
    spec = make_spec(dataset="sizes", algorithm="decision-tree", k=3)
    table = data_of(spec)
    assert table.features.shape == (90, 3)  # size, blue, red
    assert table.classes.tolist() == ["large", "small"]
    assert run_fold(spec, 0).score > 0.9
    assert spec.data_sha256 == about.sha256


def test_numbers_of_a_decimal_comma_are_predicted(shop):
    about, _ = shop("prices", "price", sep=";", decimal=",")
    assert about.task is Task.NUMBERS
    assert run_fold(make_spec(dataset="prices", algorithm="ridge", k=3), 1).score > 0.99
    with pytest.raises(EcvError, match="prices is for predicted numbers of samples, but ease"):
        make_spec(dataset="prices", algorithm="ease")


def test_a_file_whose_target_cannot_serve_is_not_kept(shop):
    with pytest.raises(DatasetError, match=r"'colour' has no value in 30 of 90 rows \(row 3"):
        shop("colours", "colour")
    assert "colours" not in catalogue()


def test_the_recorded_rules_are_those_of_the_recorded_folds():
    """Mahlich's rule on one table, its definition written out once more."""
    kept = np.load(FOLDER / "estimators.npz")
    fold, samples = kept["wine/fold"], kept["wine/right"]
    right = np.unpackbits(samples, axis=1)[:, : len(fold)].astype(float)
    scores = np.array([[row[fold == one].mean() for one in range(10)] for row in right])
    rng = np.random.default_rng(0)
    drawn = scores[:, [rng.permutation(10) for _ in range(1000)]].reshape(-1, 10)
    deviations = np.array([drawn[:, :n].std(axis=1, ddof=1) for n in range(2, 11)])
    calm = deviations[1:] <= 1.05 * deviations[:-1]
    twice = np.vstack([calm[:-1] & calm[1:], np.ones((1, len(drawn)), bool)])
    used = np.minimum(4 + twice.argmax(axis=0), 10)
    at_stop = np.array([one[:stop].mean() for one, stop in zip(drawn, used, strict=True)])
    apart = 100 * np.abs(at_stop - drawn.mean(axis=1)) / drawn.mean(axis=1)
    frame = estimators_frame()
    frame = frame[(frame["dataset"] == "wine") & frame["rule"].str.startswith("stagnating")]
    assert frame["folds"].mean() == pytest.approx(used.mean(), abs=1e-2)
    assert frame["difference_percent"].mean() == pytest.approx(apart.mean(), abs=1e-2)
