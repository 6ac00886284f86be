"""From one line of Python: a run, a study, a selection, a tuning, a rule over orders of folds."""

from __future__ import annotations

import logging
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext
from dataclasses import replace
from typing import Any, Literal, Unpack

import numpy as np
from numpy.typing import NDArray

from ecv_core import fold
from ecv_core.analysis import exploration
from ecv_core.analysis.exploration import DRAWS
from ecv_core.analysis.orders.outcomes import Outcome
from ecv_core.fold.spec import make_spec
from ecv_core.jobs.driver import drive
from ecv_core.jobs.executors import Executor
from ecv_core.jobs.plan_runs import Callbacks, PlanRuns, SaveAttempts
from ecv_core.jobs.plans import select as selections
from ecv_core.jobs.plans import study as studies
from ecv_core.jobs.plans import tune as tunings
from ecv_core.jobs.plans.run import RunPlan
from ecv_core.jobs.plans.select import Contender, Selected, SelectionState
from ecv_core.jobs.plans.tune import Tuned
from ecv_core.library.contenders import (
    NamedModel,
    as_settings,
    as_tuning_settings,
    check_computed_here,
    executor_for,
)
from ecv_core.library.data import dataset_id
from ecv_core.library.models import fold_computer, name_of
from ecv_core.library.run import Run, Runs
from ecv_core.library.settings import ScoreSettings, Settings, rule_over, settings_of_rule, spec_for
from ecv_core.library.track import Tracked, track
from ecv_core.records.arguments import kinds_checked
from ecv_core.records.errors import InputError
from ecv_core.records.parameters import ParamValue
from ecv_core.records.run import RunRecord, Scores
from ecv_core.records.spec import RunSpec
from ecv_core.selection.rounds import Budget, Until
from ecv_core.selection.tuning.metrics_study import MetricsStudy, find_tuning, study_metrics
from ecv_core.selection.tuning.spaces import Sampler
from ecv_core.splits import Strategy, check_exchangeable, register_split
from ecv_core.splits.strategies import SplitFunction
from ecv_core.stopping import NEVER_STOPS, StoppingRule, TakesCheapModels
from ecv_core.store.engine import waiting_for_database
from ecv_core.store.ownership import this_process
from ecv_core.store.plans import STUDY, PlannedRun, keep_plan
from ecv_core.store.results import Results, cheap_models_of
from ecv_core.store.store import Store, open_store

log = logging.getLogger(__name__)


def tell_nobody(*_news: object) -> None:
    """What is called after a fold where the caller gives nothing to be called."""


def _callbacks(show_fold: Callable[[RunRecord], object] = tell_nobody) -> Callbacks:
    """Each fold is shown; while the database is away a warning says so, and at last it fails."""
    return Callbacks(fold=show_fold, trouble=SaveAttempts(log.warning))


@kinds_checked
def evaluate(
    dataset: object,
    algorithm: object,
    *,
    name: str | None = None,
    rule: StoppingRule | str | None = None,
    keep: bool = True,
    anew: bool = False,
    on: str | None = None,
    on_fold: Callable[[Run], None] = tell_nobody,
    **settings: Unpack[Settings],
) -> Run:
    """Evaluate an algorithm fold by fold in this process, until the rule says stop.

    Args:
        dataset: An id of `datasets()`, on disk, see `load`; or data in memory: `Data`, a pandas or
            polars frame, a matrix (users x items) of scipy or numpy, a LensKit Dataset, or arrays
            (users, items[, ratings[, timestamps]]). Their content names them.
        algorithm: An id, such as 'ease'; or a model: an object with `fit(matrix)` and
            `score(users) -> users x items`, or `recommend` as implicit has it, a scorer or pipeline
            of LensKit, a model of Cornac, or a function of the training matrix that returns users x
            items. With metric='rmse' or 'mae' the matrix holds the ratings, and an object may have
            `predict(users, items)` instead, by rows and columns of it; a model of Surprise serves
            too. Each fold fits a copy of it, here, in this process.
        name: What a model that is no id is called in tables and pages; by default its class.
        rule: When to stop: an instance, of the package or any object with `decide(results)`; or
            an id. By default `EFold(alpha=1e-4)`, or `Never()` for a split with one fold.
        keep: Leave the run in the database, where pages and `runs()` find it. One by an instance
            that is not registered (`register_rule`) is not kept: nobody could say its rule again.
        anew: Compute every fold, also those that a run of the database has; by default these are
            used again, and `document()["folds"][i]["reused"]` says so.
        on: Where folds are computed, 'local:3', 'tcp://host:8786' or 'slurm': see docs/cluster.md;
            by default what ECV_CLUSTER says, else this process.
        on_fold: Told of the run after every fold.
        settings: As of `fold.spec.make_spec`: params, split, split_params, k, seed, metric ('ndcg',
            or 'ndcg@10'), n, full, ...

    Returns:
        The finished run.

    Raises:
        InputError: For what cannot be run.
        RunError: If a fold fails, its finished folds kept.

    >>> import ecv_core as ecv
    >>> run = ecv.evaluate("synthetic", "popular", rule=ecv.Fixed(folds=2), keep=False)
    >>> run.stopped_at, len(run.scores)
    (2, 2)
    """
    if isinstance(algorithm, str):
        if name is not None:
            raise InputError(
                f"name is for a model of your own; '{algorithm}' has one: leave it out"
            )
        if on is not None:
            _check_no_objects(settings, on)
        spec, own_rule = spec_for(dataset, algorithm, rule, settings)
        return _compute(spec, own_rule, keep=keep, anew=anew, on=on, on_fold=on_fold)
    # A model of one's own is in the memory of this process, so its folds are computed here alone.
    check_computed_here(on)
    tracked = track(
        name or name_of(algorithm),
        dataset=dataset,
        rule=rule,
        resume=not anew,
        keep=keep,
        **settings,
    )
    return _compute_tracked(tracked, algorithm, on_fold)


def _compute_tracked(tracked: Tracked, model: object, on_fold: Callable[[Run], None]) -> Run:
    """Compute the folds of a model in memory until the rule stops; a run without any is removed."""
    compute_fold = fold_computer(model, ranks=tracked.spec.task.ranks)
    try:
        for tracked_fold in tracked:
            tracked.report(compute_fold(tracked.spec, tracked_fold))
            on_fold(tracked.run)
    except BaseException:
        tracked.forget_if_empty()
        raise
    return tracked.run


def _check_no_objects(settings: Mapping[str, object], on: str) -> None:
    """Refuse a metric or a split that only this program knows, where others compute."""
    for setting in ("metric", "split"):
        if not isinstance(settings.get(setting), str | None):
            raise InputError(
                f"this {setting} is known to this program alone, not on {on}; register it in a "
                "module of ECV_PLUGINS and give its id, or leave `on` out"
            )


def _compute(
    spec: RunSpec,
    own_rule: StoppingRule | None,
    *,
    keep: bool,
    anew: bool,
    on: str | None,
    on_fold: Callable[[Run], None],
) -> Run:
    """Compute a run's folds until its rule stops.

    Args:
        spec: Checked.
        own_rule: The rule, where it is an instance that no spec can name.
        keep, anew, on, on_fold: as of `evaluate`.
    """
    fold.check_data(spec)
    # A run by a rule that no spec can name is not kept, as nobody could go on with it.
    with _workplace(on, keep=keep and own_rule is None) as (store, executor):
        (run_id,) = store.create([spec], owner=this_process(), anew=anew)

        def show_fold(run: RunRecord) -> None:
            if run.run_id == run_id:
                # Folds of the cheap models by which this run is adjusted come here as well, and are
                # not shown.
                on_fold(Run(run))

        plan_runs = PlanRuns(
            store,
            runs=[store.run(run_id)],
            rule=own_rule,
            compute_every_fold=anew,
            callbacks=_callbacks(show_fold),
        )
        drive(RunPlan(spec), plan_runs, executor)
        plan_runs.check_finished()
        return Run(store.run(run_id), users=store.user_scores(run_id))


@contextmanager
def _workplace(
    on: str | None, *, keep: bool, in_memory: bool = False
) -> Iterator[tuple[Store, Executor]]:
    """The database that runs are in, and what computes their folds.

    Args:
        on: Where folds are computed, as of `evaluate`.
        keep: Whether it is the usual database; otherwise it is one that is gone afterwards.
        in_memory: Whether some of the models are in memory, and so computed in this process.

    Raises:
        InputError: For a place that cannot be had, or models in memory elsewhere.
    """
    with closing(executor_for(on, in_memory=in_memory)) as executor:
        if keep:
            store = open_store()
            # Before the first fold and after the last one, too, a database that is away for a
            # moment ends nothing.
            with waiting_for_database(SaveAttempts(log.warning)):
                yield store, executor
            return
        with tempfile.TemporaryDirectory(prefix="ecv-") as folder:
            yield open_store(f"sqlite:///{folder}/run.sqlite"), executor


@kinds_checked
def study(
    datasets: Sequence[object],
    algorithms: Sequence[object],
    *,
    splits: Sequence[str | Strategy | SplitFunction] = (),
    rule: StoppingRule | str | None = None,
    keep: bool = True,
    on: str | None = None,
    on_fold: Callable[[Run], None] = tell_nobody,
    **settings: Unpack[Settings],
) -> Runs:
    """Evaluate every algorithm on every dataset, with the folds that the database has already.

    Args:
        datasets: Each as of `evaluate`.
        algorithms: Ids of `algorithms()`, every parameter at its default, or models in memory as of
            `evaluate`, which are computed anew.
        splits: Each as of `evaluate`; by default each algorithm's usual one.
        rule: The rule that ends each run, as of `evaluate`, registered; by default all folds run.
        keep: Leave it in the database, where the page Studies finds it.
        on: Where folds are computed, as of `evaluate`.
        on_fold: Told of each run after every fold of it.
        settings: As of `evaluate`, the same for all.

    Returns:
        The runs that answer, in the order in which they were asked for; one that failed says why in
        `record.error`.

    Raises:
        InputError: For an unknown name, or data that cannot serve.

    >>> import ecv_core as ecv
    >>> runs = ecv.study(["synthetic"], ["popular"], k=3, keep=False)
    >>> [len(run.scores) for run in runs]
    [3]
    """
    all_settings = _settings_of_study_rule(rule) | dict(settings)
    dataset_ids = list(map(dataset_id, datasets))
    split_ids = list(map(_split_id, splits))

    def show_fold(run: RunRecord) -> None:
        on_fold(Run(run))

    callbacks = _callbacks(show_fold)
    with as_settings(algorithms) as named_models:
        # An id stands for itself; a model in memory has settings, which say how it is held.
        models = [model.settings or model.name for model in named_models]
        cells = studies.planned_cells(dataset_ids, models, split_ids, **all_settings)
        _check_possible(cells)
        in_memory = any(model.settings for model in named_models)
        with _workplace(on, keep=keep, in_memory=in_memory) as (store, executor):
            keep_plan(store, STUDY, [PlannedRun(spec=cell.spec) for cell in cells])
            cells_with_earlier_runs = studies.cells_with_runs(cells, store)
            cells_to_compute = [
                cell for cell in cells_with_earlier_runs if not cell.has_every_score
            ]
            computed_cells = studies.compute_study(
                store, cells_to_compute, executor=executor, callbacks=callbacks
            )
    return _runs_of(cells, [*cells_with_earlier_runs, *computed_cells])


def _check_possible(cells: Sequence[studies.Cell]) -> None:
    """Refuse a study of which a cell cannot be computed. Raises: InputError."""
    for _, obstacle in studies.with_obstacles(cells):
        if obstacle is not None:
            raise InputError(obstacle)


def _runs_of(cells: Sequence[studies.Cell], cells_with_runs: Sequence[studies.Cell]) -> Runs:
    """The runs that answer cells, in the order of these.

    Args:
        cells: The cells of a study, in the order in which they were asked for.
        cells_with_runs: The same with their runs, as far as there are some; of two cells of one
            spec the last one counts.
    """
    run_of_spec = {cell.spec: cell.run for cell in cells_with_runs}
    runs = []
    for cell in cells:
        run = run_of_spec[cell.spec]
        if run is not None:
            runs.append(Run(run))
    return Runs(runs)


def _settings_of_study_rule(rule: StoppingRule | str | None) -> dict[str, Any]:
    """The settings that name a study's rule; without a rule all folds run.

    Raises:
        InputError: For a rule that has no id.
    """
    if rule is None:  # All folds run, whatever the usual rule says of them.
        return {"full": True}
    rule_settings = settings_of_rule(rule)
    if rule_settings is None:
        raise InputError(
            f"a study names its rule, and {rule!r:.60} has no id: ecv.register_rule it"
        )
    return rule_settings


def _split_id(split: str | Strategy | SplitFunction) -> str:
    """The id of a way to split; one of one's own is registered by that."""
    if isinstance(split, str):
        return split
    return register_split(split).id


@kinds_checked
def select(
    dataset: object,
    contenders: Sequence[object],
    *,
    until: Until = "winner",
    indifference: float = 0.0,
    confidence: float = 0.95,
    expected_loss: float | None = None,
    budget: str | None = None,
    keep: bool = True,
    on: str | None = None,
    on_fold: Callable[[SelectionState], None] = tell_nobody,
    **settings: Unpack[ScoreSettings],
) -> Selected:
    """Find the best of several contenders, each stopped as soon as it cannot win any more.

    Folds of the database are used; the others run one after the other, or on several nodes.

    Args:
        dataset: An id of `datasets()`, on disk, or data in memory; as of `evaluate`.
        contenders: At least two, 'ALGORITHM[:name=value[,name=value]...]' each; names of tracked
            models too, whose folds must be there; or models in memory as of `evaluate`, which are
            computed anew.
        until: 'winner', or 'order' for the place of everybody.
        indifference: It ends once nobody can be ahead of the leader by more than this share of
            its mean. As good as the winner are only the contenders in `as_good`.
        confidence: The confidence of the verdict, in (0, 1).
        expected_loss: Which one to use: it ends once at most this share of the leader's mean is
            expected to be lost by taking it. None: it ends once it is certain who is best.
        budget: '50 Wh', '20 min' or '30 folds': the best so far within it.
        keep: Leave it in the database, where the page "Which is best?" finds it.
        on: Where folds are computed, as of `evaluate`.
        on_fold: Told where the selection is after every fold.
        settings: As of `fold.spec.make_spec`, the same for all: split, k, seed, metric, n, ...

    Raises:
        InputError: For what cannot be compared or run.
        RunError: If a fold fails.

    >>> import ecv_core as ecv
    >>> ecv.select("synthetic", ["popular", "ease"], k=3, keep=False).winner
    'ease'
    """
    name = dataset_id(dataset)
    limit = None
    if budget is not None:
        limit = Budget.parse(budget)
    with as_settings(contenders) as named_models:
        contenders_with_specs = _contenders_of(name, named_models, settings)
        spec = contenders_with_specs[0].spec
        terms = selections.terms_for(
            spec,
            confidence=confidence,
            indifference=indifference,
            until=until,
            expected_loss=expected_loss,
            budget=limit,
        )
        in_memory = any(model.settings for model in named_models)
        callbacks = _callbacks()
        with _workplace(on, keep=keep, in_memory=in_memory) as (store, executor):
            _, state = selections.compute_selection(
                store,
                contenders_with_specs,
                terms,
                executor=executor,
                on_fold=on_fold,
                callbacks=callbacks,
            )
    return Selected(state, name, spec.metric_name)


def _contenders_of(
    dataset: str, named_models: Sequence[NamedModel], settings: Mapping[str, Any]
) -> list[Contender]:
    """A contender for each model, with the spec of its run.

    Raises:
        InputError: For what cannot be compared, or no contender.
    """
    # A contender may be the name of a tracked model, whose folds other code has computed.
    tracked = selections.tracked_names(open_store(), dataset)
    contenders = []
    for model in named_models:
        if model.settings:
            spec = make_spec(dataset=dataset, rule=NEVER_STOPS, **model.settings, **settings)
            fold.check_needs(spec)
            contenders.append(Contender(model.name, spec))
        else:
            contenders += selections.named_contenders(
                dataset, [model.name], tracked=tracked, **settings
            )
    if not contenders:
        # This raises the error of the command, which says how many it takes.
        selections.named_contenders(dataset, [])
    return contenders


@kinds_checked
def tune(
    dataset: object,
    algorithm: object,
    space: str | Mapping[str, Sequence[ParamValue]] | None = None,
    *,
    sampler: Sampler = "grid",
    budget: int | None = None,
    confidence: float = 0.95,
    indifference: float = 0.0,
    all_folds: bool = False,
    keep: bool = True,
    on: str | None = None,
    on_fold: Callable[[], None] = tell_nobody,
    **settings: Unpack[ScoreSettings],
) -> Tuned:
    """Find the best configuration of an algorithm; each stops as soon as it cannot win any more.

    Args:
        dataset: As of `evaluate`.
        algorithm: An id of `algorithms()`; or a model in memory: its class or a function that makes
            one, called with the parameters, or an object with `set_params`; it is computed anew.
        space: A declared space by its name, or the values of parameters, name -> values; by default
            the algorithm's own. A model in memory has none.
        sampler: Which configurations are tried.
        budget: How many; by default all of a grid.
        confidence, indifference: as of `select`.
        all_folds: Whether every configuration runs all folds, for `power`.
        keep: Leave the runs in the database.
        on: Where folds are computed, as of `evaluate`.
        on_fold: Called after every fold.
        settings: As of `evaluate`, the same for all.

    Returns:
        What was tried and what was found: `params`, `sentence`, `document()`.

    Raises:
        InputError: For what cannot be run.
        RunError: If a fold fails.

    >>> import ecv_core as ecv
    >>> ecv.tune("synthetic", "item-knn", {"neighbours": [1, 50]}, k=3, keep=False).params
    {'neighbours': 50}
    """
    space_name = None
    own_values = None
    if isinstance(space, str):
        space_name = space
    elif space is not None:
        own_values = dict(space)
    in_memory = not isinstance(algorithm, str)

    def show_fold(_: RunRecord) -> None:
        on_fold()

    callbacks = _callbacks(show_fold)
    # A model in memory is held under a key of its own while its folds are computed.
    settings_context: AbstractContextManager[dict[str, Any]]
    settings_context = nullcontext({"algorithm": algorithm})
    if in_memory:
        settings_context = as_tuning_settings(algorithm, own_values or {})
    with settings_context as model_settings:
        plan = tunings.make_tuning(
            dataset=dataset_id(dataset),
            space=space_name,
            own_values=own_values,
            sampler=sampler,
            budget=budget,
            confidence=confidence,
            indifference=indifference,
            all_folds=all_folds,
            **model_settings,
            **settings,
        )
        with _workplace(on, keep=keep, in_memory=in_memory) as (store, executor):
            return tunings.tune(store, plan, executor=executor, callbacks=callbacks)


@kinds_checked
def power(
    dataset: str,
    algorithm: str,
    *,
    pairs: Literal["all", "25"] = "all",
    seed: int = 0,
    metric: str | None = None,
    own: bool = False,
) -> MetricsStudy:
    """Which metric tells the configurations of a tuning apart, and which parameter matters most.

    Args:
        dataset, algorithm: ids; of a tuning with all folds, recorded or your own.
        pairs: The exact expectation over all pairs, or one draw of 25.
        seed: The seed of the draw.
        metric: The metric that dominance is worked out by, 'ndcg@10' by default.
        own: Your own tuning, where there is a recorded one too.

    Returns:
        `sentence()`, `ranked`, `curves`, `dominant`.

    Raises:
        InputError: Where there is no such tuning.

    >>> import ecv_core as ecv
    >>> study = ecv.power("ml-100k", "item-knn")
    >>> study.ranked[0] in study.curves
    True
    """
    tests = find_tuning(open_store(), dataset, algorithm, own=own)
    return study_metrics(tests, pairs=pairs, seed=seed, metric=metric)


@kinds_checked
def orders(
    scores: Sequence[float] | NDArray[np.floating] | Run,
    rule: StoppingRule | str,
    *,
    confidence: float = 0.95,
    draws: int = DRAWS,
    seed: int = 0,
    within_percent: float | None = None,
) -> Outcome:
    """What a rule would have done over every order in which the folds could have come.

    Exact for the rules of the package but std-stagnation; for any other `draws` orders are drawn,
    and `standard_errors` says how exact that is.

    Args:
        scores: One per fold; or a run all of whose folds are in, so that costs are joules and
            rules see what else is known of each fold.
        rule: Any object with `decide(results)`; or an id, with its usual parameters.
        confidence: The confidence of the interval at the stop, for the coverage, where the rule has
            none.
        draws: How many orders are drawn.
        seed: Same seed, same orders.
        within_percent: A difference to the k-fold mean that is close enough; gives `within`.

    Raises:
        InputError: For bad scores, a run that is not complete, or a rule that needs users' scores
            which are not there.

    >>> import ecv_core as ecv
    >>> float(ecv.orders([0.31, 0.32, 0.30, 0.33], ecv.Never()).mean_stop)
    4.0
    """
    if isinstance(scores, Run):
        rule = rule_over(scores.k, rule)
        fold_scores = _scores_of_run(scores, rule)
    else:
        if np.ndim(scores) != 1:
            raise InputError(f"scores are one for each fold, but have the shape {np.shape(scores)}")
        rule = rule_over(len(scores), rule)
        fold_scores = Scores(folds=np.asarray(scores))
    return exploration.outcome_over_orders(
        fold_scores,
        rule,
        confidence=confidence,
        draws=draws,
        seed=seed,
        within_percent=within_percent,
    )


def _scores_of_run(run: Run, rule: StoppingRule) -> Scores:
    """A run's scores, with what the rule wants to know beside them."""
    if not run.record.whole:
        raise InputError(
            f"run {run.run_id} has {len(run.scores)} of {run.spec.k} folds, but every order of the "
            "folds needs them all; run it with full=True"
        )
    check_exchangeable(
        run.spec.split, "other orders of them mean nothing: look at them in their own order"
    )
    results = Results(open_store())
    scores = results.scores(run.record)
    if not (isinstance(rule, TakesCheapModels) and rule.needed_cheap_models):
        return scores
    # The rule adjusts its mean by the scores of cheap models on the same folds, so the run's users
    # have to stand in the order of theirs.
    cheap_models = cheap_models_of(results, run.spec, rule.needed_cheap_models)
    user_scores = results.user_scores(run.record)
    aligned_scores = cheap_models.aligned_table(user_scores, run.spec.metric_name)
    return replace(scores, cheap_models=cheap_models, users=aligned_scores)
