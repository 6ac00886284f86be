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

from ecv_core.records.arrays import Floats, Mask

_EPSILON = float(np.finfo(np.float64).eps)
_SAME = 1e-6
"""A statistic worked out here is the scorer's own if it is no farther from it than this share."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class HeldOut:
    """What a metric looks at, of n held-out samples."""

    truth: NDArray[Any]
    """Targets; shape (n,), or (n, outputs) of several numbers."""
    response: NDArray[Any]
    """Predictions, probabilities or decision values as the estimator gives them; n rows."""
    classes: NDArray[Any] | None = None
    """The estimator's labels, in the order of the columns of `response`."""
    weights: Floats
    """Of the samples, 1 for all where none were given; shape (n,)."""
    options: Mapping[str, str] = field(default_factory=dict)
    """What the scorer was made with, as text."""

    def positives(self) -> tuple[Mask, Floats]:
        """Of two classes: who is of the positive one, and how much the estimator thinks so.

        Raises: ValueError for any other number of classes.
        """
        if self.classes is None or len(self.classes) != 2:
            raise ValueError("not two classes")
        column = 1
        sign = 1.0  # a decision value is higher where the second class is likelier
        if self.options.get("pos_label") == str(self.classes[0]):
            column = 0
            sign = -1.0
        positive = self.truth == self.classes[column]
        if self.response.ndim == 2:
            return positive, self.response[:, column].astype(np.float64)
        return positive, sign * self.response

    def probabilities(self) -> Floats:
        """Of the true class of each sample; shape (n,)."""
        assert self.classes is not None
        columns = np.searchsorted(self.classes, self.truth)
        of_truth = self.response[np.arange(len(self.truth)), columns]
        return np.clip(of_truth.astype(np.float64), _EPSILON, 1 - _EPSILON)

    def difference(self) -> Floats:
        """Target minus prediction; shape (n, outputs)."""
        n = len(self.truth)
        truth: Floats = np.asarray(self.truth, np.float64).reshape(n, -1)
        return truth - np.asarray(self.response, np.float64).reshape(n, -1)

    def mean(self, of_samples: NDArray[Any]) -> tuple[float, Floats]:
        """The weighted mean of a number per sample, and its influence values."""
        values = np.asarray(of_samples, np.float64)
        middle = float(np.average(values, weights=self.weights))
        return middle, self.weights / self.weights.mean() * (values - middle)

    def ratio(self, numerators: NDArray[Any], denominators: NDArray[Any]) -> tuple[float, Floats]:
        """The ratio of two sums over samples.

        Its influence is (numerators - ratio * denominators) / mean(denominators).
        """
        total = float(self.weights @ denominators)
        if total == 0:  # as scikit-learn has it, unless it was made with another zero_division
            return 0.0, np.zeros(len(self.weights))
        ratio = float(self.weights @ numerators) / total
        influence = self.weights * (numerators - ratio * denominators)
        return ratio, influence * (len(self.weights) / total)


Statistic = Callable[[HeldOut], tuple[float, Floats]]
"""The score of some samples, in the metric's own sign, and the influence value of each."""


def values_of_samples(metric: str, score: float, held: HeldOut) -> Floats | None:
    """A value per sample, whose mean is the score; None where no formula gives that score.

    Args:
        metric: the name of scikit-learn's function, such as 'roc_auc_score'.
        score: what the scorer said, where more is better.
        held: what it looked at.
    Returns: shape (n,), in the sign of the score.
    """
    statistic = STATISTICS.get(metric)
    if statistic is None:
        return None
    try:
        with np.errstate(all="ignore"):
            mean, influence = statistic(held)
    except (ValueError, IndexError, TypeError, AssertionError):
        return None
    if held.options.get("greater_is_better") == "False":
        mean = -mean
        influence = -influence
    # An option that is not known here, or another function of this name, shows in the score.
    same = abs(mean - score) <= _SAME * max(abs(score), _SAME)
    if not same or not np.isfinite(influence).all():
        return None
    return score + influence


def reach(metric: str, held: HeldOut) -> float:
    """How far the value of one sample can move where an estimator predicts it otherwise.

    Args:
        metric: the name of scikit-learn's function, such as 'f1_score'.
        held: what it looked at.

    Returns:
        at least 0, in units of the score; 0 where it is not known.
    """
    if metric not in _REACHES:
        return 0.0
    largest_weight = float(held.weights.max() / held.weights.mean())
    return _REACHES[metric](held) * largest_weight


def _is_right(held: HeldOut) -> Mask:
    """Whether a sample's label is predicted right; of several labels all of them."""
    same = np.asarray(held.truth == held.response)
    return np.asarray(same.reshape(len(held.truth), -1).all(axis=1))


def _mean_of(of_samples: Callable[[HeldOut], NDArray[Any]]) -> Statistic:
    def statistic(held: HeldOut) -> tuple[float, Floats]:
        return held.mean(of_samples(held))

    return statistic


def _log_loss(held: HeldOut) -> Floats:
    return -np.log(held.probabilities())


def _absolute(held: HeldOut) -> Floats:
    return np.abs(held.difference()).mean(axis=1)


def _rmse(held: HeldOut) -> tuple[float, Floats]:
    """The root of a mean: its influence is that of the mean over twice the root."""
    mean, influence = held.mean(_squares(held))
    if mean == 0:
        return 0.0, influence
    root = float(np.sqrt(mean))
    return root, influence / (2 * root)


def _squares(held: HeldOut) -> Floats:
    return (held.difference() ** 2).mean(axis=1)


def _relative(held: HeldOut) -> Floats:
    size = np.maximum(np.abs(held.truth.reshape(len(held.truth), -1)), _EPSILON)
    return (np.abs(held.difference()) / size).mean(axis=1)


def _pinball(held: HeldOut) -> Floats:
    alpha = float(held.options.get("alpha", 0.5))
    difference = held.difference()
    return np.asarray(np.maximum(alpha * difference, (alpha - 1) * difference).mean(axis=1))


def _brier(held: HeldOut) -> Floats:
    assert held.classes is not None
    if len(held.classes) == 2:
        positive, probability = held.positives()
        return (probability - positive) ** 2
    truth = held.truth[:, None] == held.classes
    return ((held.response - truth) ** 2).sum(axis=1)


def _top_k(held: HeldOut) -> Mask:
    assert held.classes is not None
    k = int(held.options.get("k", 2))
    if held.response.ndim == 1:  # a decision value of two classes, the second above 0
        if k != 1:
            raise ValueError("both of two classes")
        likelier = (held.response > 0).astype(int)
        return held.classes[likelier] == held.truth
    likeliest_last = np.argsort(held.response, axis=1, kind="mergesort")
    best = likeliest_last[:, ::-1][:, :k]
    return (held.classes[best] == held.truth[:, None]).any(axis=1)


def _r2(held: HeldOut) -> tuple[float, Floats]:
    """1 - A / B: A the mean squared error, B the variance of the targets; the mean of outputs.

    The influence of B is (y - mean)^2 - B: that of the mean itself vanishes to first order.
    """
    if (held.weights != 1).any():
        raise ValueError("weights")
    truth = np.asarray(held.truth, np.float64).reshape(len(held.truth), -1)
    errors = held.difference() ** 2
    about = (truth - truth.mean(axis=0)) ** 2
    error = errors.mean(axis=0)
    variance = about.mean(axis=0)
    unexplained = error / variance
    influence: Floats = ((about * unexplained - errors) / variance).mean(axis=1)
    return float((1 - unexplained).mean()), influence


def _auc(positive: Mask, response: Floats) -> tuple[float, Floats]:
    """The area under the ROC curve, and the influence of each sample on it.

    From the structural components of DeLong et al. (1988), by ranks as Sun and Xu (2014) get them.

    Args:
        positive: whether a sample is of the positive class; shape (samples,).
        response: higher where the estimator finds that class likelier; same shape.
    Returns: the area; and the influences, whose mean is 0, shape (samples,).
    Raises: ValueError where all samples are of one class.
    """
    n = len(response)
    n_positive = int(positive.sum())
    n_negative = n - n_positive
    if n_positive == 0 or n_negative == 0:
        raise ValueError("one class")
    component = np.empty(n)
    ranks = rankdata(response)
    # Of a positive the share of negatives below it; of a negative the share of positives above it.
    component[positive] = (ranks[positive] - rankdata(response[positive])) / n_negative
    component[~positive] = 1 - (ranks[~positive] - rankdata(response[~positive])) / n_positive
    area = float(component[positive].mean())
    # The area is a mean over each class, so that a sample of a rare class has more influence.
    influence = (component - area) * np.where(positive, n / n_positive, n / n_negative)
    return area, influence


def _roc_auc(held: HeldOut) -> tuple[float, Floats]:
    # Where no formula here gives the score, an error says so, and the caller goes another way.
    if (held.weights != 1).any():
        raise ValueError("no formula for weighted samples")
    assert held.classes is not None
    if len(held.classes) == 2:
        return _auc(*held.positives())
    if held.options.get("average", "macro") != "macro" or held.options["multi_class"] != "ovr":
        raise ValueError("no formula for this mean over classes")
    areas = []
    influences = []
    for column, label in enumerate(held.classes):
        area, influence = _auc(held.truth == label, held.response[:, column])
        areas.append(area)
        influences.append(influence)
    return float(np.mean(areas)), np.asarray(np.mean(influences, axis=0))


def _average_precision(held: HeldOut) -> tuple[float, Floats]:
    """The mean over positives j of P_j, the precision among the b_j samples scored at least as j.

    IF(x, y) = y (P(x) - AP) n / m + n / m * sum over positives j with s_j <= x of (y - P_j) / b_j,
    for one more sample (x, y) changes its own term, the number m of positives, and the precision at
    every threshold below it.
    """
    positive, response = held.positives()
    sample_count = len(response)
    positive_count = int(positive.sum())
    if positive_count == 0 or (held.weights != 1).any():
        raise ValueError("no positive, or weights")
    # A level is a response that one or more samples have, from the lowest to the highest.
    levels, level_of = np.unique(response, return_inverse=True)
    samples_at = np.bincount(level_of, minlength=len(levels))
    positives_at = np.bincount(level_of, weights=positive, minlength=len(levels))
    samples_from = np.cumsum(samples_at[::-1])[::-1]  # at a level or above it
    positives_from = np.cumsum(positives_at[::-1])[::-1]
    precision = positives_from / samples_from
    mean = float((positives_at * precision).sum() / positive_count)
    # A sample counts in the precision of its own level and all below: as one more sample it lowers
    # them, and as one more positive it raises them.
    raised = np.cumsum(positives_at / samples_from)[level_of]
    lowered = np.cumsum(positives_at * precision / samples_from)[level_of]
    influence = positive * (precision[level_of] - mean) + positive * raised - lowered
    return mean, np.asarray(influence * sample_count / positive_count)


Counted = tuple[NDArray[np.floating], NDArray[np.floating]]
"""What of each sample is counted above and below the line of a ratio; shape (n,) each."""
Counts = Callable[[HeldOut, Mask, Mask], Counted]
"""(Held out, who is of a class, who is predicted to be) -> the counts of that class's score."""


def _hits_of_true(held: HeldOut, true: Mask, predicted: Mask) -> Counted:
    """Recall."""
    return (true & predicted) * 1.0, true * 1.0


def _hits_of_predicted(held: HeldOut, true: Mask, predicted: Mask) -> Counted:
    """Precision."""
    return (true & predicted) * 1.0, predicted * 1.0


def _hits_of_either(held: HeldOut, true: Mask, predicted: Mask) -> Counted:
    """The Jaccard index."""
    return (true & predicted) * 1.0, (true | predicted) * 1.0


def _hits_of_both(held: HeldOut, true: Mask, predicted: Mask) -> Counted:
    """F, which weighs recall beta times as much as precision."""
    b = float(held.options.get("beta", 1)) ** 2
    return (1 + b) * (true & predicted), b * true + predicted


def _by_classes(counts: Counts) -> Statistic:
    """The score of one class, or an average over classes, where each is a ratio of two counts."""

    def statistic(held: HeldOut) -> tuple[float, Floats]:
        labels = np.unique(np.concatenate([held.truth, held.response]))
        average = held.options.get("average", "binary")
        if average == "binary":
            positive = held.options.get("pos_label", "1")
            labels = labels[labels.astype(str) == positive]
        if average == "micro":
            return _micro(held, labels, counts)
        scores, influences = _of_each_class(held, labels, counts)
        if average == "weighted":
            return _weighted(held, labels, scores, influences)
        return float(scores.mean()), np.asarray(influences.mean(axis=0))

    return statistic


def _balanced_accuracy(held: HeldOut) -> tuple[float, Floats]:
    """The plain mean of the recalls of the classes that are held out."""
    scores, influences = _of_each_class(held, np.unique(held.truth), _hits_of_true)
    return float(scores.mean()), np.asarray(influences.mean(axis=0))


def _of_each_class(held: HeldOut, labels: NDArray[Any], counts: Counts) -> tuple[Floats, Floats]:
    """Scores, shape (classes,), and their influence values, shape (classes, n)."""
    scores = []
    influences = []
    for label in labels:
        numerators, denominators = counts(held, held.truth == label, held.response == label)
        score, influence = held.ratio(numerators, denominators)
        scores.append(score)
        influences.append(influence)
    if not scores:
        raise ValueError("no class")
    return np.array(scores), np.array(influences)


def _micro(held: HeldOut, labels: NDArray[Any], counts: Counts) -> tuple[float, Floats]:
    """The ratio of the counts of all classes together."""
    numerators = np.zeros(len(held.truth))
    denominators = np.zeros(len(held.truth))
    for label in labels:
        is_label = held.truth == label
        is_predicted = held.response == label
        label_numerators, label_denominators = counts(held, is_label, is_predicted)
        numerators += label_numerators
        denominators += label_denominators
    return held.ratio(numerators, denominators)


def _weighted(
    held: HeldOut, labels: NDArray[Any], scores: Floats, influences: Floats
) -> tuple[float, Floats]:
    """The mean of classes by their shares of samples, which vary as well.

    So its influence has two parts, as the slope of a product: that of the scores, and that of the
    shares.
    """
    shares = []
    influences_on_shares = []
    for label in labels:
        share, influence_on_share = held.mean(held.truth == label)
        shares.append(share)
        influences_on_shares.append(influence_on_share)
    # The mean is a sum of products, so that a sample moves it by way of both factors.
    of_scores = np.array(shares) @ influences
    of_shares = scores @ np.array(influences_on_shares)
    return float(np.array(shares) @ scores), of_scores + of_shares


_MEANS: dict[str, Statistic] = {
    "accuracy_score": _mean_of(_is_right),
    "top_k_accuracy_score": _mean_of(_top_k),
    "log_loss": _mean_of(_log_loss),
    "brier_score_loss": _mean_of(_brier),
    "mean_absolute_error": _mean_of(_absolute),
    "mean_squared_error": _mean_of(_squares),
    "mean_absolute_percentage_error": _mean_of(_relative),
    "mean_pinball_loss": _mean_of(_pinball),
}
OWN_SCORES = frozenset(_MEANS)
"""Of these each sample has a score of its own."""
STATISTICS: dict[str, Statistic] = _MEANS | {
    "balanced_accuracy_score": _balanced_accuracy,
    "root_mean_squared_error": _rmse,
    "r2_score": _r2,
    "roc_auc_score": _roc_auc,
    "average_precision_score": _average_precision,
    "f1_score": _by_classes(_hits_of_both),
    "fbeta_score": _by_classes(_hits_of_both),
    "precision_score": _by_classes(_hits_of_predicted),
    "recall_score": _by_classes(_hits_of_true),
    "jaccard_score": _by_classes(_hits_of_either),
}
"""By the name of scikit-learn's function. Of others a jackknife over blocks tells: `scoring`."""


def _of_right_or_wrong(held: HeldOut) -> float:
    """A sample that was right is wrong, which moves its value by 1."""
    return 1.0


def _of_worst_loss(held: HeldOut) -> float:
    """The log loss of the label that was thought least likely of any sample."""
    probabilities = np.clip(held.response.astype(np.float64), _EPSILON, 1 - _EPSILON)
    return float(-np.log(probabilities.min()))


def _of_rarest_class(held: HeldOut) -> float:
    """One sample of the rarest class moves a score from 0 to 1 by at most its share of the class.

    Its value moves by as much, times the number of all samples.
    """
    _, counts = np.unique(held.truth, return_counts=True)
    return float(len(held.truth) / counts.min())


Reach = Callable[[HeldOut], float]
_OF_CLASSES: dict[str, Reach] = {
    "balanced_accuracy_score": _of_rarest_class,
    "roc_auc_score": _of_rarest_class,
    "average_precision_score": _of_rarest_class,
    "f1_score": _of_rarest_class,
    "fbeta_score": _of_rarest_class,
    "precision_score": _of_rarest_class,
    "recall_score": _of_rarest_class,
    "jaccard_score": _of_rarest_class,
}
_REACHES: dict[str, Reach] = _OF_CLASSES | {
    "accuracy_score": _of_right_or_wrong,
    "top_k_accuracy_score": _of_right_or_wrong,
    "log_loss": _of_worst_loss,
}
"""How far a sample's value can move, by the name of scikit-learn's function."""
