"""One fold computed, of one configuration or several: here alone is the order of the stages known.

dataset -> prepare -> split -> fit -> score top-n, or predict -> metric -> FoldResult
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Generator, Sequence
from importlib import import_module
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from ecv_core import dataset as datasets
from ecv_core import evaluation, models, splits
from ecv_core.dataset import ready
from ecv_core.energy.load import own_seconds, own_seconds_since
from ecv_core.energy.meter import EnergyMeter, NoMeter
from ecv_core.fold import data_of, fold_seed, folds_of
from ecv_core.models.base import Fitted, Model, RatingPredictor, Recommender, TableModel
from ecv_core.records.interactions import Interactions, Need, Part, Ratings, Table
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
from ecv_core.records.spec import RunSpec
from ecv_core.records.tasks import Task
from ecv_core.splits.parts import FoldMatrices


def run_fold(
    spec: RunSpec, index: int, *, meter: EnergyMeter | None = None, progress: Progress = no_progress
) -> FoldResult:
    """Train on one fold's training part and evaluate on what it holds out.

    A validation part is neither learnt from nor a candidate. Same spec and index, same scores.

    Args:
        spec: what to run; see `fold.spec.make_spec`.
        index: the held-out fold, 0 .. k-1.
        meter: measures cutting out the fold, fitting and evaluating. What is done once for all
            folds is no fold's cost: imports, loading the data, dealing it into folds.
        progress: called with the phase ("load", "split", "fit", "evaluate") and its steps.
    Raises: InputError for data that cannot serve, RunError if training fails, Cancelled.
    """
    interactions, [model] = _ready([spec], progress)
    (meter := meter or NoMeter()).start()
    begin, used = time.perf_counter(), own_seconds()
    try:
        stages = _STAGES[spec.task]
        result, curve, fitting, fitted = stages(spec, index, interactions, model, progress)
        end, used = time.perf_counter(), own_seconds_since(used)
    finally:
        energy = meter.stop()
    return _result(
        spec,
        index,
        result,
        inner_curve=tuple(curve),
        fit_seconds=fitted - fitting,
        evaluate_seconds=end - fitted,
        total_seconds=end - begin,
        processor_seconds=used,
        energy=energy,
    )


def _ready(specs: Sequence[RunSpec], progress: Progress) -> tuple[Interactions, list[Any]]:
    """What happens once per process, as imports, and is no fold's cost; and the unfitted models."""
    spec = specs[0]
    progress("load", 0, 0)
    algorithm = models.computing(spec)
    evaluation.check_computed_here(spec)
    interactions = data_of(spec)
    algorithm.check(interactions)
    built = [algorithm.build(dict(one.params)) for one in specs]
    if spec.task is Task.TOP_N:
        if algorithm.with_torch:
            import_module("torch")
        evaluation.load_compiled(interactions.n_users * interactions.n_items * len(specs))
    if spec.task.of_table:
        import_module("ecv_core.evaluation.scoring")
    progress("split", 0, 0)
    folds_of(spec)  # and are kept
    return interactions, built


def _result(spec: RunSpec, index: int, found: evaluation.Evaluation, **spent: Any) -> FoldResult:  # noqa: ANN401
    """What a run keeps of a fold, with the fields that say what was spent."""
    return FoldResult(
        fold=index,
        score=found.means[spec.metric_name],
        metrics=found.means,
        users=len(found.users),
        user_scores=found.kept_per_user(spec.n, data_of(spec).cluster_of),
        **spent,
    )


_Staged = tuple[evaluation.Evaluation, Sequence[float], float, float]
"""What was scored, the inner curve (see `FoldResult`), when fitting began and when it ended."""


def _rank(
    spec: RunSpec, index: int, interactions: Interactions, model: Model, progress: Progress
) -> _Staged:
    """Split, fit and rank."""
    algorithm = models.algorithm(spec.algorithm)
    parts = splits.fold_matrices(interactions, folds_of(spec), index)
    fitting = time.perf_counter()
    seed = fold_seed(spec.seed, index)
    ranker = cast("Recommender", model)
    algorithm.fit(ranker, parts.train, parts.history, seed=seed, progress=progress)
    fitted = time.perf_counter()
    curve = getattr(ranker, "inner_curve", ())
    return ranked(spec, index, ranker, parts, progress), curve, fitting, fitted


def ranked(
    spec: RunSpec, index: int, model: Fitted, parts: FoldMatrices, progress: Progress
) -> evaluation.Evaluation:
    """Rank the held-out items of a fold as the run asks for."""
    return evaluation.evaluate(
        model,
        parts.seen,
        parts.held_out,
        spec.cutoffs,
        progress=progress,
        train=parts.train,
        protocol=protocol_of(spec, index),
        also=(spec.metric,),
        log_odds=models.algorithm(spec.algorithm).log_odds,
    )


def _rate(
    spec: RunSpec, index: int, interactions: Interactions, model: Model, progress: Progress
) -> _Staged:
    """Split, fit and predict ratings.

    The model sees who is asked about what, never the rating; its predictions after each step give
    the curve of the held-out RMSE, by which nothing is stopped or chosen.
    """
    scale = ready.scale_of(interactions, datasets.entry(spec.dataset).scale)
    parts = splits.usable_parts(interactions, folds_of(spec), index)
    held = parts == Part.TEST
    train = Ratings.of(interactions, parts == Part.TRAIN, scale)
    given = Ratings.of(interactions, held, scale)
    curve: list[float] = []

    def report(step: int, steps: int, predicted: NDArray[np.float64] | None = None) -> None:
        if predicted is not None:
            curve.append(round(evaluation.clipped_rmse(predicted, given.values, scale), 6))
        progress("fit", step, steps)

    fitting = time.perf_counter()
    predicted = cast("RatingPredictor", model).predict(
        train, given.pairs, seed=fold_seed(spec.seed, index), report=report
    )
    fitted = time.perf_counter()
    progress("evaluate", 0, 1)
    own = evaluation.metric_of(spec)
    result = evaluation.evaluate_ratings(predicted, given.values, given.users, scale, own)
    return result, curve, fitting, fitted


def _predict(
    spec: RunSpec, index: int, table: Interactions, model: Model, progress: Progress
) -> _Staged:
    """Split, fit and score samples.

    The seed is the run's in every fold, so that scores are those of scikit-learn's
    `cross_val_score` of an estimator with this `random_state`.
    """
    samples = cast("Table", table)
    parts = splits.usable_parts(samples, folds_of(spec), index)
    estimator = cast("TableModel", model).estimator(spec.seed)
    progress("fit", 0, 0)
    fitting = time.perf_counter()
    evaluation.fit_samples(estimator, samples, np.flatnonzero(parts == Part.TRAIN))
    fitted = time.perf_counter()
    progress("evaluate", 0, 1)
    held_out = np.flatnonzero(parts == Part.TEST)
    result = evaluation.evaluate_samples(estimator, samples, held_out, spec.metric)
    return result, (), fitting, fitted


_STAGES = {Task.TOP_N: _rank, Task.RATINGS: _rate, Task.CLASSES: _predict, Task.NUMBERS: _predict}


def protocol_of(spec: RunSpec, index: int) -> evaluation.Protocol:
    """How fold `index` is ranked: every algorithm on the same folds meets the same negatives."""
    return evaluation.Protocol(
        candidates=spec.candidates,
        negatives=spec.negatives,
        sampling=spec.negative_sampling,
        seed=fold_seed(spec.seed, index),
    )


# A fold of several configurations whose work is shared: the scores are bit for bit those of
# separate folds. What was spent is counted once: work that several need is divided equally among
# them, and each result says what it needs in all.


def shares_with(spec: RunSpec) -> tuple[str, Params] | None:
    """What runs whose folds can be computed together have in common; None for one on its own.

    Everything but their parameters must be equal anyway, which is not looked at here.
    """
    if spec.task is not Task.TOP_N or spec.tracked:
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
        meter, progress: as of `run_fold`.
    Returns: the place of a spec and its result, as soon as it is known, in the model's order. What
        the caller does with it before asking for the next is not metered.
    Raises: as `run_fold`, for the configuration that comes next.
    """
    spec = specs[0]
    algorithm = models.algorithm(spec.algorithm)
    assert algorithm.sharing is not None
    interactions, built = _ready(specs, progress)
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
        fits = algorithm.sharing.fit(
            built, parts.train, seed=seed, progress=progress, history=history
        )
        costs.lap("start")
        for place, model in fits:
            costs.lap("step")
            result = ranked(spec, index, model, parts, progress)
            costs.lap("evaluate")
            running = False
            costs.done(meter.stop())
            yield place, _result(spec, index, result, **costs.borne())
            meter.start()
            running = True
            costs.begin()
    finally:
        if running:
            meter.stop()


class Costs:
    """What each of several configurations has to bear of a fold.

    The meter is read once for a configuration, for it knows no less than a second; its energy goes
    to the parts of the time by their seconds.
    """

    def __init__(self, count: int, *, goes_on: bool) -> None:
        self._count = count
        self._common = ("split", "start", "step") if goes_on else ("split", "start")
        self._spent: list[tuple[dict[str, float], Energy, float]] = []

    def begin(self) -> None:
        """The clock starts."""
        self._lap: dict[str, float] = {}
        self._since, self._used = time.perf_counter(), own_seconds()

    def lap(self, part: str) -> None:
        """This part has ended."""
        now = time.perf_counter()
        self._lap[part] = self._lap.get(part, 0.0) + now - self._since
        self._since = now

    def done(self, energy: Energy) -> None:
        """A configuration is finished, with this energy since the clock started."""
        self._spent.append((self._lap, energy, own_seconds_since(self._used)))

    def borne(self) -> dict[str, Any]:
        """What the configuration that was finished last has to bear, as fields of its result."""
        seconds, energies, processor = self._needed(divided=True)
        alone_seconds, alone_energies, _ = self._needed(divided=False)
        return {
            "fit_seconds": seconds["start"] + seconds["step"],
            "evaluate_seconds": seconds["evaluate"],
            "total_seconds": sum(seconds.values()),
            "processor_seconds": processor,
            "energy": _sum_of(energies),
            "shared": Shared(
                configurations=self._count,
                alone_seconds=sum(alone_seconds.values()),
                alone_joules=_sum_of(alone_energies).joules,
            ),
        }

    def _needed(self, *, divided: bool) -> tuple[Counter[str], list[tuple[Energy, float]], float]:
        """What the last configuration needs: its own parts, and all common ones up to it.

        Args: divided: a common part counts as divided by those that were still to come.
        Returns: seconds by part; energies, each with the share of it; processor seconds.
        """
        seconds: Counter[str] = Counter()
        energies, processor = [], 0.0
        for place, (lap, energy, used) in enumerate(self._spent):
            left = self._count - place if divided else 1
            needed = {name: took / left for name, took in lap.items() if name in self._common}
            if place + 1 == len(self._spent):
                needed = lap | needed
            seconds.update(needed)
            share = sum(needed.values()) / (sum(lap.values()) or 1.0)
            energies.append((energy, share))
            processor += share * used
        return seconds, energies, processor


def _sum_of(parts: Sequence[tuple[Energy, float]]) -> Energy:
    """The sum of energies, of each a share."""

    def total(name: str, shares: Sequence[tuple[Any, float]]) -> Any:  # noqa: ANN401
        return sum(share * getattr(one, name) for one, share in shares)

    every = [energy for energy, _ in parts]
    amounts = ["joules", "cpu_joules", "gpu_joules", "ram_joules", "grams_co2e"]
    for name in ("idle_joules", "gpu_seconds"):
        if all(getattr(energy, name) is not None for energy in every):
            amounts.append(name)
    readings: dict[str, list[tuple[Reading, float]]] = {}
    for energy, share in parts:
        for reading in energy.readings:
            readings.setdefault(reading.meter, []).append((reading, share))
    return Energy(
        **{name: total(name, parts) for name in amounts},
        source=one_source([energy.source for energy in every]),
        other_work=max(
            (one.other_work for one in every if one.other_work is not None), default=None
        ),
        machine_shared=any(energy.machine_shared for energy in every),
        memory_basis=every[-1].memory_basis,
        readings=tuple(
            Reading(
                meter=meter,
                source=one_source([reading.source for reading, _ in shares]),
                **{
                    name: total(name, shares)
                    for name in ("joules", "low_joules", "high_joules", "gap_seconds")
                },
            )
            for meter, shares in readings.items()
        ),
    )
