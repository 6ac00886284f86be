"""One fold computed, of one configuration or several: here alone is the order of the stages known.

dataset -> prepare -> split -> fit -> score top-n, or predict -> metric -> FoldResult
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np

from ecv_core import evaluation, models, splits
from ecv_core.dataset import DatasetEntry
from ecv_core.dataset.preparation import for_task
from ecv_core.dataset.rating_scale import scale_of
from ecv_core.energy.meter import EnergyMeter, NoMeter
from ecv_core.fold import entry_of, fold_seed, folds_of_data
from ecv_core.fold.costs import Costs, FoldClock
from ecv_core.models.base import Algorithm, RatingPredictor, Recommender, TableModel
from ecv_core.records.arrays import Floats
from ecv_core.records.interactions import Folds, Interactions, Need, Part, Ratings, Table
from ecv_core.records.parameters import Params
from ecv_core.records.run import FoldResult, Progress, no_progress
from ecv_core.records.spec import RunSpec
from ecv_core.records.tasks import Task
from ecv_core.splits.parts import FoldMatrices

if TYPE_CHECKING:
    from scipy.sparse import csr_array


def run_fold(
    spec: RunSpec, index: int, *, meter: EnergyMeter | None = None, progress: Progress = no_progress
) -> FoldResult:
    """Train on one fold's training part and evaluate on what it holds out.

    A validation part is neither learnt from nor a candidate. Same spec and index, same scores.

    Args:
        spec: What to run; see `fold.spec.make_spec`.
        index: The held-out fold, 0 .. k-1.
        meter: Measures cutting out the fold, fitting and evaluating. What is done once for all
            folds is no fold's cost: imports, loading the data, dealing it into folds.
        progress: Called with the phase ("load", "split", "fit", "evaluate") and its steps.

    Raises:
        InputError: For data that cannot serve, RunError if training fails, Cancelled.
    """
    run, [model] = _load_data_and_models([spec], progress)
    meter = meter or NoMeter()
    meter.start()
    clock = FoldClock()
    try:
        computed = _COMPUTATIONS[spec.task].compute(run, index, model, progress)
        seconds = clock.seconds_until_now(
            fit_began_at=computed.fit_begin, fit_ended_at=computed.fit_end
        )
    finally:
        energy = meter.stop()
    return _result(
        run,
        index,
        computed.evaluation,
        inner_curve=tuple(computed.inner_curve),
        energy=energy,
        **seconds,
    )


@dataclass(frozen=True, kw_only=True)
class _LoadedRun:
    """A run with everything that its ids name, looked up once for a fold."""

    spec: RunSpec
    entry: DatasetEntry
    algorithm: Algorithm
    metric: evaluation.Metric
    data: Interactions
    folds: Folds


@dataclass(frozen=True, kw_only=True)
class _TimedEvaluation:
    """What a fold was evaluated to, and when its model was fitted."""

    evaluation: evaluation.Evaluation
    inner_curve: Sequence[float] = ()
    """As of `FoldResult`."""
    fit_begin: float
    """On the clock of `time.perf_counter`, as is `fit_end`."""
    fit_end: float


@dataclass(frozen=True, kw_only=True)
class _Computation:
    """How the folds of a task are computed."""

    load: Callable[[Algorithm, Interactions, int], None]
    """Imports and compiles what so many configurations of an algorithm on this data need."""
    compute: Callable[[_LoadedRun, int, Any, Progress], _TimedEvaluation]
    """Splits, fits the model and scores what the fold of this index holds out."""


def _load_data_and_models(
    specs: Sequence[RunSpec], progress: Progress
) -> tuple[_LoadedRun, list[Any]]:
    """Load the data, import and build the models, and deal the folds.

    It happens once per process, so that no fold pays for it.

    Args:
        specs: Alike but for their parameters.
        progress: Called as it goes on.

    Returns:
        What all of them work with; and the unfitted model of each.

    Raises:
        InputError: For what cannot be computed here, or data that cannot serve.
    """
    spec = specs[0]
    progress("load", 0, 0)
    algorithm = models.computing(spec)
    metric = evaluation.metric_of(spec)
    evaluation.check_computed_here(metric)
    entry = entry_of(spec)
    data = for_task(entry, spec.task)
    algorithm.check(data)
    unfitted_models = []
    for configuration in specs:
        unfitted_models.append(algorithm.build(dict(configuration.params)))
    # Libraries are imported and compiled now, as a fold that did it would take longer than others.
    computation = _COMPUTATIONS[spec.task]
    computation.load(algorithm, data, len(specs))
    progress("split", 0, 0)
    run = _LoadedRun(
        spec=spec,
        entry=entry,
        algorithm=algorithm,
        metric=metric,
        data=data,
        folds=folds_of_data(data, spec),
    )
    return run, unfitted_models


def _result(
    run: _LoadedRun,
    index: int,
    scores: evaluation.Evaluation,
    **spent: Any,  # noqa: ANN401
) -> FoldResult:
    """What a run keeps of a fold, with the fields that say what was spent."""
    return FoldResult(
        fold=index,
        score=scores.means[run.spec.metric_name],
        metrics=scores.means,
        users=len(scores.users),
        user_scores=scores.user_scores(run.spec.n, run.data.cluster_of),
        **spent,
    )


# Ranking.


def _load_ranking(algorithm: Algorithm, data: Interactions, configurations: int) -> None:
    if algorithm.with_torch:
        import_module("torch")
    # Compiled ranking takes long to load, which only many scores make up for.
    score_count = data.n_users * data.n_items * configurations
    evaluation.load_compiled(score_count)


def _compute_ranking(
    run: _LoadedRun, index: int, model: Recommender, progress: Progress
) -> _TimedEvaluation:
    """Split, fit and rank."""
    parts = splits.fold_matrices(run.data, run.folds, index)
    seed = fold_seed(run.spec.seed, index)
    fit_begin = time.perf_counter()
    run.algorithm.fit(model, parts.train, parts.history, seed=seed, progress=progress)
    fit_end = time.perf_counter()
    scores = evaluate_ranking(
        run.spec, index, model, parts, progress=progress, log_odds=run.algorithm.log_odds
    )
    return _TimedEvaluation(
        evaluation=scores,
        inner_curve=getattr(model, "inner_curve", ()),
        fit_begin=fit_begin,
        fit_end=fit_end,
    )


def evaluate_ranking(
    spec: RunSpec,
    index: int,
    model: evaluation.Scorer,
    parts: FoldMatrices,
    *,
    progress: Progress = no_progress,
    log_odds: bool = False,
) -> evaluation.Evaluation:
    """Rank the held-out items of a fold as the run asks for.

    Args:
        model: Fitted on the training part, here or by other code.
        log_odds: As of `Algorithm`.

    Raises:
        As `evaluation.evaluate`.
    """
    return evaluation.evaluate(
        model,
        parts.seen,
        parts.held_out,
        spec.cutoffs,
        progress=progress,
        train=parts.train,
        ratings=needed_ratings(spec, parts),
        protocol=protocol_of(spec, index),
        extra_metrics=(spec.metric,),
        log_odds=log_odds,
    )


def needed_ratings(spec: RunSpec, parts: FoldMatrices) -> csr_array | None:
    """The ratings of what a fold holds out, where the run's metric needs them."""
    if evaluation.metric_of(spec).needs_ratings:
        return parts.held_out_ratings
    return None


def protocol_of(spec: RunSpec, index: int) -> evaluation.Protocol:
    """How fold `index` is ranked: every algorithm on the same folds meets the same negatives."""
    return evaluation.Protocol(
        candidates=spec.candidates,
        negatives=spec.negatives,
        sampling=spec.negative_sampling,
        seed=fold_seed(spec.seed, index),
    )


# Predicted ratings.


def _load_rating(algorithm: Algorithm, data: Interactions, configurations: int) -> None:
    """Models of ratings import what they need as they are built."""


def _compute_ratings(
    run: _LoadedRun, index: int, model: RatingPredictor, progress: Progress
) -> _TimedEvaluation:
    """Split, fit and predict ratings.

    The model sees who is asked about what, never the rating; its predictions after each step give
    the curve of the held-out RMSE, by which nothing is stopped or chosen.
    """
    scale = scale_of(run.data, run.entry.scale)
    parts = splits.usable_parts(run.data, run.folds, index)
    train = Ratings.of(run.data, parts == Part.TRAIN, scale)
    held_out = Ratings.of(run.data, parts == Part.TEST, scale)
    curve = []

    def report(step: int, steps: int, predicted: Floats | None = None) -> None:
        if predicted is not None:
            # Six digits are more than a chart of the curve shows.
            curve.append(round(evaluation.clipped_rmse(predicted, held_out.values, scale), 6))
        progress("fit", step, steps)

    seed = fold_seed(run.spec.seed, index)
    fit_begin = time.perf_counter()
    predicted = model.predict(train, held_out.pairs, seed=seed, report=report)
    fit_end = time.perf_counter()
    progress("evaluate", 0, 1)
    scores = evaluation.evaluate_ratings(
        predicted, held_out.values, held_out.users, scale, run.metric
    )
    return _TimedEvaluation(
        evaluation=scores, inner_curve=curve, fit_begin=fit_begin, fit_end=fit_end
    )


# Samples of a table.


def _load_scoring(algorithm: Algorithm, data: Interactions, configurations: int) -> None:
    import_module("ecv_core.evaluation.scoring")


def _compute_samples(
    run: _LoadedRun, index: int, model: TableModel, progress: Progress
) -> _TimedEvaluation:
    """Split, fit and score samples.

    The seed is the run's in every fold, so that scores are those of scikit-learn's
    `cross_val_score` of an estimator with this `random_state`.
    """
    # The data of these tasks are tables.
    samples = cast("Table", run.data)
    parts = splits.usable_parts(samples, run.folds, index)
    estimator = model.estimator(run.spec.seed)
    progress("fit", 0, 0)
    fit_begin = time.perf_counter()
    evaluation.fit_samples(estimator, samples, np.flatnonzero(parts == Part.TRAIN))
    fit_end = time.perf_counter()
    progress("evaluate", 0, 1)
    held_out = np.flatnonzero(parts == Part.TEST)
    scores = evaluation.evaluate_samples(estimator, samples, held_out, run.metric)
    return _TimedEvaluation(evaluation=scores, fit_begin=fit_begin, fit_end=fit_end)


_COMPUTATION_OF_SAMPLES = _Computation(load=_load_scoring, compute=_compute_samples)
_COMPUTATIONS = {
    Task.TOP_N: _Computation(load=_load_ranking, compute=_compute_ranking),
    Task.RATINGS: _Computation(load=_load_rating, compute=_compute_ratings),
    Task.CLASSES: _COMPUTATION_OF_SAMPLES,
    Task.NUMBERS: _COMPUTATION_OF_SAMPLES,
}


# A fold of several configurations whose work is shared: the scores are bit for bit those of
# separate folds. What was spent is counted once: work that several need is divided equally among
# them, and each result says what it needs in all.


class SharingKey(NamedTuple):
    """What runs have in common whose folds can be computed together."""

    algorithm: str
    common_params: Params


def sharing_key(spec: RunSpec) -> SharingKey | None:
    """Equal for runs whose folds can be computed together; None for one on its own.

    Everything but their parameters must be equal anyway, which is not looked at here.
    """
    if spec.tracked:  # Other code computes its folds, one run at a time.
        return None
    common_params = models.algorithm(spec.algorithm).common_params_of(spec.params)
    if common_params is None:
        return None
    return SharingKey(spec.algorithm, common_params)


def run_shared_fold(
    specs: Sequence[RunSpec],
    index: int,
    *,
    meter: EnergyMeter | None = None,
    progress: Progress = no_progress,
) -> Generator[tuple[int, FoldResult], None, None]:
    """Train and evaluate several configurations on the same fold.

    Args:
        specs: At least two with the same `sharing_key`, alike but for their parameters.
        index: The held-out fold, 0 .. k-1.
        meter: As of `run_fold`.
        progress: Likewise.

    Returns:
        The place of a spec and its result, as soon as it is known, in the model's order. What the
        caller does with it before asking for the next is not metered.

    Raises:
        As `run_fold`, for the configuration that comes next.
    """
    run, unfitted_models = _load_data_and_models(specs, progress)
    sharing = run.algorithm.sharing
    # Without a way to share, configurations would have no `sharing_key`, and would not come here.
    assert sharing is not None
    meter = meter or NoMeter()
    costs = Costs(len(specs), steps_build_on_each_other=sharing.continues_from_previous)
    meter.start()
    is_metered_now = True
    try:
        costs.start_clock()
        parts = splits.fold_matrices(run.data, run.folds, index)
        costs.end_part("split")
        history = None
        if run.algorithm.needs is not Need.NOTHING:
            history = parts.history()
        seed = fold_seed(run.spec.seed, index)
        fits = sharing.fit(
            unfitted_models, parts.train, seed=seed, progress=progress, history=history
        )
        # The part "start" is what the model does before the first fit, for all configurations.
        costs.end_part("start")
        for spec_index, model in fits:  # Each model is fitted as the loop asks for it.
            costs.end_part("step")
            scores = evaluate_ranking(
                run.spec, index, model, parts, progress=progress, log_odds=run.algorithm.log_odds
            )
            costs.end_part("evaluate")
            is_metered_now = False
            costs.finish_configuration(meter.stop())
            yield spec_index, _result(run, index, scores, **costs.share_of_last())
            meter.start()
            is_metered_now = True
            costs.start_clock()
    finally:
        if is_metered_now:  # A meter that fails to stop is not stopped again.
            meter.stop()
