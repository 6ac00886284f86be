"""A selection whose folds are computed: begun, looked at, gone on with, fold after fold.

What has been found is never stored: it follows from the folds in the database, so that a reload, a
second viewer, a cancel or a crash loses nothing but the fold that was going.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from ecv_core.errors import InputError
from ecv_core.records import Run, RunSpec, RunState
from ecv_core.selection.contenders import Contender
from ecv_core.selection.differences import PairedScores
from ecv_core.selection.document import verdict_sentence
from ecv_core.selection.replay import Played, follow, joules_of
from ecv_core.selection.rounds import Selection, Terms, Until
from ecv_core.selection.runs import stored_contenders
from ecv_core.selection.sharing import sharing_places
from ecv_core.selection.tracked import missing
from ecv_core.splits import check_exchangeable
from ecv_core.stopping import NEVER_STOPS
from ecv_core.store import (
    PlannedContender,
    SelectionRecord,
    Store,
    keep_selection,
    selections_with,
    stored_selection,
    update_selection,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Live:
    """Where a selection is now."""

    record: SelectionRecord
    terms: Terms
    contenders: tuple[Contender, ...]
    played: Played | None
    """So far; None before the first round is complete."""
    folds: tuple[int, ...]
    """That each contender has needed so far, with those of the round that is going."""
    left: tuple[int, ...]
    """Who is still in, best first."""
    needed: tuple[int, int] | None
    """The contender and the fold that come next; None once it is decided."""
    run: Run | None
    """The run that computes that, or did last; None where none has been made."""
    joules: float | None
    joules_expected: float | None
    """What all folds would take, by the mean of those that each contender has; None without."""

    @property
    def decided(self) -> bool:
        """Whether the answer is there."""
        return self.needed is None

    @property
    def going(self) -> bool:
        """Whether a fold is queued or being computed."""
        return self.run is not None and self.run.state.active

    def sentence(self, titles: Sequence[str], on: str = "") -> str:
        """The verdict, or what is known so far.

        Args:
            titles: of the contenders, as people read them.
            on: the dataset, likewise.
        """
        if self.played is None:
            return f"Every contender needs its first fold: {sum(self.folds)} of {len(titles)} ran."
        winner = self.contenders[self.played.rounds[-1].leader]
        seen = [one.fold for one in self.played.rounds]
        return verdict_sentence(
            titles,
            self.terms,
            self.played.verdict,
            self.played.rounds,
            self.folds,
            mean=float(winner.scores[seen].mean()),
            on=on,
            energy=self.joules / self.joules_expected
            if self.joules is not None and self.joules_expected
            else None,
        )


def begin(
    store: Store,
    contenders: Sequence[tuple[str, RunSpec]],
    terms: Terms,
    *,
    known: Iterable[Run] = (),
    started_by: str = "",
) -> str:
    """Keep a new selection; gives its id. Nothing is computed yet.

    Args:
        store: where it is kept.
        contenders: name and spec of each; what decides the folds must be the same in all.
        terms: what is asked.
        known: runs whose folds are used instead of computing them again, where they fit.
        started_by: the id of a person, who its runs belong to as well.
    Raises: InputError for contenders that cannot be compared, with the reason.
    """
    names = [name for name, _ in contenders]
    if len(names) < 2:
        raise InputError(
            f"a selection needs at least two contenders, but has {len(names)}; name another"
        )
    specs = [_whole(spec) for _, spec in contenders]
    _check_alike(names, specs)
    if specs[0].k > 1:
        check_exchangeable(
            specs[0].split,
            "a selection must not drop anybody there: run all of them with the rule 'never', or "
            "select on a split by chance",
        )
    runs = list(known)
    planned = [
        PlannedContender(
            name=name, spec=spec, known=tuple(run.run_id for run in _answering(runs, spec))
        )
        for name, spec in zip(names, specs, strict=True)
    ]
    return keep_selection(store, planned, asdict(terms), started_by=started_by)


def look(store: Store, selection_id: str, recorded: Iterable[Run] = ()) -> Live:
    """Where a selection is now, worked out from the folds that are there.

    Args:
        store: where it is kept.
        selection_id: its id.
        recorded: runs outside the database whose folds it may use.
    Raises: InputError if there is none with this id.
    """
    record = stored_selection(store, selection_id)
    terms = _terms(record)
    runs = {run.run_id: run for run in recorded} | {run.run_id: run for run in store.runs()}
    contenders = tuple(stored_contenders(store, record, runs))
    game = Selection(PairedScores(contenders), len(contenders), terms)
    followed = follow(contenders, range(terms.k), game)
    spent = joules_of(contenders, followed.ran)
    played = None
    if followed.rounds:
        played = Played(
            rounds=followed.rounds,
            verdict=game.verdict(),
            folds_used=tuple(map(len, followed.ran)),
            joules=spent,
            joules_of_all_folds=None,
        )
    going = [runs[one.run_id] for one in record.contenders if one.run_id in runs]
    return Live(
        record=record,
        terms=terms,
        contenders=contenders,
        played=played,
        folds=tuple(map(len, followed.ran)),
        left=followed.left,
        needed=followed.needed,
        run=max(going, key=lambda run: (run.state.active, run.started_at or run.created_at))
        if going
        else None,
        joules=spent,
        joules_expected=_expected(contenders, followed.ran, terms.k),
    )


def advance(
    store: Store,
    selection_id: str,
    *,
    owner: str,
    recorded: Iterable[Run] = (),
    share: bool = False,
) -> str | None:
    """Queue the fold that a selection needs next; gives the run that is to compute it.

    Args:
        store: where it is kept.
        selection_id: its id.
        owner: of the queue.
        recorded: as in `look`.
        share: whether it is queued of all who share work; see `sharing.queued_together`.
    Returns: None once it is decided, or while one of its folds is queued or going.
    Raises: InputError where the fold is one of a tracked contender, with how it gets there.
    """
    now = look(store, selection_id, recorded)
    if now.needed is None or now.going:
        return None
    place, fold = now.needed
    places = sharing_places(now) if share else [place]
    return queue_fold(store, now, places, fold, owner=owner)[0]


def queue_fold(
    store: Store, now: Live, places: Sequence[int], fold: int, *, owner: str
) -> list[str]:
    """Queue a fold of some contenders; gives the runs that are to compute it.

    Args:
        store: where it is kept.
        now: the selection.
        places: of contenders that lack the fold.
        fold: its index.
        owner: of the queue.
    Raises: InputError where one of them is tracked, with how its fold gets there.
    """
    runs = {run.run_id: run for run in store.runs()}
    contenders = list(now.record.contenders)
    for planned in (contenders[place] for place in places):
        if planned.spec.tracked:
            raise missing(planned, fold, runs)
    for place in places:
        planned = contenders[place]
        mine = runs.get(planned.run_id or "")
        have = tuple(result.fold for result in mine.folds) if mine else ()
        spec = replace(planned.spec, only_folds=(*have, fold))
        if mine is not None:
            store.requeue(mine.run_id, spec, owner=owner)
        else:
            new = store.create([spec], owner=owner, started_by=now.record.started_by)
            contenders[place] = replace(planned, run_id=new[0])
    if tuple(contenders) != now.record.contenders:
        update_selection(store, replace(now.record, contenders=tuple(contenders)))
    return [contenders[place].run_id or "" for place in places]


def go_on_after(store: Store, run_id: str, *, owner: str, recorded: Iterable[Run] = ()) -> bool:
    """Queue what comes next in the selections that a run which just ended belongs to.

    A run that was cancelled or failed ends its selection for now; `advance` resumes it.
    Returns: whether something was queued.
    """
    if store.run(run_id).state is not RunState.FINISHED:
        return False
    how: dict[str, Any] = {"owner": owner, "recorded": recorded, "share": True}
    return any([advance(store, i.selection_id, **how) for i in selections_with(store, run_id)])


def _whole(spec: RunSpec) -> RunSpec:
    """A contender's spec: all folds, and no rule of its own."""
    return replace(spec, rule=NEVER_STOPS, rule_params=(), min_folds=1, full=True, only_folds=())


def _check_alike(names: Sequence[str], specs: Sequence[RunSpec]) -> None:
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


def _answering(runs: Sequence[Run], spec: RunSpec) -> list[Run]:
    """Runs with folds of this very spec, most folds first."""
    fit = [run for run in runs if run.folds and run.spec.same_scores(spec)]
    return sorted(fit, key=lambda run: -len(run.folds))


def _terms(record: SelectionRecord) -> Terms:
    given = record.terms
    until: Until = "order" if given["until"] == "order" else "winner"
    return Terms(
        k=int(given["k"]),
        confidence=float(given["confidence"]),
        indifference=float(given["indifference"]),
        until=until,
        higher_is_better=bool(given["higher_is_better"]),
    )


def _expected(
    contenders: Sequence[Contender], ran: Sequence[Sequence[int]], k: int
) -> float | None:
    if not all(ran):
        return None
    total = sum(
        k * float(one.joules[list(folds)].mean())
        for one, folds in zip(contenders, ran, strict=True)
    )
    return None if np.isnan(total) else total
