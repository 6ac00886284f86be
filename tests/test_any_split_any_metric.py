"""e-CV, orders, study and record with splits that are no k-fold, and metrics where low is good."""

import json
from datetime import UTC, datetime

import numpy as np
import pytest

from ecv_core.analysis import exploration
from ecv_core.analysis.tradeoff.rankings import rankings
from ecv_core.fold.computing import run_fold
from ecv_core.fold.spec import make_spec
from ecv_core.jobs.driver import drive
from ecv_core.jobs.executors import Here
from ecv_core.jobs.manager import Queue
from ecv_core.jobs.plan_runs import PlanRuns
from ecv_core.jobs.plans.run import RunPlan
from ecv_core.jobs.plans.study import Cell, begin, cells_of_study, first_run_that_answers
from ecv_core.records import codec
from ecv_core.records.run import RunState, Scores
from ecv_core.records.tasks import Task
from ecv_core.splits import SPLITS, serving
from ecv_core.store.document import RunDocument, run_document
from ecv_core.store.ownership import this_process
from ecv_core.store.recorded import record
from ecv_core.store.store import open_store
from tests.fake_folds import computing

NOW = datetime(2026, 1, 1, tzinfo=UTC)
SERVED = [
    name for name in serving(Task.TOP_N) if name != "leave-last-basket"
]  # synthetic has no baskets


def whole(store, **settings):
    spec = make_spec(**{"dataset": "synthetic", "algorithm": "popular"} | settings)
    (run_id,) = store.create([spec], owner=this_process())
    unmetered = Here(computing(run_fold))
    drive(RunPlan(spec), PlanRuns(store, runs=[store.run(run_id)]), unmetered)
    return store.run(run_id)


@pytest.mark.parametrize("split", SERVED)
def test_e_cv_and_record_work_under_every_split_with_a_metric_where_low_is_good(split, tmp_path):
    store = open_store()
    known = SPLITS[split]
    stops, k = known.default_k > 1 and not known.in_order, min(known.default_k, 4)
    run = whole(store, split=split, metric="gini", alpha=1.0, k=k)
    assert run.state is RunState.FINISHED
    # alpha 1 stops at the first chance, which is fold 3; a single split has nothing to stop, and
    # folds in order of time are all run.
    folds = 3 if stops else k
    assert (len(run.folds), run.stopped_at) == (folds, folds)
    assert all(fold.score == fold.metrics["gini@10"] for fold in run.folds)

    full = whole(store, split=split, metric="gini", full=True, k=k)
    record(full, tmp_path / "run.json", store.user_scores(full.run_id))
    again = codec.read(RunDocument, json.dumps(run_document(full))).record(NOW)
    assert again.spec == full.spec
    assert [fold.score for fold in again.folds] == [fold.score for fold in full.folds]


def test_a_study_runs_several_splits_and_reuses_what_is_known():
    store = open_store()
    settings = {"algorithm": "popular", "metric": "gini", "full": True}
    known = whole(store, split="temporal-global", **settings)
    assert known.state is RunState.FINISHED
    specs = [
        make_spec(dataset="synthetic", split=split, **settings)
        for split in ("temporal-global", "leave-last-item", "random-holdout")
    ]

    cells = cells_of_study(store, begin(store, Queue(store), [Cell(spec=spec) for spec in specs]))
    assert [cell.is_reused for cell in cells] == [True, False, False]
    assert [len(cell.spec.fold_order) for cell in cells] == [1, 1, 10]
    assert first_run_that_answers(specs[1], [known]) is None


def test_where_low_is_good_the_lowest_ranks_first_under_k_folds_and_at_the_stop():
    folds = np.array([0.5, 0.52, 0.51, 0.53, 0.5])
    systems = [
        Scores(
            name=name,
            dataset="d",
            metric="RMSE",
            algorithm=name,
            folds=folds + shift,
            higher_is_better=False,
        )
        for name, shift in (("worst", 0.4), ("best", 0.0), ("middle", 0.2))
    ]
    (ranking,) = rankings(systems, [1.0])
    assert ranking.k_fold_ranks.tolist() == [3, 1, 2]
    assert ranking.mean_ranks_at_stop.tolist() == [[3, 1, 2]]
    assert ranking.same_winner.tolist() == [1.0]


def test_orders_stop_alike_whichever_way_is_better():
    # The rule looks at spreads only, so scores and their mirror image stop at the same folds.
    scores = np.array([0.9, 1.1, 1.0, 0.7, 0.95, 1.2])
    alphas = np.array([1e-3, 1e-2, 1e-1])
    up, down = (
        exploration.explore(Scores(folds=folds)).curve(alphas, within_percent=2.0)
        for folds in (scores, 2 - scores)
    )
    np.testing.assert_allclose(up.stop_distribution, down.stop_distribution, atol=1e-12)
    np.testing.assert_allclose(up.coverage, down.coverage, atol=1e-12)
