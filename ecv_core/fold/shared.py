"""One fold of several configurations whose work is shared: each result as of `fold.run_fold`.

The scores are bit for bit those of separate folds. What was spent is counted once: work
that several configurations need is divided equally among them, and each result says what it needs
in all.
"""

from __future__ import annotations

import time
from collections.abc import Generator, Sequence
from dataclasses import dataclass, field, replace
from importlib import import_module
from typing import Any

from ecv_core import evaluation, models, splits
from ecv_core.energy.load import own_seconds
from ecv_core.energy.meter import EnergyMeter, NoMeter
from ecv_core.fold import data_of, fold_seed, folds_of, ranked
from ecv_core.models.base import SharedFit
from ecv_core.records.interactions import Need
from ecv_core.records.parameters import Params
from ecv_core.records.run import (
    Energy,
    FoldResult,
    Progress,
    Reading,
    Shared,
    no_progress,
    one_source,
)
from ecv_core.records.spec import RunSpec, Task


def shares_with(spec: RunSpec) -> tuple[str, Params] | None:
    """What runs whose folds can be computed together have in common; None for one on its own.

    Everything but their parameters must be equal anyway, which is not looked at here.
    """
    if spec.task is not Task.TOP_N:
        return None
    common = models.algorithm(spec.algorithm).shares_with(spec.params)
    return None if common is None else (spec.algorithm, common)


def run_shared_fold(
    specs: Sequence[RunSpec],
    index: int,
    *,
    meter: EnergyMeter | None = None,
    progress: Progress = no_progress,
) -> Generator[tuple[int, FoldResult], None, None]:
    """Train and evaluate several configurations on the same fold.

    Args:
        specs: at least two that `shares_with` says the same of, alike but for their parameters.
        index: the held-out fold, 0 .. k-1.
        meter, progress: as of `fold.run_fold`.
    Returns: the place of a spec and its result, as soon as it is known, in the model's order. What
        the caller does with it before asking for the next is not metered.
    Raises: as `fold.run_fold`, for the configuration that comes next.
    """
    spec = specs[0]
    progress("load", 0, 0)
    interactions = data_of(spec)
    algorithm = models.algorithm(spec.algorithm)
    algorithm.check(interactions)
    assert algorithm.sharing is not None
    built = [algorithm.build(dict(one.params)) for one in specs]
    fit: SharedFit = algorithm.sharing.build(built)
    import_module("torch")
    cells = interactions.n_users * interactions.n_items * len(specs)
    evaluation.load_compiled(cells)
    progress("split", 0, 0)
    folds_of(spec)  # and are kept
    meter = meter or NoMeter()
    costs = Costs(len(specs), goes_on=algorithm.sharing.goes_on)
    meter.start()
    running = True
    try:
        costs.begin()
        parts = splits.fold_matrices(interactions, folds_of(spec), index)
        costs.lap("split")
        history = None if algorithm.needs is Need.NOTHING else parts.history()
        seed = fold_seed(spec.seed, index)
        fit.begin(parts.train, seed=seed, progress=progress, history=history)
        costs.lap("start")
        for place, model in fit.fits():
            costs.lap("step")
            result = ranked(spec, index, model, parts, progress)
            costs.lap("evaluate")
            running = False
            costs.done(meter.stop())
            fold = FoldResult(
                fold=index,
                score=result.means[spec.metric_name],
                metrics=result.means,
                users=len(result.users),
                user_scores=result.kept_per_user(spec.n),
                **costs.borne(),
            )
            yield place, fold
            meter.start()
            running = True
            costs.begin()
    finally:
        if running:
            meter.stop()


@dataclass(slots=True)
class _Cost:
    """Of work: seconds by part of a fold, and energy."""

    seconds: dict[str, float] = field(default_factory=dict)
    energy: Energy | None = None
    processor: float = 0.0
    """Seconds of all cores."""

    def plus(self, other: _Cost, share: float = 1.0) -> _Cost:
        """Both together, only a share of the other."""
        names = {**self.seconds, **other.seconds}
        return _Cost(
            {
                name: self.seconds.get(name, 0.0) + share * other.seconds.get(name, 0.0)
                for name in names
            },
            _added(self.energy, other.energy, share),
            self.processor + share * other.processor,
        )

    def only(self, *parts: str) -> _Cost:
        """The seconds of these parts, and the share of all else that goes with them."""
        total = sum(self.seconds.values())
        seconds = {name: took for name, took in self.seconds.items() if name in parts}
        share = sum(seconds.values()) / total if total else 0.0
        return _Cost(seconds, _added(None, self.energy, share), share * self.processor)


class Costs:
    """What each of several configurations has to bear of a fold.

    The meter is read once for a configuration, for it knows no less than a second; its energy goes
    to the parts of the time by their seconds.
    """

    def __init__(self, count: int, *, goes_on: bool) -> None:
        self._count = count
        self._goes_on = goes_on
        self._finished = 0
        self._lap: dict[str, float] = {}
        self._borne = _Cost()  # by each configuration that is still to come
        self._needed = _Cost()  # of all shared work so far
        self._own = _Cost()

    def begin(self) -> None:
        """The clock starts."""
        self._lap = {}
        self._since, self._used = time.perf_counter(), own_seconds()

    def lap(self, part: str) -> None:
        """This part has ended."""
        now = time.perf_counter()
        self._lap[part] = self._lap.get(part, 0.0) + now - self._since
        self._since = now

    def done(self, energy: Energy) -> None:
        """A configuration is finished, with this energy since the clock started."""
        spent = _Cost(dict(self._lap), energy, own_seconds() - self._used)
        left = self._count - self._finished
        common = spent.only("split", "start")
        self._borne = self._borne.plus(common, 1 / left)
        self._needed = self._needed.plus(common)
        own: tuple[str, ...] = ("step", "evaluate")
        if self._goes_on:
            step = spent.only("step")
            self._borne = self._borne.plus(step, 1 / left)
            self._needed = self._needed.plus(step)
            own = ("evaluate",)
        self._own = spent.only(*own)
        self._finished += 1

    def borne(self) -> dict[str, Any]:
        """What the configuration that was finished last has to bear, as fields of its result."""
        mine, alone = self._borne.plus(self._own), self._needed.plus(self._own)
        assert mine.energy is not None
        assert alone.energy is not None
        return {
            "fit_seconds": mine.seconds["start"] + mine.seconds["step"],
            "evaluate_seconds": mine.seconds["evaluate"],
            "total_seconds": sum(mine.seconds.values()),
            "processor_seconds": mine.processor,
            "energy": mine.energy,
            "shared": Shared(
                configurations=self._count,
                alone_seconds=sum(alone.seconds.values()),
                alone_joules=alone.energy.joules,
            ),
        }


_AMOUNTS = ("joules", "cpu_joules", "gpu_joules", "ram_joules", "grams_co2e")


def _added(one: Energy | None, other: Energy | None, share: float) -> Energy | None:
    if other is None:
        return one
    base = one or replace(Energy.none(), source=other.source)
    sums = {name: getattr(base, name) + share * getattr(other, name) for name in _AMOUNTS}
    others = [one.other_work for one in (base, other) if one.other_work is not None]
    idle = None
    if other.idle_joules is not None:
        idle = (base.idle_joules or 0.0) + share * other.idle_joules
    return Energy(
        **sums,
        source=one_source((base.source, other.source)),
        other_work=max(others, default=None),
        machine_shared=base.machine_shared or other.machine_shared,
        idle_joules=idle,
        memory_basis=other.memory_basis,
        readings=_added_readings(base.readings, other.readings, share),
    )


def _added_readings(
    some: Sequence[Reading], more: Sequence[Reading], share: float
) -> tuple[Reading, ...]:
    sums = {one.meter: one for one in some}
    for one in more:
        base = sums.get(one.meter)
        parts = {
            name: (getattr(base, name) if base else 0.0) + share * getattr(one, name)
            for name in ("joules", "low_joules", "high_joules", "gap_seconds")
        }
        source = one_source((base.source, one.source)) if base else one.source
        sums[one.meter] = Reading(meter=one.meter, source=source, **parts)
    return tuple(sums.values())
