"""An estimator and its scoring -> scikit-learn's own scores, and a value per held-out sample."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import wraps
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin, RegressorMixin, is_classifier
from sklearn.metrics import check_scoring
from sklearn.pipeline import Pipeline
from sklearn.utils.metadata_routing import get_routing_for_object

from ecv_core.evaluation.per_sample import OWN_SCORES, HeldOut, Values, values
from ecv_core.records.errors import InputError

_RESPONSES = ("predict", "predict_proba", "predict_log_proba", "decision_function")
_BLOCKS = 20
"""Of the jackknife of a score that has no formula here: so often it is worked out again."""
_FEW = 10
"""Samples of a class that tell something of a score which is no mean."""
_USUAL = {ClassifierMixin.score: "accuracy_score", RegressorMixin.score: "r2_score"}
"""What estimators' own `score` is, where they did not write one themselves."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Told:
    """What a fold's samples, or groups of them, tell of its score."""

    units: NDArray[np.intp]
    """Who they are: indices of samples, or codes of groups; ascending, shape (units,)."""
    values: Values
    """A value of each, whose mean is the score; shape (units,)."""


class Scoring:
    """Scores as scikit-learn does, to the last bit, and keeps what the samples tell of a score.

    Its `scorer` is the `scoring` of scikit-learn's `cross_validate`, of one fold: `units` has to be
    set before, and `told` is there afterwards, None where samples tell nothing of this score.
    """

    def __init__(self, estimator: Any, scoring: Any, watch: str | None = None) -> None:
        """The scorers of an estimator.

        Args:
            estimator: that will be scored.
            scoring: as of scikit-learn.
            watch: which of several scores decides; by default the first.
        Raises: scikit-learn's errors.
        """
        self.scorers: Any = check_scoring(estimator, scoring=scoring)
        """scikit-learn's scorer, or name -> scorer of several."""
        self.multimetric = not (scoring is None or isinstance(scoring, str) or callable(scoring))
        own = scoring if isinstance(scoring, str) else getattr(scoring, "__name__", None)
        self.name: str = own or _name(estimator, self.scorers)
        """What people call the one that decides: 'accuracy'."""
        self.scorer: Any = _Watched(self, self.scorers)
        if self.multimetric:
            named = scoring if isinstance(scoring, Mapping) else {name: name for name in scoring}
            self.scorers = {name: check_scoring(estimator, one) for name, one in named.items()}
            self.scorer = {name: _Watched(self, one, name) for name, one in self.scorers.items()}
            watch = self.name = watch or next(iter(self.scorers))
        self.watch = watch
        """Whose samples are asked; None for a single score, before it is known."""
        self.units: NDArray[np.intp] = np.array([], np.intp)
        self.told: Told | None = None
        self.called = False
        """Whether an estimator was fitted that could be scored."""
        self._responses: _Responses | None = None

    def responses(self, estimator: Any, X: Any) -> _Responses:
        """What all scorers together ask of an estimator for X."""
        if self._responses is None or self._responses.X is not X:
            self._responses = _Responses(estimator, X)
        return self._responses


class _Watched:
    """A scorer that has the held-out samples asked, where its score is the one that decides."""

    def __init__(self, scoring: Scoring, scorer: Any, name: str | None = None) -> None:
        self._scoring, self._scorer, self._name = scoring, scorer, name
        self._called = False

    def __repr__(self) -> str:
        return repr(self._scorer)

    def get_metadata_routing(self) -> Any:
        return get_routing_for_object(self._scorer)

    def __call__(self, estimator: Any, X: Any, y: Any = None, **metadata: Any) -> Any:
        """The score, or a dictionary of several, as scikit-learn asks a scorer for it."""
        scoring, held_out = self._scoring, not self._called  # training samples are scored after
        scoring.called = self._called = True
        responses = scoring.responses(estimator, X)
        score = self._score(responses, y, metadata)
        if held_out and isinstance(score, Mapping):
            scoring.watch = scoring.watch or next(iter(score))
            self._ask(score.get(scoring.watch), responses, y, metadata)
        elif held_out and self._name in (None, scoring.watch):
            scoring.watch = self._name or "score"
            self._ask(score, responses, y, metadata)
        return score

    def _score(self, responses: _Responses, y: Any, metadata: Mapping[str, Any]) -> Any:
        """What the scorer says. Those that scikit-learn makes see a stand-in that remembers."""
        targets = () if y is None else (y,)
        scorer, asked = self._scorer, responses.estimator
        if _made(scorer):
            asked = responses
        elif repr(scorer).endswith(".score") and (method := _usual_score(asked, metadata)):
            scorer, asked = method, responses
        return scorer(asked, responses.X, *targets, **metadata)

    def _ask(self, score: Any, responses: _Responses, y: Any, metadata: Mapping[str, Any]) -> None:
        """Have the samples tell of this score, by a formula or else by a jackknife over blocks."""
        if y is None or not isinstance(score, int | float | np.number) or not np.isfinite(score):
            return
        truth, score, scorer, scoring = np.asarray(y), float(score), self._scorer, self._scoring
        method = _usual_score(responses.estimator, metadata)
        metric, options = ("", {}) if not _made(scorer) else _parsed(scorer)
        if not metric and repr(scorer).endswith(".score"):
            # One that somebody wrote anew may be the usual one all the same, as that of k-NN is:
            # then its value says so, for what is predicted once more.
            usual = "accuracy_score" if is_classifier(responses.estimator) else "r2_score"
            metric = _USUAL[method] if method else usual
            options = {"response_method": "predict"}
            if not method and hasattr(responses.estimator, "predict"):
                responses.predict(responses.X)
        asked = re.findall(r"\w+", options.get("response_method", ""))
        response = next((responses.told[name] for name in asked if name in responses.told), None)
        found = None
        if metric and isinstance(response, np.ndarray):
            weights = metadata.get("sample_weight")
            found = values(
                metric,
                score,
                HeldOut(
                    truth=truth,
                    told=response,
                    classes=getattr(responses.estimator, "classes_", None),
                    weights=np.ones(len(truth)) if weights is None else np.asarray(weights),
                    options=options,
                ),
            )
        if found is not None:
            rare = metric not in OWN_SCORES and hasattr(responses.estimator, "classes_")
            units = _rare(truth, scoring.units) if rare else scoring.units
            scoring.told = _by_unit(found, units, score)
        elif not metadata:
            scoring.told = _by_blocks(scorer, responses, truth, scoring.units, score)


def sample_scores(
    estimator: Any, X: Any, y: Any, rows: Sequence[int] | NDArray[np.integer], scoring: Any = None
) -> dict[int, float]:
    """What each held-out sample tells of a fitted estimator's score: for `FoldPruner.report`.

    Args:
        estimator: fitted on other samples.
        X: the held-out samples.
        y: their targets.
        rows: which samples they are: the test indices of the fold.
        scoring: one scorer, as of scikit-learn; by default the estimator's own.
    Returns: index of a sample -> a value; their mean is the score.
    Raises: InputError where samples tell nothing of this score.
    """
    asked = Scoring(estimator, scoring)
    asked.units = np.asarray(rows, np.intp)
    check_scoring(estimator, scoring=asked.scorer)(estimator, X, y)
    if asked.told is None:
        raise InputError(
            f"the samples tell nothing of the score '{asked.name}', for it cannot be worked out on "
            "some of them; choose a scorer of scikit-learn, such as 'accuracy'"
        )
    told = asked.told
    return dict(zip(told.units.tolist(), told.values.tolist(), strict=True))


class _Responses:
    """Stands in for a fitted estimator: what it says to the samples is kept, for all or for some.

    A scorer may ask it with `X`, or with an array of rows of what was said to X.
    """

    def __init__(self, estimator: Any, X: Any) -> None:
        self.estimator = estimator
        self.X = X
        self.told: dict[str, Any] = {}

    def __getattr__(self, name: str) -> Any:
        found = getattr(self.estimator, name)
        if name not in _RESPONSES:
            return found

        @wraps(found)
        def respond(X: Any) -> Any:
            if name not in self.told:
                self.told[name] = found(self.X)
            return self.told[name] if X is self.X else self.told[name][X]

        return respond


def _made(scorer: object) -> bool:
    """Whether it was made by `make_scorer`, so that all it asks of an estimator are responses."""
    return repr(scorer).startswith("make_scorer(")


def _parsed(scorer: object) -> tuple[str, dict[str, str]]:
    """'make_scorer(log_loss, greater_is_better=False, ...)' as its function and its options."""
    metric, *options = re.split(r", (?=\w+=)", repr(scorer)[len("make_scorer(") : -1])
    return metric, {name: text for name, _, text in (one.partition("=") for one in options)}


def _usual_score(estimator: Any, metadata: Mapping[str, Any]) -> Callable[..., float] | None:
    """The function that an estimator's own `score` is, where it is one of `_USUAL`."""
    last = estimator
    while isinstance(last, Pipeline) and not metadata:
        last = last.steps[-1][1]
    method = getattr(type(last), "score", None)
    return method if method in _USUAL else None


def _name(estimator: Any, scorer: object) -> str:
    usual = _usual_score(estimator, {})
    if _made(scorer):
        return _parsed(scorer)[0]
    return _USUAL[usual].removesuffix("_score") if usual else "score"


def _by_unit(found: Values, units: NDArray[np.intp], score: float) -> Told:
    """Of groups: a group's part is the sum of its samples' parts, times groups over samples."""
    who, where = np.unique(units, return_inverse=True)
    parts = np.bincount(where, weights=found - score) * (len(who) / len(units))
    return Told(units=who, values=np.asarray(score + parts, np.float64))


def _rare(truth: NDArray[Any], units: NDArray[np.intp]) -> NDArray[np.intp]:
    """Samples as blocks, each with its part of every class, where a class is rare.

    Scores such as ROC AUC vary with the few samples of a rare class, however many others there are:
    as many blocks say how well that variance is known (as random groups; Wolter 2007, chapter 2).
    Of fewer than ten it is not known at all: all of them are one block, and folds have to tell.
    """
    _, of_class, counts = np.unique(truth, return_inverse=True, return_counts=True)
    if counts.min() >= _BLOCKS or len(np.unique(units)) < len(units):
        return units
    blocks = counts.min() if counts.min() >= _FEW else 1
    block = np.empty(len(units), np.intp)
    for one in range(len(counts)):
        mine = np.flatnonzero(of_class == one)
        block[mine] = np.arange(len(mine)) % blocks
    return np.array([units[block == one].min() for one in range(blocks)], np.intp)[block]


def _by_blocks(
    scorer: Callable[..., Any],
    responses: _Responses,
    truth: NDArray[Any],
    units: NDArray[np.intp],
    score: float,
) -> Told | None:
    """The jackknife over blocks of samples or groups (Quenouille 1956; Tukey 1958): pseudo-values.

    Returns: one value per block, under the name of its first unit; None where the scorer says
        another score, or none, of what the estimator said before.
    """
    who, where = np.unique(units, return_inverse=True)
    count = min(_BLOCKS, len(who))
    block = (np.random.default_rng(len(who)).permutation(len(who)) % count)[where]
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            every = np.arange(len(truth))
            if scorer(responses, every, truth) != score:
                return None
            rows = [np.flatnonzero(block != one) for one in range(count)]
            without = np.array([float(scorer(responses, some, truth[some])) for some in rows])
    except Exception:  # noqa: BLE001  a scorer of somebody's own may look at more than responses
        return None
    if count < 2 or not np.isfinite(without).all():
        return None
    moved: Values = (count - 1) * (without - without.mean())
    names = np.array([units[block == one].min() for one in range(count)], np.intp)
    order = np.argsort(names)
    return Told(units=names[order], values=score - moved[order])
