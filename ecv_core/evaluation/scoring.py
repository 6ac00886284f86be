"""An estimator and its scoring -> scikit-learn's own scores, and a value per held-out sample."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import wraps
from inspect import signature
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.base import ClassifierMixin, RegressorMixin, is_classifier
from sklearn.metrics import accuracy_score, check_scoring, make_scorer
from sklearn.pipeline import Pipeline
from sklearn.utils.metadata_routing import get_routing_for_object

from ecv_core.evaluation.per_sample import (
    SCORES_OF_SAMPLES,
    HeldOut,
    largest_move,
    values_of_samples,
)
from ecv_core.records.arrays import AnyArray, Floats, Indices
from ecv_core.records.errors import InputError

_RESPONSES = ("predict", "predict_proba", "predict_log_proba", "decision_function")
_MOST_BLOCKS = 20
"""Blocks of the jackknife of a score that has no formula here: so often it is worked out again."""
_LEAST_BLOCKS = 10
"""With fewer samples of a class the variance of a score that is no mean is not known."""
_METRIC_OF_METHOD = {ClassifierMixin.score: "accuracy_score", RegressorMixin.score: "r2_score"}
"""What estimators' own `score` is, where they did not write one themselves."""
_MadeScorer = type(make_scorer(accuracy_score))
"""Of such scorers it is known that all they ask of an estimator are its responses."""
_PREFIX = "make_scorer("


@dataclass(frozen=True, kw_only=True, eq=False)
class SampleValues:
    """What a fold's samples, or groups of them, tell of its score."""

    units: Indices
    """Who they are: indices of samples, or codes of groups; ascending, shape (units,)."""
    values: Floats
    """A value of each, whose mean is the score; shape (units,)."""
    largest_move: float = 0.0
    """How far a value can move where one sample is predicted otherwise; 0 where it is not known."""


@dataclass(frozen=True, kw_only=True)
class _Recipe:
    """What a scorer computes: the name of scikit-learn's function, and its options as text."""

    metric: str
    options: Mapping[str, str] = field(default_factory=dict)

    @property
    def is_negated(self) -> bool:
        """Whether the score is the negative of what the function gives, an error."""
        return self.options.get("greater_is_better") == "False"

    @property
    def responses(self) -> tuple[str, ...]:
        """The estimator's methods that the function may look at, the preferred one first."""
        methods = ast.literal_eval(self.options.get("response_method", "()"))
        if isinstance(methods, str):
            return (methods,)
        return tuple(methods)


class Scoring:
    """Scores as scikit-learn does, to the last bit, and keeps what the samples tell of a score.

    Its `scorer` is the `scoring` of scikit-learn's `cross_validate`, of one fold. `units` has to be
    set before, and `samples` is there afterwards, None where samples tell nothing of this score.
    """

    def __init__(
        self,
        estimator: Any,
        scoring: Any,
        deciding_name: str | None = None,
        *,
        uses_jackknife: bool = True,
    ) -> None:
        """The scorers of an estimator.

        Args:
            estimator: The estimator that will be scored.
            scoring: As of scikit-learn.
            deciding_name: Which of several scores decides; by default the first.
            uses_jackknife: Whether a score without a formula here is worked out again without each
                of some blocks of samples, so that they tell something of it.

        Raises:
            Scikit-learn's errors.
        """
        self.scorers: Any = check_scoring(estimator, scoring=scoring)
        """scikit-learn's scorer, or name -> scorer of several."""
        self.scorer: Any
        """The same scorers, each as one that records what the samples tell."""
        self.multimetric = not (scoring is None or isinstance(scoring, str) or callable(scoring))
        if self.multimetric:
            # `check_scoring` has made one object of all scorers; each is needed for itself.
            self.scorers = _scorers_by_name(estimator, scoring)
            self.scorer = {}
            for name, scorer in self.scorers.items():
                self.scorer[name] = _RecordingScorer(self, scorer, name)
            deciding_name = deciding_name or next(iter(self.scorers))
            score_name = deciding_name
        else:
            self.scorer = _RecordingScorer(
                self, self.scorers, is_score_of_estimator=scoring is None
            )
            score_name = _score_name(estimator, scoring)
        self.name: str = score_name
        """What people call the score that decides: 'accuracy'."""
        self.deciding_name = deciding_name
        """The key of the score that decides; None for a single score, before it is computed."""
        self.uses_jackknife = uses_jackknife
        self.units: Indices = np.array([], np.intp)
        """What the held-out samples count as: themselves, or their groups; indices or codes."""
        self.samples: SampleValues | None = None
        self.weights: AnyArray | None = None
        """The weights of the held-out samples, for scorers that take `sample_weight`; None where
        none are given, or scikit-learn itself hands them on."""
        self.training_weights: AnyArray | None = None
        """The weights of the samples that are learnt from, where these are scored as well."""
        self.was_called = False
        """Whether an estimator was fitted that could be scored."""
        self.has_failed = False
        """Whether the scorer that decides raised an error on the held-out samples."""
        self._responses: _Responses | None = None

    def scorers_without_weights(self, estimator: Any) -> list[str]:
        """The scorers of an estimator that take no `sample_weight`, as people read them."""
        if not self.multimetric:
            if self.scorer.takes_weights(estimator):
                return []
            return [repr(self.scorer)]
        names = []
        for name, scorer in self.scorer.items():
            if not scorer.takes_weights(estimator):
                names.append(f"{name}={scorer!r}")
        return names

    def responses(self, estimator: Any, X: Any) -> _Responses:
        """What all scorers together ask of an estimator for X."""
        if self._responses is None or self._responses.X is not X:
            self._responses = _Responses(estimator, X)
        return self._responses


def _scorers_by_name(estimator: Any, scoring: Any) -> dict[str, Any]:
    """scikit-learn's scorers of several scores, given by their names or as name -> scoring."""
    scoring_by_name = scoring
    if not isinstance(scoring, Mapping):
        scoring_by_name = {name: name for name in scoring}
    scorers = {}
    for name, single_scoring in scoring_by_name.items():
        scorers[name] = check_scoring(estimator, scoring=single_scoring)
    return scorers


class _RecordingScorer:
    """A scorer that records what held-out samples tell, where its score is the one that decides."""

    def __init__(
        self,
        scoring: Scoring,
        scorer: Any,
        name: str | None = None,
        *,
        is_score_of_estimator: bool = False,
    ) -> None:
        self._scoring = scoring
        self._scorer = scorer
        self._name = name
        """The scorer's name among several; None for a single one."""
        self._is_score_of_estimator = is_score_of_estimator
        """Whether it is the estimator's own method `score`."""
        self._has_scored_held_out = False

    def __repr__(self) -> str:
        return repr(self._scorer)

    def get_metadata_routing(self) -> Any:
        return get_routing_for_object(self._scorer)

    def __call__(self, estimator: Any, X: Any, y: Any = None, **metadata: Any) -> Any:
        """The score, or a dictionary of several, as scikit-learn asks a scorer for it."""
        # `cross_validate` scores training samples after the held-out ones.
        is_held_out = not self._has_scored_held_out
        self._has_scored_held_out = True
        self._scoring.was_called = True
        weights = self._scoring.training_weights
        if is_held_out:
            weights = self._scoring.weights
        if weights is not None and self.takes_weights(estimator):
            metadata["sample_weight"] = weights
        responses = self._scoring.responses(estimator, X)
        if is_held_out:
            return self._score_and_record(responses, y, metadata)
        return self._score(responses, y, metadata)

    @property
    def _may_decide(self) -> bool:
        """Whether the score that decides comes from this scorer, if it gives any."""
        # A scorer without a name is the only one, so that nothing else can give that score.
        return self._name is None or self._name == self._scoring.deciding_name

    def _score_and_record(self, responses: _Responses, y: Any, metadata: Mapping[str, Any]) -> Any:
        """The score of held-out samples; what they tell of it is recorded in `Scoring`."""
        try:
            score = self._score(responses, y, metadata)
        except Exception:
            if self._may_decide:  # then the fold has no score to decide by
                self._scoring.has_failed = True
            raise
        self._name_deciding_score(score)  # This sets `Scoring.deciding_name` where it is None.
        deciding_score = self._deciding_score(score)
        if deciding_score is not None and y is not None and not issparse(y):
            self._scoring.samples = self._samples(deciding_score, responses, y, metadata)
        return score

    def takes_weights(self, estimator: Any) -> bool:
        """Whether the score of an estimator can be weighed by `sample_weight`."""
        if isinstance(self._scorer, _MadeScorer):
            # Such a scorer takes anything; what it passes on is said by metadata routing.
            requested = get_routing_for_object(self._scorer).score.requests
            return "sample_weight" in requested
        score_function = self._scorer
        if self._is_score_of_estimator:
            score_function = estimator.score
        return "sample_weight" in signature(score_function).parameters

    def _name_deciding_score(self, score: Any) -> None:
        """Set `Scoring.deciding_name` where nobody chose it: only what a scorer gives tells."""
        if not self._scoring.deciding_name:
            if isinstance(score, Mapping):
                self._scoring.deciding_name = next(iter(score))
            else:
                self._scoring.deciding_name = "score"

    def _deciding_score(self, score: Any) -> float | None:
        """The score that decides; None where this scorer does not give it, or it is not finite.

        Args:
            score: A number, or name -> number of a scorer that gives several.
        """
        deciding_name = self._scoring.deciding_name
        if isinstance(score, Mapping):
            score = score.get(deciding_name)
        elif not self._may_decide:
            return None  # Another of several scorers decides.
        if not isinstance(score, int | float | np.number) or not np.isfinite(score):
            return None
        return float(score)

    def _score(self, responses: _Responses, y: Any, metadata: Mapping[str, Any]) -> Any:
        """What the scorer says. Those that scikit-learn makes see a stand-in that remembers."""
        scorer = self._scorer
        # `responses` stands in for the estimator and remembers what it predicted. scikit-learn's
        # scorers, and the `score` methods of its estimators, ask for predictions alone, so they get
        # the stand-in. A scorer or a method that somebody else wrote gets the estimator.
        estimator_or_stand_in = responses.estimator
        if isinstance(scorer, _MadeScorer):
            estimator_or_stand_in = responses
        elif self._is_score_of_estimator:
            unbound_method = _unbound_score_of_scikit_learn(responses.estimator, metadata)
            if unbound_method is not None:
                # As it is bound to no estimator, what it is called with first is its `self`.
                scorer = unbound_method
                estimator_or_stand_in = responses
        if y is None:
            return scorer(estimator_or_stand_in, responses.X, **metadata)
        return scorer(estimator_or_stand_in, responses.X, y, **metadata)

    def _samples(
        self, score: float, responses: _Responses, y: Any, metadata: Mapping[str, Any]
    ) -> SampleValues | None:
        """What the samples tell of this score, by a formula or else by a jackknife over blocks."""
        by_formula = self._samples_by_formula(score, responses, y, metadata)
        if by_formula is not None:
            return by_formula
        if metadata or not self._scoring.uses_jackknife:
            return None  # the jackknife takes no metadata, such as weights
        return _jackknife_over_blocks(
            self._scorer, responses, np.asarray(y), self._scoring.units, score
        )

    def _samples_by_formula(
        self, score: float, responses: _Responses, y: Any, metadata: Mapping[str, Any]
    ) -> SampleValues | None:
        """What samples add to a score of which it is known how it is made of them; else None."""
        recipe = self._recipe(responses, metadata)
        if recipe is None:
            return None
        truth = _as_column(y)
        held_out = _held_out(recipe, responses, truth, metadata.get("sample_weight"))
        if held_out is None:
            return None
        sample_values = values_of_samples(recipe.metric, score, held_out)
        if sample_values is None:
            return None
        units = self._scoring.units
        # A score that is no mean over samples varies with the few samples of the rarest class.
        if recipe.metric not in SCORES_OF_SAMPLES and hasattr(responses.estimator, "classes_"):
            units = _stratified_blocks(truth, units)
        return _values_of_units(sample_values, units, score, largest_move(recipe.metric, held_out))

    def _recipe(self, responses: _Responses, metadata: Mapping[str, Any]) -> _Recipe | None:
        """What this scorer computes; None where that is not known."""
        # The text of a scorer of scikit-learn's `make_scorer` says what it computes.
        if isinstance(self._scorer, _MadeScorer):
            return _recipe_of(self._scorer)
        if not self._is_score_of_estimator:
            return None
        options = {"response_method": repr("predict")}
        method = _unbound_score_of_scikit_learn(responses.estimator, metadata)
        if method is not None:
            return _Recipe(metric=_METRIC_OF_METHOD[method], options=options)
        # A `score` that somebody wrote anew may be the usual one all the same, as that of k-NN is.
        # The recipes below are guesses: `values_of_samples` works out the score from predictions,
        # and drops a guess that gives another score than the estimator's own. `responses` keeps
        # the predictions that it needs once they have been asked for.
        if hasattr(responses.estimator, "predict"):
            responses.predict(responses.X)
        if is_classifier(responses.estimator):
            return _Recipe(metric="accuracy_score", options=options)
        return _Recipe(metric="r2_score", options=options)


def sample_scores(
    estimator: Any, X: Any, y: Any, rows: Sequence[int] | NDArray[np.integer], scoring: Any = None
) -> dict[int, float]:
    """What each held-out sample tells of a fitted estimator's score: for `FoldPruner.report`.

    Args:
        estimator: Fitted on other samples.
        X: The held-out samples.
        y: Their targets.
        rows: Which samples they are: the test indices of the fold.
        scoring: One scorer, as of scikit-learn; by default the estimator's own.

    Returns:
        Index of a sample -> a value; their mean is the score.

    Raises:
        InputError: Where samples tell nothing of this score.

    >>> import ecv_core as ecv
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.linear_model import LogisticRegression
    >>> X, y = load_iris(return_X_y=True)
    >>> model = LogisticRegression(max_iter=500).fit(X[10:], y[10:])
    >>> ecv.sample_scores(model, X[:2], y[:2], rows=[0, 1])
    {0: 1.0, 1: 1.0}
    """
    recorder = Scoring(estimator, scoring)
    recorder.units = np.asarray(rows, np.intp)
    scorer = check_scoring(estimator, scoring=recorder.scorer)
    scorer(estimator, X, y)  # The score itself is not needed: the recorder keeps its samples.
    samples = recorder.samples
    if samples is None:
        raise InputError(
            f"the samples tell nothing of the score '{recorder.name}', for it cannot be worked out "
            "on some of them; report the score of the fold itself: trial.report(score, fold)"
        )
    return dict(zip(samples.units.tolist(), samples.values.tolist(), strict=True))


class _Responses:
    """Stands in for a fitted estimator: its responses to the samples are kept.

    A scorer may ask for those to `X`, or, with an array of rows in its place, for those to some.
    """

    def __init__(self, estimator: Any, X: Any) -> None:
        self.estimator = estimator
        self.X = X
        self.response_of_method: dict[str, Any] = {}
        """Name of a method that was called -> its response to X."""

    def __getattr__(self, name: str) -> Any:
        attribute = getattr(self.estimator, name)
        if name not in _RESPONSES:
            return attribute

        @wraps(attribute)
        def respond(X_or_rows: Any) -> Any:
            # The jackknife passes numbers of rows of X in the place of samples, so that the
            # estimator answers once and not for every part of the samples.
            if name not in self.response_of_method:
                self.response_of_method[name] = attribute(self.X)
            response = self.response_of_method[name]
            if X_or_rows is self.X:
                return response
            return response[X_or_rows]

        return respond


def _recipe_of(scorer: object) -> _Recipe | None:
    """What a scorer of `make_scorer` computes; None where its function has no name.

    scikit-learn offers a scorer's function and options nowhere but in its text, which is that of
    the call: 'make_scorer(log_loss, greater_is_better=False, response_method='predict_proba')'.
    """
    text = repr(scorer).removeprefix(_PREFIX).removesuffix(")")
    metric, *parts = text.split(", ")
    if not metric.isidentifier():
        return None
    options: dict[str, str] = {}
    newest_option = ""
    for part in parts:
        option, equals, value = part.partition("=")
        if equals and option.isidentifier():
            newest_option = option
            options[newest_option] = value
        else:
            # The value of the newest option has a comma itself, as in 'labels=[0, 1]', and goes on.
            options[newest_option] = f"{options.get(newest_option, '')}, {part}"
    return _Recipe(metric=metric, options=options)


def _unbound_score_of_scikit_learn(
    estimator: Any, metadata: Mapping[str, Any]
) -> Callable[..., float] | None:
    """An estimator's `score` where that is scikit-learn's, a key of `_METRIC_OF_METHOD`; else None.

    It is the function of the class, which takes an estimator as its first argument, `self`.
    """
    last_step = estimator
    # A pipeline scores by its last step. With metadata, such as weights, its own method counts, as
    # it hands them on by rules of its own.
    while isinstance(last_step, Pipeline) and not metadata:
        _, last_step = last_step.steps[-1]
    method = getattr(type(last_step), "score", None)
    if method in _METRIC_OF_METHOD:
        return method
    return None


def _score_name(estimator: Any, scoring: Any) -> str:
    """What people call a single score."""
    if isinstance(scoring, str):
        return scoring
    if isinstance(scoring, _MadeScorer):
        recipe = _recipe_of(scoring)
        if recipe is not None and recipe.is_negated:
            return f"neg_{recipe.metric}"  # scikit-learn calls its own such scorers so.
        if recipe is not None:
            return recipe.metric
    if scoring is not None:
        return getattr(scoring, "__name__", "score")
    # Without `scoring` the estimator's own `score` counts. It has the name of a metric only where
    # it is scikit-learn's own method: accuracy for classifiers, R2 for regressors.
    method = _unbound_score_of_scikit_learn(estimator, {})
    if method is None:
        return "score"
    return _METRIC_OF_METHOD[method].removesuffix("_score")


def _as_column(y: Any) -> AnyArray:
    """Targets as scikit-learn's metrics see them: a table of one column has the shape (n,)."""
    targets = np.asarray(y)
    if targets.ndim == 2 and targets.shape[1] == 1:
        return targets.ravel()
    return targets


def _held_out(
    recipe: _Recipe, responses: _Responses, truth: AnyArray, weights: Any
) -> HeldOut | None:
    """What a metric looked at; None where it looked at none of the responses that are kept."""
    response = None
    for method in recipe.responses:
        if method in responses.response_of_method:
            response = responses.response_of_method[method]
            if method == "predict":
                response = _as_column(response)
            break
    if not isinstance(response, np.ndarray):
        return None
    if weights is None:
        weights = np.ones(len(truth))
    return HeldOut(
        truth=truth,
        response=response,
        classes=getattr(responses.estimator, "classes_", None),
        weights=np.asarray(weights),
        options=recipe.options,
    )


def _values_of_units(
    sample_values: Floats, units: Indices, score: float, largest_move_of_sample: float
) -> SampleValues:
    """Of groups: their deviations are sums of their samples', times groups over samples."""
    groups, group_of_sample = np.unique(units, return_inverse=True)
    # A sample moves the fold's mean by its deviation over the number of samples, a group by its
    # deviation over the number of groups. The factor makes both moves equal.
    groups_per_sample = len(groups) / len(units)
    sums_of_deviations = np.bincount(group_of_sample, weights=sample_values - score)
    deviations = sums_of_deviations * groups_per_sample
    return SampleValues(
        units=groups,
        values=np.asarray(score + deviations, np.float64),
        largest_move=largest_move_of_sample * groups_per_sample,
    )


def _stratified_blocks(truth: AnyArray, units: Indices) -> Indices:
    """Samples as blocks, each with its part of every class, where a class is rare.

    Scores such as ROC AUC vary with the few samples of a rare class, however many others there are:
    as many blocks say how well that variance is known (as random groups; Wolter 2007, chapter 2).
    Of fewer than ten it is not known at all: all of them are one block, and folds have to tell.
    """
    # A unit is what could be drawn anew as a whole: a sample, or a group of samples. `units` has
    # the number of the unit of each sample.
    _, class_of_sample, class_sizes = np.unique(truth, return_inverse=True, return_counts=True)
    rarest_size = class_sizes.min()
    is_grouped = len(np.unique(units)) < len(units)
    # If every class has many samples, the units can stay as they are. Groups are never divided.
    if rarest_size >= _MOST_BLOCKS or is_grouped:
        return units
    # The score varies most with the samples of the rarest class. So each block gets one of these,
    # and its part of the other classes: the number of blocks is then about the number of
    # independent values that the variance rests on. With too few of them the variance is not known
    # at all, and all samples are one block.
    block_count = 1
    if rarest_size >= _LEAST_BLOCKS:
        block_count = rarest_size
    block_of_sample = np.empty(len(units), np.intp)
    for label in range(len(class_sizes)):
        samples = np.flatnonzero(class_of_sample == label)
        # The samples are dealt one by one.
        block_of_sample[samples] = np.arange(len(samples)) % block_count
    # Each block becomes one unit, which is called by the lowest number of the units in it.
    unit_of_block = _lowest_units(units, block_of_sample, block_count)
    return unit_of_block[block_of_sample]


def _lowest_units(units: Indices, block_of_sample: Indices, block_count: int) -> Indices:
    """The lowest unit of each block, by which the block is called; shape (blocks,).

    Args:
        units: The units of the samples; shape (samples,).
        block_of_sample: The block of each sample, from 0; shape (samples,).
        block_count: How many blocks there are, each with a sample.
    """
    return np.array(
        [units[block_of_sample == block].min() for block in range(block_count)], np.intp
    )


def one_block(units: Indices, score: float) -> SampleValues:
    """A score of which single samples tell nothing more: all are one block, and folds tell."""
    return SampleValues(units=units.min(keepdims=True), values=np.array([score], np.float64))


def _blocks_of_whole_units(units: Indices) -> Indices:
    """The block of each sample, drawn at random; samples of one unit, as a group, stay together."""
    distinct_units, unit_of_sample = np.unique(units, return_inverse=True)
    unit_count = len(distinct_units)
    # The number of units seeds the draw, so that candidates of a search have the same blocks.
    places = np.random.default_rng(unit_count).permutation(unit_count)
    block_of_unit = places % min(_MOST_BLOCKS, unit_count)
    return block_of_unit[unit_of_sample]


def _jackknife_over_blocks(
    scorer: Callable[..., Any],
    responses: _Responses,
    truth: AnyArray,
    units: Indices,
    score: float,
) -> SampleValues | None:
    """The jackknife over blocks of samples or groups (Quenouille 1956; Tukey 1958): pseudo-values.

    Returns:
        One value per block, under the name of its lowest unit, or a single one where no block moves
        the score; None where the scorer says another score, or none, of the estimator's responses
        alone.
    """
    block_of_sample = _blocks_of_whole_units(units)
    block_count = int(block_of_sample.max()) + 1
    all_rows = np.arange(len(truth))
    scores_without_block = np.empty(block_count)
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            if scorer(responses, all_rows, truth) != score:
                return None  # the scorer looks at more than responses
            for block in range(block_count):
                rows = np.flatnonzero(block_of_sample != block)
                scores_without_block[block] = scorer(responses, rows, truth[rows])
    except Exception:  # noqa: BLE001  a scorer of somebody's own may look at more than responses
        return None
    if block_count < 2 or not np.isfinite(scores_without_block).all():
        return None
    if (scores_without_block == score).all():
        # No block moves the score: the scorer may not look at samples at all, or all are predicted
        # rightly. The scores of several folds have to tell how much it varies.
        return one_block(units, score)
    # The jackknife's pseudo-values, moved so that their mean is the score itself.
    shifts = (block_count - 1) * (scores_without_block - scores_without_block.mean())
    # A block is called by its lowest unit, so that the blocks of two candidates can be matched.
    lowest_units = _lowest_units(units, block_of_sample, block_count)
    order = np.argsort(lowest_units)
    return SampleValues(units=lowest_units[order], values=score - shifts[order])
