"""scikit-learn's `cross_validate`, stopped by a rule: the same dictionary, with fewer folds."""

from __future__ import annotations

import logging
import re
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from html import escape
from typing import Any, NamedTuple, cast
from uuid import uuid4

import joblib
import numpy as np
from sklearn.base import clone

from ecv_core import stopping
from ecv_core.energy.meter import EnergyMeter
from ecv_core.energy.real_meters import meter_for
from ecv_core.estimators.fold_scores import (
    InvalidInput,
    Scored,
    SplitSamples,
    report_failed_fits,
)
from ecv_core.evaluation import Kind, Metric
from ecv_core.evaluation.metrics import SCIKIT_LEARN
from ecv_core.evaluation.scoring import Scoring, one_block
from ecv_core.figures.words import interval_words, verdict
from ecv_core.jobs.heartbeat import signs_of_life
from ecv_core.jobs.machine import machine_for
from ecv_core.jobs.plan import FoldTask
from ecv_core.jobs.plan_runs import Callbacks, PlanRuns, SaveAttempts
from ecv_core.library.run import Run
from ecv_core.library.settings import settings_of_rule
from ecv_core.records.errors import Cancelled, StoreError
from ecv_core.records.parameters import listed
from ecv_core.records.run import (
    LARGEST_SCORE,
    Energy,
    FoldResult,
    RunRecord,
    RunState,
    UserScores,
    no_progress,
)
from ecv_core.records.spec import RunSpec
from ecv_core.splits import IMPORTED
from ecv_core.stopping import StoppingRule, record_of
from ecv_core.stopping.odd_folds import doubt_about_folds
from ecv_core.store.engine import waiting_for_database
from ecv_core.store.new_data import mean_on_new_data
from ecv_core.store.ownership import this_process
from ecv_core.store.results import Results
from ecv_core.store.store import open_store

log = logging.getLogger(__name__)

TOLERANCE = 0.01
"""Of the rule where nobody gives one: the mean of all folds is known to within 1 %."""


class CrossValidated(dict[str, Any]):
    """What scikit-learn's `cross_validate` gives, of the folds that ran; prints as a sentence.

    >>> import ecv_core as ecv
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.linear_model import LogisticRegression
    >>> X, y = load_iris(return_X_y=True)
    >>> result = ecv.cross_validate(LogisticRegression(max_iter=500), X, y, rule="never")
    >>> result.folds.tolist(), sorted(result)
    ([0, 1, 2, 3, 4], ['fit_time', 'score_time', 'test_score'])
    """

    def __init__(
        self,
        columns: Mapping[str, Any],
        folds: Sequence[int],
        record: RunRecord,
        score_name: str,
        sentence_without_score: str,
    ) -> None:
        super().__init__(columns)
        self.folds = np.array(folds)
        """Indices of the folds that ran, ascending, as the arrays have them."""
        self.run = _run_of(record)
        """The run: `mean`, `interval`, `stopped_at`, `frame()`, `figure()`, ..."""
        self.new_data = mean_on_new_data(record, record.user_scores)
        """The mean score of new rows, or groups: `interval` with `low` and `high`, and `of`, which
        of the two. None where the folds do not tell it: a single one without values of its samples,
        several that score alike, and folds in the order of time."""
        name = f"{record.spec.algorithm}, {score_name} on {record.spec.dataset}"
        interval = interval_words(record, self.new_data)
        if interval:  # there is none before a fold has a score
            interval = f" {interval}."
        self.sentence = f"{name}: {verdict(record)}{interval}{sentence_without_score}"
        """What was found, with its numbers."""

    def __repr__(self) -> str:
        return self.sentence

    def _repr_html_(self) -> str:
        return f"<p>{escape(self.sentence)}</p>{self.run._repr_html_()}"


def _run_of(record: RunRecord) -> Run:
    """A run with what its samples tell, which its folds carry unless they are in the database."""
    return Run(record, record.user_scores or None)


def cross_validate(
    estimator: Any,
    X: Any,
    y: Any = None,
    *,
    rule: StoppingRule | str | None = None,
    cv: Any = None,
    scoring: Any = None,
    groups: Any = None,
    params: Mapping[str, Any] | None = None,
    n_jobs: int | None = None,
    verbose: int = 0,
    pre_dispatch: Any = "n_jobs",
    return_train_score: bool = False,
    return_estimator: bool = False,
    return_indices: bool = False,
    error_score: Any = np.nan,
    fold_order: int | None = 0,
    energy: bool = False,
    keep: bool = False,
    name: str = "",
    dataset: str = "",
    on_fold: Callable[[Run], None] = lambda run: None,
) -> CrossValidated:
    """Evaluate an estimator by cross-validation until its score can be trusted.

    The folds, fits and scores are scikit-learn's own, to the last bit, but for a model that draws
    from numpy's global random state.

    Args:
        estimator, X, y, scoring, groups, params, n_jobs, verbose, pre_dispatch,
            return_train_score, return_estimator, return_indices, error_score: as of
            scikit-learn's `cross_validate`; of several scorers the rule looks at the first.
        rule: An instance or an id; by default `Precision(0.01)`.
        cv: As there; 5 folds by default.
        fold_order: The seed of the order in which the folds run, drawn by chance, so that those
            seen stand for all also where the data are sorted; None for the splitter's order.
        energy: Whether each fold is metered, alone on the machine; with several jobs none is.
        keep: Leave the run in the database, where pages and `runs()` find it, as it goes on.
        name: What the estimator is called; by default its class.
        dataset: What the data are called; by default a hash of their content.
        on_fold: Told of the run after every fold.

    Returns:
        Scikit-learn's dictionary, of the folds that ran; beside it `folds`, which they are, its
        `run`, and its `sentence`.

    Raises:
        scikit-learn's own errors; InputError for what cannot be stopped.

    >>> import ecv_core as ecv
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.linear_model import LogisticRegression
    >>> X, y = load_iris(return_X_y=True)
    >>> result = ecv.cross_validate(LogisticRegression(max_iter=500), X, y, rule="never")
    >>> result["test_score"].mean().round(3).item()
    0.973
    """
    if rule is None:
        rule = stopping.within(TOLERANCE)
    score_name = Scoring(estimator, scoring).name
    table = SplitSamples(estimator, X, y, cv, groups, params)
    table.shuffle(fold_order)
    planned = _plan_run(rule, table, score_name, name or type(estimator).__name__, dataset)
    spec = planned.spec
    # The database has only runs whose spec names their rule.
    in_database = keep and not planned.rule_is_foreign
    if in_database:
        spec = _with_identity(spec, estimator, table)
    # Some rules need what each held-out sample tells of the score, not only the score of a fold.
    looks_at_samples = stopping.needs_user_scores(planned.rule)

    def scoring_of(estimator: Any) -> Scoring:
        return Scoring(estimator, scoring, uses_jackknife=looks_at_samples)

    meter = None
    if energy and joblib.effective_n_jobs(n_jobs) == 1:  # several jobs would be counted as one
        meter = meter_for(spec)
    folds_for_rule = _FoldsForRule(spec, table, score_name, looks_at_samples=looks_at_samples)
    with _open_run(spec, planned.rule, in_database=in_database) as run:
        scored_folds = table.scored_folds(
            [(estimator, fold) for fold in table.order],
            scoring_of,
            n_jobs,
            pre_dispatch,
            verbose=verbose,
            return_train_score=return_train_score,
            return_estimator=return_estimator,
            error_score=error_score,
        )
        folds = _run_until_stop(run, scored_folds, table.order, meter, folds_for_rule, on_fold)
        scored_folds.close()  # folds that the rule does not need are not computed any more
        record = run.end()
    report_failed_fits(folds.values(), error_score)
    # The arrays have the folds that the rule has seen, and those without a score, which no rule
    # sees. A result that was held back, and comes after the stop, is in neither.
    indices = [fold.fold for fold in record.folds]
    indices += folds_for_rule.folds_without_score
    indices.sort()
    columns = _columns(folds, indices, estimator, error_score)
    if return_indices:
        columns["indices"] = _indices(table, indices)
    sentence_without_score = _sentence_without_score(record, folds_for_rule.folds_without_score)
    return CrossValidated(columns, indices, record, score_name, sentence_without_score)


def _run_until_stop(
    run: _InMemory | _InDatabase,
    scored_folds: Iterator[Scored],
    order: Iterable[int],
    meter: EnergyMeter | None,
    folds_for_rule: _FoldsForRule,
    on_fold: Callable[[Run], None],
) -> dict[int, Scored]:
    """Compute folds and commit them to the run until its rule says stop, or none is left.

    Args:
        run: The run that has begun.
        scored_folds: The folds in their order; each is computed when it is asked for.
        order: The indices of these folds.
        meter: Measures each fold; None where none is measured.
        folds_for_rule: Says which folds the rule sees.
        on_fold: Told of the run after every fold that its rule sees.

    Returns:
        Index of a fold -> what it scored, of those that ran.
    """
    folds = {}
    for index in order:
        run.begin(index)
        fold, energy = _next_fold(scored_folds, meter, run.record.spec)
        folds[index] = fold
        # The rule sees no fold without a score, and none before an estimator was fitted: it gets
        # no result then, and later the result of this fold after those that were held back.
        for result in folds_for_rule.add(index, fold, energy):
            is_stopped = run.commit(result)
            on_fold(_run_of(run.record))
            if is_stopped:
                return folds
    return folds


def _indices(table: SplitSamples, folds: Iterable[int]) -> dict[str, tuple[Any, ...]]:
    """The training and the held-out samples of each of these folds, as scikit-learn names them."""
    train, test = zip(*[table.folds[fold] for fold in folds], strict=True)
    return {"train": train, "test": test}


def _next_fold(
    scored_folds: Iterator[Scored], meter: EnergyMeter | None, spec: RunSpec
) -> tuple[Scored, Energy]:
    """A fold and what it took, alone on the machine where that is metered."""
    if meter is None:
        return next(scored_folds), Energy.none()
    with machine_for(spec, no_progress):
        meter.start()
        fold = next(scored_folds)
        return fold, meter.stop()


class _FoldsForRule:
    """Which folds a rule sees: those with a score, once an estimator has been fitted at all.

    Where no fit succeeds the cross-validation is an error, whatever number a failure counts as, so
    that failures alone must not stop it.
    """

    def __init__(
        self, spec: RunSpec, table: SplitSamples, score_name: str, *, looks_at_samples: bool
    ) -> None:
        self._spec = spec
        self._table = table
        self._score_name = score_name
        self._rule_looks_at_samples = looks_at_samples
        self._results_held_back: list[FoldResult] = []
        """Results of failed fits, whose score is the number of `error_score`. They are kept from
        the rule until a fit has succeeded."""
        self._has_fitted_estimator = False
        self._has_warned_of_samples = False
        self.folds_without_score: list[int] = []
        """Folds without a finite score, in the order in which they ran."""

    def add(self, index: int, fold: Scored, energy: Energy) -> list[FoldResult]:
        """Add a fold that has run; gives the results that the rule has not seen, but is to see now.

        Args:
            index: The index of the fold.
            fold: What it scored.
            energy: What it used.
        """
        if fold.results is not None:
            self._has_fitted_estimator = True
        if fold.has_score:
            if fold.samples is None and self._rule_looks_at_samples:
                self._warn_of_samples()
                # All samples are taken as one block, of which no rule can tell a spread.
                _, held_out = self._table.folds[index]
                block = one_block(self._table.units[held_out], fold.score)
                fold = replace(fold, samples=block)
            self._results_held_back.append(_result(self._spec, index, fold, energy))
        else:
            self.folds_without_score.append(index)
        # A failed fit may count as a score, but failures alone must not stop the cross-validation:
        # the rule sees no result before an estimator was fitted, and then all of them.
        if not self._has_fitted_estimator:
            return []
        new_results = self._results_held_back
        self._results_held_back = []
        return new_results

    def _warn_of_samples(self) -> None:
        """Say once that the rule compares samples, of which this score tells nothing."""
        if self._has_warned_of_samples:
            return
        self._has_warned_of_samples = True
        warnings.warn(
            f"the rule '{self._spec.rule}' compares samples, but they tell nothing of the "
            f"score '{self._score_name}', which cannot be worked out on some of them, so "
            "all folds run; a rule such as ecv.EFold(alpha=1e-4) compares folds alone",
            UserWarning,
            stacklevel=5,  # The warning points at where cross_validate is called.
        )


def _sentence_without_score(record: RunRecord, folds_without_score: Sequence[int]) -> str:
    """What has to be added of folds without a score."""
    if not record.folds:
        return " No fold has a finite score."
    if not folds_without_score:
        return ""
    names = listed(list(map(str, folds_without_score)))
    if len(folds_without_score) == 1:
        return f" Fold {names} has no score, so the rule did not see it."
    return f" Folds {names} have no score, so the rule did not see them."


class _PlannedRun(NamedTuple):
    """The run of a cross-validation, before it begins."""

    spec: RunSpec
    rule: StoppingRule
    """What stops it."""
    rule_is_foreign: bool
    """Whether the rule is an instance of a class of the caller's own, which no spec can name."""


def _plan_run(
    rule: StoppingRule | str, table: SplitSamples, score_name: str, name: str, dataset: str
) -> _PlannedRun:
    """The run of a cross-validation, with the rule that stops it.

    Args:
        rule: An instance or an id.
        table: The samples and their folds.
        score_name, name, dataset: as of `_spec`.

    Raises:
        InputError: For a rule that is not known, parameters that cannot be, or folds that a rule
            must not stop among.
    """
    settings = settings_of_rule(rule)
    foreign_rule = None
    if settings is None:
        # Settings cannot say what a class of the caller's own does, so the instance itself is kept.
        foreign_rule = cast("StoppingRule", rule)
        settings = {"rule": record_of(foreign_rule).id}
    # The id of a foreign rule is made of the name of its class. Where a registered rule has the
    # same id, the spec has to have parameters as that rule has them.
    if foreign_rule is None or settings["rule"] in stopping.RULES:
        rule_of_id = stopping.rule(settings["rule"])
        min_folds = settings.get("min_folds", rule_of_id.default_folds)
        settings["min_folds"] = min(min_folds, table.k)
        settings["rule_params"] = rule_of_id.resolve(settings.get("rule_params", {}))
    _check_folds(settings["rule"], table)
    spec = _spec(settings, table, score_name, name, dataset)
    if foreign_rule is not None:
        return _PlannedRun(spec, foreign_rule, rule_is_foreign=True)
    return _PlannedRun(spec, stopping.rule_for(spec), rule_is_foreign=False)


def _check_folds(rule_id: str, table: SplitSamples) -> None:
    """Refuse folds that a rule must not stop among.

    Raises:
        InvalidInput.
    """
    if rule_id == stopping.NEVER_STOPS:
        return
    if table.k == 1:
        raise InvalidInput(
            "one fold gives a single score, so there is nothing to stop early; use the rule "
            "ecv.Never(), or a splitter with several folds"
        )
    table.check_not_in_time(
        f"the rule '{rule_id}' must not stop there: use ecv.Never(), with which all of them, or "
        "their trend, are the result, or a split by chance"
    )


def _spec(
    rule_settings: Mapping[str, Any], table: SplitSamples, score: str, name: str, dataset: str
) -> RunSpec:
    """A spec of the run.

    Args:
        rule_settings: `_ChosenRule.settings`.
        table: The samples and their folds.
        score: What the score is called.
        name: What the estimator is called.
        dataset: What the data are called; empty for their shape.
    """
    if not dataset:
        shape = getattr(table.X, "shape", (table.n,))
        dataset = " x ".join(map(str, shape)) + " in memory"
    only_folds: tuple[int, ...] = ()
    if list(table.order) != list(range(table.k)):
        only_folds = tuple(table.order)
    kind = Kind.NUMBERS
    if table.classifies:
        kind = Kind.CLASSES
    # The id of a metric has small letters, digits and hyphens alone. More of a score of
    # scikit-learn's is always better.
    plain_score = re.sub("[^a-z0-9]", "-", score.lower())
    metric = Metric(f"{SCIKIT_LEARN}{plain_score[:32]}", title=score, kind=kind)
    return RunSpec(
        dataset=dataset,
        algorithm=name,
        tracked=True,
        split=IMPORTED,
        k=table.k,
        only_folds=only_folds,
        overlap=table.overlap,
        clustered=table.grouped,
        in_time=table.in_time,
        metric=metric.id,
        own_metric=metric.description,
        cutoffs=(),
        **rule_settings,
    )


def _with_identity(spec: RunSpec, estimator: Any, table: SplitSamples) -> RunSpec:
    """The same with what tells it from others in a database: content, folds and parameters."""
    content = joblib.hash((table.X, table.y))
    dataset = spec.dataset
    # A dataset that the caller has not named is named by its content.
    if dataset.endswith(" in memory"):
        dataset = f"table-{content[:12]}"
    params: dict[str, Any] = {}
    for name, value in estimator.get_params(deep=False).items():
        if isinstance(value, int | float | str | bool):
            params[name] = value
        elif value is not None:  # an object, such as a kernel: its text stands for it
            params[name] = repr(value)[:200]
    return replace(
        spec,
        dataset=dataset,
        data_sha256=content,
        folds_sha256=joblib.hash(table.folds),
        params=tuple(sorted(params.items())),
    )


def _result(spec: RunSpec, index: int, fold: Scored, energy: Energy) -> FoldResult:
    """A fold with a score as the store knows it."""
    fit_seconds = fold.seconds
    evaluate_seconds = 0.0
    if fold.results is not None:
        fit_seconds = float(fold.results["fit_time"][0])
        evaluate_seconds = float(fold.results["score_time"][0])
    # What a run calls users is whatever its score is a mean over: here samples, or groups of them.
    user_scores = None
    users = 0
    if fold.samples is not None:
        users = len(fold.samples.units)
        user_scores = UserScores(
            users=fold.samples.units.astype(np.int32),
            metrics=(spec.metric_name,),
            values=fold.samples.values.astype(np.float32)[:, None],
        )
    if abs(fold.score) > LARGEST_SCORE:
        raise InvalidInput(
            f"the score of fold {index} is {fold.score:g}, but no score is further from 0 than "
            f"{LARGEST_SCORE:g}; scale the target"
        )
    return FoldResult(
        fold=index,
        score=fold.score,
        metrics={spec.metric_name: fold.score},
        users=users,
        fit_seconds=fit_seconds,
        evaluate_seconds=evaluate_seconds,
        total_seconds=fold.seconds,
        energy=energy,
        user_scores=user_scores,
    )


def _columns(
    folds: Mapping[int, Scored], indices: Sequence[int], estimator: Any, error_score: Any
) -> dict[str, Any]:
    """scikit-learn's arrays over folds.

    Args:
        folds: Index of a fold -> its scores; one at least was fitted.
        indices: The indices of the folds that have a place in the arrays, ascending.
        estimator: Not fitted.
        error_score: What counts where a fit failed.
    """
    # One fit at least has succeeded: else `report_failed_fits` has raised an error.
    results_of_a_fold = next(fold.results for fold in folds.values() if fold.results is not None)
    columns: dict[str, Any] = {}
    for key, example in results_of_a_fold.items():
        values = [_value_of_fold(folds[index], key, estimator, error_score) for index in indices]
        columns[key] = values
        if isinstance(example, np.ndarray):
            columns[key] = np.array(values)
    return columns


def _value_of_fold(fold: Scored, key: str, estimator: Any, error_score: Any) -> Any:
    """What scikit-learn has under a key for a fold, also where the fit failed."""
    if fold.results is not None:
        return fold.results[key][0]
    # For a fit that failed, scikit-learn gives an estimator without a fit, and no scoring time.
    if key == "estimator":
        return clone(estimator)
    if key == "fit_time":
        return fold.seconds
    if key == "score_time":
        return 0.0
    return error_score


class _InMemory:
    """A run that is in no database; as `_InDatabase`."""

    def __init__(self, spec: RunSpec, rule: StoppingRule) -> None:
        self._rule = rule
        self.record = RunRecord(
            run_id=uuid4().hex[:12],
            spec=spec,
            state=RunState.RUNNING,
            folds=(),
            created_at=datetime.now(UTC),
        )

    def begin(self, fold: int) -> None:
        pass

    def commit(self, result: FoldResult) -> bool:
        """Keep a fold; gives whether the rule says stop."""
        folds = (*self.record.folds, result)
        spec = self.record.spec
        # A moment is what is known after a fold: the mean, its interval, and whether the rule says
        # stop. A doubt is a sentence on folds that are no base for a promise, as of a drift.
        moment = stopping.moment(self._rule, folds, spec.confidence, spec.overlap)
        moment = replace(moment, doubt=doubt_about_folds(folds, spec.metric_name))
        moments = (*self.record.moments, moment)
        stop = stopping.stop_of(moments, spec.max_folds)
        self.record = replace(self.record, folds=folds, moments=moments, stopped_at=stop)
        return stop is not None

    def end(self) -> RunRecord:
        return replace(self.record, state=RunState.FINISHED, finished_at=datetime.now(UTC))


class _InDatabase:
    """A run of the database."""

    def __init__(self, spec: RunSpec) -> None:
        self._store = open_store()
        self._id = self._store.create([spec], owner=this_process())[0]
        self._store.start(self._id, owner=this_process())
        callbacks = Callbacks(trouble=SaveAttempts(log.warning))
        self._plan_runs = PlanRuns(self._store, runs=[self.record], callbacks=callbacks)

    @property
    def record(self) -> RunRecord:
        return self._store.run(self._id)

    def begin(self, fold: int) -> None:
        """Say that a fold goes on.

        Raises:
            Cancelled: Where somebody has cancelled the run.
        """
        if self._store.cancel_requested(self._id):
            self.end(RunState.CANCELLED)
            raise Cancelled(f"run {self._id} was cancelled; finished folds are kept")
        self._store.set_progress(self._id, fold, "fit", 0, 0)

    def commit(self, result: FoldResult) -> bool:
        """Keep a fold; gives whether the rule says stop."""
        self._plan_runs.commit(FoldTask(specs=(self.record.spec,), fold=result.fold), 0, result)
        return self.record.stopped_at is not None

    def end(self, state: RunState = RunState.FINISHED, error: str | None = None) -> RunRecord:
        if self.record.state is RunState.RUNNING:
            self._store.finish(self._id, state, error=error, owner=this_process())
        return Results(self._store).with_user_scores(self.record)


@contextmanager
def _open_run(
    spec: RunSpec, rule: StoppingRule, *, in_database: bool
) -> Iterator[_InMemory | _InDatabase]:
    """A run that has begun, and is closed in the end, whatever happens."""
    if not in_database:
        yield _InMemory(spec, rule)
        return
    run = _InDatabase(spec)
    try:
        # A database that is away for a moment loses no fold.
        with signs_of_life(open_store()), waiting_for_database(SaveAttempts(log.warning)):
            yield run
    except BaseException as error:
        try:
            run.end(RunState.INTERRUPTED, str(error)[:500] or type(error).__name__)
        except StoreError as error_at_end:
            # The caller is told why the run ended, also where the database is away.
            log.warning("nobody was told that the run has ended: %s", error_at_end)
        raise
