"""A selection: fold after fold, only of contenders that can still win, until it is decided.

What has been found is never stored: it follows from the folds that are there, so that a reload, a
second viewer, a cancel or a crash loses nothing but the fold that was going.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Container, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from html import escape
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np

from ecv_core import fold, models
from ecv_core.evaluation import metric_of
from ecv_core.fold.computing import shares_with
from ecv_core.fold.spec import make_spec
from ecv_core.jobs.book import Book, Says
from ecv_core.jobs.driver import drive
from ecv_core.jobs.executors import Executor
from ecv_core.jobs.plan import FoldTask, ScoresKnown, folds_of
from ecv_core.jobs.plans.run import SPECULATE
from ecv_core.records.errors import InputError
from ecv_core.records.run import FoldResult, Scores
from ecv_core.records.spec import RunSpec
from ecv_core.selection.contenders import aligned, parse_contender
from ecv_core.selection.document import selection_document, verdict_sentence, winner_mean
from ecv_core.selection.evidence import PairedScores
from ecv_core.selection.replay import (
    Played,
    check_contenders,
    follow,
    joules_of,
    likely_folds,
)
from ecv_core.selection.rounds import Budget, Terms
from ecv_core.splits import check_exchangeable
from ecv_core.stopping import NEVER_STOPS
from ecv_core.store.document import command_for
from ecv_core.store.plans import SELECTION, PlannedRun, PlanRecord, keep_plan, stored_plan
from ecv_core.store.results import Results, scores_of
from ecv_core.store.store import Store

if TYPE_CHECKING:
    import pandas as pd

Named = Sequence[tuple[str, RunSpec]]
"""Contenders: what each is called, and its spec."""
_BUDGET = "budget"
_RECORDED = "recorded"
"""Among the terms that are kept: whether folds of recorded runs count."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """Where a selection is now."""

    named: Named
    terms: Terms
    contenders: tuple[Scores, ...]
    played: Played | None
    """So far; None before the first round is complete."""
    folds: tuple[int, ...]
    """That each contender has needed so far, with those of the round that is going."""
    left: tuple[int, ...]
    """Who is still in, best first."""
    needed: tuple[int, int] | None
    """The contender and the fold that come next; None once it is decided."""
    joules: float | None
    joules_expected: float | None
    """What all folds would take, by the mean of those that each contender has; None without."""

    def document(self) -> dict[str, Any]:
        """What is written of it once it is decided; see `selection.document`."""
        assert self.played is not None
        played = replace(self.played, joules_of_all_folds=self.joules_expected)
        metric = self.named[0][1].metric_name
        return selection_document(self.contenders, self.terms, metric, played)

    @property
    def decided(self) -> bool:
        """Whether the answer is there."""
        return self.needed is None

    def sentence(self, titles: Sequence[str], on: str = "") -> str:
        """The verdict, or what is known so far.

        Args:
            titles: of the contenders, as people read them.
            on: the dataset, likewise.
        """
        if self.played is None:
            return f"Every contender needs its first fold: {sum(self.folds)} of {len(titles)} ran."
        leader = self.played.rounds[-1].leader
        return verdict_sentence(
            titles,
            self.terms,
            self.played.verdict,
            self.played.rounds,
            self.folds,
            mean=winner_mean(self.contenders[leader], self.played.rounds, leader),
            on=on,
            energy=self.joules / self.joules_expected
            if self.joules is not None and self.joules_expected
            else None,
        )


@dataclass(frozen=True)
class Selected:
    """A decided selection; a notebook shows it as a sentence and a table."""

    standing: Standing
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
        """Those that cannot be told from the winner; with until='order' pairs, 'a = b'."""
        return tuple(
            one if isinstance(one, str) else " = ".join(one) for one in self._document["tied"]
        )

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
        return self.standing.sentence(self._document["contenders"], self.dataset)

    @cached_property
    def _document(self) -> dict[str, Any]:
        return self.standing.document()

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

        last: dict[str, dict[str, Any]] = {}
        for one in self._document["rounds"]:
            last |= one["differences"]
        rows = {
            name: (
                self.folds_used[name],
                last.get(name, {}).get("difference"),
                *last.get(name, {}).get("interval", (None, None)),
            )
            for name in self.order
        }
        columns = ["folds_used", "difference", "low", "high"]
        return pd.DataFrame.from_dict(rows, orient="index", columns=columns)

    def __repr__(self) -> str:
        return f"<Selected: {self.sentence}>"

    def _repr_html_(self) -> str:
        return f"<p>{escape(self.sentence)}</p>{self.frame().to_html()}"


class SelectPlan:
    """Contenders on the same folds; whoever can no longer win is computed no further."""

    independent = False

    def __init__(self, named: Named, terms: Terms, *, speculate: int = SPECULATE) -> None:
        """Nothing is known yet.

        Args:
            named: at least two contenders, as of `check_named`.
            speculate: 0 for the current round alone, else what is likely to be needed too.
        """
        self.named, self.terms, self._speculate = named, terms, speculate
        self._scores: dict[str, tuple[object, Scores]] = {}
        """Of each contender, and what they are made of."""
        self._paired: PairedScores | None = None

    @classmethod
    def of(cls, record: PlanRecord, *, speculate: int = SPECULATE) -> SelectPlan:
        """The plan that was kept."""
        named = [(run.name, run.spec) for run in record.content.runs]
        return cls(named, _terms(record), speculate=speculate)

    def next(self, known: ScoresKnown, under_way: Collection[FoldTask]) -> Iterator[FoldTask]:
        """The first is sure, the others are bets; contenders that share work are in one task.

        Raises: InputError where the sure one is of a tracked contender, with how it gets there.
        """
        now = self.standing(known)
        if now.needed is None:
            return
        going = folds_of(under_way)
        for place, index in self._turns(now, now.needed):
            if not np.isnan(now.contenders[place].folds[index]):
                continue
            sharing = self._sharing(now, place, index)
            # Not those that failed, were cancelled, or that another program goes on with.
            places = [each for each in sharing if not known.ended(self.named[each][1])]
            sure = (place, index) == now.needed
            if sure and not places:
                return
            tracked = [each for each in places if self.named[each][1].tracked]
            if tracked and sure:
                name, spec = self.named[tracked[0]]
                raise missing(name, spec, index, known.folds(spec))
            asked = tuple(self._asked(each, index, known) for each in places)
            task = FoldTask(specs=asked, fold=index, bet=not sure)
            if asked and not tracked and going.isdisjoint(task.folds):
                going |= task.folds
                yield task

    def _turns(self, now: Standing, needed: tuple[int, int]) -> Iterator[tuple[int, int]]:
        """Contender and fold, the most urgent first."""
        yield needed
        if self._speculate and now.played is not None:
            yield from likely_folds(now.contenders, self.terms)
        else:
            yield from ((place, needed[1]) for place in sorted(now.left))

    def standing(self, known: ScoresKnown | Results) -> Standing:
        """Where the selection is, as far as the folds that are there take it.

        Raises: InputError for contenders that cannot be compared, with the reason.
        """
        contenders = tuple(self._contenders(known))
        check_contenders(contenders)
        self._paired = paired = PairedScores(contenders, before=self._paired)
        followed = follow(contenders, range(self.terms.k), self.terms, paired)
        spent = joules_of(contenders, followed.ran)
        played = None
        if followed.verdict is not None:
            played = Played(
                rounds=followed.rounds,
                verdict=followed.verdict,
                folds_used=tuple(map(len, followed.ran)),
                joules=spent,
                joules_of_all_folds=None,
                spent=followed.spent,
            )
        return Standing(
            named=self.named,
            terms=self.terms,
            contenders=contenders,
            played=played,
            folds=tuple(map(len, followed.ran)),
            left=followed.left,
            needed=followed.needed,
            joules=spent,
            joules_expected=_expected(contenders, followed.ran, self.terms.k),
        )

    def _contenders(self, known: ScoresKnown | Results) -> list[Scores]:
        """Each with the folds that there are, over the same users."""
        found = []
        for name, spec in self.named:
            per_user = metric_of(spec).per_user
            folds = known.folds(spec, user_scores=per_user and spec.metric_name).values()
            usable = [fold for fold in folds if fold.user_scores is not None or not per_user]
            key = [(fold.fold, fold.score, id(fold.user_scores)) for fold in usable]
            if name not in self._scores or self._scores[name][0] != key:
                self._scores[name] = key, replace(scores_of(spec, usable), name=name)
            found.append(self._scores[name][1])
        return aligned(found)

    def _sharing(self, now: Standing, next_one: int, index: int) -> list[int]:
        """The contender that comes next, and those still in that share work with it in its fold."""
        common = shares_with(self.named[next_one][1])
        others = () if common is None else sorted({*now.left} - {next_one})
        lack = [one for one in others if np.isnan(now.contenders[one].folds[index])]
        return [next_one, *(one for one in lack if shares_with(self.named[one][1]) == common)]

    def _asked(self, place: int, index: int, known: ScoresKnown) -> RunSpec:
        """The run of a contender as it is to go on: with this fold, and no other that it lacks."""
        spec = self.named[place][1]
        run = known.run(spec)
        have = tuple(result.fold for result in (*run.folds, *run.ahead)) if run else ()
        return replace(spec, only_folds=tuple(sorted({*have, index})))


def check_named(contenders: Named) -> Named:
    """The contenders with all their folds and no rule of their own.

    Raises: InputError for contenders that cannot be compared, with the reason.
    """
    names = [name for name, _ in contenders]
    if len(names) < 2:
        raise InputError(
            f"a selection needs at least two contenders, but has {len(names)}; name another"
        )
    specs = [
        replace(spec, rule=NEVER_STOPS, rule_params=(), min_folds=1, full=True, only_folds=())
        for _, spec in contenders
    ]
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise InputError(f"the contender '{twice}' is there twice; leave one out")
    first = specs[0]
    for name, spec in zip(names[1:], specs[1:], strict=True):
        other = replace(spec, algorithm=first.algorithm, params=first.params, tracked=first.tracked)
        if not other.same_scores(first):
            raise InputError(
                f"'{name}' and '{names[0]}' do not share dataset, split, folds, metric and "
                "protocol, so their scores cannot be compared; give both the same"
            )
        if spec.same_scores(first):
            raise InputError(
                f"'{name}' and '{names[0]}' are the same algorithm with the same parameters; "
                "change a parameter of one"
            )
    if first.k > 1:
        check_exchangeable(
            first.split,
            "a selection must not drop anybody there: run all of them with the rule "
            f"'{NEVER_STOPS}', or select on a split by chance",
        )
    return list(zip(names, specs, strict=True))


def begin(
    store: Store,
    contenders: Named,
    terms: Terms,
    *,
    recorded: bool = False,
    started_by: str = "",
    place: str = "",
) -> str:
    """Keep a new selection; gives its id. Nothing is computed yet.

    Args:
        contenders: name and spec of each; what decides the folds must be the same in all.
        recorded: whether folds of recorded runs are used, beside those of the database.
        started_by: the id of a person, who its runs belong to as well.
        place: where its runs are computed, as of `Store.compute_on`.
    Raises: InputError for contenders that cannot be compared, with the reason.
    """
    planned = [PlannedRun(name=name, spec=spec) for name, spec in check_named(contenders)]
    content = {name: value for name, value in asdict(terms).items() if value is not None}
    content |= {f"{_BUDGET}_{name}": value for name, value in content.pop(_BUDGET, {}).items()}
    content[_RECORDED] = recorded
    selection_id = keep_plan(store, SELECTION, planned, content, started_by=started_by)
    store.compute_on(selection_id, place)
    return selection_id


def results_of(store: Store, record: PlanRecord) -> Results:
    """Where the folds of a selection may come from."""
    return Results(store, recorded=bool(record.content.terms.get(_RECORDED)))


def selection_book(
    store: Store, record: PlanRecord, says: Says | None = None, *, left: Collection[str] = ()
) -> Book:
    """The book of a selection that was kept. Args: says, left: as of `Book`."""
    return Book(
        store,
        plan_id=record.plan_id,
        started_by=record.started_by,
        recorded=bool(record.content.terms.get(_RECORDED)),
        says=says,
        left=left,
    )


def go_on(store: Store, selection_id: str) -> list[str]:
    """Queue the fold that a selection needs next; gives the runs that are to compute it.

    Returns: none once it is decided, or while one of its folds is queued or going.
    Raises: InputError where the fold is one of a tracked contender, with how it gets there.
    """
    record = stored_plan(store, SELECTION, selection_id)
    if any(run.state.active for run in store.group(selection_id)):
        return []
    book = selection_book(store, record)
    tasks = SelectPlan.of(record).next(book, ())
    return [run_id for task in islice(tasks, 1) for run_id in book.queue(task)]


def compute(
    store: Store,
    named: Named,
    terms: Terms,
    *,
    executor: Executor | None = None,
    speculate: int = SPECULATE,
    on_fold: Callable[[Standing], object] | None = None,
    says: Says | None = None,
) -> tuple[str, Standing]:
    """Compute one fold after another until it is decided; those in the store are used.

    Args:
        named: the contenders, as of `named_contenders`.
        speculate: as of `SelectPlan`.
        on_fold: told after every fold that was computed, instead of `says.fold`.
    Returns: its id, and where it ended.
    Raises: InputError for contenders that cannot be compared; RunError if a fold fails.
    """
    record = stored_plan(store, SELECTION, begin(store, named, terms))
    named = [(run.name, run.spec) for run in record.content.runs]
    plan = SelectPlan(named, terms, speculate=speculate)
    says = says or Says()
    if on_fold is not None:
        says = replace(says, fold=lambda run: on_fold(plan.standing(book)))
    book = selection_book(store, record, says)
    drive(plan, book, executor)
    book.check_finished()
    return record.plan_id, plan.standing(book)


def named_contenders(
    dataset: str,
    words: Sequence[str],
    *,
    tracked: Container[str] = (),
    **settings: Any,  # noqa: ANN401  checked by make_spec
) -> list[tuple[str, RunSpec]]:
    """Contenders and their specs.

    Args:
        words: 'ALGORITHM[:name=value[,name=value]...]' each.
        tracked: names of tracked models, which may be contenders too.
        settings: as of `fold.spec.make_spec`, for all of them.
    Raises: InputError for what cannot be run, or no contender.
    """
    if not words:
        raise InputError(f"name at least two contenders, of: {', '.join(models.ALGORITHMS)}")
    named = []
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
        named.append((word, spec))
    fold.data_of(named[0][1])  # a dataset that cannot be read is bad input
    return named


def terms_for(spec: RunSpec, **asked: Any) -> Terms:  # noqa: ANN401  checked by Terms
    """What is asked of contenders that are run with this spec; see `Terms` for the names."""
    return Terms(k=spec.k, higher_is_better=metric_of(spec).higher_is_better, **asked)


def tracked_names(store: Store, dataset: str) -> set[str]:
    """What tracked models of a dataset are called."""
    specs = (spec for spec, _ in store.specs())
    return {spec.algorithm for spec in specs if spec.tracked and spec.dataset == dataset}


def missing(name: str, spec: RunSpec, index: int, folds: Mapping[int, FoldResult]) -> InputError:
    """Why a selection cannot go on where it needs a fold that only other code can compute.

    Args:
        index: the fold that is needed.
        folds: that are there.
    """
    if index in folds:
        return InputError(
            f"'{name}' was reported as one number per fold, and a selection compares users' "
            "scores; track it again, and report user -> score or recommendations"
        )
    call = command_for(replace(spec, tracked=True, full=spec.full or bool(folds)))
    return InputError(
        f"'{name}' is tracked, and fold {index} of it is needed next; with these settings it "
        f"has {len(folds)} of {spec.k}: track the others, then select again: {call}"
    )


def _terms(record: PlanRecord) -> Terms:
    given: dict[str, Any] = {
        name: value for name, value in record.content.terms.items() if name != _RECORDED
    }
    amount, unit = (given.pop(f"{_BUDGET}_{name}", None) for name in ("amount", "unit"))
    return Terms(**given, budget=None if unit is None else Budget(amount=amount, unit=unit))


def _expected(contenders: Sequence[Scores], ran: Sequence[Sequence[int]], k: int) -> float | None:
    if not all(ran):
        return None
    total = sum(
        k * float(one.fold_joules[list(folds)].mean())
        for one, folds in zip(contenders, ran, strict=True)
    )
    return None if np.isnan(total) else total
