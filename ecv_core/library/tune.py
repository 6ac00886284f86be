"""The best parameters of an algorithm, and which metric tells parameters apart."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from typing import Literal, Unpack

from ecv_core.analysis.tuning.metrics_study import MetricsStudy, find_tuning, study_metrics
from ecv_core.analysis.tuning.spaces import Sampler
from ecv_core.jobs.book import Says, refuse
from ecv_core.jobs.cluster.choose import executor_on
from ecv_core.jobs.plans import tune as tuning
from ecv_core.jobs.plans.tune import Tuned
from ecv_core.library.evaluate import kept_or_not
from ecv_core.library.in_memory import dataset_id
from ecv_core.library.settings import ScoreSettings
from ecv_core.records.arguments import kinds_checked
from ecv_core.records.parameters import ParamValue
from ecv_core.store.store import open_store


@kinds_checked
def tune(
    dataset: object,
    algorithm: str,
    space: str | Mapping[str, Sequence[ParamValue]] | None = None,
    *,
    sampler: Sampler = "grid",
    budget: int | None = None,
    confidence: float = 0.95,
    indifference: float = 0.0,
    all_folds: bool = False,
    share: bool = True,
    keep: bool = True,
    on: str | None = None,
    on_fold: Callable[[], None] = lambda: None,
    **settings: Unpack[ScoreSettings],
) -> Tuned:
    """Find the best configuration of an algorithm; each stops as soon as it cannot win any more.

    Args:
        dataset: as of `evaluate`.
        algorithm: an id of `algorithms()`.
        space: a declared space by its name, or the values of parameters, name -> values; by default
            the algorithm's own.
        sampler: which configurations are tried.
        budget: how many; by default all of a grid.
        confidence, indifference: as of `select`.
        all_folds: whether every configuration runs all folds, for `power`.
        share: whether configurations that share work are fitted together.
        keep: leave the runs in the database.
        on: where folds are computed, as of `evaluate`.
        on_fold: called after every fold.
        settings: as of `evaluate`, the same for all.
    Returns: what was tried and what was found: `params`, `sentence`, `document()`.
    Raises: InputError for what cannot be run; RunError if a fold fails.
    """
    plan = tuning.make_tuning(
        dataset=dataset_id(dataset),
        algorithm=algorithm,
        space=space if isinstance(space, str) else None,
        own=None if space is None or isinstance(space, str) else dict(space),
        sampler=sampler,
        budget=budget,
        confidence=confidence,
        indifference=indifference,
        all_folds=all_folds,
        **settings,
    )
    with kept_or_not(keep) as store, closing(executor_on(on)) as executor:
        says = Says(fold=lambda run: on_fold(), trouble=refuse)
        return tuning.tune(store, plan, executor=executor, share=share, says=says)


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
        pairs: the exact expectation over all pairs, or one draw of 25.
        seed: of the draw.
        metric: that dominance is worked out by, 'ndcg@10' by default.
        own: your own tuning, where there is a recorded one too.
    Returns: `sentence()`, `ranked`, `curves`, `dominant`, `importances`.
    Raises: InputError where there is no such tuning.
    """
    scores = find_tuning(open_store(), dataset, algorithm, own=own)
    return study_metrics(scores, pairs=pairs, seed=seed, metric=metric)
