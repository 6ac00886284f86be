"""A tuning in this process: configurations drawn, run as a selection or with all folds.

Every fold is in the database the moment it is known, and a fold that is there is never computed
again: the same tuning started once more goes on where it was cut off.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ecv_core import fold, models
from ecv_core.energy.expected import KnownCosts
from ecv_core.errors import InputError
from ecv_core.evaluation import METRICS
from ecv_core.records import FoldResult, ParamValue, Run, RunSpec
from ecv_core.runner import (
    InProcess,
    SharedJob,
    execute,
    execute_shared,
    this_process,
    work,
)
from ecv_core.runner.drive import Job
from ecv_core.runs.configurations import Configuration, specs_of
from ecv_core.runs.recorded import recorded_runs
from ecv_core.selection.computing import check_finished, compute
from ecv_core.selection.live import Live
from ecv_core.selection.rounds import Terms
from ecv_core.shared_fold import shares_with
from ecv_core.spec import make_spec
from ecv_core.splits import check_exchangeable
from ecv_core.stopping import NEVER_STOPS
from ecv_core.store import Store
from ecv_core.tuning.estimate import Estimate, estimate
from ecv_core.tuning.samplers import Sampler, budget_of, sampled
from ecv_core.tuning.spaces import contender_word, space_of, within


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Tuned:
    """A finished tuning."""

    plan: Plan
    configurations: tuple[Configuration, ...]
    live: Live
    """The selection; of a tuning with all folds, what it would have needed of them."""

    @property
    def best(self) -> int:
        """Place of the chosen configuration: of all folds' means, or the selection's winner."""
        if self.plan.all_folds:
            sign = 1 if self.plan.terms.higher_is_better else -1
            return int(np.argmax([sign * one.scores.mean() for one in self.live.contenders]))
        assert self.live.played is not None
        return self.live.played.verdict.winner


def make_plan(
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
) -> Plan:
    """Check what is asked for; reads the dataset.

    Args:
        dataset: an id, on disk.
        algorithm: an id.
        space: a declared space, as `spaces.space_of` takes it.
        own: values of parameters, likewise.
        sampler: which configurations are tried.
        budget: how many; None as `samplers.budget_of` says.
        confidence: of the selection.
        indifference: of the selection, a share of the mean.
        all_folds: whether every configuration runs all folds.
        settings: as of `spec.make_spec`.
    Raises: InputError for what cannot be run.
    """
    model = models.algorithm(algorithm)
    wanted = space_of(model, space, own or {})
    spec = make_spec(dataset=dataset, algorithm=algorithm, rule=NEVER_STOPS, full=True, **settings)
    if not METRICS[spec.metric].per_user:
        raise InputError(
            f"configurations are compared by every user's score, but {spec.metric} has one value "
            "per fold; choose a metric such as ndcg"
        )
    if spec.k < 2:
        raise InputError("a tuning needs at least 2 folds, but there is 1; choose another split")
    check_exchangeable(spec.split, "choose a split by chance, or compare runs with all folds")
    fold.check_needs(spec)
    fold.folds_of(spec)  # a split that cannot be made is bad input
    kept, left_out = within(wanted, model, fold.prepared(dataset))
    terms = Terms(
        k=spec.k,
        confidence=confidence,
        indifference=indifference,
        higher_is_better=METRICS[spec.metric].higher_is_better,
    )
    return Plan(
        spec=spec,
        space=kept,
        left_out=left_out,
        sampler=sampler,
        budget=budget_of(kept, sampler, budget),
        terms=terms,
        all_folds=all_folds,
    )


def expected_of(plan: Plan, store: Store, *, share: bool = False) -> Estimate | None:
    """How long all folds would take, by runs in the database and recorded ones.

    Args:
        plan: what is to be done.
        store: where folds are.
        share: whether configurations share work where they can.
    Returns: None where nothing tells.
    """
    runs, first = store.runs(), plan.first()
    specs = specs_of(plan.spec, first)
    there = [len(_folds(runs, spec)) for spec in specs]
    own = [KnownCosts.of(run) for run in runs if run.folds]
    sharing = models.algorithm(plan.spec.algorithm).sharing
    going_on: list[int | None] = []
    if share and sharing is not None and sharing.goes_on and plan.sampler != "tpe":
        together = list(map(shares_with, specs))
        going_on = [None if one is None else together.index(one) for one in together]
    known = [*own, *map(KnownCosts.of, recorded_runs())]
    return estimate(specs, known, there, going_on=going_on)


def first_fold(
    store: Store,
    plan: Plan,
    *,
    job: Job = work,
    shared: SharedJob | None = None,
    on_trouble: Callable[[str | None], None] = lambda sentence: None,
) -> None:
    """Compute a fold of the first configuration and those it shares work with: it tells how long.

    Arguments and errors as of `tune`, which uses the fold.
    """
    share = shared is not None and plan.sampler != "tpe"
    first = groups(plan.spec, plan.first(), share=share)[0]
    how: dict[str, Any] = {"job": job, "shared": shared, "on_trouble": on_trouble}
    compute_missing(store, plan.spec, first, (0,), **how)


def tune(
    store: Store,
    plan: Plan,
    *,
    job: Job = work,
    shared: SharedJob | None = None,
    on_fold: Callable[[], None] = lambda: None,
    on_round: Callable[[Live], None] = lambda live: None,
    on_trouble: Callable[[str | None], None] = lambda sentence: None,
) -> Tuned:
    """Run it to its end.

    TPE learns from each configuration's first fold, or from all of them where all are run; the
    selection then begins with the folds that are there.

    Args:
        store: where folds go, and come from where they are there.
        plan: what to do.
        job: computes a fold; see `runner.drive.Job`.
        shared: computes a fold of configurations that share work; None computes each on its own.
        on_fold: told after every fold that was computed before the selection.
        on_round: as `on_fold` of `selection.computing.compute`.
        on_trouble: as of `runner.execute`.
    Raises: RunError if a fold fails; what is finished is kept.
    """
    k = plan.spec.k

    def run_to(configurations: Sequence[Configuration], folds: Sequence[int]) -> None:
        how: dict[str, Any] = {"on_fold": on_fold, "on_trouble": on_trouble}
        compute_missing(store, plan.spec, configurations, folds, job=job, shared=shared, **how)

    def score(configuration: Configuration) -> float:
        folds = range(k) if plan.all_folds else (0,)
        run_to([configuration], folds)
        (spec,) = specs_of(plan.spec, [configuration])
        found = _folds(store.runs(), spec)
        return float(np.mean([found[one].score for one in folds]))

    drawn = list(
        sampled(
            plan.space,
            plan.sampler,
            plan.budget,
            seed=plan.spec.seed,
            score=score if plan.sampler == "tpe" else None,
            higher_is_better=plan.terms.higher_is_better,
        )
    )
    if plan.all_folds and plan.sampler != "tpe":
        for together in groups(plan.spec, drawn, share=shared is not None):
            run_to(together, range(k))
    named = [
        (contender_word(plan.spec.algorithm, one), spec)
        for one, spec in zip(drawn, specs_of(plan.spec, drawn), strict=True)
    ]
    live = compute(
        *(store, named, plan.terms),
        job=job,
        shared=shared,
        on_fold=on_round,
        on_trouble=on_trouble,
    )
    return Tuned(plan=plan, configurations=tuple(drawn), live=live)


def compute_missing(
    store: Store,
    spec: RunSpec,
    configurations: Sequence[Configuration],
    folds: Sequence[int],
    *,
    job: Job,
    shared: SharedJob | None,
    on_trouble: Callable[[str | None], None],
    on_fold: Callable[[], None] = lambda: None,
) -> None:
    """Compute what is missing of these folds, of configurations that share work or of one."""
    there, parts = store.runs(), []
    for own in specs_of(spec, configurations):
        found = _folds(there, own)
        if missing := tuple(one for one in folds if one not in found):
            parts.append(replace(own, only_folds=missing))
    if not parts:
        return
    run_ids = store.create(parts, owner=this_process())
    how: dict[str, Any] = {"on_fold": lambda run: on_fold(), "on_trouble": on_trouble}
    if shared is not None and len(run_ids) > 1:
        execute_shared(store, run_ids, job=shared, **how)
    else:
        for run_id in run_ids:
            execute(store, run_id, InProcess(), job=job, **how)
            check_finished(store, [run_id])
    check_finished(store, run_ids)


def groups(
    spec: RunSpec, configurations: Sequence[Configuration], *, share: bool = True
) -> list[list[Configuration]]:
    """Configurations that share work, in the order of the first of each; others by themselves.

    Args:
        spec: of all of them but for their parameters.
        configurations: of one algorithm.
        share: False leaves each by itself.
    """
    found: dict[object, list[Configuration]] = {}
    for place, (one, own) in enumerate(
        zip(configurations, specs_of(spec, configurations), strict=True)
    ):
        common = shares_with(own) if share else None
        found.setdefault(place if common is None else common, []).append(one)
    return list(found.values())


def _folds(runs: Sequence[Run], spec: RunSpec) -> dict[int, FoldResult]:
    """The folds of a configuration that are there, whichever run they are of."""
    return {
        result.fold: result for run in runs if run.spec.same_scores(spec) for result in run.folds
    }
