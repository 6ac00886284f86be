"""Files as people write them: which rows and columns are folds, contenders, metrics, or neither."""

from __future__ import annotations

import gzip
import math
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_validate

from ecv_core.analysis.score_columns import is_summary, is_time_or_cost
from ecv_core.analysis.score_files import ScoreFile, read_contenders
from ecv_core.analysis.score_rows import SeveralMetrics
from ecv_core.records.errors import InputError

FOLDS = pd.DataFrame(
    {"knn": [0.30, 0.31, 0.29], "svd": [0.25, 0.24, 0.26], "Mean": [0.40, 0.41, 0.42]},
    index=["1", "2", "3"],
)
"""A predictor may well be called Mean."""


@pytest.fixture
def read(tmp_path: Path):
    """A table and how pandas writes it -> what is read."""

    def read_table(
        table: pd.DataFrame, name: str = "a.csv", metric: str | None = None, **written: object
    ) -> ScoreFile:
        path = tmp_path / name
        table.to_csv(path, **written)
        return read_contenders(path, metric)

    return read_table


def folds_of(scores: ScoreFile) -> dict[str, list[float]]:
    return {contender.name: contender.folds.tolist() for contender in scores.contenders}


EXPECTED = {name: FOLDS[name].tolist() for name in FOLDS}


@pytest.mark.parametrize("label", ["fold", "", "Unnamed: 0", "index", "Run"])
@pytest.mark.parametrize(
    "summaries",
    [["Mean", "Std"], ["AVERAGE", "± SD"], ["avg.", "Total:"], ["overall", "mean of all folds"]],
)
def test_rows_that_summarise_are_no_folds(read, label, summaries) -> None:
    table = FOLDS.copy()
    table.loc[summaries[0]] = FOLDS.mean()
    table.loc[summaries[1]] = 0.01
    if label == "Run":
        table.index = [f"fold {row}" if row.isdigit() else row for row in table.index]
    scores = read(table, index_label=label)
    assert folds_of(scores) == EXPECTED
    assert len(scores.folds) == 3
    for summary in summaries:
        assert summary in scores.left_out


def test_a_summary_of_texts_does_not_make_texts_of_numbers(read) -> None:
    table = FOLDS.astype(str)
    table.loc["mean ± std"] = "0.30 ± 0.01"
    assert folds_of(read(table, index_label="fold")) == EXPECTED


def test_the_rows_of_describe_are_no_folds(read) -> None:
    scores = read(pd.concat([FOLDS, FOLDS.describe()]))
    assert folds_of(scores) == EXPECTED
    assert "count, mean, std, min, 25%, 50%, 75% and max" in scores.left_out


@pytest.mark.parametrize("label", ["Model", ""])
def test_columns_that_summarise_are_no_folds(read, label) -> None:
    table = FOLDS.rename(lambda row: f"Fold {row}").T
    table["mean"] = table.mean(axis=1)
    table["std"] = 0.01
    table["rank"] = [2, 3, 1]
    table["fit_time"] = 1.5
    scores = read(table, index_label=label)
    assert folds_of(scores) == EXPECTED
    assert scores.folds == ("Fold 1", "Fold 2", "Fold 3")
    for name in ("mean", "std", "rank", "fit_time"):
        assert name in scores.left_out


def test_rows_of_a_long_table_that_summarise_are_no_folds(read) -> None:
    long = FOLDS.reset_index(names="Fold").melt("Fold", var_name="Model", value_name="ndcg")
    long.loc[len(long)] = ["Mean", "knn", 0.30]
    scores = read(long)  # with the index that pandas writes
    assert folds_of(scores) == EXPECTED
    assert "Mean (no folds)" in scores.left_out


def test_a_category_of_pandas_is_read_as_its_texts(tmp_path: Path) -> None:
    long = FOLDS.reset_index(names="fold").melt("fold", var_name="contender", value_name="value")
    long.loc[len(long)] = ["Mean", "knn", 0.30]
    long["metric"] = "rmse"
    path = tmp_path / "scores.parquet"
    long.astype({"fold": "category", "contender": "category", "metric": "category"}).to_parquet(
        path
    )
    scores = read_contenders(path)
    assert folds_of(scores) == EXPECTED
    assert scores.metric == "rmse"


def test_contenders_of_a_category_come_in_the_order_of_their_rows(tmp_path: Path) -> None:
    path = tmp_path / "scores.parquet"
    names = pd.Categorical(["svd", "svd", "knn", "knn"], categories=["als", "knn", "svd"])
    pd.DataFrame(
        {"contender": names, "fold": [1, 2, 1, 2], "score": [0.3, 0.4, 0.1, 0.2]}
    ).to_parquet(path)
    assert folds_of(read_contenders(path)) == {"svd": [0.3, 0.4], "knn": [0.1, 0.2]}
    assert list(folds_of(read_contenders(path))) == ["svd", "knn"]


def test_a_blank_name_of_a_category_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "scores.parquet"
    pd.DataFrame(
        {"contender": pd.Categorical(["knn", " "]), "fold": [1, 1], "score": [0.3, 0.4]}
    ).to_parquet(path)
    with pytest.raises(InputError, match=r"row 2 of .* has no contender"):
        read_contenders(path)


def test_a_contender_that_is_the_mean_of_the_others_is_none(read) -> None:
    table = FOLDS[["knn", "svd"]].copy()
    table["Mean"] = table.mean(axis=1)
    table["sd"] = table[["knn", "svd"]].std(axis=1)
    scores = read(table, index_label="fold")
    assert list(folds_of(scores)) == ["knn", "svd"]
    assert "Mean and sd" in scores.left_out


@pytest.mark.parametrize(
    "name",
    ["fit_time", "score_time", "test_time", "train_seconds", "duration", "elapsed", "Fit time (s)"],
)
def test_columns_of_times_are_no_scores(read, name) -> None:
    table = FOLDS.assign(**{name: [1.2, 1.1, 1.3]})
    scores = read(table, index_label="fold")
    assert folds_of(scores) == EXPECTED
    assert name in scores.left_out
    long = FOLDS.reset_index(names="fold").melt("fold", var_name="model", value_name="ndcg")
    scores = read(long.assign(**{name: 1.2}), index=False)
    assert folds_of(scores) == EXPECTED
    assert name in scores.left_out


def test_contenders_with_a_time_or_a_mean_in_their_name_stay() -> None:
    for name in ("bayesian-time-svd", "timeSVD++", "S", "RankNet", "mean-pooling"):
        assert not is_time_or_cost(name)
        assert not is_summary(name)


# The direction of scores.


def long_of(metric: str, sign: float = 1.0) -> pd.DataFrame:
    long = FOLDS.reset_index(names="fold").melt("fold", var_name="contender", value_name=metric)
    long[metric] *= sign
    return long


@pytest.mark.parametrize("metric", ["rmse", "mae", "log_loss", "gini", "error", "loss"])
def test_a_known_metric_has_its_direction_wherever_it_is_named(read, metric) -> None:
    in_column = read(long_of(metric), index=False)
    in_file = read(FOLDS, name=f"wide_{metric}_results.csv", index_label="fold")
    as_asked = read(long_of("score"), metric=metric, index=False)
    in_rows = read(long_of("value").assign(metric=metric), index=False)
    in_names = read(FOLDS.add_suffix(f"_{metric}"), index_label="fold")
    for scores in (in_column, in_file, as_asked, in_rows, in_names):
        assert not scores.direction.higher_is_better
        assert not any(contender.higher_is_better for contender in scores.contenders)
        assert metric.split("_")[-1] in scores.direction.why


def test_a_name_that_is_not_known_is_higher_is_better_and_says_why(read) -> None:
    direction = read(FOLDS, index_label="fold").direction
    assert direction.higher_is_better
    assert "nothing in the file names a known metric" in direction.why


def test_an_error_below_zero_was_turned_round(read) -> None:
    direction = read(long_of("rmse", sign=-1.0), index=False).direction
    assert direction.higher_is_better
    assert "below zero" in direction.why


@pytest.mark.parametrize(
    ("metric", "sign", "higher_is_better"),
    [
        ("accuracy", -1.0, False),  # as for a search of the least
        ("test_acc", -1.0, False),
        ("ndcg@10", -1.0, False),
        ("neg_mean_squared_error", 1.0, False),  # called so, but not negated
        ("-rmse", 1.0, False),
        ("neg_mean_squared_error", -1.0, True),
        ("neg_accuracy", -1.0, False),
        ("1 - rmse", -1.0, True),  # may have any sign
        ("r2", -1.0, True),
        ("loss", -1.0, False),
        ("kappa", -1.0, True),
    ],
)
def test_scores_of_the_other_sign_were_turned_round(read, metric, sign, higher_is_better) -> None:
    direction = read(long_of(metric, sign), index=False).direction
    assert direction.higher_is_better is higher_is_better


def test_a_gain_with_both_signs_is_said(read_text) -> None:
    scores = read_text("model,fold,ndcg\nA,1,0.9\nA,2,-1\nB,1,0.7\nB,2,0.8\n")
    assert scores.direction.higher_is_better
    assert "although some scores are below zero, which no ndcg is" in scores.direction.why


def test_a_contradiction_is_the_users_choice_and_said(read) -> None:
    scores = read(long_of("rmse"), index=False).directed(higher_is_better=True)
    assert all(contender.higher_is_better for contender in scores.contenders)
    assert scores.direction.sentence("x") == (
        "Higher is better, as you set, although lower is better by the column 'rmse'; if this "
        "is wrong, use x."
    )
    of_unknown = read(FOLDS, index_label="fold").directed(higher_is_better=False)
    assert of_unknown.direction.sentence("x") == (
        "Lower is better, as was asked; if this is wrong, use x."
    )
    asked = read(long_of("rmse"), metric="ndcg", index=False).direction
    assert asked.higher_is_better
    assert "although the column 'rmse' suggests the opposite" in asked.why
    of_the_same_direction = read(long_of("rmse"), metric="mae", index=False).direction
    assert "'mae' that you chose, where the file has 'rmse'" in of_the_same_direction.why


# Several metrics.


def test_several_metrics_need_a_choice(read) -> None:
    long = long_of("rmse").assign(mae=0.5)
    with pytest.raises(SeveralMetrics) as caught:
        read(long, index=False)
    assert caught.value.metrics == ("rmse", "mae")
    scores = read(long, metric="RMSE", index=False)
    assert folds_of(scores) == EXPECTED
    assert "mae" in scores.left_out
    tidy = long.melt(["fold", "contender"], var_name="metric", value_name="value")
    with pytest.raises(SeveralMetrics):
        read(tidy, index=False)
    assert folds_of(read(tidy, metric="rmse", index=False)) == EXPECTED
    wide = FOLDS.add_suffix(" rmse").join(FOLDS.add_suffix(" mae") / 2)
    with pytest.raises(SeveralMetrics):
        read(wide, index_label="fold")
    scores = read(wide, metric="mae", index_label="fold")
    assert list(folds_of(scores)) == ["knn mae", "svd mae", "Mean mae"]


def test_a_metric_is_chosen_by_a_synonym_where_no_column_has_its_name(read) -> None:
    long = long_of("acc").assign(auc=0.6, roc_auc=0.7)
    assert folds_of(read(long, metric="accuracy", index=False)) == EXPECTED
    assert folds_of(read(long, metric="roc-auc", index=False))["knn"] == [0.7, 0.7, 0.7]


def test_metrics_of_one_contender_are_no_contenders(read) -> None:
    """Surprise's `cross_validate`: two metrics and two times."""
    table = pd.DataFrame(
        {
            "test_rmse": [0.93, 0.94, 0.935],
            "test_mae": [0.73, 0.74, 0.735],
            "fit_time": [1.1, 1.2, 1.0],
            "test_time": [0.2, 0.2, 0.1],
        }
    )
    with pytest.raises(SeveralMetrics) as caught:
        read(table, index=False)
    assert caught.value.metrics == ("test_rmse", "test_mae")
    for name in table:
        assert name in str(caught.value)
    scores = read(table, metric="rmse", index=False)
    assert folds_of(scores) == {"test_rmse": [0.93, 0.94, 0.935]}
    assert not scores.direction.higher_is_better


def test_metrics_of_one_contender_may_be_rows(read) -> None:
    """What Surprise's `cross_validate` prints."""
    table = pd.DataFrame(
        {f"Fold {fold}": [0.93 + fold / 100, 0.73, 1.1, 0.2] for fold in (1, 2, 3)},
        index=["RMSE (testset)", "MAE (testset)", "Fit time", "Test time"],
    )
    table["Mean"] = table.mean(axis=1)
    table["Std"] = 0.01
    for label in ("", "Model"):
        with pytest.raises(SeveralMetrics) as caught:
            read(table, index_label=label)
        assert caught.value.metrics == ("RMSE (testset)", "MAE (testset)")
        assert "Fit time and Test time" in str(caught.value)
        scores = read(table, metric="RMSE (testset)", index_label=label)
        (contender,) = scores.contenders
        assert contender.folds.tolist() == pytest.approx([0.94, 0.95, 0.96])
        assert not scores.direction.higher_is_better
        for name in ("Mean", "Std", "Fit time", "MAE"):
            assert name in scores.left_out


def test_a_value_of_each_metric_per_contender_has_no_folds(read) -> None:
    table = pd.DataFrame({"RMSE": [0.9, 0.8], "MAE": [0.7, 0.6]}, index=["a", "b"])
    with pytest.raises(InputError, match="no folds"):
        read(table, index_label="Model")


# What scikit-learn keeps.


@pytest.fixture(scope="module")
def search() -> GridSearchCV:
    features, classes = load_iris(return_X_y=True)
    classes = np.where(np.arange(len(classes)) % 7 == 0, 0, classes)  # else a score is 1 throughout
    grid = {"C": [0.01, 1.0], "max_iter": [500]}
    scoring = {"f1": "f1_macro", "loss": "neg_log_loss"}
    return GridSearchCV(
        LogisticRegression(), grid, cv=4, scoring=scoring, refit="f1", return_train_score=True
    ).fit(features, classes)


@pytest.mark.parametrize("without", [[], ["params"]])
def test_a_search_has_its_candidates_as_contenders(read, search, without) -> None:
    table = pd.DataFrame(search.cv_results_).drop(columns=without)
    with pytest.raises(SeveralMetrics) as caught:
        read(table)
    assert caught.value.metrics == ("f1", "loss")
    scores = read(table, metric="f1")
    assert list(folds_of(scores)) == ["C=0.01", "C=1.0"]
    assert scores.folds == ("0", "1", "2", "3")
    means = [contender.folds.mean() for contender in scores.contenders]
    assert means == pytest.approx(search.cv_results_["mean_test_f1"])
    for metric in ("f1", "loss"):
        assert read(table, metric=metric, name="error.csv").direction.higher_is_better


def test_parameters_that_differ_late_are_told_apart(read) -> None:
    texts = [
        f"{{'name_of_a_step__name_of_a_parameter': 'a value of many words', 'C': {value}}}"
        for value in (1, 2)
    ]
    table = pd.DataFrame(
        {"params": texts, "split0_test_score": [0.1, 0.2], "split1_test_score": [0.2, 0.3]}
    )
    assert list(folds_of(read(table))) == ["C=1", "C=2"]


def test_what_cross_validate_gives_is_one_contender(read) -> None:
    features, classes = load_iris(return_X_y=True)
    classes = np.where(np.arange(len(classes)) % 7 == 0, 0, classes)
    given = cross_validate(
        LogisticRegression(max_iter=500), features, classes, cv=4, return_train_score=True
    )
    scores = read(pd.DataFrame(given))
    assert folds_of(scores)["test_score"] == pytest.approx(given["test_score"].tolist())
    assert "train_score" in scores.left_out


@pytest.fixture
def read_text(tmp_path: Path):
    """The text of a file -> what is read."""

    def read(text: str, metric: str | None = None) -> ScoreFile:
        path = tmp_path / "a.csv"
        path.write_text(text)
        return read_contenders(path, metric)

    return read


WIDE = pd.DataFrame({"svd": [0.9, 0.91, 0.92], "knn": [0.8, 0.81, 0.83]}, index=["1", "2", "3"])
"""Rows are folds."""


@pytest.mark.parametrize("label", ["s.d.", "p-value", "95% CI", "Mittelwert", "final", "CV"])
def test_beside_numbered_folds_a_row_of_another_name_is_no_fold(read_text, label) -> None:
    table = WIDE.copy()
    table.loc[label] = [0.5, 0.5]
    scores = read_text(table.to_csv(index_label="fold"))
    assert scores.folds == ("1", "2", "3")
    assert label in scores.left_out


@pytest.mark.parametrize(
    "column", ["seed", "n_users", "epochs", "Step", "timestamp", "k", "memory_mb", "knn_time"]
)
def test_columns_of_settings_counts_and_times_are_no_contenders(read_text, column) -> None:
    scores = read_text(WIDE.assign(**{column: [41, 42, 43]}).to_csv(index_label="fold"))
    assert set(folds_of(scores)) == {"svd", "knn"}
    assert column in scores.left_out


def test_an_export_of_wandb_has_a_contender_for_each_run(read_text) -> None:
    lines = ["Step,svd - val_rmse,svd - val_rmse__MIN,knn - val_rmse,knn - val_rmse__MAX"]
    lines += [f"{step},0.9{step},0.1,0.8{step},0.1" for step in range(3)]
    scores = read_text("\n".join(lines))
    assert folds_of(scores) == {
        "svd - val_rmse": [0.90, 0.91, 0.92],
        "knn - val_rmse": [0.80, 0.81, 0.82],
    }
    assert not scores.direction.higher_is_better


def test_a_spread_beside_a_mean_is_no_contender(read_text) -> None:
    header = ",valid l2-mean,valid l2-stdv,svd,knn"
    scores = read_text(f"{header}\n0,0.9,0.1,0.8,0.2\n1,0.91,0.11,0.81,0.21\n")
    assert list(folds_of(scores)) == ["valid l2-mean", "svd", "knn"]


@pytest.mark.parametrize(
    "header",
    [
        "fold,{0},{0}_std,{1},{1}_std",
        "fold,{0},{0} (std. dev.),{1},{1} (std. dev.)",
        "fold,{0},std_{0},{1},std_{1}",
        "fold,{0},{0}SD,{1},{1}SD",
        "fold,{0},{0}_stderr,{1},{1} std. error",
        "fold,{0},{0}_ci_lower,{1},{1}.upper",
    ],
)
def test_a_spread_or_an_end_of_an_interval_is_no_contender(read_text, header) -> None:
    scores = read_text(
        header.format("svd", "knn 50") + "\n1,0.3,0.02,0.4,0.03\n2,0.31,0.02,0.42,0.03\n"
    )
    assert folds_of(scores) == {"svd": [0.3, 0.31], "knn 50": [0.4, 0.42]}
    assert "spreads" in scores.left_out


@pytest.mark.parametrize(
    "header",
    [
        "mtry,RMSE,RMSESD,Rsquared,RsquaredSD",
        "k,Accuracy,AccuracySD,Kappa,KappaSD",
        "C,ROC,ROCSD,Sens,SensSD",
        ",valid auc-mean,valid_auc-stdv,test rmse,std_test_rmse",
    ],
)
def test_metrics_of_settings_with_their_spreads_are_no_folds(read_text, header) -> None:
    rows = "\n1,0.9,0.1,0.8,0.2\n2,0.91,0.11,0.81,0.21\n"
    with pytest.raises(InputError, match="in its rows, as of settings or rounds of boosting"):
        read_text(header + rows)
    label, metric, _ = header.split(",", 2)
    of_folds = f"fold{header.removeprefix(label)}{rows}"
    assert folds_of(read_text(of_folds, metric=metric)) == {metric: [0.9, 0.91]}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (",valid auc-mean\n0,0.7\n1,0.8\n", "such as valid auc-mean, in its rows"),
        ("iter,RMSE\n0,0.9\n1,0.8\n", "'iter' of the file a.csv numbers its rows"),
        ("param_C,mean_test_score\n1,0.9\n2,0.8\n", "only means of folds, such as mean_test"),
    ],
)
def test_rounds_and_settings_are_no_folds(read_text, text, words) -> None:
    with pytest.raises(InputError, match=words):
        read_text(text)


@pytest.mark.parametrize(
    "header",
    [
        ",train-rmse-mean,train-rmse-std,test-rmse-mean,test-rmse-std",
        "iterations,test-Logloss-mean,test-Logloss-std,train-Logloss-mean,train-Logloss-std",
        ",valid l2-mean,valid l2-stdv,valid l1-mean,valid l1-stdv",
        ",rmse-mean,rmse-stdv,auc-mean,auc-stdv",
    ],
    ids=["XGBoost", "CatBoost", "LightGBM", "LightGBM 3"],
)
def test_rounds_of_boosting_are_no_folds(read_text, header) -> None:
    with pytest.raises(
        InputError, match="as of settings or rounds of boosting; give the score of each"
    ):
        read_text(f"{header}\n0,0.9,0.1,0.8,0.2\n1,0.91,0.11,0.81,0.21\n")


def test_means_of_users_in_numbered_folds_are_scores(read_text) -> None:
    scores = read_text("fold,rmse-mean,rmse-std\n1,0.9,0.1\n2,0.8,0.1\n")
    assert folds_of(scores) == {"rmse-mean": [0.9, 0.8]}


def test_a_row_of_fold_minus_one_is_no_fold(read_text) -> None:
    scores = read_text("model,fold,acc\na,0,0.8\na,1,0.9\na,-1,0.85\n")
    assert folds_of(scores) == {"a": [0.8, 0.9]}
    assert "-1 (no folds)" in scores.left_out


def test_a_search_without_its_folds_is_refused_with_what_to_keep(read) -> None:
    search = GridSearchCV(LogisticRegression(max_iter=500), {"C": [0.1, 1]}, cv=3)
    table = pd.DataFrame(search.fit(*load_iris(return_X_y=True)).cv_results_)
    of_folds = [name for name in table if name.startswith("split")]
    with pytest.raises(InputError, match=r"only means of folds, .* such as split0_test_score"):
        read(table.drop(columns=of_folds))


def test_candidates_of_the_same_name_are_said_to_be_so(read_text) -> None:
    with pytest.raises(InputError, match="two contenders called 'a'; keep one, or rename one"):
        read_text("model,fold,acc\na,0,0.8\na ,1,0.9\n")


@pytest.mark.parametrize("encoding", ["latin-1", "utf-16"])
def test_texts_in_another_encoding_are_refused(tmp_path: Path, encoding: str) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes("model,fold,acc\nh\xe4ufig,0,0.8\nh\xe4ufig,1,0.9\n".encode(encoding))
    with pytest.raises(InputError, match="is not text in UTF-8; save it as CSV in UTF-8"):
        read_contenders(path)


def test_a_comma_that_may_be_of_thousands_is_refused(read_text) -> None:
    head = 'model,fold,rmse\na,0,"1,001"\na,1,998\n'
    with pytest.raises(InputError, match=r"'1,001' in .* may be thousands or have decimals"):
        read_text(head)
    assert folds_of(read_text(head.replace("998", '"0,998"'))) == {"a": [1.001, 0.998]}


def test_a_column_metric_says_the_metric_of_rows_that_have_all_folds(read_text) -> None:
    text = (
        "metric,model,fold_1,fold_2\nrmse,svd,0.9,0.91\nrmse,knn,0.8,0.81\n"
        "ndcg,svd,0.3,0.31\nndcg,knn,0.4,0.41\n"
    )
    with pytest.raises(SeveralMetrics):
        read_text(text)
    scores = read_text(text, "rmse")
    assert folds_of(scores) == {"svd": [0.9, 0.91], "knn": [0.8, 0.81]}
    assert not scores.direction.higher_is_better
    assert "ndcg" in scores.left_out


@pytest.mark.parametrize(
    "header", ["fold0_rmse,fold1_rmse,fold0_ndcg,fold1_ndcg", "rmse fold 0,rmse fold 1,x,y"]
)
def test_columns_of_a_metric_and_a_fold_are_folds_of_that_metric(read_text, header) -> None:
    scores = read_text(f"model,{header}\nsvd,0.9,0.91,0.3,0.31\nknn,0.8,0.81,0.4,0.41\n", "rmse")
    assert folds_of(scores) == {"svd": [0.9, 0.91], "knn": [0.8, 0.81]}
    assert not scores.direction.higher_is_better


def test_scores_of_training_are_no_choice_beside_those_of_the_test(read_text) -> None:
    text = "model,fold,train_rmse,test_rmse\nsvd,0,0.1,0.9\nsvd,1,0.2,0.91\n"
    scores = read_text(text)
    assert folds_of(scores) == {"svd": [0.9, 0.91]}
    assert "train_rmse" in scores.left_out


def test_an_error_with_both_signs_is_said(read_text) -> None:
    scores = read_text("model,fold,rmse\nsvd,0,0.9\nsvd,1,-0.9\n")
    assert "below zero" in scores.direction.why


@pytest.mark.parametrize("cells", [("31.9 %", "30 %"), ("31.9%", "30%"), ("31.9 ± 0.5 %", "30 %")])
@pytest.mark.parametrize("header", ["fold,knn,svd\n1,{0},{1}\n2,{0},{1}\n"])
def test_shares_in_per_cent_are_divided_by_a_hundred(read_text, cells, header) -> None:
    scores = read_text(header.format(*cells))
    assert folds_of(scores) == {
        "knn": pytest.approx([0.319, 0.319]),
        "svd": pytest.approx([0.3, 0.3]),
    }
    assert cells[0] in scores.left_out


def test_a_column_of_which_some_cells_are_in_per_cent_is_refused(read_text) -> None:
    with pytest.raises(InputError, match=r"'31\.9 %'"):
        read_text("fold,knn,svd\n1,31.9 %,0.3\n2,0.32,0.31\n")


@pytest.mark.parametrize("spread", ["± 0.02", "+/- 0.02", "+- 0.02", "(0.02)", "(± 0.02)"])
def test_a_spread_behind_a_score_is_left_out_and_said(read_text, spread) -> None:
    scores = read_text(
        f"model,fold,ndcg\nknn,1,0.31 {spread}\nknn,2,0.32\nsvd,1,0.2 {spread}\nsvd,2,0.21\n"
    )
    assert folds_of(scores) == {"knn": [0.31, 0.32], "svd": [0.2, 0.21]}
    assert spread in scores.left_out


def test_names_in_per_cent_stay_names(read_text) -> None:
    scores = read_text("model,fold,ndcg\n10 %,1,0.3\n10 %,2,0.31\n50 %,1,0.2\n50 %,2,0.21\n")
    assert folds_of(scores) == {"10 %": [0.3, 0.31], "50 %": [0.2, 0.21]}
    errors = read_text("fold,dropout 10%,dropout 50 %\n1,0.95,1.1\n2,0.97,1.02\n")
    assert folds_of(errors) == {"dropout 10%": [0.95, 0.97], "dropout 50 %": [1.1, 1.02]}


def test_runs_of_mlflow_have_the_roles_of_their_parameters(read_text) -> None:
    scores = read_text(
        "run_id,status,start_time,metrics.ndcg,params.model,params.fold,tags.mlflow.user\n"
        "a,FINISHED,2026-01-01,0.30,ease,0,ann\nb,FINISHED,2026-01-01,0.31,ease,1,ann\n"
        "c,FINISHED,2026-01-01,0.20,knn,0,ann\nd,FINISHED,2026-01-01,0.21,knn,1,ann\n"
    )
    assert folds_of(scores) == {"ease": [0.3, 0.31], "knn": [0.2, 0.21]}
    assert "run_id, status, start_time and tags.mlflow.user" in scores.left_out


def test_runs_of_mlflow_with_a_metric_per_fold_are_named_as_in_mlflow(read_text) -> None:
    scores = read_text(
        "run_id,metrics.rmse_fold_0,metrics.rmse_fold_1,tags.mlflow.runName\n"
        "a,0.9,0.8,loud-fox\nb,0.7,0.6,calm-owl\n"
    )
    assert folds_of(scores) == {"loud-fox": [0.9, 0.8], "calm-owl": [0.7, 0.6]}
    assert not scores.direction.higher_is_better


OPTUNA = "number,value,datetime_start,params_k,{}state\n"


def test_trials_of_optuna_are_named_by_their_parameters(read_text) -> None:
    header = OPTUNA.format("user_attrs_fold_0,user_attrs_fold_1,")
    scores = read_text(
        header + "0,0.3,2026-01-01,5,0.30,0.31,COMPLETE\n1,0.2,2026-01-01,9,0.20,0.21,COMPLETE\n"
        "2,,2026-01-01,7,0.1,,PRUNED\n"
    )
    assert folds_of(scores) == {"k=5": [0.3, 0.31], "k=9": [0.2, 0.21]}
    assert "1 row whose run has not finished (PRUNED)" in scores.left_out


def test_trials_of_optuna_without_folds_are_refused_with_the_way_to_have_them(read_text) -> None:
    with pytest.raises(InputError, match=r'set_user_attr\("fold_0", score\)'):
        read_text(OPTUNA.format("") + "0,0.3,2026-01-01,5,COMPLETE\n1,0.2,2026-01-01,9,COMPLETE\n")


def test_trials_of_a_study_with_two_objectives_have_folds_too(read_text) -> None:
    header = OPTUNA.format("user_attrs_fold_0,user_attrs_fold_1,")
    header = header.replace("value", "values_0,values_1")
    scores = read_text(header + "0,0.3,9,2026-01-01,5,0.30,0.31,COMPLETE\n")
    assert folds_of(scores) == {"candidate 1": [0.3, 0.31]}


@pytest.mark.parametrize(
    "text",
    [
        '[{"model": "A", "fold": 1, "ndcg": 0.3}, {"model": "A", "fold": 2, "ndcg": 0.31},'
        ' {"model": "B", "fold": 1, "ndcg": 0.2}, {"fold": 2, "model": "B", "ndcg": 0.21}]',
        '{"model": "A", "fold": 1, "ndcg": 0.3}\n{"model": "A", "fold": 2, "ndcg": 0.31}\n'
        '{"model": "B", "fold": 1, "ndcg": 0.2}\n{"model": "B", "fold": 2, "ndcg": 0.21}\n',
        '{"A": [0.3, 0.31], "B": [0.2, 0.21]}',
        '{"0": {"A": 0.3, "B": 0.2}, "1": {"A": 0.31, "B": 0.21}}',
        '{"0": {"model": "A", "Fold": 1, "ndcg": 0.3}, "1": {"model": "A", "Fold": 2, "ndcg": 0.31}'
        ', "2": {"model": "B", "Fold": 1, "ndcg": 0.2}, "3": {"model": "B", "Fold": 2, "ndcg": 0.21'
        "}}",
        '\n{"A": {"1": 0.3, "2": 0.31}, "B": {"1": 0.2, "2": 0.21}}',
        '{"A": {"ndcg": [0.3, 0.31], "mrr": [0, 0]}, "B": {"ndcg": [0.2, 0.21], "mrr": [0, 0]}}',
        '{"model": ["A", "A", "B", "B"], "fold": [1, 2, 1, 2], "ndcg": [0.3, 0.31, 0.2, 0.21]}',
    ],
)
def test_json_of_any_form_is_read(tmp_path: Path, text: str) -> None:
    path = tmp_path / "scores.json"
    path.write_text(text)
    assert folds_of(read_contenders(path, "ndcg")) == {"A": [0.3, 0.31], "B": [0.2, 0.21]}


@pytest.mark.parametrize(
    "text",
    [
        '{"model": "A", "fold": 1, "ndcg": 0.3}\n{"model": "A", "fold": 2, "ndcg": 0.31}\n'
        '{"model": "B", "fold": 1, "ndcg": 0.2}\n{"model": "B", "fold": 2, "ndcg": 0.21}\n',
        '{"A": {"ndcg": [0.3, 0.31], "mrr": [0, 0]}, "B": {"ndcg": [0.2, 0.21], "mrr": [0, 0]}}',
    ],
)
def test_packed_json_is_read(tmp_path: Path, text: str) -> None:
    """It is unpacked by a process of its own, and then read as any other."""
    path = tmp_path / "scores.json.gz"
    path.write_bytes(gzip.compress(text.encode()))
    assert folds_of(read_contenders(path, "ndcg")) == {"A": [0.3, 0.31], "B": [0.2, 0.21]}


@pytest.mark.parametrize(
    "text",
    [
        "[1, 2]",
        "{}",
        "[",
        '{"A": [0.3, 0.31], "B": [0.2]}',
        '{"A": 1}',
        "[" * 100_000,
        '[{"a": {}}]',
    ],
)
def test_json_that_holds_no_scores_is_one_sentence(tmp_path: Path, text: str) -> None:
    path = tmp_path / "scores.json"
    path.write_text(text)
    with pytest.raises(InputError, match=r"the file scores\.json"):
        read_contenders(path)


def result(ndcg: float) -> str:
    metrics = f"OrderedDict([('recall@10', 0.21), ('ndcg@10', {ndcg})])"
    valid = "26 Nov 10:00:00    INFO  best valid : OrderedDict([('recall@10', 0.5)])\n"
    return f"{valid}26 Nov 10:00:00    INFO  test result: {metrics}\n"


def test_the_test_results_in_a_log_of_recbole_are_folds(tmp_path: Path) -> None:
    path = tmp_path / "recbole.log"
    path.write_text(result(0.22) + result(0.24) + result(2.5e-1))
    scores = read_contenders(path, "ndcg@10")
    assert folds_of(scores) == {"ndcg@10": [0.22, 0.24, 0.25]}


@pytest.mark.parametrize("text", [result(0.22), "26 Nov 10:00:00    INFO  epoch 1\n", ""])
def test_a_log_without_folds_says_what_is_needed(tmp_path: Path, text: str) -> None:
    path = tmp_path / "recbole.log"
    path.write_text(text)
    with pytest.raises(InputError, match="all folds of a model"):
        read_contenders(path)


# Halving searches: an iteration on 20 samples, and one on 60.


HALVING = """iter,n_resources,param_C,params,split0_test_score,split1_test_score,mean_test_score
0,20,1,{'C': 1},0.5,0.7,0.6
0,20,10,{'C': 10},0.6,0.7,0.65
0,20,100,{'C': 100},0.9,0.9,0.9
1,60,10,{'C': 10},0.7,0.8,0.75
1,60,100,{'C': 100},0.6,0.8,0.7
"""


def test_candidates_of_a_halving_search_are_those_scored_on_the_same_samples(read_text) -> None:
    scores = read_text(HALVING)
    assert folds_of(scores) == {"C=10": [0.7, 0.8], "C=100": [0.6, 0.8]}
    assert "3 rows of earlier iterations of the search, whose folds" in scores.left_out


def test_candidates_of_a_search_that_halves_by_a_parameter_have_the_same_folds(read_text) -> None:
    text = "iter,n_resources,param_depth,param_trees,split0_test_score,split1_test_score\n"
    scores = read_text(text + "0,6,1,6,0.5,0.7\n0,6,2,6,0.6,0.7\n1,18,2,18,0.7,0.8\n")
    assert folds_of(scores) == {
        "depth=1,trees=6": [0.5, 0.7],
        "depth=2,trees=6": [0.6, 0.7],
        "depth=2,trees=18": [0.7, 0.8],
    }
    assert "iterations" not in scores.left_out


# Runs that have not finished.


@pytest.mark.parametrize(
    ("text", "name"),
    [
        (
            "run_id,status,metrics.rmse,params.model,params.fold\na,FINISHED,0.9,knn,0\n"
            "b,FAILED,0.1,knn,1\nc,FINISHED,0.8,knn,1\nd,FINISHED,0.7,svd,0\n"
            "e,FINISHED,0.6,svd,1\n",
            "FAILED",
        ),
        (
            "Start Time,Duration,Run ID,Name,Source Type,Source Name,User,Status,model,fold,rmse\n"
            "x,1s,a,r1,LOCAL,a.py,ann,FINISHED,knn,0,0.9\n"
            "x,1s,b,r2,LOCAL,a.py,ann,KILLED,knn,1,0.1\n"
            "x,1s,c,r3,LOCAL,a.py,ann,FINISHED,knn,1,0.8\n"
            "x,1s,d,r4,LOCAL,a.py,bob,FINISHED,svd,0,0.7\n"
            "x,1s,e,r5,LOCAL,a.py,bob,FINISHED,svd,1,0.6\n",
            "KILLED",
        ),
        (
            '"Name","State","User","Created","Runtime","model","fold","rmse"\n'
            '"a","finished","ann","2026","12","knn","0","0.9"\n'
            '"b","crashed","ann","2026","12","knn","1","0.1"\n'
            '"c","finished","bob","2026","12","knn","1","0.8"\n'
            '"d","finished","ann","2026","12","svd","0","0.7"\n'
            '"e","finished","ann","2026","12","svd","1","0.6"\n',
            "crashed",
        ),
        (
            "model,fold,rmse,status\nknn,0,0.9,ok\nknn,1,0.1,error\nknn,1,0.8,ok\n"
            "svd,0,0.7,ok\nsvd,1,0.6,ok\n",
            "error",
        ),
    ],
    ids=["mlflow.search_runs", "the page of MLflow", "W&B", "a table"],
)
def test_scores_of_runs_that_have_not_finished_do_not_count(read_text, text, name) -> None:
    scores = read_text(text)
    assert folds_of(scores) == {"knn": [0.9, 0.8], "svd": [0.7, 0.6]}
    assert all(contender.users is None for contender in scores.contenders)
    assert f"1 row whose run has not finished ({name})" in scores.left_out


def test_a_parquet_file_says_which_runs_have_finished(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    pd.DataFrame(
        {
            "model": ["knn"] * 3,
            "fold": [0, 1, 1],
            "rmse": [0.9, 0.1, 0.8],
            "state": ["finished", "running", "finished"],
        }
    ).to_parquet(path)
    assert folds_of(read_contenders(path)) == {"knn": [0.9, 0.8]}


def test_an_export_of_runs_of_which_none_has_finished_is_refused(read_text) -> None:
    text = "run_id,status,metrics.rmse,params.model,params.fold\na,FAILED,0.9,knn,0\n"
    with pytest.raises(InputError, match="no run that has finished: its column 'status' has FAILE"):
        read_text(text + "b,RUNNING,0.1,knn,1\n")


def test_a_run_that_has_stopped_early_counts(read_text) -> None:
    text = "model,fold,rmse,status\nknn,0,0.9,stopped\nknn,1,0.8,complete\n"
    assert folds_of(read_text(text)) == {"knn": [0.9, 0.8]}
    scores = read_text(text + "knn,1,0.1,failed\n")  # it says nothing of other runs
    assert folds_of(scores) == {"knn": [0.9, 0.8]}


def test_a_state_that_is_none_of_a_run_loses_no_row(read_text) -> None:
    text = "model,fold,rmse,state\nknn,0,0.9,failed\nknn,1,0.8,bavaria\n"
    assert folds_of(read_text(text)) == {"knn": [0.9, 0.8]}


def test_rows_of_an_export_that_json_numbers_have_no_folds_of_that_name(tmp_path: Path) -> None:
    path = tmp_path / "trials.json"
    pd.DataFrame(
        {
            "number": [0, 1],
            "value": [0.3, 0.2],
            "state": "COMPLETE",
            "params_k": [5, 9],
            "user_attrs_fold_0": [0.30, 0.20],
            "user_attrs_fold_1": [0.31, 0.21],
        }
    ).to_json(path, orient="index")
    scores = read_contenders(path)
    assert folds_of(scores) == {"k=5": [0.3, 0.31], "k=9": [0.2, 0.21]}
    assert scores.left_out == (
        "Left out: number, value and state (what Optuna notes of every trial)."
    )


# LightGBM's l1 and l2.


@pytest.mark.parametrize(
    "text",
    [
        "model,fold,l2\nknn,0,0.9\nknn,1,0.8\nsvd,0,0.7\nsvd,1,0.6\n",
        "model,fold,metric,value\nknn,0,l2,0.9\nknn,1,l2,0.8\nsvd,0,l2,0.7\nsvd,1,l2,0.6\n",
    ],
)
def test_a_column_of_scores_called_l2_is_a_loss(read_text, text) -> None:
    scores = read_text(text)
    assert folds_of(scores) == {"knn": [0.9, 0.8], "svd": [0.7, 0.6]}
    assert not scores.direction.higher_is_better


@pytest.mark.parametrize("names", ["l1,l2,rmse", "l1,l2,valid auc", "valid l1,valid l2,valid rmse"])
def test_l1_and_l2_beside_metrics_are_metrics(read_text, names) -> None:
    text = f"fold,{names}\n1,0.5,0.4,0.6\n2,0.52,0.42,0.64\n"
    with pytest.raises(SeveralMetrics):
        read_text(text)
    second = names.split(",")[1]
    scores = read_text(text, second)
    assert folds_of(scores) == {second: [0.4, 0.42]}
    assert not scores.direction.higher_is_better


@pytest.mark.parametrize("names", ["l1,l2", "l1,l2,elasticnet"])
def test_l1_and_l2_beside_no_metric_are_contenders(read_text, names) -> None:
    count = names.count(",") + 1
    row = ",".join(["0.5"] * count)
    assert list(folds_of(read_text(f"fold,{names}\n1,{row}\n2,{row}\n"))) == names.split(",")


def test_two_metrics_of_one_contender_are_no_contenders(read_text) -> None:
    text = "fold,svd rmse,svd mae\n1,0.9,0.7\n2,0.8,0.6\n"
    with pytest.raises(SeveralMetrics, match="svd rmse and svd mae are metrics of one contender"):
        read_text(text)
    scores = read_text(text, "svd mae")
    assert folds_of(scores) == {"svd mae": [0.7, 0.6]}
    assert not scores.direction.higher_is_better
    # The losses that two models minimise are parts of their names.
    names = "svd hinge loss,knn log loss"
    assert len(folds_of(read_text(f"fold,{names}\n1,0.9,0.7\n2,0.8,0.6\n"))) == 2


@pytest.mark.parametrize(
    ("name", "higher_is_better"), [("run1 - test/recall@10", True), ("svd rmse", False)]
)
def test_the_name_of_a_single_contender_names_its_metric(read_text, name, higher_is_better) -> None:
    scores = read_text(f"fold,{name}\n1,0.9\n2,0.8\n")
    assert folds_of(scores) == {name: [0.9, 0.8]}
    assert scores.direction.higher_is_better == higher_is_better
    assert "nothing in the file" not in scores.direction.why


# Means without a name. (0.9123 + 0.9345) / 2 = 0.9234; (0.8123 + 0.8245) / 2 = 0.8184; their
# standard deviations are 0.0111 and 0.0061.


@pytest.mark.parametrize(
    "text",
    [
        "knn,svd\n0.9123,0.8123\n0.9345,0.8245\n0.9234,0.8184\n",
        "knn,svd\n0.9123,0.8123\n0.9345,0.8245\n0.9234,0.8184\n0.0111,0.0061\n",
        "fold,knn,svd\n1,0.9123,0.8123\n2,0.9345,0.8245\n,0.9234,0.8184\n",
        "fold,knn,svd\nmon,0.9123,0.8123\ntue,0.9345,0.8245\n,0.9234,0.8184\n",
        ",knn,svd\n0,0.9123,0.8123\n1,0.9345,0.8245\n2,0.9234,0.8184\n",
        "knn,svd\n0.9123,0.8123\n0.9345,0.8245\n0.92340,0.81840\n",
    ],
)
def test_last_rows_without_a_name_that_are_means_are_no_folds(read_text, text) -> None:
    scores = read_text(text)
    assert folds_of(scores) == {"knn": [0.9123, 0.9345], "svd": [0.8123, 0.8245]}
    assert "of those above" in scores.left_out


def test_means_of_scores_that_were_rounded_are_no_folds(read_text) -> None:
    # Of 0.91234, 0.93454 and 0.92114 the mean is 0.92267, and of them rounded 0.922633.
    scores = read_text("knn,svd\n.9123,.8123\n.9345,.8345\n.9211,.8211\n.9227,.8227\n")
    assert folds_of(scores) == {"knn": [0.9123, 0.9345, 0.9211], "svd": [0.8123, 0.8345, 0.8211]}


def test_a_row_with_a_name_is_a_fold_though_its_scores_may_be_means(read_text) -> None:
    scores = read_text("fold,knn,svd\n1,0.9123,0.8123\n2,0.9345,0.8245\n3,0.9234,0.8184\n")
    assert len(scores.folds) == 3
    assert "Fold 3 is counted, although it has the means" in scores.left_out


TRUE_FOLDS = {"knn": [0.31234567, 0.32345671, 0.30456789], "svd": [0.2123457, 0.2234571, 0.2045683]}


@pytest.mark.parametrize("spread", [False, True])
def test_means_that_pandas_appends_under_the_next_number_are_no_folds(tmp_path, spread) -> None:
    table = pd.DataFrame(TRUE_FOLDS)
    spreads = table.std()
    table.loc[len(table)] = table.mean()
    if spread:
        table.loc[len(table)] = spreads
    long = table.reset_index(names="fold").melt("fold", var_name="model", value_name="ndcg")
    texts = {
        "wide.csv": table.to_csv(index_label="fold"),
        "turned.csv": table.T.to_csv(index_label="model"),
        "long.csv": long.to_csv(index=False),
        "wide.json": table.to_json(double_precision=15),
        "rows.json": table.to_json(orient="index", double_precision=15),
    }
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
        scores = read_contenders(tmp_path / name)
        assert folds_of(scores) == TRUE_FOLDS, name
        assert "3" in scores.left_out


def test_a_mean_of_more_digits_than_any_score_is_no_fold(read_text) -> None:
    assert len(read_text("accuracy\n0.93\n0.97\n1.0\n0.9\n0.97\n0.954\n").folds) == 5


@pytest.mark.parametrize(
    "label", ["fold_idx", "fold no", "CV fold", "outer_fold", "CV", "year", "run", "split_id"]
)
def test_numbers_of_folds_under_any_name_are_no_contender(read_text, label) -> None:
    scores = read_text(f"{label},knn,svd\n2019,1.3,1.2\n2020,1.4,1.3\n2021,1.4,1.35\n")
    assert folds_of(scores) == {"knn": [1.3, 1.4, 1.4], "svd": [1.2, 1.3, 1.35]}


def test_whole_numbers_beside_shares_are_no_contender(read_text) -> None:
    scores = read_text("fold,knn,perfect,ratings\n0,.5,1,100\n1,.75,1,99\n")
    assert folds_of(scores) == {"knn": [0.5, 0.75], "perfect": [1, 1]}
    assert "ratings (whole numbers beside shares)" in scores.left_out
    assert list(folds_of(read_text("fold,knn,svd\n0,1.5,2\n1,1.75,3\n"))) == ["knn", "svd"]


def test_epochs_of_a_training_are_no_folds(read_text) -> None:
    with pytest.raises(InputError, match=r"the column 'epoch' of .* numbers its rows"):
        read_text("epoch,knn,svd\n0,.3,.2\n1,.4,.3\n")
    assert len(read_text("epoch,knn,svd\n7,.3,.2\n5,.4,.3\n").folds) == 2  # the best of each fold


@pytest.mark.parametrize("name", ["all", "Mean"])
def test_a_mean_of_users_is_no_user(read_text, name) -> None:
    rows = ["run,fold,user,ndcg", "knn,0,Max,.3", "knn,0,Bo,.5", f"knn,0,{name},.4"]
    rows += ["knn,1,Max,.2", f"knn,1,{name},.2"]
    scores = read_text("\n".join(rows).replace("run", "model"))
    (contender,) = scores.contenders
    assert contender.users is not None
    assert contender.users.shape == (2, 2)
    assert contender.folds.tolist() == [0.4, 0.2]
    assert f"{name} (no users, but means over them)" in scores.left_out


@pytest.mark.parametrize(
    "text",
    [
        "fold,knn,svd\n0,93.1%,92.0\n1,94%,93\n",
        "fold,knn (%),svd\n0,93.1,.92\n1,94,.93\n",
        "model,fold 1,fold 2\nknn,93.1%,92.0\nsvd,94%,93\n",
    ],
)
def test_shares_and_percentages_are_not_compared(read_text, text) -> None:
    with pytest.raises(InputError, match="some are shares and others, up to 9"):
        read_text(text)
    assert len(read_text("fold,knn,svd\n0,93.1%,0.92\n1,94%,1.0\n").contenders) == 2


def test_a_rate_of_errors_or_a_fold_in_per_cent_is_not_compared(read_text) -> None:
    with pytest.raises(InputError, match=r"'knn error rate' is 5\.2 and that of 'svd error rate'"):
        read_text("fold,knn error rate,svd error rate\n1,5.1,0.052\n2,5.3,0.055\n")
    with pytest.raises(InputError, match=r"mean of fold 1 is 0\.905 and that of fold 2 91\.5"):
        read_text("fold,svd,knn\n1,0.91,0.9\n2,92,91\n3,0.93,0.9\n")


def test_scores_a_hundred_times_as_large_may_be_in_per_cent(read_text) -> None:
    text = "fold,knn accuracy,svd accuracy\n0,93.1,.92\n1,94,.93\n"
    with pytest.raises(InputError, match=r"accuracy' 0\.925, so one of them may be in per cent"):
        read_text(text)
    assert len(read_text(text.replace("accuracy", "rmse")).contenders) == 2  # 93 may be an error


@pytest.mark.parametrize("orient", ["columns", "index", "records"])
def test_any_json_of_pandas_is_a_table(tmp_path, orient) -> None:
    long = FOLDS[["knn", "svd"]].reset_index(names="fold")
    long["n_users"] = 943
    long["fit_time"] = 1.5
    expected = {name: FOLDS[name].tolist() for name in ("knn", "svd")}
    path = tmp_path / "scores.json"
    long.to_json(path, orient=orient)
    assert folds_of(read_contenders(path)) == expected
    long[["fold", "knn", "svd"]].melt("fold", var_name="model").to_json(path, orient=orient)
    assert folds_of(read_contenders(path)) == expected


def test_json_by_metric_has_contenders_below(tmp_path: Path) -> None:
    path = tmp_path / "scores.json"
    path.write_text('{"rmse": {"knn": [0.9, 0.8], "svd": [0.7, 0.6]}}')
    scores = read_contenders(path)
    assert folds_of(scores) == {"knn": [0.9, 0.8], "svd": [0.7, 0.6]}
    assert not scores.direction.higher_is_better


def test_a_row_without_a_name_that_is_no_mean_is_refused_or_a_fold(read_text) -> None:
    assert len(read_text("knn,svd\n0.9123,0.8123\n0.9345,0.8245\n0.9235,0.8184\n").folds) == 3
    with pytest.raises(InputError, match=r"row 3 of .* has no fold"):
        read_text("fold,knn\nmon,0.9123\ntue,0.9345\n,0.9235\n")


def test_a_last_row_that_may_be_a_mean_by_chance_counts_and_is_told(read_text) -> None:
    # one of 222 numbers from 0.9123 to 0.9345
    scores = read_text("rmse\n0.9123\n0.9345\n0.9234\n")
    assert len(scores.folds) == 3
    assert "The last row counts as a fold, although" in scores.left_out
    # one of eight numbers from 0.91 to 0.99
    assert read_text("rmse\n0.91\n0.95\n0.99\n0.95\n").left_out == ""


@pytest.mark.parametrize(
    ("text", "count", "told"),
    [
        ("knn\n1.0\n1.0\n1.0\n0.0\n", 4, False),  # leave-one-out: no spread, one mistake
        # Shares of 30 samples: 28, 30 and 29; 27, 29 and 28.
        (",knn\n0,0.9333333333333333\n1,1.0\n2,0.9666666666666667\n", 3, False),
        ("knn,svd\n0.9333,0.9\n1.0,0.9667\n0.9667,0.9333\n", 3, False),
        # Five names of one metric tell no more than one of them.
        ("a,b,c,d,e\n.81,.81,.81,.81,.81\n.85,.85,.85,.85,.85\n.83,.83,.83,.83,.83\n", 3, False),
        # 29, 30, 28, 29 and 30 of 30 samples, and 29.2, which may be a share of 150.
        (
            "knn\n0.9666666666666667\n1.0\n0.9333333333333333\n0.9666666666666667\n1.0\n"
            "0.9733333333333334\n",
            6,
            True,
        ),
    ],
)
def test_shares_of_few_samples_are_often_the_mean_of_others(read_text, text, count, told) -> None:
    scores = read_text(text)
    assert len(scores.folds) == count
    assert scores.left_out.startswith("The last row counts as a fold") == told
    assert "Left out" not in scores.left_out


def test_means_and_spreads_of_shares_are_no_folds(read_text) -> None:
    # of 29, 30, 28, 29 and 30 of 30 samples; the spread is sqrt(2.8 / 5) / 30
    shares = [29 / 30, 30 / 30, 28 / 30, 29 / 30, 30 / 30]
    rows = [*shares, 29.2 / 30, math.sqrt(2.8 / 5) / 30]
    scores = read_text("knn\n" + "\n".join(map(str, rows)))
    assert folds_of(scores) == {"knn": shares}


# Commas in texts and numbers.


@pytest.mark.parametrize("text", ["100,100", "1,2"])
def test_a_comma_in_the_value_of_a_parameter_is_no_decimal(read_text, text) -> None:
    scores = read_text(
        f'mean_fit_time,param_h,split0_test_score,split1_test_score\n0.1,"{text}",0.5,0.6\n'
        '0.2,"9,9",0.55,0.65\n'
    )
    assert folds_of(scores) == {f"h={text}": [0.5, 0.6], "h=9,9": [0.55, 0.65]}
    for separator in ",;\t":
        header = separator.join(["model", "hidden", "fold", "acc"])
        rows = [separator.join(["mlp", f'"{text}"', f"{fold}", f"0.{fold + 5}"]) for fold in (0, 1)]
        assert folds_of(read_text("\n".join([header, *rows]))) == {"mlp": [0.5, 0.6]}


@pytest.mark.parametrize(
    "rows",
    [
        '1,"1,001",0.5\n2,998,0.6\n',
        "1;1,001;0.5\n2;998;0.6\n",
        "1;1.001;0,5\n2;998;0,6\n",
    ],
)
def test_a_sign_of_thousands_beside_decimals_is_refused(read_text, rows) -> None:
    header = f"fold{rows[1]}knn{rows[1]}svd\n"
    with pytest.raises(InputError, match=r"'1.001' in the column 'knn' .* is not a number"):
        read_text(header + rows)


@pytest.mark.parametrize("name", ["scores.json", "scores.txt", "scores.json.csv"])
def test_a_number_with_a_point_in_quotation_marks_of_json_has_decimals(
    tmp_path: Path, name: str
) -> None:
    path = tmp_path / name
    path.write_text('[{"fold": 1, "knn": "1.234"}, {"fold": 2, "knn": "1.250"}]')
    assert folds_of(read_contenders(path)) == {"knn": [1.234, 1.25]}
    path.write_text('[{"fold": 1, "knn": "1,234"}, {"fold": 2, "knn": "1,250"}]')
    with pytest.raises(InputError, match=r"'1,234' in the column 'knn' .* is not a number"):
        read_contenders(path)


def test_the_name_of_a_file_does_not_say_what_its_numbers_mean(tmp_path: Path) -> None:
    path = tmp_path / "scores.parquet.csv"
    path.write_text("fold;knn;layers\n1;0.5;1,2\n2;0.6;1,3\n")
    with pytest.raises(InputError, match=r"'1,2' in the column 'layers' .* is not a number"):
        read_contenders(path)


def test_two_numbers_with_a_comma_beside_scores_with_a_point_are_no_score(read_text) -> None:
    with pytest.raises(InputError, match=r"'1,2' in the column 'layers' .* is not a number"):
        read_text("fold;knn;layers\n1;0.5;1,2\n2;0.6;1,3\n")
    scores = read_text("fold;knn;svd\n1;0,5;1,2\n2;0,6;1,3\n")
    assert folds_of(scores) == {"knn": [0.5, 0.6], "svd": [1.2, 1.3]}


@pytest.mark.parametrize("missing", [None, "", " ", "\u00a0"])
@pytest.mark.parametrize("kind", [pa.string(), pa.large_string()])
def test_a_row_of_a_parquet_file_without_a_contender_is_refused(tmp_path, missing, kind) -> None:
    path = tmp_path / "scores.parquet"
    names = pa.array(["a", missing, "a", "b", "b", "b"], kind)
    table = pa.table(
        {"model": names, "fold": [1, 2, 3, 1, 2, 3], "ndcg": [0.1, 0.2, 0.3, 0.2, 0.3, 0.1]}
    )
    pq.write_table(table, path)
    with pytest.raises(InputError, match=r"row 2 of .* has no contender"):
        read_contenders(path)


def test_decimal_commas_beside_another_number_with_a_point_are_read(read_text) -> None:
    text = "model;version;fold;score\nknn;1.5;1;0,81\nknn;1.5;2;0,82\n"
    assert folds_of(read_text(text)) == {"knn": [0.81, 0.82]}


def test_a_contender_may_be_called_after_parameters(read_text) -> None:
    scores = read_text("fold,parametric,svd\n1,81 %,80 %\n2,82 %,81 %\n")
    assert folds_of(scores) == {"parametric": [0.81, 0.82], "svd": [0.8, 0.81]}


def test_whole_numbers_as_texts_are_numbers(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    pd.DataFrame({"fold": [1, 2], "knn": ["12", "1300"]}).to_parquet(path)
    assert folds_of(read_contenders(path)) == {"knn": [12, 1300]}


def test_means_over_folds_alone_are_refused(read) -> None:
    table = FOLDS.T.agg(["mean", "std", "count"], axis=1)
    with pytest.raises(InputError, match=r"has only mean, std and count, and no folds; give a col"):
        read(table, index_label="model")


def test_columns_of_metrics_with_opposite_directions_are_refused(read_text) -> None:
    with pytest.raises(InputError, match="by their names knn ndcg and svd rmse in"):
        read_text("fold,knn ndcg,svd rmse\n1,.93,.8\n2,.94,.7\n")
    assert len(read_text("fold,svd log loss,knn hinge loss\n1,.3,.4\n2,.4,.5\n").contenders) == 2


# What is no fold, or no contender, of one dataset.


@pytest.mark.parametrize(
    "text",
    [
        "dataset,model,fold,ndcg\nml,A,1,0.3\nml,A,2,0.4\namazon,B,1,0.1\namazon,B,2,0.2\n",
        "Data Set,model,fold,ndcg\nml,A,1,0.3\namazon,A,2,0.1\nml,B,1,0.4\namazon,B,2,0.2\n",
        "fold,dataset,A,B\n1,ml,0.3,0.4\n2,amazon,0.1,0.2\n",
        "task_id,A,B\nml,0.3,0.4\namazon,0.1,0.2\n",
        "run_id,status,metrics.ndcg,params.fold,params.model,params.dataset\n"
        "a,FINISHED,0.3,0,A,ml\nb,FINISHED,0.1,0,B,amazon\n",
    ],
)
def test_scores_of_several_datasets_are_no_folds(read_text, text) -> None:
    with pytest.raises(InputError, match="has 2 datasets, such as ml and amazon, and scores of"):
        read_text(text)


def test_all_datasets_of_a_file_are_counted(read_text) -> None:
    rows = "".join(f"d{number},A,{number},0.3\n" for number in range(12))
    with pytest.raises(InputError, match="has 12 datasets, such as d0 and d1"):
        read_text(f"dataset,model,fold,ndcg\n{rows}")


@pytest.mark.parametrize("first_dataset", ["", "ml"])
def test_rows_that_leave_their_dataset_out_are_of_no_other(read_text, first_dataset) -> None:
    scores = read_text(f"dataset,model,fold,ndcg\n{first_dataset},A,1,0.3\nml,A,2,0.4\n")
    assert scores.dataset == "ml"


def test_the_dataset_of_a_file_is_known_where_a_column_says_it(read_text) -> None:
    scores = read_text("dataset,model,fold,ndcg\nml,A,1,0.3\nml,A,2,0.4\n")
    assert scores.dataset == "ml"
    assert not read_text("model,fold,ndcg\nA,1,0.3\nA,2,0.4\n").dataset


@pytest.mark.parametrize(
    "text",
    [
        "model,fold,split,rmse\nA,1,train,0.1\nA,2,train,0.2\nB,1,test,0.7\nB,2,test,0.6\n",
        "model,fold,phase,rmse\nA,1,Training,0.1\nA,1,Validation,0.9\n",
        ",rmse\ntrain,0.2\nvalid_0,0.3\n",
    ],
)
def test_rows_of_training_beside_rows_of_the_test_are_refused(read_text, text) -> None:
    with pytest.raises(InputError, match="which are samples of one fold; give only the rows of"):
        read_text(text)


def test_what_xgboost_keeps_of_its_rounds_has_no_contenders(tmp_path: Path) -> None:
    path = tmp_path / "evals_result.json"
    path.write_text('{"train": {"rmse": [0.5, 0.4]}, "valid": {"rmse": [0.6, 0.5]}}')
    with pytest.raises(InputError, match="has train and valid, which are samples of one fold"):
        read_contenders(path)


@pytest.mark.parametrize(
    ("header", "names"),
    [
        ("fold,svd_train,svd_test,knn_train,knn_test", ["svd_test", "knn_test"]),
        ("fold,svd_train,svd,knn (training),knn", ["svd", "knn"]),
        (
            "fold,svd train rmse,svd test rmse,knn train rmse,knn val rmse",
            ["svd test rmse", "knn val rmse"],
        ),
    ],
)
def test_scores_of_training_beside_those_of_the_test_are_no_contenders(
    read_text, header, names
) -> None:
    scores = read_text(f"{header}\n1,0.9,0.5,0.91,0.6\n2,0.92,0.51,0.93,0.61\n")
    assert folds_of(scores) == {names[0]: [0.5, 0.51], names[1]: [0.6, 0.61]}
    assert "(scores of training)" in scores.left_out


def test_samples_are_no_contenders(read_text) -> None:
    assert folds_of(read_text("fold,train,test\n1,0.9,0.5\n2,0.8,0.6\n")) == {"test": [0.5, 0.6]}
    with pytest.raises(SeveralMetrics, match="valid and test are metrics of one contender"):
        read_text("fold,train,valid,test\n1,0.9,0.5,0.4\n2,0.8,0.6,0.5\n")
    trained = read_text("fold,pretrained,trained,scratch\n1,0.9,0.5,0.4\n2,0.8,0.6,0.5\n")
    assert list(folds_of(trained)) == ["pretrained", "trained", "scratch"]


def test_folds_of_training_are_no_choice_beside_folds_of_the_test(read_text) -> None:
    header = "model,train_rmse_fold_0,train_rmse_fold_1,val_rmse_fold_0,val_rmse_fold_1"
    scores = read_text(f"{header}\nsvd,0.1,0.2,0.5,0.6\nknn,0.2,0.3,0.7,0.8\n")
    assert folds_of(scores) == {"svd": [0.5, 0.6], "knn": [0.7, 0.8]}


def test_a_search_that_was_turned_round_is_refused(read, search) -> None:
    turned_round = pd.DataFrame(search.cv_results_).T
    with pytest.raises(InputError, match="cv_results_ turned round; give it with a row per cand"):
        read(turned_round.filter(regex=r"split\d+_test", axis="index"))


@pytest.mark.parametrize(
    "text", ['{"A": [0.3, 0.4], "A": [0.1, 0.2]}', '{"A": 1, "A": 2}\n{"A": 3}']
)
def test_a_name_that_json_has_twice_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "a.json"
    path.write_text(text)
    with pytest.raises(InputError, match="is not valid JSON \\('A' is there twice\\)"):
        read_contenders(path)


def test_a_melted_variable_may_be_a_metric(read_text) -> None:
    rows = "A,1,{0},0.3\nA,2,{0},0.4\nB,1,{1},0.1\nB,2,{1},0.2\n"
    with pytest.raises(SeveralMetrics, match="scores of 2 metrics, rmse and mae"):
        read_text("model,fold,variable,value\n" + rows.format("rmse", "mae"))
    of_one = read_text("model,fold,variable,value\n" + rows.format("rmse", "rmse"))
    assert not of_one.direction.higher_is_better


def test_columns_that_no_fold_is_called_after_are_told(read_text) -> None:
    scores = read_text("model,ml-100k,ml-1m\nA,0.3,0.35\nB,0.4,0.45\n")
    assert "Each of ml-100k and ml-1m is taken for a fold, although" in scores.left_out
    assert not read_text("model,fold 1,fold 2\nA,0.3,0.35\nB,0.4,0.45\n").left_out
