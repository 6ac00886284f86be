"""What a metric's name says of its direction, as scikit-learn's scorers and files have it."""

import pytest
from sklearn.metrics import get_scorer, get_scorer_names

from ecv_core.evaluation import METRICS
from ecv_core.evaluation.directions import is_metric_name, metric_named


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
