"""What a study says in all: scores of whole and of stopped runs, and some of the runs alone."""

from collections.abc import Sequence

import numpy as np
import pytest

from ecv_core.analysis.tradeoff.curves import PAPER_ALGORITHMS
from ecv_core.figures.study_summary import scores_frame, summary, systems_of
from ecv_core.fold.spec import make_spec
from ecv_core.jobs.plans.study import PAPER_DATASETS, of_the_paper
from ecv_core.records.run import RunRecord, RunState
from ecv_core.store.store import open_store
from tests.fake_folds import fold_result

SCORES = (0.30, 0.34, 0.31, 0.33, 0.32)


SCORE = 0.041


def a_run(algorithm: str, scores: Sequence[float], stopped_at: int | None = None) -> RunRecord:
    store = open_store()
    spec = make_spec(dataset="synthetic", algorithm=algorithm, k=5, full=stopped_at is None)
    run_id = store.create([spec], owner="me")[0]
    for fold, score in enumerate(scores):
        at = stopped_at if fold + 1 == stopped_at else None
        store.add_fold(run_id, fold_result(fold, score), stopped_at=at)
    store.finish(run_id, RunState.FINISHED)
    return store.run(run_id)


def test_scores_of_whole_runs_are_of_all_folds_and_of_stopped_ones_up_to_the_stop() -> None:
    whole, stopped = a_run("popular", SCORES), a_run("ease", [0.4, 0.4, 0.43], stopped_at=3)
    frame = scores_frame([whole, stopped], ids=True)
    assert frame["score"].tolist() == pytest.approx([0.32, 0.41])
    assert frame["folds"].tolist() == [5, 3]
    assert frame["of_best_percent"].tolist() == pytest.approx([100 * 0.32 / 0.41, 100])
    assert frame["algorithm"].tolist() == ["popular", "ease"]
    assert np.isnan(frame["low"][0])  # all folds are in: nothing is left to tell
    assert np.isnan(frame["low"][1])  # e-fold's interval does not say where the k-fold mean is
    assert frame["rule"].tolist() == ["e-fold, alpha 1e-4"] * 2


def test_a_run_checked_after_its_stop_scores_by_all_its_folds() -> None:
    checked = a_run("popular", SCORES, stopped_at=3)
    assert checked.whole
    assert scores_frame([checked])["score"].tolist() == pytest.approx([0.32])


def test_the_best_has_exactly_all_of_the_best() -> None:
    runs = [a_run("popular", [SCORE] * 5), a_run("ease", [SCORE / 2] * 5)]
    mean = sum([SCORE] * 5) / 5
    assert 100 * mean / mean != 100  # rounded on the way
    assert scores_frame(runs)["of_best_percent"].tolist() == [100, 50]


def test_errors_are_best_where_they_are_least() -> None:
    store = open_store()
    runs = []
    for algorithm, score in (("bias", 1.0), ("sgd-mf", 0.8)):
        spec = make_spec(dataset="synthetic", algorithm=algorithm, k=2, rule="never")
        run_id = store.create([spec], owner="me")[0]
        for fold in range(2):
            store.add_fold(run_id, fold_result(fold, score), stopped_at=None)
        store.finish(run_id, RunState.FINISHED)
        runs.append(store.run(run_id))
    assert scores_frame(runs)["of_best_percent"].tolist() == pytest.approx([80, 100])


def test_some_of_the_runs_say_what_they_say_alone() -> None:
    runs = [
        a_run("popular", SCORES),
        a_run("ease", [2 * score for score in SCORES]),
        a_run("item-knn", [0.1, 0.12, 0.15, 0.11, 0.1]),
    ]
    done = summary(systems_of(runs))
    alpha = done.alphas[len(done.alphas) // 2]
    alone = summary(systems_of(runs[1:]), alpha)
    assert alone.alphas == [alpha]
    mine = done.headline_of([1, 2])
    assert mine[mine["alpha"] == alpha].iloc[0].to_dict() == pytest.approx(
        alone.headline.iloc[0].to_dict(), nan_ok=True
    )


def test_the_paper_has_thirty_cells() -> None:
    # Its table 1 and section 3: five algorithms, six datasets.
    specs = [
        make_spec(dataset=dataset, algorithm=algorithm)
        for dataset in PAPER_DATASETS
        for algorithm in PAPER_ALGORITHMS
    ]
    assert sum(map(of_the_paper, specs)) == 30
    assert not of_the_paper(make_spec(dataset="ml-100k", algorithm="ease"))
    assert not of_the_paper(make_spec(dataset="synthetic", algorithm="popular"))
