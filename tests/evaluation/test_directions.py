"""What a metric's name says of its direction, as scikit-learn's scorers and files have it."""

import pytest
from sklearn.metrics import get_scorer, get_scorer_names

from ecv_core.evaluation import METRICS, directions
from ecv_core.evaluation.directions import (
    is_metric_name,
    may_be_same_metric,
    metric_named,
    same_metric,
)


def higher_is_better(name: str) -> bool | None:
    metric = metric_named(name)
    return None if metric is None else metric.higher_is_better


def test_every_metric_of_the_project_has_its_own_direction() -> None:
    for metric in METRICS.values():
        for name in (metric.id, metric.id.upper(), f"test_{metric.id}", f"{metric.id}@10"):
            assert higher_is_better(name) is metric.higher_is_better


def test_the_scorers_of_scikit_learn_are_better_when_higher() -> None:
    for name in get_scorer_names():
        assert higher_is_better(name) in (True, None), name
    assert higher_is_better("neg_log_loss")
    assert get_scorer("neg_brier_score")


@pytest.mark.parametrize(
    "name",
    [
        "test_rmse", "RMSE", "mae", "log_loss", "LogLoss", "val_loss", "valid_loss", "loss",
        "error",
        "err", "mse", "msle", "MAPE", "hinge", "hinge_loss", "perplexity", "brier", "brier_score",
        "wer", "gini", "testRMSE", "valLogLoss", "mean_absolute_error", "ndcg_loss",
        "negative_log_likelihood", "Gini index@10 (lower is better)", "anything ↓", "max_error",
        "1-accuracy", "1 - ndcg@10", "100 - F1", "one minus auc", "1-NN error",
        "train-mlogloss-mean", "merror", "testrmse", "valloss", "top5err",
        "giniindex@10", "fall-out", "poisson-nloglik", "kldiv", "avg_rank", "fpr at tpr=0.95",
        "classif.ce", "Percent_incorrect", "error at best accuracy", "looic",
    ],
)  # fmt: skip
def test_of_errors_and_losses_lower_is_better(name: str) -> None:
    assert higher_is_better(name) is False


@pytest.mark.parametrize(
    "name",
    [
        "nDCG@10", "accuracy", "neg_rmse", "roc_auc_ovr", "R2", "log_likelihood", "f1", "x ↑",
        "ERR@10", "1-rmse", "1 - gini", "1/rmse", "inverse_rmse", "-loss", "intra-list distance@10",
        "ILD", "error reduction", "rmse_improvement", "testauc", "1-NN accuracy", "aucpr",
        "mean_reciprocal_rank", "tpr@fpr=0.01", "recall_at_fdr", "accuracy at lowest loss",
        "normalized_gini", "R²", "elpd",
    ],
)  # fmt: skip
def test_of_others_higher_is_better(name: str) -> None:
    assert higher_is_better(name) is True


@pytest.mark.parametrize("name", ["score", "ItemKNN", "SVD", "EASE", "Mean", "fold", "", "Pop"])
def test_a_name_of_no_metric_says_nothing(name: str) -> None:
    assert higher_is_better(name) is None


def test_a_contender_with_a_metric_in_its_name_is_no_metric() -> None:
    assert is_metric_name("test_rmse")
    assert is_metric_name("ndcg@10")
    assert is_metric_name("test_score")
    assert not is_metric_name("SVD rmse")
    assert not is_metric_name("ItemKNN")


@pytest.mark.parametrize(
    ("name", "has_worst_score"),
    [
        ("accuracy", True),
        ("ndcg@10", True),
        ("test_error_rate", True),
        ("log_loss", False),
        ("neg_log_loss", False),
        ("rmse", False),
        ("r2", False),
        ("R^2", False),
        ("Rsquared", False),
        ("neg_mean_squared_error", False),
    ],
)
def test_a_name_says_whether_its_scores_can_be_only_so_bad(
    name: str, has_worst_score: bool
) -> None:
    metric = metric_named(name)
    assert metric is not None
    assert metric.has_worst_score is has_worst_score


SYNONYMS = [
    ("acc", "accuracy"), ("test_acc", "accuracy_score"), ("hr@10", "HitRate@10"), ("R2", "rsq"),
    ("rmse", "root_mean_squared_error"), ("log_loss", "binary_logloss"), ("auroc", "roc_auc"),
    ("bal_accuracy", "balanced_accuracy"), ("recip_rank", "MRR"), ("val_mse", "valid_0 l2"),
]  # fmt: skip
OTHERS = [
    ("recall_macro", "recall_micro"), ("precision", "average_precision"), ("mse", "neg_mse"),
    ("median_absolute_error", "max_absolute_error"), ("train_rmse", "test_rmse"), ("mse", "rmse"),
    ("mean_absolute_percentage_error", "mean_squared_log_error"), ("ndcg@5", "ndcg@10"),
    ("accuracy", "balanced_accuracy"), ("clicks", "orders"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "other"), SYNONYMS)
def test_synonyms_are_one_metric(name: str, other: str) -> None:
    assert may_be_same_metric(name, other)
    assert may_be_same_metric(other, name)


@pytest.mark.parametrize(("name", "other"), OTHERS)
def test_names_that_are_no_known_synonyms_are_of_two_metrics(name: str, other: str) -> None:
    assert not may_be_same_metric(name, other)
    assert not same_metric(name, other)


def test_a_name_may_leave_out_its_metric_or_its_cutoff() -> None:
    assert may_be_same_metric("score", "ndcg@10")
    assert may_be_same_metric("ndcg", "ndcg@10")
    assert not same_metric("ndcg", "ndcg@10")
    assert same_metric("test_acc", "accuracy")


def test_tables_of_facts_name_metrics_as_the_table_of_metrics_does() -> None:
    for table in (directions._SHARES, directions._WITHOUT_LOWEST, directions._WITH_HIGHEST):
        for (name,) in directions._synonyms(table):
            metric = metric_named(name)
            assert metric is not None
            assert metric.usual_name == name
