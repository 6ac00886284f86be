"""scikit-learn's `cross_validate`, stopped by a rule: the same dictionary, with fewer folds."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from datetime import UTC, datetime
from html import escape
from typing import Any, cast
from uuid import uuid4

import joblib
import numpy as np
from sklearn.base import clone

from ecv_core import stopping
from ecv_core.energy.meter import NoMeter
from ecv_core.energy.real_meters import meter_for
from ecv_core.estimators.fold_scores import Scored, SplitSamples, check_fits
from ecv_core.evaluation import Kind, Metric
from ecv_core.evaluation.scoring import Scoring, Told
from ecv_core.figures.words import verdict
from ecv_core.jobs.book import Book, Says, refuse
from ecv_core.jobs.machine import machine_for
from ecv_core.jobs.owner import beating
from ecv_core.jobs.plan import FoldTask
from ecv_core.library.run import Run
from ecv_core.library.settings import settings_of_rule
from ecv_core.records.errors import Cancelled, InputError
from ecv_core.records.parameters import listed
from ecv_core.records.run import Energy, FoldResult, RunRecord, RunState, UserScores, no_progress
from ecv_core.records.spec import RunSpec
from ecv_core.splits import IMPORTED
from ecv_core.stopping import StoppingRule, record_of
from ecv_core.stopping.odd_folds import doubt
from ecv_core.store.ownership import this_process
from ecv_core.store.store import open_store

TOLERANCE = 0.01
"""Of the rule where nobody gives one: the mean of all folds is known to within 1 %."""


class CrossValidated(dict[str, Any]):
    """What scikit-learn's `cross_validate` gives, of the folds that ran; prints as a sentence."""

    def __init__(self, found: Mapping[str, Any], record: RunRecord, about: str) -> None:
        super().__init__(found)
        self.run = Run(record)
        """The run: `mean`, `interval`, `stopped_at`, `frame()`, `figure()`, ..."""
        self.sentence = f"{record.spec.algorithm}, {about}: {verdict(record)}"
        """What was found, with its numbers."""

    def __repr__(self) -> str:
        return self.sentence

    def _repr_html_(self) -> str:
        return f"<p>{escape(self.sentence)}</p>{self.run._repr_html_()}"


def cross_validate(
    estimator: Any,
    X: Any,
    y: Any = None,
    *,
    rule: StoppingRule | str | None = None,
    cv: Any = 10,
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
        rule: an instance or an id; by default `Precision(0.01)`.
        cv: as there; 10 folds by default.
        fold_order: the seed of the order in which the folds run, drawn by chance, so that those
            seen stand for all also where the data are sorted; None for the splitter's order.
        energy: whether each fold is metered, alone on the machine; with several jobs none is.
        keep: leave the run in the database, where pages and `runs()` find it, as it goes on.
        name: what the estimator is called; by default its class.
        dataset: what the data are called; by default a hash of their content.
        on_fold: told of the run after every fold.
    Returns: scikit-learn's dictionary of the folds that ran, ascending, with their indices as
        'fold'; its `run`, and its `sentence`.
    Raises: scikit-learn's own errors; InputError for what cannot be stopped.
    """
    scorer = Scoring(estimator, scoring)
    table = SplitSamples(estimator, X, y, cv, groups, params)
    table.shuffle(fold_order)
    spec, strange = _spec(rule, table, scorer.name, name or type(estimator).__name__, dataset)
    known: StoppingRule = strange or stopping.rule_for(spec)
    if kept := keep and strange is None:
        spec = _identified(spec, estimator, table)
    alone = joblib.effective_n_jobs(n_jobs) == 1
    meter = meter_for(spec) if energy and alone else NoMeter()
    found: dict[int, Scored] = {}
    lacking: list[int] = []
    with _kept(spec) if kept else nullcontext(_InMemory(spec, known)) as run:
        scored = table.computed(
            [(estimator, at) for at in table.order],
            lambda one: Scoring(one, scoring),
            n_jobs,
            pre_dispatch,
            verbose=verbose,
            return_train_score=return_train_score,
            return_estimator=return_estimator,
            error_score=error_score,
        )
        for at in table.order:
            run.begin(at)
            if energy and alone:
                with machine_for(spec, no_progress):
                    meter.start()
                    found[at] = next(scored)
                    spent = meter.stop()
            else:
                found[at], spent = next(scored), Energy.none()
            score = found[at].score
            if not math.isfinite(score):
                lacking.append(at)
                continue
            told = found[at].told
            if told is None and stopping.needs_user_scores(known):
                raise InputError(
                    f"the rule '{spec.rule}' compares samples, but they tell nothing of the score "
                    f"'{scorer.name}', which cannot be worked out on some of them; choose a scorer "
                    "of scikit-learn, such as 'accuracy', or a rule such as ecv.EFold(alpha=1e-4)"
                )
            stop = run.commit(_result(spec, at, score, found[at], told, spent))
            on_fold(Run(run.record))
            if stop:
                break
        scored.close()
        record = run.end()
    check_fits(list(found.values()), error_score)
    label = f"{scorer.name} on {spec.dataset}"
    done = CrossValidated(_gathered(found, estimator, error_score), record, label)
    if not record.folds:
        done.sentence += " No fold has a finite score."
    elif lacking:
        several, names = len(lacking) > 1, listed([*map(str, lacking)])
        done.sentence += (
            f" Fold{'s' * several} {names} {'have' if several else 'has'} no score, so the rule "
            f"did not see {'them' if several else 'it'}."
        )
    if return_indices:
        train, test = zip(*(table.folds[at] for at in done["fold"]), strict=True)
        done["indices"] = {"train": train, "test": test}
    return done


def _spec(
    rule: StoppingRule | str | None, table: SplitSamples, scorer: str, name: str, dataset: str
) -> tuple[RunSpec, StoppingRule | None]:
    """A spec of the run, and the rule where no spec can name it. Raises: InputError."""
    chosen: StoppingRule | str = stopping.within(TOLERANCE) if rule is None else rule
    known, strange = settings_of_rule(chosen), None
    if known is None:
        strange = cast("StoppingRule", chosen)
        known = {"rule": record_of(strange, None, None, None).id}
        usual = stopping.RULES.get(known["rule"])
    else:
        usual = stopping.rule(known["rule"])
    asked = dict(known.pop("rule_params", {}))
    if usual is not None:
        known["rule_params"] = usual.resolve(asked)
        known["min_folds"] = min(known.get("min_folds", usual.default_folds), table.k)
    looks = usual is None or usual.id != stopping.NEVER_STOPS
    if looks and table.k == 1:
        raise InputError(
            "one fold gives a single score, so there is nothing to stop early; use the rule "
            "ecv.Never(), or a splitter with several folds"
        )
    if looks:
        table.check_by_chance(
            f"the rule '{known['rule']}' must not stop there: use ecv.Never(), with which all of "
            "them, or their trend, are the result, or a split by chance"
        )
    plain = "".join(c if c.isalnum() and c.isascii() else "-" for c in scorer.lower())
    kind = Kind.CLASSES if table.classes else Kind.NUMBERS
    metric = Metric(f"sklearn-{plain[:32]}", title=scorer, kind=kind)  # more is always better
    shape = getattr(table.X, "shape", (table.n,))
    natural = list(table.order) == list(range(table.k))
    spec = RunSpec(
        dataset=dataset or " x ".join(map(str, shape)) + " in memory",
        algorithm=name,
        tracked=True,
        split=IMPORTED,
        k=table.k,
        only_folds=() if natural else tuple(table.order),
        metric=metric.id,
        own_metric=metric.about,
        cutoffs=(),
        **known,
    )
    return spec, strange


def _identified(spec: RunSpec, estimator: Any, table: SplitSamples) -> RunSpec:
    """The same with what tells it from others in a database: content, folds and parameters."""
    content = joblib.hash((table.X, table.y))
    told = {
        key: value if isinstance(value, int | float | str | bool) else repr(value)[:200]
        for key, value in estimator.get_params(deep=False).items()
        if value is not None
    }
    return replace(
        spec,
        dataset=f"table-{content[:12]}" if spec.dataset.endswith(" in memory") else spec.dataset,
        data_sha256=content,
        folds_sha256=joblib.hash(table.folds),
        params=tuple(sorted(told.items())),
    )


def _result(
    spec: RunSpec, at: int, score: float, scored: Scored, told: Told | None, energy: Energy
) -> FoldResult:
    assert scored.found is not None  # it has a score
    users = None
    if told is not None:
        values = told.values.astype(np.float32)[:, None]
        codes = told.units.astype(np.int32)
        users = UserScores(users=codes, metrics=(spec.metric_name,), values=values)
    return FoldResult(
        fold=at,
        score=score,
        metrics={spec.metric_name: score},
        users=0 if told is None else len(told.units),
        fit_seconds=float(scored.found["fit_time"][0]),
        evaluate_seconds=float(scored.found["score_time"][0]),
        total_seconds=scored.seconds,
        energy=energy,
        user_scores=users,
    )


def _gathered(found: Mapping[int, Scored], estimator: Any, error_score: Any) -> dict[str, Any]:
    """The arrays over the folds that ran."""
    fitted = next(one.found for one in found.values() if one.found is not None)
    gathered: dict[str, Any] = {"fold": np.array(sorted(found))}
    for key, example in fitted.items():
        parts: list[Any] = []
        for at in sorted(found):
            fold = found[at]
            if fold.found is not None:
                parts.extend(fold.found[key])
            elif key == "estimator":
                parts.append(clone(estimator))
            else:
                parts.append({"fit_time": fold.seconds, "score_time": 0.0}.get(key, error_score))
        gathered[key] = np.array(parts) if isinstance(example, np.ndarray) else parts
    return gathered


class _InMemory:
    """A run that is in no database; as `_Kept`."""

    def __init__(self, spec: RunSpec, rule: StoppingRule) -> None:
        self._rule, self._results = rule, list[FoldResult]()
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
        self._results.append(result)
        spec = self.record.spec
        moment = stopping.moment(self._rule, self._results, spec.confidence)
        moment = replace(moment, doubt=doubt(self._results, spec.metric_name))
        moments = (*self.record.moments, moment)
        stop = stopping.stop_of(moments, spec.max_folds)
        folds = (*self.record.folds, replace(result, user_scores=None))
        self.record = replace(self.record, folds=folds, moments=moments, stopped_at=stop)
        return stop is not None

    def end(self) -> RunRecord:
        return replace(self.record, state=RunState.FINISHED, finished_at=datetime.now(UTC))


class _Kept:
    """A run of the database."""

    def __init__(self, spec: RunSpec) -> None:
        self._store = open_store()
        self._id = self._store.create([spec], owner=this_process())[0]
        self._store.start(self._id, owner=this_process())
        self._book = Book(self._store, runs=[self.record], says=Says(trouble=refuse))

    @property
    def record(self) -> RunRecord:
        return self._store.run(self._id)

    def begin(self, fold: int) -> None:
        """Say that a fold goes on. Raises: Cancelled where somebody has cancelled the run."""
        if self._store.cancel_requested(self._id):
            self.end(RunState.CANCELLED)
            raise Cancelled(f"run {self._id} was cancelled; finished folds are kept")
        self._store.set_progress(self._id, fold, "fit", 0, 0)

    def commit(self, result: FoldResult) -> bool:
        """Keep a fold; gives whether the rule says stop."""
        self._book.commit(FoldTask(specs=(self.record.spec,), fold=result.fold), 0, result)
        return self.record.stopped_at is not None

    def end(self, state: RunState = RunState.FINISHED, error: str | None = None) -> RunRecord:
        if self.record.state is RunState.RUNNING:
            self._store.finish(self._id, state, error=error, owner=this_process())
        return self.record


@contextmanager
def _kept(spec: RunSpec) -> Iterator[_Kept]:
    run = _Kept(spec)
    try:
        with beating(open_store()):
            yield run
    except BaseException as error:
        run.end(RunState.INTERRUPTED, str(error)[:500] or type(error).__name__)
        raise
