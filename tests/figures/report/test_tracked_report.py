"""A tracked run in a report and in a text for a paper: nothing is said of it that is not known."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

from ecv_core.figures.report.describe import describe_runs, energy_sentence
from ecv_core.figures.report.run_report import run_report
from ecv_core.fold.spec import make_spec
from ecv_core.records.run import Energy, FoldResult, RunRecord, RunState
from ecv_core.stopping import Never, moments


def a_tracked_run() -> RunRecord:
    spec = make_spec(dataset="synthetic", algorithm="my model", tracked=True, k=3, rule="never")
    folds = tuple(
        FoldResult(
            fold=fold,
            score=0.3,
            metrics={"ndcg@10": 0.3},
            users=9,
            fit_seconds=1.0,
            evaluate_seconds=0.0,
            total_seconds=1.0,
            energy=replace(Energy.none(), joules=36.0, source="told"),
        )
        for fold in range(3)
    )
    return RunRecord(
        run_id="abc",
        spec=spec,
        state=RunState.FINISHED,
        folds=folds,
        moments=moments(Never(), folds, 0.95),
        created_at=datetime(2026, 1, 1, tzinfo=UTC),
        stopped_at=3,
    )


def test_the_report_says_that_its_folds_were_computed_elsewhere():
    text = run_report(a_tracked_run(), {})
    assert "The folds of my model were computed by code outside e-fold" in text
    assert "as that code reported it" in text
    assert "were ranked" not in text
    assert "reported by the program that computed the folds" in text


def test_the_methods_paragraph_claims_no_ranking_and_no_meter():
    run = a_tracked_run()
    said = str(describe_runs([run], {}))
    assert "The score was nDCG@10 of 'my model' as that code reported it." in said
    assert "were ranked" not in said
    assert "The folds of my model were computed by code outside e-fold" in said
    assert "CodeCarbon" not in energy_sentence([run])
