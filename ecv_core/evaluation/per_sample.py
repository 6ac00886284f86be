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

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from ecv_core.evaluation.formulas import placements
from ecv_core.records.arrays import AnyArray, Floats, Mask

_EPSILON = float(np.finfo(np.float64).eps)
_TOLERANCE = 1e-6
"""A statistic worked out here is the scorer's own if it is no farther from it than this share."""


class Linearized(NamedTuple):
    """A score of n samples, to first order in the weight of each: the infinitesimal jackknife."""

    score: float
    """In the metric's own sign."""
    influence: Floats
    """How far the score moves, times n, as a sample gets a little more weight; shape (n,)."""


class NoFormula(Exception):
    """The score of these samples has no formula here, so that it is known another way, or not."""


@dataclass(frozen=True, kw_only=True, eq=False)
class HeldOut:
    """What a metric looks at, of n held-out samples."""

    truth: AnyArray
    """Targets; shape (n,), or (n, outputs) of several numbers."""
    response: AnyArray
    """Predictions, probabilities or decision values as the estimator gives them; n rows."""
    classes: AnyArray | None = None
    """The estimator's labels, in the order of the columns of `response`."""
    weights: Floats
    """Of the samples, 1 for all where none were given; shape (n,)."""
    options: Mapping[str, str] = field(default_factory=dict)
    """What the scorer was made with, as text."""

    def known_classes(self) -> AnyArray:
        """The estimator's labels. Raises: NoFormula where it has none."""
        if self.classes is None:
            raise NoFormula("no classes")
        return self.classes

    def refuse_weights(self) -> None:
        """Refuse samples that differ in weight. Raises: NoFormula."""
        if (self.weights != 1).any():
            raise NoFormula("samples of different weights")

    def positives_and_response(self) -> tuple[Mask, Floats]:
        """Of two classes: who is of the positive one, and how much the estimator thinks so.

        Raises:
            NoFormula for any other number of classes.
        """
        classes = self.known_classes()
        if len(classes) != 2:
            raise NoFormula("not two classes")
        # The second class is the positive one unless the scorer names the first. A decision value
        # is higher where the second class is likelier.
        column = 1
        sign = 1.0
        if self.options.get("pos_label") == str(classes[0]):
            column = 0
            sign = -1.0
        is_positive = self.truth == classes[column]
        if self.response.ndim == 2:
            return is_positive, self.response[:, column].astype(np.float64)
        return is_positive, sign * self.response

    def probabilities(self) -> Floats:
        """Of the true class of each sample; shape (n,)."""
        columns = np.searchsorted(self.known_classes(), self.truth)
        of_truth = self.response[np.arange(len(self.truth)), columns]
        return np.clip(of_truth.astype(np.float64), _EPSILON, 1 - _EPSILON)

    def difference(self) -> Floats:
        """Target minus prediction; shape (n, outputs)."""
        return self.columns(self.truth) - self.columns(self.response)

    def columns(self, values: AnyArray) -> Floats:
        """Numbers of the samples, with a column for each output: shape (n, outputs)."""
        return np.asarray(values, np.float64).reshape(len(self.truth), -1)

    def mean(self, of_samples: AnyArray) -> Linearized:
        """The weighted mean of a number per sample."""
        values = np.asarray(of_samples, np.float64)
        mean = float(np.average(values, weights=self.weights))
        return Linearized(mean, self.weights / self.weights.mean() * (values - mean))

    def ratio(self, numerators: AnyArray, denominators: AnyArray) -> Linearized:
        """The ratio of two weighted sums over samples."""
        denominator = float(self.weights @ denominators)
        # Without a denominator scikit-learn gives 0, unless `zero_division` says otherwise.
        if denominator == 0:
            return Linearized(0.0, np.zeros(len(self.weights)))
        ratio = float(self.weights @ numerators) / denominator
        # The influence on a ratio: (numerators - ratio * denominators) / mean(denominators).
        deviations = self.weights * (numerators - ratio * denominators)
        return Linearized(ratio, deviations * (len(self.weights) / denominator))


Statistic = Callable[[HeldOut], Linearized]
"""The score of some samples. Raises: NoFormula."""


def values_of_samples(metric: str, score: float, held_out: HeldOut) -> Floats | None:
    """A value per sample, whose mean is the score; None where no formula gives that score.

    Args:
        metric: The name of scikit-learn's function, such as 'roc_auc_score'.
        score: What the scorer said, where more is better.
        held_out: What it looked at.

    Returns:
        Shape (n,), in the sign of the score.
    """
    if metric not in SCORES_OF_SAMPLES and metric not in STATISTICS:
        return None
    # A scorer may have options that no formula here supports. Then the formula refuses them with
    # NoFormula, or fails because its arrays do not fit.
    try:
        with np.errstate(all="ignore"):
            if metric in SCORES_OF_SAMPLES:
                linearized = held_out.mean(SCORES_OF_SAMPLES[metric](held_out))
            else:
                linearized = STATISTICS[metric](held_out)
    except (NoFormula, ValueError, IndexError, TypeError):
        return None
    sign = 1
    if held_out.options.get("greater_is_better") == "False":
        sign = -1
    # An option that is ignored here, or another function of this name, gives another score. Up to
    # rounding two scores are the same; the rounding is relative, but not 0 at a score of 0.
    largest_difference = _TOLERANCE * max(abs(score), _TOLERANCE)
    is_same_score = abs(sign * linearized.score - score) <= largest_difference
    if not is_same_score or not np.isfinite(linearized.influence).all():
        return None
    return score + sign * linearized.influence


def largest_move(metric: str, held_out: HeldOut) -> float:
    """How far the value of one sample can move where an estimator predicts it otherwise.

    Args:
        metric: The name of scikit-learn's function, such as 'f1_score'.
        held_out: What it looked at.

    Returns:
        At least 0, in units of the score; 0 where it is not known.
    """
    if metric not in _LARGEST_MOVES:
        return 0.0
    largest_weight = float(held_out.weights.max() / held_out.weights.mean())
    return _LARGEST_MOVES[metric](held_out) * largest_weight


def _is_right(held_out: HeldOut) -> Mask:
    """Whether a sample's label is predicted right; of several labels all of them."""
    same = np.asarray(held_out.truth == held_out.response)
    return np.asarray(same.reshape(len(held_out.truth), -1).all(axis=1))


def _log_loss(held_out: HeldOut) -> Floats:
    return -np.log(held_out.probabilities())


def _absolute_errors(held_out: HeldOut) -> Floats:
    return np.abs(held_out.difference()).mean(axis=1)


def _rmse(held_out: HeldOut) -> Linearized:
    """The root of a mean: its influence is that of the mean over twice the root."""
    mean, influence = held_out.mean(_squared_errors(held_out))
    if mean == 0:
        return Linearized(0.0, influence)
    root = float(np.sqrt(mean))
    # The root of m rises with m by 1 / (2 sqrt(m)), by which the mean's influence is multiplied.
    return Linearized(root, influence / (2 * root))


def _squared_errors(held_out: HeldOut) -> Floats:
    return (held_out.difference() ** 2).mean(axis=1)


def _relative_errors(held_out: HeldOut) -> Floats:
    size = np.maximum(np.abs(held_out.columns(held_out.truth)), _EPSILON)
    return (np.abs(held_out.difference()) / size).mean(axis=1)


def _pinball(held_out: HeldOut) -> Floats:
    alpha = float(held_out.options.get("alpha", 0.5))
    difference = held_out.difference()
    return np.maximum(alpha * difference, (alpha - 1) * difference).mean(axis=1)


def _brier(held_out: HeldOut) -> Floats:
    classes = held_out.known_classes()
    if len(classes) == 2:
        is_positive, probability = held_out.positives_and_response()
        return (probability - is_positive) ** 2
    is_class = held_out.truth[:, None] == classes
    probabilities = held_out.response
    return ((probabilities - is_class) ** 2).sum(axis=1)


def _top_k(held_out: HeldOut) -> Mask:
    classes = held_out.known_classes()
    k = int(held_out.options.get("k", 2))
    if held_out.response.ndim == 1:  # A decision value of two classes is above 0 for the second.
        if k != 1:
            raise NoFormula("both of two classes")
        likelier = (held_out.response > 0).astype(int)
        return classes[likelier] == held_out.truth
    likeliest_last = np.argsort(held_out.response, axis=1, kind="mergesort")
    likeliest = likeliest_last[:, ::-1][:, :k]
    return (classes[likeliest] == held_out.truth[:, None]).any(axis=1)


def _r2(held_out: HeldOut) -> Linearized:
    """1 - A / B: A the mean squared error, B the variance of the targets; the mean of outputs.

    The influence of B is (y - mean)^2 - B: that of the mean itself vanishes to first order.
    """
    held_out.refuse_weights()
    truth = held_out.columns(held_out.truth)
    squared_errors = held_out.difference() ** 2
    squared_deviations = (truth - truth.mean(axis=0)) ** 2
    variance = squared_deviations.mean(axis=0)
    unexplained_share = squared_errors.mean(axis=0) / variance
    # A sample moves both means of the ratio, so its influence follows from the quotient rule.
    influence = (squared_deviations * unexplained_share - squared_errors) / variance
    # With several outputs, the score is the mean of theirs, and so is the influence.
    return Linearized(float((1 - unexplained_share).mean()), influence.mean(axis=1))


def _auc(is_positive: Mask, response: Floats) -> Linearized:
    """The area under the ROC curve, and the influence of each sample on it.

    Args:
        is_positive: Whether a sample is of the positive class; shape (samples,).
        response: Higher where the estimator finds that class likelier; same shape.

    Raises:
        NoFormula where all samples are of one class.
    """
    n = len(response)
    n_positive = int(is_positive.sum())
    n_negative = n - n_positive
    if n_positive == 0 or n_negative == 0:
        raise NoFormula("one class")
    placement_of_sample = placements(response, is_positive)
    area = float(placement_of_sample[is_positive].mean())
    # The area is a mean over each class, so that a sample of a rare class has more influence.
    influence = (placement_of_sample - area) * np.where(is_positive, n / n_positive, n / n_negative)
    return Linearized(area, influence)


def _roc_auc(held_out: HeldOut) -> Linearized:
    held_out.refuse_weights()
    classes = held_out.known_classes()
    if len(classes) == 2:
        is_positive, response = held_out.positives_and_response()
        return _auc(is_positive, response)
    average = held_out.options.get("average", "macro")
    if average != "macro" or held_out.options["multi_class"] != "ovr":
        raise NoFormula("another mean over classes")
    # One class versus the rest (ovr), whose probability is its column.
    areas = []
    for column, label in enumerate(classes):
        areas.append(_auc(held_out.truth == label, held_out.response[:, column]))
    return _mean_of_classes(areas)


def _mean_of_classes(scores: Sequence[Linearized]) -> Linearized:
    """The plain mean of the scores of classes, and of their influence values."""
    mean = float(np.mean([score.score for score in scores]))
    return Linearized(mean, np.mean([score.influence for score in scores], axis=0))


def _average_precision(held_out: HeldOut) -> Linearized:
    """The mean over positives j of P_j, the share of positives in the samples ranked down to j.

    Of a positive, a negative and a positive, in this order, the first has the precision 1 and the
    last one 2/3, so that the average is 5/6.

    P_j is the precision among the b_j samples with a response of at least that of j, s_j. One of n
    samples that has the response x, and y = 1 if it is one of the m positives, else 0, has the
    influence

        n / m * (y (P(x) - average) + sum over positives j with s_j <= x of (y - P_j) / b_j)
    """
    held_out.refuse_weights()
    is_positive, response = held_out.positives_and_response()
    sample_count = len(response)
    positive_count = int(is_positive.sum())
    if positive_count == 0:
        raise NoFormula("no positive")
    # A level is a response that one or more samples have, from the lowest to the highest.
    levels, level_of_sample = np.unique(response, return_inverse=True)
    samples_at_level = np.bincount(level_of_sample, minlength=len(levels))
    positives_at_level = np.bincount(level_of_sample, weights=is_positive, minlength=len(levels))
    # These are the numbers of samples, and of positives, at each level or above it.
    samples_from = np.cumsum(samples_at_level[::-1])[::-1]
    positives_from = np.cumsum(positives_at_level[::-1])[::-1]
    precision = positives_from / samples_from
    average = float((positives_at_level * precision).sum() / positive_count)
    # If a sample gets a little more weight, it counts for more among the b_j samples of each
    # positive j at its level or below, so that P_j falls by P_j / b_j. If it is a positive, P_j
    # also rises by 1 / b_j. Both are summed up over these positives.
    rise = np.cumsum(positives_at_level / samples_from)[level_of_sample]
    fall = np.cumsum(positives_at_level * precision / samples_from)[level_of_sample]
    # A positive also weighs more in the mean itself, which moves towards the positive's precision.
    own_term = precision[level_of_sample] - average
    change = is_positive * own_term + is_positive * rise - fall
    # The influence of a sample is n times the change of the average, whose sum is divided by m.
    return Linearized(average, change * sample_count / positive_count)


class ClassCounts(NamedTuple):
    """What of each sample is counted above and below the line of a class's ratio; shape (n,)."""

    numerators: AnyArray
    denominators: AnyArray


CountsOfClass = Callable[[HeldOut, Mask, Mask], ClassCounts]
"""(Held out, who is of a class, who is predicted to be) -> the counts of that class's score."""


def _recall_counts(held_out: HeldOut, is_class: Mask, is_predicted: Mask) -> ClassCounts:
    return ClassCounts(is_class & is_predicted, is_class)


def _precision_counts(held_out: HeldOut, is_class: Mask, is_predicted: Mask) -> ClassCounts:
    return ClassCounts(is_class & is_predicted, is_predicted)


def _jaccard_counts(held_out: HeldOut, is_class: Mask, is_predicted: Mask) -> ClassCounts:
    return ClassCounts(is_class & is_predicted, is_class | is_predicted)


def _f_counts(held_out: HeldOut, is_class: Mask, is_predicted: Mask) -> ClassCounts:
    """F weighs recall beta times as much as precision."""
    b = float(held_out.options.get("beta", 1)) ** 2
    return ClassCounts((1 + b) * (is_class & is_predicted), b * is_class + is_predicted)


def _statistic_over_classes(counts_of_class: CountsOfClass) -> Statistic:
    """The score of one class, or an average over classes, where each is a ratio of two counts."""

    def statistic(held_out: HeldOut) -> Linearized:
        labels = np.unique(np.concatenate([held_out.truth, held_out.response]))
        average = held_out.options.get("average", "binary")
        if average == "binary":  # the score of the positive class is the mean of that one class
            positive_label = held_out.options.get("pos_label", "1")
            labels = labels[labels.astype(str) == positive_label]
        if average == "micro":
            return _micro_average(held_out, labels, counts_of_class)
        scores = _scores_of_classes(held_out, labels, counts_of_class)
        if average == "weighted":
            return _weighted_average(held_out, labels, scores)
        return _mean_of_classes(scores)

    return statistic


def _balanced_accuracy(held_out: HeldOut) -> Linearized:
    """The plain mean of the recalls of the classes that are held out."""
    labels = np.unique(held_out.truth)
    return _mean_of_classes(_scores_of_classes(held_out, labels, _recall_counts))


def _scores_of_classes(
    held_out: HeldOut, labels: AnyArray, counts_of_class: CountsOfClass
) -> list[Linearized]:
    """The score of each of these classes. Raises: NoFormula where there is no class."""
    # Each class has a score, such as its recall, and the influence of every sample on that score.
    # Both follow from the ratio of two counts: for recall, hits over the samples of the class.
    scores = []
    for label in labels:
        counts = counts_of_class(held_out, held_out.truth == label, held_out.response == label)
        scores.append(held_out.ratio(counts.numerators, counts.denominators))
    # A label that no sample has leaves nothing to average. `values_of_samples` catches this.
    if not scores:
        raise NoFormula("no class")
    return scores


def _micro_average(
    held_out: HeldOut, labels: AnyArray, counts_of_class: CountsOfClass
) -> Linearized:
    """The ratio of the counts of all classes together."""
    numerators = np.zeros(len(held_out.truth))
    denominators = np.zeros(len(held_out.truth))
    for label in labels:
        counts = counts_of_class(held_out, held_out.truth == label, held_out.response == label)
        numerators += counts.numerators
        denominators += counts.denominators
    return held_out.ratio(numerators, denominators)


def _weighted_average(
    held_out: HeldOut, labels: AnyArray, scores: Sequence[Linearized]
) -> Linearized:
    """The mean of classes by their shares of samples, which vary as well."""
    class_shares = [held_out.mean(held_out.truth == label) for label in labels]
    shares = np.array([share.score for share in class_shares])
    values = np.array([score.score for score in scores])
    # The mean is a sum of products, so that a sample moves it by way of both factors.
    influence_by_scores = shares @ np.array([score.influence for score in scores])
    influence_by_shares = values @ np.array([share.influence for share in class_shares])
    return Linearized(float(shares @ values), influence_by_scores + influence_by_shares)


SCORES_OF_SAMPLES: dict[str, Callable[[HeldOut], AnyArray]] = {
    "accuracy_score": _is_right,
    "top_k_accuracy_score": _top_k,
    "log_loss": _log_loss,
    "brier_score_loss": _brier,
    "mean_absolute_error": _absolute_errors,
    "mean_squared_error": _squared_errors,
    "mean_absolute_percentage_error": _relative_errors,
    "mean_pinball_loss": _pinball,
}
"""Of these each sample has a score of its own, whose mean is the fold's; shape (n,)."""
STATISTICS: dict[str, Statistic] = {
    "balanced_accuracy_score": _balanced_accuracy,
    "root_mean_squared_error": _rmse,
    "r2_score": _r2,
    "roc_auc_score": _roc_auc,
    "average_precision_score": _average_precision,
    "f1_score": _statistic_over_classes(_f_counts),
    "fbeta_score": _statistic_over_classes(_f_counts),
    "precision_score": _statistic_over_classes(_precision_counts),
    "recall_score": _statistic_over_classes(_recall_counts),
    "jaccard_score": _statistic_over_classes(_jaccard_counts),
}
"""Scores that are no mean, by the name of scikit-learn's function. Of others a jackknife over
blocks tells: `scoring`."""


def _move_of_right_or_wrong(held_out: HeldOut) -> float:
    """A sample that was right is wrong, which moves its value by 1."""
    return 1.0


def _move_of_worst_loss(held_out: HeldOut) -> float:
    """The log loss of the label that was thought least likely of any sample."""
    probabilities = np.clip(held_out.response.astype(np.float64), _EPSILON, 1 - _EPSILON)
    return float(-np.log(probabilities.min()))


def _move_in_rarest_class(held_out: HeldOut) -> float:
    """One sample of the rarest class moves a score from 0 to 1 by at most its share of the class.

    Its value moves by as much, times the number of all samples.
    """
    _, counts = np.unique(held_out.truth, return_counts=True)
    return float(len(held_out.truth) / counts.min())


_SCORES_OF_CLASSES = (
    "balanced_accuracy_score",
    "roc_auc_score",
    "average_precision_score",
    "f1_score",
    "fbeta_score",
    "precision_score",
    "recall_score",
    "jaccard_score",
)
_LARGEST_MOVES: Mapping[str, Callable[[HeldOut], float]] = {
    "accuracy_score": _move_of_right_or_wrong,
    "top_k_accuracy_score": _move_of_right_or_wrong,
    "log_loss": _move_of_worst_loss,
} | dict.fromkeys(_SCORES_OF_CLASSES, _move_in_rarest_class)
"""How far a sample's value can move, by the name of scikit-learn's function."""
