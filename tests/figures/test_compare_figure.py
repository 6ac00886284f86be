"""Several runs side by side: the frame by hand, and the figure's order."""

import math
from datetime import UTC, datetime

import pytest

from ecv_core.figures.compare import (
    COLUMNS,
    Entry,
    compare_alt_text,
    compare_figure,
    compare_frame,
)
from ecv_core.records import (
    Decision,
    Energy,
    FoldResult,
    Interval,
    Moment,
    Run,
    RunSpec,
    RunState,
)


def entry(algorithm, scores, stopped_at, state=RunState.FINISHED):
    folds = tuple(
        FoldResult(
            fold=index,
            score=score,
            metrics={"ndcg@10": score},
            users=5,
            fit_seconds=1,
            evaluate_seconds=1,
            total_seconds=2,
            energy=Energy(
                joules=10, cpu_joules=10, gpu_joules=0, ram_joules=0, grams_co2e=0, source="rapl"
            ),
        )
        for index, score in enumerate(scores)
    )
    moments = [
        Moment(
            n=n,
            fold=n - 1,
            score=scores[n - 1],
            mean=sum(scores[:n]) / n,
            interval=Interval(low=0.1 * n, high=1 - 0.1 * n) if n > 1 else None,
            decision=Decision(stop=False, reason=""),
        )
        for n in range(1, len(scores) + 1)
    ]
    run = Run(
        run_id=f"id-{algorithm}",
        spec=RunSpec(dataset="synthetic", algorithm=algorithm, k=5),
        state=state,
        folds=folds,
        created_at=datetime(2026, 1, 1, tzinfo=UTC),
        stopped_at=stopped_at,
    )
    return Entry(run, moments)


ENTRIES = [
    entry("item-knn", [0.2, 0.4, 0.3, 0.5], 3),
    entry("popular", [0.1], None, RunState.RUNNING),
    entry("implicit-mf", [], None, RunState.QUEUED),
]


def test_each_run_is_a_row_with_its_mean_at_the_stop_and_the_energy_until_there():
    frame = compare_frame(ENTRIES)
    assert list(frame.columns) == list(COLUMNS)
    assert frame["algorithm"].tolist() == ["item-knn", "popular", "implicit-mf"]
    first, second, third = frame.to_dict("records")
    assert first["mean"] == pytest.approx(0.3)
    assert (first["low"], first["high"]) == pytest.approx((0.3, 0.7))
    assert (first["folds_used"], first["folds_saved"], first["joules"]) == (3, 2, 30)
    assert (second["folds_used"], second["folds_saved"], second["mean"]) == (1, 0, 0.1)
    assert math.isnan(second["low"])
    assert third["folds_used"] == 0
    assert math.isnan(third["mean"])


def test_the_first_run_is_on_top_and_runs_without_a_fold_keep_their_place():
    figure = compare_figure(compare_frame(ENTRIES), metric="nDCG@10")
    assert list(figure.data[0].y) == ["item-knn", "popular"]
    assert figure.layout.yaxis.categoryarray == ("implicit-mf", "popular", "item-knn")


def test_the_alt_text_names_every_run():
    text = compare_alt_text(compare_frame(ENTRIES), metric="nDCG@10")
    assert text == (
        "nDCG@10 of 3 runs: item-knn 0.3000 after 3 folds; popular 0.1000 after 1 fold; "
        "implicit-mf has no fold yet."
    )
