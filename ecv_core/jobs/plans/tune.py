"""A tuning: configurations drawn, run as a selection or with all folds.

Every fold is in the database the moment it is known, and a fold that is there is never computed
again: the same tuning started once more goes on where it was cut off."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

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
from ecv_core.jobs.plans.select import Standing, compute
from ecv_core.records.errors import InputError
from ecv_core.records.parameters import ParamValue
from ecv_core.records.spec import RunSpec
from ecv_core.selection.rounds import Terms
from ecv_core.selection.tuning.spaces import (
    Sampler,
    budget_of,
    contender_word,
    sampled,
    space_of,
    within,
)
from ecv_core.splits import check_exchangeable
from ecv_core.stopping import NEVER_STOPS
from ecv_core.store.recorded import Configuration, specs_of
from ecv_core.store.store import Store

# Some folds of some configurations, whatever their scores: those that share work together.


class FoldsPlan:
    """The folds that are missing, group after group, fold after fold."""

    independent = False

    def __init__(self, specs: Iterable[RunSpec], folds: Collection[int]) -> None:
        """Nothing is computed yet.

        Args:
            specs: without a stop; those of one group must be alike but for parameters.
            folds: which folds each is to have.
        """
        self._folds = folds
        self._groups = groups(specs)

    def next(self, known: ScoresKnown, under_way: Collection[FoldTask]) -> Iterator[FoldTask]:
        """Each fold that somebody of a group lacks, of all of the group who lack it.

        Nothing any more once a run has ended without its folds.
        """
        if any(known.ended(spec) for group in self._groups for spec in group):
            return
        going = folds_of(under_way)
        for group in list(self._groups):
            lacks = {spec: sorted({*self._folds} - {*known.folds(spec)}) for spec in group}
            if not any(lacks.values()):
                self._groups.remove(group)
            for index in self._folds:
                wanted = [spec for spec in group if index in lacks[spec]]
                asked = [replace(spec, only_folds=tuple(lacks[spec])) for spec in wanted]
                task = FoldTask(specs=tuple(asked), fold=index)
                if asked and going.isdisjoint(task.folds):
                    yield task


def groups(specs: Iterable[RunSpec]) -> list[list[RunSpec]]:
    """Configurations that share work, in the order of the first of each; others by themselves."""
    found: dict[object, list[RunSpec]] = {}
    for place, spec in enumerate(specs):
        common = shares_with(spec)
        alike = replace(spec, params=())
        found.setdefault(place if common is None else (alike, common), []).append(spec)
    return list(found.values())


@dataclass(frozen=True, slots=True, kw_only=True)
class Tuning:
    """What is to be tuned, every value checked."""

    spec: RunSpec
    """Of all configurations but for their parameters."""
    space: Mapping[str, tuple[ParamValue, ...]]
    left_out: Mapping[str, tuple[ParamValue, ...]]
    """Values that the dataset does not allow."""
    sampler: Sampler
    budget: int
    terms: Terms
    all_folds: bool

    def first(self) -> list[Configuration]:
        """The configurations, where they do not depend on scores; of TPE as if all were equal."""
        return list(sampled(self.space, self.sampler, self.budget, seed=self.spec.seed))

    def spec_of(self, configuration: Configuration) -> RunSpec:
        """The run of one configuration."""
        return specs_of(self.spec, [configuration])[0]


@dataclass(frozen=True, slots=True, kw_only=True)
class Tuned:
    """A finished tuning."""

    tuning: Tuning
    configurations: tuple[Configuration, ...]
    standing: Standing
    """The selection; of a tuning with all folds, what it would have needed of them."""

    @property
    def best(self) -> int:
        """Place of the chosen configuration: of all folds' means, or the selection's winner."""
        if self.tuning.all_folds:
            sign = 1 if self.tuning.terms.higher_is_better else -1
            return int(np.argmax([sign * one.folds.mean() for one in self.standing.contenders]))
        assert self.standing.played is not None
        return self.standing.played.verdict.winner

    @property
    def params(self) -> Configuration:
        """The parameters of the chosen configuration that others have otherwise."""
        return self.configurations[self.best]

    @property
    def sentence(self) -> str:
        """What was found, in a sentence or two."""
        tuning, standing = self.tuning, self.standing
        names = [one.name for one in standing.contenders]
        verdict = standing.sentence(names, tuning.spec.dataset)
        if not tuning.all_folds:
            return verdict
        best = standing.contenders[self.best]
        share = sum(standing.folds) / len(standing.folds) / tuning.spec.k
        return (
            f"{best.name} has the best mean of all {tuning.spec.k} folds on {tuning.spec.dataset}: "
            f"{best.folds.mean():.4f}. A selection would have needed {100 * share:.3g} % of the "
            f"folds. {verdict}"
        )

    def document(self) -> dict[str, Any]:
        """What `tune --json` writes: the selection's, with the space and each configuration."""
        tuning, standing = self.tuning, self.standing
        names = [one.name for one in standing.contenders]
        return {
            "dataset": tuning.spec.dataset,
            "algorithm": tuning.spec.algorithm,
            "space": {name: list(values) for name, values in tuning.space.items()},
            "left_out": {name: list(values) for name, values in tuning.left_out.items()},
            "sampler": tuning.sampler,
            "all_folds": tuning.all_folds,
            "best": {
                "contender": names[self.best],
                "params": dict(self.configurations[self.best]),
                "mean": float(np.nanmean(standing.contenders[self.best].folds)),
            },
            "configurations": [
                {
                    "contender": one.name,
                    "params": dict(params),
                    "scores": {
                        str(at): float(score)
                        for at, score in enumerate(one.folds)
                        if not np.isnan(score)
                    },
                }
                for one, params in zip(standing.contenders, self.configurations, strict=True)
            ],
            "selection": standing.document(),
        }

    def __repr__(self) -> str:
        return f"<Tuned: {self.sentence}>"


@dataclass
class DrawPlan:
    """Configurations that are drawn one after the other, each by the scores of those before."""

    tuning: Tuning
    folds: Collection[int]
    """That each of them needs before the next is drawn."""
    drawn: list[Configuration] = field(default_factory=list)
    independent = False

    def __post_init__(self) -> None:
        self._known: ScoresKnown | None = None
        tuning = self.tuning
        self._draws: Iterator[Configuration] = sampled(
            tuning.space,
            tuning.sampler,
            tuning.budget,
            seed=tuning.spec.seed,
            score=self._score,
            higher_is_better=tuning.terms.higher_is_better,
        )

    def next(self, known: ScoresKnown, under_way: Collection[FoldTask]) -> Sequence[FoldTask]:
        """What the newest configuration lacks; else the next is drawn."""
        self._known = known
        while True:
            if self.drawn:
                newest = self.tuning.spec_of(self.drawn[-1])
                if known.ended(newest):
                    break
                tasks = list(FoldsPlan([newest], self.folds).next(known, under_way))
                if tasks or under_way:
                    return tasks
            configuration = next(self._draws, None)
            if configuration is None:
                break
            self.drawn.append(configuration)
        return []

    def _score(self, configuration: Configuration) -> float:
        assert self._known is not None
        folds = self._known.folds(self.tuning.spec_of(configuration))
        return float(np.mean([folds[index].score for index in self.folds]))


def make_tuning(
    *,
    dataset: str,
    algorithm: str,
    space: str | None = None,
    own: Mapping[str, Sequence[ParamValue]] | None = None,
    sampler: Sampler = "grid",
    budget: int | None = None,
    confidence: float = 0.95,
    indifference: float = 0.0,
    all_folds: bool = False,
    **settings: Any,  # noqa: ANN401  checked by make_spec
) -> Tuning:
    """Check what is asked for; reads the dataset.

    Args:
        space: a declared space, as `spaces.space_of` takes it.
        budget: how many; None as `samplers.budget_of` says.
        all_folds: whether every configuration runs all folds.
        settings: as of `fold.spec.make_spec`.
    Raises: InputError for what cannot be run.
    """
    model = models.algorithm(algorithm)
    wanted = space_of(model, space, own or {})
    spec = make_spec(dataset=dataset, algorithm=algorithm, rule=NEVER_STOPS, full=True, **settings)
    if not metric_of(spec).per_user:
        raise InputError(
            f"configurations are compared by every user's score, but {spec.metric} has one value "
            "per fold; choose a metric such as ndcg"
        )
    if spec.k < 2:
        raise InputError("a tuning needs at least 2 folds, but there is 1; choose another split")
    check_exchangeable(spec.split, "choose a split by chance, or compare runs with all folds")
    fold.check_needs(spec)
    fold.folds_of(spec)  # a split that cannot be made is bad input
    kept, left_out = within(wanted, model, fold.data_of(spec))
    terms = Terms(
        k=spec.k,
        confidence=confidence,
        indifference=indifference,
        higher_is_better=metric_of(spec).higher_is_better,
    )
    return Tuning(
        spec=spec,
        space=kept,
        left_out=left_out,
        sampler=sampler,
        budget=budget_of(kept, sampler, budget),
        terms=terms,
        all_folds=all_folds,
    )


def tune(
    store: Store,
    tuning: Tuning,
    *,
    executor: Executor | None = None,
    speculate: int = SPECULATE,
    says: Says | None = None,
) -> Tuned:
    """Run it to its end.

    TPE learns from each configuration's first fold, or from all of them where all are run; the
    selection then begins with the folds that are there.

    Args:
        store: where folds go, and come from where they are there.
        speculate: as of `SelectPlan`.
    Raises: RunError if a fold fails; what is finished is kept.
    """
    every = range(tuning.spec.k)
    if tuning.sampler == "tpe":
        draw = DrawPlan(tuning, every if tuning.all_folds else (0,))
        compute_folds(store, draw, executor, says)
        drawn = draw.drawn
    else:
        drawn = tuning.first()
        if tuning.all_folds:
            compute_folds(store, FoldsPlan(specs_of(tuning.spec, drawn), every), executor, says)
    named = [(contender_word(tuning.spec.algorithm, one), tuning.spec_of(one)) for one in drawn]
    _, standing = compute(
        store, named, tuning.terms, executor=executor, speculate=speculate, says=says
    )
    return Tuned(tuning=tuning, configurations=tuple(drawn), standing=standing)


def compute_folds(
    store: Store, plan: FoldsPlan | DrawPlan, executor: Executor | None, says: Says | None
) -> None:
    """Have a plan's folds computed, using those of the database. Raises: RunError if one fails."""
    book = Book(store, says=says)
    drive(plan, book, executor)
    book.check_finished()
