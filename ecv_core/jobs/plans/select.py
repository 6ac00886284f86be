"""A selection: fold after fold, only of contenders that can still win, until it is decided.

What has been found is never stored: it follows from the folds that are there, so that a reload, a
second viewer, a cancel or a crash loses nothing but the fold that was going.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from html import escape
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ecv_core import fold, models
from ecv_core.evaluation import metric_of
from ecv_core.fold.computing import sharing_key
from ecv_core.fold.spec import make_spec
from ecv_core.jobs.driver import drive
from ecv_core.jobs.executors import Executor
from ecv_core.jobs.plan import FoldTask, PlanResults, folds_done, folds_of
from ecv_core.jobs.plan_runs import Callbacks, PlanRuns
from ecv_core.jobs.plans.run import SPECULATE
from ecv_core.records.errors import InputError
from ecv_core.records.renamed import renamed_fields
from ecv_core.records.run import FoldResult, RunRecord, Scores
from ecv_core.records.spec import RunSpec
from ecv_core.selection.contenders import over_same_users, parse_contender
from ecv_core.selection.document import selection_document, verdict_sentence
from ecv_core.selection.evidence import PairedScores
from ecv_core.selection.replay import (
    SelectionResult,
    check_contenders,
    finite_or_none,
    likely_turns,
    result_so_far,
    select_with_computed_folds,
)
from ecv_core.selection.rounds import Budget, Terms, Turn
from ecv_core.splits import check_exchangeable
from ecv_core.stopping import NEVER_STOPS
from ecv_core.store.document import command_for
from ecv_core.store.plans import SELECTION, PlannedRun, PlanRecord, keep_plan, stored_plan
from ecv_core.store.results import Results, scores_of
from ecv_core.store.store import Store

if TYPE_CHECKING:
    import pandas as pd

_BUDGET_AMOUNT = "budget_amount"
_BUDGET_UNIT = "budget_unit"
_HAS_WORST_SCORE = "bounded"
"""Names under which databases keep terms: `Terms.budget` in two parts, `Terms.has_worst_score`."""
_RECORDED = "recorded"
"""Among the terms that are kept: whether folds of recorded runs count."""


class Contender(NamedTuple):
    """One of the runs of which the best is wanted."""

    name: str
    spec: RunSpec


NamedSpecs = Sequence[tuple[str, RunSpec]]
"""Contenders before they are checked: name and spec of each."""


@renamed_fields(played="result")
@dataclass(frozen=True, kw_only=True)
class SelectionState:
    """Where a selection is now."""

    contenders: tuple[Contender, ...]
    terms: Terms
    scores: tuple[Scores, ...]
    """Of each contender, over the same users."""
    result: SelectionResult | None
    """So far; None before the first round is complete."""
    folds_needed: tuple[int, ...]
    """How many folds each contender has needed so far, with those of the round that is going."""
    still_in: tuple[int, ...]
    """Who may yet have to run, best first."""
    missing_turn: Turn | None
    """The fold that is needed next and has not run; None once it is decided."""

    def document(self) -> dict[str, Any]:
        """What is written of it once it is decided; see `selection.document`."""
        assert self.result is not None  # a decided selection has at least one round
        metric = self.contenders[0].spec.metric_name
        return selection_document(self.scores, self.terms, metric, self.result)

    @property
    def decided(self) -> bool:
        """Whether the answer is there."""
        return self.missing_turn is None

    def sentence(self, titles: Sequence[str], on: str = "") -> str:
        """The verdict, or what is known so far.

        Args:
            titles: The titles of the contenders, as people read them.
            on: The dataset, likewise.
        """
        if self.result is None:
            return (
                "Every contender needs its first fold: "
                f"{sum(self.folds_needed)} of {len(titles)} ran."
            )
        return verdict_sentence(titles, self.terms, self.result, dataset=on)


@renamed_fields(standing="state")
@dataclass(frozen=True)
class Selected:
    """A decided selection; a notebook shows it as a sentence and a table.

    >>> import ecv_core as ecv
    >>> chosen = ecv.select("synthetic", ["popular", "ease"], k=3, keep=False)
    >>> chosen.winner, sorted(chosen.folds_used)
    ('ease', ['ease', 'popular'])
    """

    state: SelectionState
    """Everything that is known of it."""
    dataset: str
    metric: str
    """With its cut-off: 'ndcg@10'."""

    @property
    def winner(self) -> str:
        """The best contender, as it was named."""
        return str(self._document["winner"])

    @property
    def tied(self) -> tuple[str, ...]:
        """Those that cannot be told from the winner, or are ahead of it by the indifference at
        most; with until='order' pairs, 'a = b'."""
        return _names_of_ties(self._document["tied"])

    @property
    def as_good(self) -> tuple[str, ...]:
        """Of `tied` those shown to differ by the indifference at most, above or below."""
        return _names_of_ties(self._document["as_good"])

    @property
    def order(self) -> tuple[str, ...]:
        """All of them, best first, as far as it was asked for."""
        return tuple(self._document["order"])

    @property
    def folds_used(self) -> Mapping[str, int]:
        """Of each contender."""
        return self._document["folds_used"]

    @property
    def sentence(self) -> str:
        """The verdict, with its numbers."""
        return self.state.sentence(self._document["contenders"], self.dataset)

    @cached_property
    def _document(self) -> dict[str, Any]:
        return self.state.document()

    @property
    def methods(self) -> str:
        """What a paper may say: the question that was asked, what was found and what not."""
        return str(self._document["methods"])

    def document(self) -> dict[str, Any]:
        """The selection as plain JSON values, as `select --json` writes it."""
        return dict(self._document)

    def frame(self) -> pd.DataFrame:
        """One row per contender, best first: folds used, and its difference to the leader when it
        was last looked at (contender minus leader), with the ends of its interval."""
        import pandas as pd

        newest_differences: dict[str, dict[str, Any]] = {}
        for selection_round in self._document["rounds"]:
            newest_differences |= selection_round["differences"]
        rows = []
        for name in self.order:
            difference = newest_differences.get(name, {})
            low, high = difference.get("interval", (None, None))
            rows.append((self.folds_used[name], difference.get("difference"), low, high))
        columns = ["folds_used", "difference", "low", "high"]
        return pd.DataFrame(rows, index=list(self.order), columns=columns)

    def __repr__(self) -> str:
        return f"<Selected: {self.sentence}>"

    def _repr_html_(self) -> str:
        return f"<p>{escape(self.sentence)}</p>{self.frame().to_html()}"


def _names_of_ties(ties: Sequence[str | Sequence[str]]) -> tuple[str, ...]:
    """The names as they are; a pair of them as 'a = b'."""
    names = []
    for tie in ties:
        if isinstance(tie, str):
            names.append(tie)
        else:
            names.append(" = ".join(tie))
    return tuple(names)


class SelectPlan:
    """Contenders on the same folds; whoever can no longer win is computed no further."""

    independent = False

    def __init__(self, contenders: NamedSpecs, terms: Terms, *, speculate: int = SPECULATE) -> None:
        """Nothing is computed yet.

        Args:
            contenders: At least two, as of `comparable_contenders`.
            terms: What is asked.
            speculate: 0 for the current round alone, else what is likely to be needed too.
        """
        self.contenders = tuple(Contender(*contender) for contender in contenders)
        self.terms = terms
        self._speculate = speculate
        self._cached_scores: dict[str, _CachedScores] = {}
        """By the contenders' names."""
        self._paired: PairedScores | None = None
        """The scores as `state_after` compared them last, so that it compares only what is new."""

    @classmethod
    def of(cls, record: PlanRecord, *, speculate: int = SPECULATE) -> SelectPlan:
        """The plan that was kept."""
        return cls(_contenders_of(record), _stored_terms(record), speculate=speculate)

    def next(
        self, results: PlanResults, submitted_tasks: Collection[FoldTask]
    ) -> Iterator[FoldTask]:
        """The fold that is needed next, then bets; contenders that share work are in one task.

        Raises:
            InputError: Where a tracked contender has to run that fold, with how it gets there.
        """
        state = self.state_after(results)
        missing_turn = state.missing_turn
        if missing_turn is None:
            return
        # A turn is one fold of one contender. The missing turn is needed for sure; a bet is a fold
        # that is computed ahead, and that the selection may turn out not to need.
        sure_task = self._task(state, missing_turn, results)
        if not sure_task.specs:  # the contender's run has failed, so the selection cannot go on
            return
        name, spec = self.contenders[missing_turn.contender]
        if _is_computed_elsewhere(spec):
            raise missing_fold_error(name, spec, missing_turn.fold, results.folds(spec))
        begun_folds = folds_of(submitted_tasks)
        # Bets take long to work out, so each is worked out only when the driver asks for one more.
        for task in chain([sure_task], self._bets(state, results)):
            if begun_folds.isdisjoint(task.folds):
                begun_folds |= task.folds
                yield task

    def _bets(self, state: SelectionState, results: PlanResults) -> Iterator[FoldTask]:
        """What is likely to be needed after the fold that is sure, the most urgent first."""
        for turn in self._likely_turns(state):
            is_missing = np.isnan(state.scores[turn.contender].folds[turn.fold])
            if is_missing:
                task = replace(self._task(state, turn, results), bet=True)
                if task.specs and not any(map(_is_computed_elsewhere, task.specs)):
                    yield task

    def _likely_turns(self, state: SelectionState) -> Iterable[Turn]:
        """What may be needed next, the most urgent first."""
        # Before the first round is complete there are no scores from which to guess what comes.
        has_scores_to_guess_from = state.result is not None
        if self._speculate and has_scores_to_guess_from:
            return likely_turns(state.scores, self.terms)
        assert state.missing_turn is not None  # else `next` has ended without a task
        # In the current round each contender that is still in needs the same fold.
        fold = state.missing_turn.fold
        return [Turn(contender, fold) for contender in sorted(state.still_in)]

    def _task(self, state: SelectionState, turn: Turn, results: PlanResults) -> FoldTask:
        """A fold of a contender, and of those still in that share work with it and miss it too.

        Those that failed, were cancelled, or that another program goes on with are left out.
        """
        spec_of_turn = self.contenders[turn.contender].spec
        shared_work = sharing_key(spec_of_turn)
        specs_together = [spec_of_turn]
        for other in sorted({*state.still_in} - {turn.contender}):
            spec = self.contenders[other].spec
            is_missing = np.isnan(state.scores[other].folds[turn.fold])
            if is_missing and shared_work is not None and sharing_key(spec) == shared_work:
                specs_together.append(spec)
        specs = []
        for spec in specs_together:
            if not results.has_ended_incomplete(spec):
                # A run that goes on computes only folds that its spec names: this one is added to
                # those that it has.
                only_folds = folds_done(results.run_of(spec)) | {turn.fold}
                specs.append(replace(spec, only_folds=tuple(sorted(only_folds))))
        return FoldTask(specs=tuple(specs), fold=turn.fold)

    def state_after(self, results: PlanResults | Results) -> SelectionState:
        """Where the selection is, as far as the folds that are there take it.

        Raises:
            InputError: For contenders that cannot be compared, with the reason.
        """
        scores = tuple(self._scores_of_all(results))
        check_contenders(scores)
        # The pairs are kept for the next call, which then pairs only the scores of new folds.
        self._paired = PairedScores(scores, of_fewer_folds=self._paired)
        # The rounds follow from the folds that are there, up to the first that is missing.
        progress = select_with_computed_folds(scores, range(self.terms.k), self.terms, self._paired)
        joules_of_all_folds = _expected_joules(scores, progress.folds_ran, self.terms.k)
        return SelectionState(
            contenders=self.contenders,
            terms=self.terms,
            scores=scores,
            result=result_so_far(scores, progress, joules_of_all_folds),
            folds_needed=tuple(map(len, progress.folds_ran)),
            still_in=progress.still_in,
            missing_turn=progress.missing_turn,
        )

    def _scores_of_all(self, results: PlanResults | Results) -> list[Scores]:
        """Each contender's scores of the folds that there are, over the same users."""
        scores = []
        for contender in self.contenders:
            folds = _usable_folds(contender.spec, results)
            # Users' scores are equal only to themselves, as to compare every value takes long.
            made_from = [(fold.fold, fold.score, fold.user_scores) for fold in folds]
            cached = self._cached_scores.get(contender.name)
            if cached is None or cached.made_from != made_from:
                new_scores = replace(scores_of(contender.spec, folds), name=contender.name)
                cached = _CachedScores(made_from, new_scores)
                self._cached_scores[contender.name] = cached
            scores.append(cached.scores)
        return over_same_users(scores)


def _usable_folds(spec: RunSpec, results: PlanResults | Results) -> list[FoldResult]:
    """The folds of a contender that can be compared: with users' scores, if its metric has some."""
    if not metric_of(spec).per_user:
        return list(results.folds(spec).values())
    folds = results.folds_with_users(spec, spec.metric_name).values()
    return [fold for fold in folds if fold.user_scores is not None]


class _CachedScores(NamedTuple):
    """A contender's scores, made once of the same folds."""

    made_from: object
    """What tells these folds from others: their indices, scores and users' scores."""
    scores: Scores


def _is_computed_elsewhere(spec: RunSpec) -> bool:
    """Whether only the caller's own code can compute its folds: it reports a tracked model's."""
    return spec.tracked and not models.is_held(spec)


def comparable_contenders(contenders: NamedSpecs) -> list[Contender]:
    """The contenders with all their folds and no rule of their own.

    Raises:
        InputError: For contenders that cannot be compared, with the reason.
    """
    if len(contenders) < 2:
        raise InputError(
            f"a selection needs at least two contenders, but has {len(contenders)}; name another"
        )
    checked = []
    names = set()
    for name, spec in contenders:
        if name in names:
            raise InputError(f"the contender '{name}' is given twice; leave one out")
        names.add(name)
        # The selection alone says which folds a contender runs, so no rule of its own may stop it.
        spec_of_all_folds = replace(
            spec, rule=NEVER_STOPS, rule_params=(), min_folds=1, full=True, only_folds=()
        )
        checked.append(Contender(name, spec_of_all_folds))
    first = checked[0]
    for contender in checked[1:]:
        _check_comparable(first, contender)
    if first.spec.k > 1:
        check_exchangeable(
            first.spec.split,
            "a selection must not drop a contender there: run all of them with the rule "
            f"'{NEVER_STOPS}', or select on a split by chance",
        )
    return checked


def _check_comparable(first: Contender, other: Contender) -> None:
    """Refuse two contenders that are the same, or differ in more than the model.

    Raises:
        InputError.
    """
    spec = first.spec
    other_with_same_model = replace(
        other.spec, algorithm=spec.algorithm, params=spec.params, tracked=spec.tracked
    )
    if not other_with_same_model.same_scores(spec):
        raise InputError(
            f"'{other.name}' and '{first.name}' do not share dataset, split, folds, metric and "
            "protocol, so their scores cannot be compared; give both the same"
        )
    if other.spec.same_scores(spec):
        raise InputError(
            f"'{other.name}' and '{first.name}' are the same algorithm with the same parameters; "
            "change a parameter of one"
        )


def begin(
    store: Store,
    contenders: NamedSpecs,
    terms: Terms,
    *,
    with_recorded: bool = False,
    started_by: str = "",
    compute_on: str = "",
) -> str:
    """Keep a new selection; gives its id. Nothing is computed yet.

    Args:
        contenders: Name and spec of each; what decides the folds must be the same in all.
        with_recorded: Whether folds of recorded runs are used, beside those of the database.
        started_by: The id of a person, who its runs belong to as well.
        compute_on: Where its runs are computed, as of `Store.compute_on`.

    Raises:
        InputError: For contenders that cannot be compared, with the reason.
    """
    planned = [PlannedRun(name=name, spec=spec) for name, spec in comparable_contenders(contenders)]
    selection_id = keep_plan(
        store, SELECTION, planned, _terms_to_keep(terms, with_recorded), started_by=started_by
    )
    store.compute_on(selection_id, compute_on)
    return selection_id


def results_of(store: Store, record: PlanRecord) -> Results:
    """Where the folds of a selection may come from."""
    return Results(store, with_recorded=_uses_recorded(record))


def selection_runs(
    store: Store,
    record: PlanRecord,
    callbacks: Callbacks | None = None,
    *,
    cancelled_ids: Collection[str] = (),
) -> PlanRuns:
    """The runs of a selection that was kept. Args: callbacks, cancelled_ids: as of `PlanRuns`."""
    return PlanRuns(
        store,
        plan_id=record.plan_id,
        started_by=record.started_by,
        with_recorded=_uses_recorded(record),
        callbacks=callbacks,
        cancelled_ids=cancelled_ids,
    )


def go_on(store: Store, selection_id: str) -> list[str]:
    """Queue the fold that a selection needs next; gives the runs that are to compute it.

    Returns:
        None of them once it is decided, or while one of its folds is queued or going.

    Raises:
        InputError: Where the fold is one of a tracked contender, with how it gets there.
    """
    record = stored_plan(store, SELECTION, selection_id)
    if any(run.state.active for run in store.group(selection_id)):
        return []
    return selection_runs(store, record).queue_next(SelectPlan.of(record))


def compute_selection(
    store: Store,
    contenders: NamedSpecs,
    terms: Terms,
    *,
    executor: Executor | None,
    speculate: int = SPECULATE,
    on_fold: Callable[[SelectionState], object] | None = None,
    callbacks: Callbacks | None = None,
) -> tuple[str, SelectionState]:
    """Compute one fold after another until it is decided; those in the store are used.

    Args:
        store: Where folds go, and come from where they are there.
        contenders: As of `named_contenders`.
        terms: What is asked.
        executor: Computes the folds; by default this process.
        speculate: As of `SelectPlan`.
        on_fold: Told after every fold that was computed, instead of `callbacks.fold`.
        callbacks: Told what happens.

    Returns:
        Its id, and where it ended.

    Raises:
        InputError: For contenders that cannot be compared.
        RunError: If a fold fails.
    """
    record = stored_plan(store, SELECTION, begin(store, contenders, terms))
    plan = SelectPlan(_contenders_of(record), terms, speculate=speculate)
    plan_runs = selection_runs(store, record, callbacks)
    if on_fold is not None:

        def tell_state(_run: RunRecord) -> None:
            on_fold(plan.state_after(plan_runs))

        plan_runs.callbacks = replace(plan_runs.callbacks, fold=tell_state)
    drive(plan, plan_runs, executor)
    plan_runs.check_finished()
    return record.plan_id, plan.state_after(plan_runs)


def named_contenders(
    dataset: str,
    words: Sequence[str],
    *,
    tracked: Container[str] = (),
    **settings: Any,  # noqa: ANN401  checked by make_spec
) -> list[Contender]:
    """Contenders and their specs.

    Args:
        dataset: An id of the catalogue.
        words: 'ALGORITHM[:name=value[,name=value]...]' each.
        tracked: Names of tracked models, which may be contenders too.
        settings: As of `fold.spec.make_spec`, for all of them.

    Raises:
        InputError: For what cannot be run, or no contender.
    """
    if not words:
        raise InputError(f"name at least two contenders, of: {', '.join(models.ALGORITHMS)}")
    contenders = []
    for word in words:
        algorithm, params = parse_contender(word)
        spec = make_spec(
            dataset=dataset,
            algorithm=algorithm,
            params=params,
            tracked=algorithm in tracked,
            **settings,
            rule=NEVER_STOPS,
        )
        if not spec.tracked:
            fold.check_needs(spec)
        contenders.append(Contender(word, spec))
    fold.data_of(contenders[0].spec)  # a dataset that cannot be read is bad input
    return contenders


def terms_for(spec: RunSpec, **terms: Any) -> Terms:  # noqa: ANN401  checked by Terms
    """What is asked of contenders that are run with this spec; see `Terms` for the names."""
    metric = metric_of(spec)
    return Terms(
        k=spec.k,
        higher_is_better=metric.higher_is_better,
        has_worst_score=metric.has_worst_score,
        **terms,
    )


def tracked_names(store: Store, dataset: str) -> set[str]:
    """What tracked models of a dataset are called."""
    names = set()
    for spec, _ in store.specs():
        if spec.tracked and spec.dataset == dataset:
            names.add(spec.algorithm)
    return names


def missing_fold_error(
    name: str, spec: RunSpec, index: int, folds: Mapping[int, FoldResult]
) -> InputError:
    """Why a selection cannot go on where it needs a fold that only other code can compute.

    Args:
        name: What the contender is called.
        spec: Its run.
        index: The fold that is needed.
        folds: The folds that are there.
    """
    if index in folds:  # the fold is there, but without the users' scores that are compared
        return InputError(
            f"'{name}' was reported as one number per fold, and a selection compares users' "
            "scores; track it again, and report user -> score or recommendations"
        )
    # A run that has stopped with some of its folds goes on only with --full.
    command = command_for(replace(spec, tracked=True, full=spec.full or bool(folds)))
    return InputError(
        f"'{name}' is tracked, and fold {index} of it is needed next; with these settings it "
        f"has {len(folds)} of {spec.k}: track the others, then select again: {command}"
    )


def _contenders_of(record: PlanRecord) -> list[Contender]:
    return [Contender(run.name, run.spec) for run in record.content.runs]


def _terms_to_keep(terms: Terms, with_recorded: bool) -> dict[str, Any]:
    """The terms as plain values by name, as `_stored_terms` reads them."""
    values: dict[str, Any] = {_RECORDED: with_recorded}
    for name, value in asdict(terms).items():
        if value is not None:
            values[name] = value
    if terms.budget is not None:
        del values["budget"]
        values[_BUDGET_AMOUNT] = terms.budget.amount
        values[_BUDGET_UNIT] = terms.budget.unit
    values[_HAS_WORST_SCORE] = values.pop("has_worst_score")
    return values


def _stored_terms(record: PlanRecord) -> Terms:
    """The terms of a selection that was kept."""
    values: dict[str, Any] = dict(record.content.terms)
    values.pop(_RECORDED, None)  # it says which folds count, and is no term
    budget = None
    if _BUDGET_UNIT in values:
        budget = Budget(amount=values.pop(_BUDGET_AMOUNT), unit=values.pop(_BUDGET_UNIT))
    has_worst_score = values.pop(_HAS_WORST_SCORE, True)  # selections of older releases lack it
    return Terms(**values, budget=budget, has_worst_score=has_worst_score)


def _uses_recorded(record: PlanRecord) -> bool:
    return bool(record.content.terms.get(_RECORDED))


def _expected_joules(
    contenders: Sequence[Scores], folds_run: Sequence[Sequence[int]], k: int
) -> float | None:
    """The energy of all folds of all contenders, by the mean of the folds that each has run.

    Returns:
        None where a contender has run no fold, or the energy of one is not known.
    """
    total = 0.0
    for scores, folds in zip(contenders, folds_run, strict=True):
        if not folds:
            return None
        total += k * float(scores.fold_joules[list(folds)].mean())
    return finite_or_none(total)
