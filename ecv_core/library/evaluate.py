"""An evaluation from one line of Python: a run, fold by fold, in this process."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from typing import Unpack

from ecv_core import fold
from ecv_core.jobs.book import Book, Says, refuse
from ecv_core.jobs.cluster.choose import executor_on
from ecv_core.jobs.driver import drive
from ecv_core.jobs.plans.run import RunPlan
from ecv_core.library.in_memory import computing, name_of
from ecv_core.library.run import Run
from ecv_core.library.settings import Settings, spec_for
from ecv_core.library.track import track
from ecv_core.records.arguments import kinds_checked
from ecv_core.records.errors import InputError
from ecv_core.records.plugins import naming_code
from ecv_core.records.run import Run as RunRecord
from ecv_core.stopping import StoppingRule
from ecv_core.store.ownership import this_process
from ecv_core.store.store import Store, open_store


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
    on_fold: Callable[[Run], None] = lambda run: None,
    **settings: Unpack[Settings],
) -> Run:
    """Evaluate an algorithm fold by fold in this process, until the rule says stop.

    Args:
        dataset: an id of `datasets()`, on disk, see `load`; or data in memory: `Data`, a pandas or
            polars frame, a scipy sparse matrix (users x items), a LensKit Dataset, or arrays
            (users, items[, ratings[, timestamps]]). Their content names them.
        algorithm: an id, such as 'ease', or a LensKit scorer, 'lenskit:module.Class'; or a model:
            an object with `fit(matrix)` and `score(users) -> users x items`, or `recommend` as
            implicit has it, a scorer or pipeline of LensKit, or a function of the training matrix
            that returns users x items. Each fold fits a copy of it, here, in this process.
        name: what a model that is no id is called in tables and pages; by default its class.
        rule: when to stop: an instance, of the package or any object with `decide(results)`; or
            an id. By default `EFold(alpha=1e-4)`, or `Never()` for a split with one fold.
        keep: leave the run in the database, where pages and `runs()` find it. One by an instance
            that is not registered (`register_rule`) is not kept: nobody could say its rule again.
        anew: compute every fold, also those that a run of the database has; by default these are
            used again, and `document()["folds"][i]["reused"]` says so.
        on: where folds are computed, 'local:3', 'tcp://host:8786' or 'slurm': see docs/cluster.md;
            by default what ECV_CLUSTER says, else this process.
        on_fold: told of the run after every fold.
        settings: as of `fold.spec.make_spec`: params, split, split_params, k, seed, metric ('ndcg',
            or 'ndcg@10'), n, full, ...
    Returns: the finished run.
    Raises: InputError for what cannot be run; RunError if a fold fails, its finished folds kept.
    """
    if not isinstance(algorithm, str):
        if on is not None:
            raise InputError(f"a model in memory is computed here, not on {on}: leave `on` out")
        model = computing(algorithm)
        called = name or name_of(algorithm)
        cv = track(called, dataset=dataset, rule=rule, resume=not anew, keep=keep, **settings)
        try:
            for part in cv:
                cv.report(model(cv.spec, part))
                on_fold(cv.run)
        except BaseException:
            cv.forget_if_empty()  # nothing was learnt of it
            raise
        return cv.run
    if name is not None:
        raise InputError(f"name is for a model of your own; '{algorithm}' has one: leave it out")
    for what in ("metric", "split"):
        if on is not None and not isinstance(settings.get(what), str | None):
            raise InputError(
                f"this {what} is known to this program alone, not on {on}; register it in a module "
                "of ECV_PLUGINS and give its id, or leave `on` out"
            )

    def told(run: RunRecord) -> None:
        if run.run_id == run_id:  # and not one of the cheap models that it is adjusted by
            on_fold(Run(run))

    says = Says(fold=told, trouble=refuse)
    with naming_code():  # who writes Python may name code of their own
        asked, strange = spec_for(dataset, algorithm, rule, settings)
        fold.data_of(asked)  # a dataset that cannot be read is bad input, not a failed run
        fold.check_needs(asked)
        fold.folds_of(asked)
        with (
            kept_or_not(keep and strange is None) as store,
            closing(executor_on(on)) as executor,
        ):
            (run_id,) = store.create([asked], owner=this_process(), anew=anew)
            book = Book(store, runs=[store.run(run_id)], rule=strange, anew=anew, says=says)
            drive(RunPlan(asked), book, executor)
            book.check_finished()
            return Run(store.run(run_id))


@contextmanager
def kept_or_not(keep: bool) -> Iterator[Store]:
    """The database, or one that is gone afterwards."""
    if keep:
        yield open_store()
        return
    with tempfile.TemporaryDirectory(prefix="ecv-") as folder:
        yield open_store(f"sqlite:///{folder}/run.sqlite")
