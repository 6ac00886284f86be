"""A tuning: configurations drawn, run as a selection or with all folds.

Every fold is in the database the moment it is known, and a fold that is there is never computed
again: the same tuning started once more goes on where it was cut off."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ecv_core import fold, models
from ecv_core.evaluation import metric_of
from ecv_core.fold.computing import sharing_key
from ecv_core.fold.spec import make_spec
from ecv_core.jobs.driver import drive
from ecv_core.jobs.executors import Executor
from ecv_core.jobs.plan import FoldTask, Plan, PlanResults, folds_of
from ecv_core.jobs.plan_runs import Callbacks, PlanRuns
from ecv_core.jobs.plans.run import SPECULATE
from ecv_core.jobs.plans.select import Contender, SelectionState, compute_selection, terms_for
from ecv_core.records.errors import InputError
from ecv_core.records.parameters import ParamValue, percent_text, score_text
from ecv_core.records.run import Scores
from ecv_core.records.spec import RunSpec
from ecv_core.selection.rounds import Terms
from ecv_core.selection.tuning.spaces import (
    Sampler,
    Space,
    allowed_by,
    budget_of,
    sampled,
    space_of,
)
from ecv_core.splits import check_exchangeable
from ecv_core.stopping import NEVER_STOPS
from ecv_core.store.configurations import Configuration, contender_word, specs_of
from ecv_core.store.store import Store

# Some folds of some configurations, whatever their scores: those that share work together.


class FoldsPlan:
    """The folds that are missing, group after group, fold after fold."""

    independent = False

    def __init__(self, specs: Iterable[RunSpec], folds: Collection[int]) -> None:
        """Nothing is computed yet.

        Args:
            specs: Without a stop; those of one group must be alike but for parameters.
            folds: Which folds each is to have.
        """
        self._folds = folds
        self._groups = groups(specs)

    def next(
        self, results: PlanResults, submitted_tasks: Collection[FoldTask]
    ) -> Iterator[FoldTask]:
        """Each fold that a configuration of a group misses, for all of the group that miss it.

        Nothing any more once a run has ended without its folds.
        """
        for group in self._groups:
            if any(results.has_ended_incomplete(spec) for spec in group):
                return
        begun_folds = folds_of(submitted_tasks)
        for group in list(self._groups):
            missing_folds = {}
            for spec in group:
                missing_folds[spec] = sorted(set(self._folds).difference(results.folds(spec)))
            if not any(missing_folds.values()):
                self._groups.remove(group)  # it has all its folds, and is not looked at again
            for index in self._folds:
                task = _task_of_fold(index, missing_folds)
                if task.specs and begun_folds.isdisjoint(task.folds):
                    yield task


def _task_of_fold(index: int, missing_folds: Mapping[RunSpec, Sequence[int]]) -> FoldTask:
    """A fold of the specs that miss it; each spec asks for all the folds that it misses."""
    specs = []
    for spec, folds in missing_folds.items():
        if index in folds:
            specs.append(replace(spec, only_folds=tuple(folds)))
    return FoldTask(specs=tuple(specs), fold=index)


def groups(specs: Iterable[RunSpec]) -> list[list[RunSpec]]:
    """Configurations that share work, in the order of the first of each; others by themselves."""
    by_shared_work: dict[object, list[RunSpec]] = {}
    for index, spec in enumerate(specs):
        shared_work = sharing_key(spec)
        key: object = index  # no other configuration has this key, nor shares its work
        if shared_work is not None:
            key = (replace(spec, params=()), shared_work)
        by_shared_work.setdefault(key, []).append(spec)
    return list(by_shared_work.values())


@dataclass(frozen=True, kw_only=True)
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
    """Whether every configuration runs all folds; else only those that the selection needs."""

    def drawn_without_scores(self) -> list[Configuration]:
        """The configurations, where they do not depend on scores; of TPE as if all were equal."""
        return list(sampled(self.space, self.sampler, self.budget, seed=self.spec.seed))

    def spec_of(self, configuration: Configuration) -> RunSpec:
        """The run of one configuration."""
        return specs_of(self.spec, [configuration])[0]


@dataclass(frozen=True, kw_only=True)
class Tuned:
    """A finished tuning."""

    tuning: Tuning
    configurations: tuple[Configuration, ...]
    selection: SelectionState
    """Where the selection ended; of a tuning with all folds, as if only its folds had run."""

    @property
    def best_index(self) -> int:
        """Index of the chosen configuration: of all folds' means, or the selection's winner."""
        if not self.tuning.all_folds:
            # Each configuration has run its first fold, so the selection has at least one round.
            assert self.selection.result is not None
            return self.selection.result.verdict.winner
        means = np.array([scores.folds.mean() for scores in self.selection.scores])
        # Times the sign of the terms, the highest mean is the best, also where lower is better.
        return int(np.argmax(self.tuning.terms.sign * means))

    @property
    def params(self) -> Configuration:
        """The parameters of the chosen configuration that others have otherwise."""
        return self.configurations[self.best_index]

    @property
    def sentence(self) -> str:
        """What was found, in a sentence or two."""
        spec = self.tuning.spec
        names = [scores.name for scores in self.selection.scores]
        verdict = self.selection.sentence(names, spec.dataset)
        if not self.tuning.all_folds:
            return verdict
        best = self.selection.scores[self.best_index]
        # The selection stops looking once it is decided, so of the folds that ran it counts only
        # those that it would have run by itself.
        share = sum(self.selection.folds_needed) / (len(names) * spec.k)
        return (
            f"{best.name} has the best mean of all {spec.k} folds on {spec.dataset}: "
            f"{score_text(best.folds.mean())}. A selection would have needed "
            f"{percent_text(share)} of the folds. {verdict}"
        )

    def document(self) -> dict[str, Any]:
        """What `tune --json` writes: the selection's, with the space and each configuration."""
        tuning = self.tuning
        best = self.selection.scores[self.best_index]
        configurations = []
        for scores, params in zip(self.selection.scores, self.configurations, strict=True):
            configurations.append(
                {"contender": scores.name, "params": dict(params), "scores": _by_fold(scores)}
            )
        return {
            "dataset": tuning.spec.dataset,
            "algorithm": tuning.spec.algorithm,
            "space": _lists(tuning.space),
            "left_out": _lists(tuning.left_out),
            "sampler": tuning.sampler,
            "all_folds": tuning.all_folds,
            "best": {
                "contender": best.name,
                "params": dict(self.params),
                "mean": float(np.nanmean(best.folds)),
            },
            "configurations": configurations,
            "selection": self.selection.document(),
        }

    def __repr__(self) -> str:
        return f"<Tuned: {self.sentence}>"


def _by_fold(scores: Scores) -> dict[str, float]:
    """Fold -> score of the folds that are there, the fold as the text that JSON needs."""
    folds = np.flatnonzero(~np.isnan(scores.folds))
    return {str(fold): float(scores.folds[fold]) for fold in folds}


def _lists(space: Space) -> dict[str, list[ParamValue]]:
    return {name: list(values) for name, values in space.items()}


class DrawPlan:
    """Configurations that are drawn one after the other, each by the scores of those before."""

    independent = False

    def __init__(self, tuning: Tuning, folds: Collection[int]) -> None:
        """Nothing is drawn yet.

        Args:
            tuning: What is drawn from.
            folds: The folds that each configuration needs before the next is drawn.
        """
        self.configurations: list[Configuration] = []
        self._tuning = tuning
        self._folds = folds
        self._results: PlanResults | None = None
        """As of the last call of `next`; the sampler asks `_score` as it draws."""
        self._remaining_draws = sampled(
            tuning.space,
            tuning.sampler,
            tuning.budget,
            seed=tuning.spec.seed,
            score=self._score,
            higher_is_better=tuning.terms.higher_is_better,
        )

    def next(
        self, results: PlanResults, submitted_tasks: Collection[FoldTask]
    ) -> Sequence[FoldTask]:
        """What the newest configuration misses; else the next is drawn."""
        self._results = results
        while True:
            if self.configurations:
                newest = self._tuning.spec_of(self.configurations[-1])
                if results.has_ended_incomplete(newest):
                    return []
                tasks = list(FoldsPlan([newest], self._folds).next(results, submitted_tasks))
                # The next is drawn by all the scores of the newest, so those are waited for.
                if tasks or submitted_tasks:
                    return tasks
            configuration = next(self._remaining_draws, None)
            if configuration is None:
                return []
            self.configurations.append(configuration)

    def _score(self, configuration: Configuration) -> float:
        """The mean of a configuration's folds, by which the sampler draws the next ones."""
        assert self._results is not None  # the sampler draws, and so asks, only within `next`
        results = self._results.folds(self._tuning.spec_of(configuration))
        return float(np.mean([results[fold].score for fold in self._folds]))


def make_tuning(
    *,
    dataset: str,
    algorithm: str,
    space: str | None = None,
    own_values: Mapping[str, Sequence[ParamValue]] | None = None,
    sampler: Sampler = "grid",
    budget: int | None = None,
    confidence: float = 0.95,
    indifference: float = 0.0,
    all_folds: bool = False,
    **settings: Any,  # noqa: ANN401  checked by make_spec
) -> Tuning:
    """Check what is asked for; reads the dataset.

    Args:
        dataset: Its id.
        algorithm: Its id.
        space: A declared space, as `spaces.space_of` takes it.
        own_values: The own values of parameters, by name, instead of or besides those of the space.
        sampler: Draws configurations from the space.
        budget: How many configurations; None as `spaces.budget_of` says.
        confidence: As of `Terms`.
        indifference: As of `Terms`.
        all_folds: Whether every configuration runs all folds.
        settings: As of `fold.spec.make_spec`.

    Raises:
        InputError: For what cannot be run.
    """
    # No rule of its own stops the run of a configuration. Which folds it runs is said by
    # `all_folds`: all of them, or those that the selection needs.
    spec = make_spec(dataset=dataset, algorithm=algorithm, rule=NEVER_STOPS, full=True, **settings)
    model = models.of(spec)
    declared_space = space_of(model, space, own_values or {})
    metric = metric_of(spec)
    if not metric.per_user:
        raise InputError(
            f"configurations are compared by every user's score, but {spec.metric} has one value "
            "per fold; choose a metric such as ndcg"
        )
    if spec.k < 2:
        raise InputError("a tuning needs at least 2 folds, but there is 1; choose another split")
    # A tuning with all folds is refused as well, for it says in the end what a selection would have
    # needed. With such a split each configuration has to be run by itself.
    check_exchangeable(spec.split, "choose a split by chance, or compare runs with all folds")
    fold.check_needs(spec)
    fold.folds_of(spec)  # a split that cannot be made is bad input
    # The data may be too small for some values, such as more neighbours than there are items.
    allowed_space, left_out_values = allowed_by(declared_space, model, fold.data_of(spec))
    return Tuning(
        spec=spec,
        space=allowed_space,
        left_out=left_out_values,
        sampler=sampler,
        budget=budget_of(allowed_space, sampler, budget),
        terms=terms_for(spec, confidence=confidence, indifference=indifference),
        all_folds=all_folds,
    )


def tune(
    store: Store,
    tuning: Tuning,
    *,
    executor: Executor | None = None,
    speculate: int = SPECULATE,
    callbacks: Callbacks | None = None,
) -> Tuned:
    """Run it to its end.

    TPE learns from each configuration's first fold, or from all of them where all are run; the
    selection then begins with the folds that are there.

    Args:
        store: Where folds go, and come from where they are there.
        speculate: As of `SelectPlan`.

    Raises:
        RunError: If a fold fails; what is finished is kept.
    """
    spec = tuning.spec
    every_fold = range(spec.k)
    if tuning.sampler == "tpe":
        # TPE draws a configuration by the scores of those before it, so folds come first.
        folds_to_draw_by: Sequence[int] = (0,)
        if tuning.all_folds:
            folds_to_draw_by = every_fold
        draw_plan = DrawPlan(tuning, folds_to_draw_by)
        compute_folds(store, draw_plan, executor, callbacks)
        configurations = draw_plan.configurations
    else:
        configurations = tuning.drawn_without_scores()
        if tuning.all_folds:
            folds_plan = FoldsPlan(specs_of(spec, configurations), every_fold)
            compute_folds(store, folds_plan, executor, callbacks)
    # The selection takes the folds that are there already from the store.
    contenders = []
    for configuration in configurations:
        name = contender_word(spec.algorithm, configuration)
        contenders.append(Contender(name, tuning.spec_of(configuration)))
    _, selection = compute_selection(
        store, contenders, tuning.terms, executor=executor, speculate=speculate, callbacks=callbacks
    )
    return Tuned(tuning=tuning, configurations=tuple(configurations), selection=selection)


def compute_folds(
    store: Store, plan: Plan, executor: Executor | None, callbacks: Callbacks | None
) -> None:
    """Have a plan's folds computed, using those of the database. Raises: RunError if one fails."""
    plan_runs = PlanRuns(store, callbacks=callbacks)
    drive(plan, plan_runs, executor)
    plan_runs.check_finished()
