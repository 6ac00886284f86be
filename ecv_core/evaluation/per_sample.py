"""Responses of an estimator to held-out samples -> a score per sample, whose mean is the fold's.

A fold's score varies because other samples could have been in it. Where it is a mean over samples
their own scores tell how much. Where it is not (ROC AUC, average precision, F1, R2, RMSE, ...) each
sample i has the value s + IF_i: the score, and how far it moves, times n, as sample i gets a little
more weight. These have the mean s, and their variance over n is that of s, to first order: the
infinitesimal jackknife (Jaeckel 1972; Efron 1982, chapter 6). Differences of two estimators' values
on the same samples are paired likewise. docs/estimators.md derives each and compares with the
bootstrap.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

Values = NDArray[np.float64]
_EPSILON = float(np.finfo(np.float64).eps)
_SAME = 1e-6
"""A statistic worked out here is the scorer's own if it is no farther from it than this share."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class HeldOut:
    """What a metric looks at, of n held-out samples."""

    truth: NDArray[Any]
    """Targets; shape (n,), or (n, outputs) of several numbers."""
    told: NDArray[Any]
    """Predictions, probabilities or decision values as the estimator gives them; n rows."""
    classes: NDArray[Any] | None = None
    """The estimator's labels, in the order of the columns of `told`."""
    weights: Values
    """Of the samples, 1 for all where none were given; shape (n,)."""
    options: Mapping[str, str] = field(default_factory=dict)
    """What the scorer was made with, as text."""

    def positives(self) -> tuple[NDArray[np.bool_], Values]:
        """Of two classes: who is of the positive one, and how much the estimator thinks so.

        Raises: ValueError for any other number of classes.
        """
        if self.classes is None or len(self.classes) != 2:
            raise ValueError("not two classes")
        first = self.options.get("pos_label") == str(self.classes[0])
        column = 0 if first else 1
        if self.told.ndim == 2:
            return self.truth == self.classes[column], self.told[:, column].astype(np.float64)
        return self.truth == self.classes[column], self.told * (-1.0 if first else 1.0)

    def probabilities(self) -> Values:
        """Of the true class of each sample; shape (n,)."""
        assert self.classes is not None
        of_truth = self.told[np.arange(len(self.truth)), np.searchsorted(self.classes, self.truth)]
        return np.clip(of_truth.astype(np.float64), _EPSILON, 1 - _EPSILON)

    def difference(self) -> Values:
        """Target minus prediction; shape (n, outputs)."""
        n = len(self.truth)
        apart: Values = np.asarray(self.truth, np.float64).reshape(n, -1)
        return apart - np.asarray(self.told, np.float64).reshape(n, -1)

    def mean(self, of_samples: NDArray[Any]) -> tuple[float, Values]:
        """The weighted mean of a number per sample, and its influence values."""
        values = np.asarray(of_samples, np.float64)
        middle = float(np.average(values, weights=self.weights))
        return middle, self.weights / self.weights.mean() * (values - middle)

    def ratio(self, above: NDArray[Any], below: NDArray[Any]) -> tuple[float, Values]:
        """The ratio of two sums over samples: IF = (above - ratio * below) / mean(below)."""
        whole = float(self.weights @ below)
        if whole == 0:  # as scikit-learn has it, unless it was made with another zero_division
            return 0.0, np.zeros(len(self.weights))
        found = float(self.weights @ above) / whole
        return found, self.weights * (above - found * below) * (len(self.weights) / whole)


Statistic = Callable[[HeldOut], tuple[float, Values]]
"""The score of some samples, in the metric's own sign, and the influence value of each."""


def values(metric: str, score: float, held: HeldOut) -> Values | None:
    """A value per sample, whose mean is the score; None where no formula gives that score.

    Args:
        metric: the name of scikit-learn's function, such as 'roc_auc_score'.
        score: what the scorer said, where more is better.
        held: what it looked at.
    Returns: shape (n,), in the sign of the score.
    """
    known = STATISTICS.get(metric)
    if known is None:
        return None
    try:
        with np.errstate(all="ignore"):
            found, influence = known(held)
    except (ValueError, IndexError, TypeError, AssertionError):
        return None
    sign = -1.0 if held.options.get("greater_is_better") == "False" else 1.0
    # An option that is not known here, or another function of this name, shows in the score.
    near = abs(sign * found - score) <= _SAME * max(abs(score), _SAME)
    return score + sign * influence if near and np.isfinite(influence).all() else None


def _right(held: HeldOut) -> NDArray[np.bool_]:
    """Of several labels all."""
    right: NDArray[np.bool_] = (held.truth == held.told).reshape(len(held.truth), -1).all(axis=1)
    return right


def _mean_of(of_samples: Callable[[HeldOut], NDArray[Any]]) -> Statistic:
    return lambda held: held.mean(of_samples(held))


def _rmse(held: HeldOut) -> tuple[float, Values]:
    """The root of a mean: its influence is that of the mean over twice the root."""
    mean, influence = held.mean(_squares(held))
    return float(np.sqrt(mean)), influence / (2 * np.sqrt(mean)) if mean else influence


def _squares(held: HeldOut) -> Values:
    return (held.difference() ** 2).mean(axis=1)


def _relative(held: HeldOut) -> Values:
    size = np.maximum(np.abs(held.truth.reshape(len(held.truth), -1)), _EPSILON)
    return (np.abs(held.difference()) / size).mean(axis=1)


def _pinball(held: HeldOut) -> Values:
    alpha, apart = float(held.options.get("alpha", 0.5)), held.difference()
    return np.asarray(np.maximum(alpha * apart, (alpha - 1) * apart).mean(axis=1))


def _brier(held: HeldOut) -> Values:
    assert held.classes is not None
    if len(held.classes) == 2:
        positive, told = held.positives()
        return (told - positive) ** 2
    return ((held.told - (held.truth[:, None] == held.classes)) ** 2).sum(axis=1)


def _top_k(held: HeldOut) -> NDArray[np.bool_]:
    assert held.classes is not None
    k = int(held.options.get("k", 2))
    if held.told.ndim == 1:
        return held.classes[(held.told > 0).astype(int)] == held.truth if k == 1 else np.array([])
    best = np.argsort(held.told, axis=1, kind="mergesort")[:, ::-1][:, :k]
    return (held.classes[best] == held.truth[:, None]).any(axis=1)


def _r2(held: HeldOut) -> tuple[float, Values]:
    """1 - A / B: A the mean squared error, B the variance of the targets; the mean of outputs.

    The influence of B is (y - mean)^2 - B: that of the mean itself vanishes to first order.
    """
    if (held.weights != 1).any():
        raise ValueError("weights")
    truth = np.asarray(held.truth, np.float64).reshape(len(held.truth), -1)
    errors, about = held.difference() ** 2, (truth - truth.mean(axis=0)) ** 2
    a, b = errors.mean(axis=0), about.mean(axis=0)
    influence: Values = ((about * (a / b) - errors) / b).mean(axis=1)
    return float((1 - a / b).mean()), influence


def _auc(positive: NDArray[np.bool_], told: Values) -> tuple[float, Values]:
    """The structural components of DeLong et al. (1988) by ranks, as Sun and Xu (2014) get them."""
    n, m = len(told), int(positive.sum())
    if m in (0, n):
        raise ValueError("one class")
    component = np.empty(n)
    ranks = rankdata(told)
    # Of a positive the share of negatives below it; of a negative the share of positives above it.
    component[positive] = (ranks[positive] - rankdata(told[positive])) / (n - m)
    component[~positive] = 1 - (ranks[~positive] - rankdata(told[~positive])) / m
    area = float(component[positive].mean())
    return area, (component - area) * np.where(positive, n / m, n / (n - m))


def _roc_auc(held: HeldOut) -> tuple[float, Values]:
    if (held.weights != 1).any():
        raise ValueError("weights")
    assert held.classes is not None
    if len(held.classes) == 2:
        return _auc(*held.positives())
    if held.options.get("average", "macro") != "macro" or held.options["multi_class"] != "ovr":
        raise ValueError("another mean of classes")
    every = [_auc(held.truth == one, held.told[:, at]) for at, one in enumerate(held.classes)]
    areas, influences = zip(*every, strict=True)
    return float(np.mean(areas)), np.asarray(np.mean(influences, axis=0))


def _average_precision(held: HeldOut) -> tuple[float, Values]:
    """The mean over positives j of P_j, the precision among the b_j samples scored at least as j.

    IF(x, y) = y (P(x) - AP) n / m + n / m * sum over positives j with s_j <= x of (y - P_j) / b_j,
    for one more sample (x, y) changes its own term, the number m of positives, and the precision at
    every threshold below it.
    """
    positive, told = held.positives()
    n, m = len(told), int(positive.sum())
    if not m or (held.weights != 1).any():
        raise ValueError("no positive, or weights")
    thresholds, level = np.unique(told, return_inverse=True)
    at_level = np.bincount(level, minlength=len(thresholds))
    hits = np.bincount(level, weights=positive, minlength=len(thresholds))
    above = np.cumsum(at_level[::-1])[::-1]
    precision = np.cumsum(hits[::-1])[::-1] / above
    found = float((hits * precision).sum() / m)
    reached = np.cumsum(hits / above)[level]
    lost = np.cumsum(hits * precision / above)[level]
    influence = positive * (precision[level] - found) + positive * reached - lost
    return found, np.asarray(influence * n / m)


def _by_classes(below: str, *, balanced: bool = False) -> Statistic:
    """F, precision, recall or Jaccard, each a ratio of two counts, of one class or of several.

    Args:
        below: what is counted below the line: 'told', 'true', 'either', or 'both' (F).
        balanced: the plain mean of the classes that are held out.
    """

    def counted(held: HeldOut, at: NDArray[np.bool_], told: NDArray[np.bool_]) -> tuple[Any, Any]:
        hit = (at & told).astype(np.float64)
        if below == "both":
            b = float(held.options.get("beta", 1)) ** 2
            return (1 + b) * hit, b * at + told
        return hit, {"told": told, "true": at, "either": at | told}[below] * 1.0

    def statistic(held: HeldOut) -> tuple[float, Values]:
        labels = np.unique(held.truth if balanced else np.concatenate([held.truth, held.told]))
        average = "macro" if balanced else held.options.get("average", "binary")
        if average == "binary":
            given = held.options.get("pos_label", "1")
            labels = labels[labels.astype(str) == given]
        pairs = [counted(held, held.truth == one, held.told == one) for one in labels]
        if average == "micro":
            return held.ratio(sum(up for up, _ in pairs), sum(down for _, down in pairs))
        found = [held.ratio(*pair) for pair in pairs]
        scores, influences = (np.array(part) for part in zip(*found, strict=True))
        if average == "weighted":
            shares = [held.mean(held.truth == one) for one in labels]
            share, moved = (np.array(part) for part in zip(*shares, strict=True))
            return float(share @ scores), share @ influences + scores @ moved
        return float(scores.mean()), np.asarray(influences.mean(axis=0))

    return statistic


_MEANS: dict[str, Statistic] = {
    "accuracy_score": _mean_of(_right),
    "top_k_accuracy_score": _mean_of(_top_k),
    "log_loss": _mean_of(lambda held: -np.log(held.probabilities())),
    "brier_score_loss": _mean_of(_brier),
    "mean_absolute_error": _mean_of(lambda held: np.abs(held.difference()).mean(axis=1)),
    "mean_squared_error": _mean_of(_squares),
    "mean_absolute_percentage_error": _mean_of(_relative),
    "mean_pinball_loss": _mean_of(_pinball),
}
OWN_SCORES = frozenset(_MEANS)
"""Of these each sample has a score of its own."""
STATISTICS: dict[str, Statistic] = _MEANS | {
    "balanced_accuracy_score": _by_classes("true", balanced=True),
    "root_mean_squared_error": _rmse,
    "r2_score": _r2,
    "roc_auc_score": _roc_auc,
    "average_precision_score": _average_precision,
    "f1_score": _by_classes("both"),
    "fbeta_score": _by_classes("both"),
    "precision_score": _by_classes("told"),
    "recall_score": _by_classes("true"),
    "jaccard_score": _by_classes("either"),
}
"""By the name of scikit-learn's function. Of others a jackknife over blocks tells: `scoring`."""
