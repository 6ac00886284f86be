"""Our rule: stop when the k-fold mean is known to within a tolerance."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np

from ecv_core.records.arrays import Codes, Floats
from ecv_core.records.errors import InputError
from ecv_core.records.parameters import Parameter, percent_text, score_text
from ecv_core.records.renamed import renamed_fields
from ecv_core.records.run import Decision, FoldResult, Interval, IntervalKind, Moment, user_table
from ecv_core.stopping.adjustment import AdjustedMeans, CheapModels, adjusted_means
from ecv_core.stopping.base import (
    FoldSets,
    Phrases,
    Rule,
    SetSteps,
    Watched,
    check_numbers,
    decision,
)
from ecv_core.stopping.fold_variance import UNSTABLE, FoldVariance, fold_variance
from ecv_core.stopping.interval import mean_and_deviation

MAX_SETS_K = 16
"""Folds up to which it is worked out for every set of them."""
MAX_ADJUSTED_K = 12
"""The same where means are corrected by cheap models."""


def least_tolerance(half_widths: Floats, means: Floats) -> Floats:
    """The least tolerance at which each set stops: half width / |mean|; infinite if unknown."""
    with np.errstate(divide="ignore", invalid="ignore"):
        least = half_widths / np.abs(means)
    least[half_widths == 0] = 0.0  # also where the mean is 0
    least[np.isnan(least)] = np.inf
    return least


@dataclass(frozen=True, kw_only=True)
class _Estimate:
    """The k-fold mean, as some folds tell it."""

    mean: float
    variance: FoldVariance
    """Of one fold's mean."""
    half_width: float
    """How far the k-fold mean may be to each side; NaN where that cannot be known."""


@renamed_fields(
    aids="cheap_models", needs_aids="needed_cheap_models", with_aids="with_cheap_models"
)
@dataclass(frozen=True, kw_only=True)
class Precision:
    """Stop when the interval of the k-fold mean reaches at most `tolerance` of the mean each way.

    Looks at per-user scores, so that two folds can be enough on large data.

    >>> import ecv_core as ecv
    >>> rule = ecv.Precision(tolerance=0.1)
    >>> ecv.evaluate("synthetic", "popular", rule=rule, keep=False).spec.rule
    'precision'
    """

    needs_user_scores: ClassVar[bool] = True
    interval_kind: ClassVar[IntervalKind] = IntervalKind.K_FOLD_MEAN
    tolerance: float = field(kw_only=False)
    """A share of the mean: 0.03 is 3 %."""
    k: int = 10
    """Folds in all; in a run, that run's."""
    metric: str = "ndcg@10"
    """As in UserScores.metrics; in a run, that run's."""
    confidence: float = 0.95
    min_folds: int = 1
    adjust_by: Sequence[str] | str = ()
    """Algorithms whose folds cost little, or text with commas between their ids: they run all k,
    and correct the mean of the others."""
    cheap_models: CheapModels | None = field(default=None, compare=False, repr=False)
    """Their scores; in a run, those of the database."""
    _newest: list[tuple[Sequence[FoldResult], _Estimate]] = field(
        default_factory=list, init=False, compare=False, repr=False
    )
    """The folds that were asked about last with their estimate, or nothing: mean, interval and
    decision follow from the same, which takes a while to work out."""

    def __post_init__(self) -> None:
        check_numbers(self, tolerance=0)
        ids = ADJUST_BY.parse(self.adjust_by)
        object.__setattr__(self, "adjust_by", tuple(filter(None, str(ids).split(","))))

    @property
    def needed_cheap_models(self) -> tuple[str, ...]:
        """Ids of the algorithms in `adjust_by`."""
        return tuple(self.adjust_by)

    def with_cheap_models(self, cheap_models: CheapModels) -> Precision:
        """The same rule with their scores."""
        return replace(self, cheap_models=cheap_models)

    def mean(self, results: Sequence[FoldResult]) -> float:
        """The k-fold mean as these folds tell it, corrected by the cheap models if there are."""
        return self._estimate(results).mean

    def interval(self, results: Sequence[FoldResult]) -> Interval | None:
        """Where the k-fold mean is, as far as these folds tell; None where they do not."""
        estimate = self._estimate(results)
        half_width = estimate.half_width
        if math.isnan(half_width):
            return None
        return Interval(
            low=estimate.mean - half_width,
            high=estimate.mean + half_width,
            kind=IntervalKind.K_FOLD_MEAN,
        )

    def decide(self, results: Sequence[FoldResult]) -> Decision:
        n = len(results)
        estimate = self._estimate(results)
        half_width = estimate.half_width
        share = float(least_tolerance(np.array([half_width]), np.array([estimate.mean]))[0])
        if math.isnan(half_width):
            return decision(n, "too few individual scores to tell how precise the mean is")
        if math.isinf(share):
            return decision(
                n,
                f"the mean is 0, at most {half_width:.2g} from that of all {self.k} folds, and a "
                "tolerance cannot be a share of 0",
            )
        reason = (
            f"the mean of all folds is known to within {percent_text(share, '.1f')}, and the "
            f"tolerance is {percent_text(self.tolerance, '.1f')}"
        )
        if self.adjust_by and n < self.k:
            plain, _ = mean_and_deviation([result.score for result in results])
            reason += (
                f", with the mean adjusted from {score_text(plain)} to {score_text(estimate.mean)}"
            )
        reason += self._warning(estimate.variance, n)
        is_precise = bool(share <= self.tolerance)
        if is_precise and n < self.min_folds:
            return decision(n, f"{reason}, but at least {self.min_folds} folds must run")
        return decision(n, reason, stop=is_precise)

    def steps(self, sets: FoldSets) -> SetSteps:
        """The least tolerance at which the rule stops after each set of folds."""
        user_scores = self._checked_user_scores(sets)
        # The first of the sets is empty, so that it has no mean and no variance.
        not_empty = sets.contains_fold()[1:]
        means = sets.means
        adjusted_k_fold_means = None
        if sets.cheap_models is None:
            variance = fold_variance(user_scores, not_empty)
        else:
            # Cheap models have run all folds. How they score in those of a set corrects its mean.
            adjusted = adjusted_means(sets.folds, user_scores, sets.cheap_models, not_empty)
            variance = adjusted.variance
            adjusted_k_fold_means = np.concatenate([[np.nan], adjusted.means])
            means = adjusted_k_fold_means
        half_widths = np.full(len(sets.means), np.nan)
        half_widths[1:] = variance.half_widths(len(sets.folds), self.confidence)
        least_tolerances = least_tolerance(half_widths, means)

        # The rule does not look back: only the set after a fold decides, not the set before.
        def tolerance_of_step(_sets_before: Codes, sets_after: Codes) -> Floats:
            return least_tolerances[sets_after]

        return SetSteps(
            threshold_of_step=tolerance_of_step,
            half_widths=half_widths,
            setting=self.tolerance,
            means=adjusted_k_fold_means,
        )

    def _checked_user_scores(self, sets: FoldSets) -> Floats:
        """The per-user scores of these folds; shape (k, users).

        Raises:
            InputError: Where they, or those of the cheap models, are missing, or for more folds
                than can be explored.
        """
        k = len(sets.folds)
        if self.adjust_by and sets.cheap_models is None:
            raise InputError(
                f"the precision rule is adjusted by {', '.join(self.adjust_by)}, but their "
                "scores are missing for these folds; give a run that has them"
            )
        if sets.users is None:
            raise InputError(
                "the precision rule needs the score of every user, or sample, but these folds "
                "lack them; use a recorded run that has them, or another rule"
            )
        most_folds = MAX_SETS_K
        if sets.cheap_models is not None:
            most_folds = MAX_ADJUSTED_K
        if k > most_folds:
            raise InputError(
                f"the precision rule can be explored for at most {most_folds} folds, but there are "
                f"{k}; use fewer folds"
            )
        values = np.asarray(sets.users, dtype=np.float64)
        if len(values) != k:
            raise InputError(
                f"there are {k} folds, but {len(values)} of them have scores of users or samples"
            )
        return values

    def _estimate(self, results: Sequence[FoldResult]) -> _Estimate:
        """What these folds tell, kept in `_newest` until others are asked about."""
        # The newest estimate is kept, for mean, interval and decision ask for the same one. Fields
        # of a rule cannot be set, so that it is kept in a list, of one at most.
        for folds, estimate in self._newest:
            if _are_the_same(folds, results):
                return estimate
        # Folds without the scores of users are refused here, with or without cheap models.
        user_scores = user_matrix(results, self.metric)
        if self.adjust_by:
            adjusted = self._adjust_mean(results)
            mean = float(adjusted.means[0])
            variance = adjusted.variance
        else:
            mean, _ = mean_and_deviation([result.score for result in results])
            set_of_all_folds = np.ones((1, len(results)), dtype=np.bool_)
            variance = fold_variance(user_scores, set_of_all_folds)
        half_width = float(variance.half_widths(self.k, self.confidence)[0])
        estimate = _Estimate(mean=mean, variance=variance, half_width=half_width)
        self._newest[:] = [(tuple(results), estimate)]
        return estimate

    def _adjust_mean(self, results: Sequence[FoldResult]) -> AdjustedMeans:
        """The k-fold mean corrected by the cheap models: of one set, that of these folds.

        Raises:
            InputError: Where the folds of the cheap models are not all there.
        """
        cheap_models = self.cheap_models
        if (
            cheap_models is None
            or not set(self.adjust_by) <= set(cheap_models.names)
            or len(cheap_models.folds) != self.k
        ):
            raise InputError(
                f"the precision rule is adjusted by {', '.join(self.adjust_by)}, which needs "
                f"all {self.k} folds of these models first; run them with the rule 'never'"
            )
        # One set of folds, that of the results, and the score of each of its folds.
        set_of_results = np.zeros((1, self.k), dtype=np.bool_)
        scores = np.full(self.k, np.nan)
        user_scores = {}
        for result in results:
            place = cheap_models.folds.index(result.fold)
            set_of_results[0, place] = True
            scores[place] = result.score
            if result.user_scores is not None:
                user_scores[result.fold] = result.user_scores
        return adjusted_means(
            scores,
            cheap_models.aligned_table(user_scores, self.metric),
            cheap_models,
            set_of_results,
        )

    def _warning(self, variance: FoldVariance, n: int) -> str:
        """What the reader of a decision must know beside the numbers; mostly nothing."""
        if n == self.k:
            return ""
        if n == 1:
            return " (one fold cannot show how much folds differ, so the margin is wide)"
        # An F test: users alone would hardly let the fold means differ as much as they do. The
        # variance is that of a single set, the folds so far.
        if variance.p_values[0] < UNSTABLE:
            times = float(variance.ratios[0])
            words = "over 1,000 times"
            if times < 1000:
                words = f"{times:.1f} times"
            return (
                f"; the fold means vary {words} as much as the individual scores explain: the "
                "training is unstable, or something else sets the folds apart. The margin "
                "allows for this"
            )
        return ""


def _are_the_same(folds: Sequence[FoldResult], results: Sequence[FoldResult]) -> bool:
    """Whether these are the very same results; comparing what is in them would take long."""
    return [id(fold) for fold in folds] == [id(result) for result in results]


def user_matrix(results: Sequence[FoldResult], metric: str) -> Floats:
    """One metric's per-user scores side by side.

    Returns:
        Shape (folds, users seen); NaN where a user has nothing held out in a fold.

    Raises:
        InputError: If a fold came without them, or has none of this metric.
    """
    scores = []
    for result in results:
        if result.user_scores is None or metric not in result.user_scores.metrics:
            raise InputError(
                "the precision rule needs the score of every user, or sample, but fold "
                f"{result.fold} has none of {metric}; run it again with a metric that has a "
                "value for each of them, such as ndcg or accuracy, or choose another rule"
            )
        scores.append(result.user_scores)
    _, values = user_table(scores, metric)
    return values.astype(np.float64)


def _sentence(say: Phrases) -> str:
    k = say.values["k"]
    tolerance = say.values["tolerance"]
    return (
        f"Evaluation stopped, after {say.least} at the earliest, as soon as the {say.level} "
        f"confidence interval of the mean of all {k} folds, estimated from the scores of "
        f"{say.unit}s and the fold means with the {k} folds as a finite population and for all "
        f"looks at once, reached at most {100 * tolerance:.3g} % of the mean to either side: a "
        f"variant of e-fold cross-validation{say.paper}. The interval reported is "
        f"{say.interval}."
    )


def _known_within(moments: Sequence[Moment], _values: Mapping[str, Any]) -> list[float | None]:
    """How far the k-fold mean may be from the estimate after each fold, as a share of it."""
    shares = []
    for moment in moments:
        share = None
        if moment.interval and moment.mean:
            share = moment.interval.width / 2 / abs(moment.mean)
        shares.append(share)
    return shares


def _short(values: Mapping[str, Any]) -> str:
    return f"within {percent_text(values['tolerance'], '.1f')}"


def _short_alone(values: Mapping[str, Any]) -> str:
    return f"precision {100 * values['tolerance']:g} %"


def _tolerance_sentence(tolerance: float) -> str:
    return (
        f"Stops once the mean of all folds is known to within {percent_text(tolerance, '.1f')} of "
        "its value, with the confidence below."
    )


TOLERANCE = Parameter(
    name="tolerance",
    default=0.03,
    required=True,
    help="How far the score may be from the mean of all k folds, as a share of the score. The "
    "rule looks at the score of every user, or sample: large data may need only two folds, "
    "noisy data nearly all.",
    low=0,
    high=1,
    open=True,
    error_name="the tolerance, a share of the score,",
    way_out="use for example 0.03 for 3 %",
    scale="percent",
    steps=(0.005, 0.01, 0.015, 0.02, 0.03, 0.05, 0.075, 0.1),
    search_values=tuple(float(f"{value:.2e}") for value in np.geomspace(0.002, 0.5, 97)),
    meaning=_tolerance_sentence,
    flag="--tolerance",
    terms=("tolerance", "precision-rule"),
)
ADJUST_BY = Parameter(
    name="adjust_by",
    default="",
    ids=True,
    label="Cheap models",
    phrase="adjusted by {}",
    help="Cheap models that run all folds first. They show how easy each fold is, and this makes "
    "the mean of the evaluated model more precise, so that it needs fewer folds.",
    flag="--adjust-by",
    metavar="popular,item-knn",
)

PRECISION = Rule(
    id="precision",
    title="Precision",
    help="Stops when the k-fold mean is known to within the tolerance that you choose, with the "
    "confidence that you choose. It compares the scores of individual users, or samples, "
    "from fold to fold: large data may need only two folds, noisy data nearly all.",
    source="this project; two-level variance of the fold means, valid for all looks together",
    kind=Precision,
    parameters=(TOLERANCE, ADJUST_BY),
    run_settings=("confidence", "min_folds", "k", "metric"),
    default_folds=1,
    meaning="is as precise as the tolerance requires",
    short=_short,
    alone=_short_alone,
    sentence=_sentence,
    watched=Watched(
        label="Known within",
        help="The rule stops when this is at most the tolerance.",
        after_folds=_known_within,
    ),
    picture="threshold",
)
