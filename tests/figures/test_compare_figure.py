"""Several runs side by side: the frames by hand, and what the figures show of them."""

import itertools
import math
from datetime import UTC, datetime

import pytest

from ecv_core.figures.compare import (
    COLUMNS,
    NamedRun,
    compare_alt_text,
    compare_figure,
    compare_frame,
)
from ecv_core.records.run import Decision, Energy, FoldResult, Interval, Moment, RunRecord, RunState
from ecv_core.records.spec import RunSpec


def named(algorithm, scores, stopped_at, state=RunState.FINISHED, source="rapl", **spec):
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
                joules=10, cpu_joules=10, gpu_joules=0, ram_joules=0, grams_co2e=1, source=source
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
    run = RunRecord(
        run_id=f"id-{algorithm}",
        spec=RunSpec(**{"dataset": "synthetic", "algorithm": algorithm, "k": 5} | spec),
        state=state,
        folds=folds,
        moments=moments,
        created_at=datetime(2026, 1, 1, tzinfo=UTC),
        stopped_at=stopped_at,
    )
    return NamedRun(algorithm, run)


RUNS = [
    named("item-knn", [0.2, 0.4, 0.3, 0.5], 3, full=True),
    named("popular", [0.1], None, RunState.RUNNING),
    named("implicit-mf", [], None, RunState.QUEUED),
]


def test_each_run_is_a_row_with_its_mean_at_the_stop_and_what_it_took_until_there():
    frame = compare_frame(RUNS)
    assert list(frame.columns) == list(COLUMNS)
    assert frame["name"].tolist() == ["item-knn", "popular", "implicit-mf"]
    first, second, third = frame.to_dict("records")
    assert first["mean"] == pytest.approx(0.3)
    assert (first["low"], first["high"]) == pytest.approx((0.3, 0.7))
    assert (first["folds_used"], first["folds_saved"], first["stop"]) == (3, 2, 3)
    assert (first["joules"], first["grams_co2e"], first["seconds"]) == (30, 3, 6)
    # Four of five folds ran at 10 J each, the fourth to check the stop: it and the fifth were not
    # needed.
    assert (first["saved_joules"], first["saved_percent"]) == pytest.approx((20, 40))
    assert math.isnan(first["k_fold_mean"])
    assert (second["folds_used"], second["folds_saved"], second["mean"]) == (1, 0, 0.1)
    assert math.isnan(second["low"])
    assert math.isnan(second["saved_joules"])
    assert third["folds_used"] == 0
    assert math.isnan(third["mean"])


def test_intervals_of_a_rule_whose_plug_in_is_not_here_are_told_by_its_id():
    frame = compare_frame([named("popular", [0.1, 0.2], 2, rule="half-moon")])
    assert frame["interval"].tolist() == ["95 %, half-moon rule"]


def test_all_folds_give_the_k_fold_mean_and_the_papers_difference():
    (row,) = compare_frame([named("ease", [0.2, 0.4, 0.3, 0.5, 0.1], 3)]).to_dict("records")
    assert row["k_fold_mean"] == pytest.approx(0.3)
    assert row["difference_percent"] == pytest.approx(0)
    (row,) = compare_frame([named("ease", [0.2, 0.2, 0.2, 0.4, 0.5], 3)]).to_dict("records")
    assert row["difference_percent"] == pytest.approx(40)  # |0.2 - 0.3| / 0.25


def test_a_run_that_never_stopped_has_no_stop_and_one_without_a_meter_no_energy():
    (row,) = compare_frame([named("ease", [0.2] * 5, 5, source="none")]).to_dict("records")
    assert math.isnan(row["stop"])
    assert all(math.isnan(row[name]) for name in ("joules", "grams_co2e", "saved_joules"))


def test_the_first_run_is_on_top_and_runs_without_a_fold_keep_their_place():
    figure = compare_figure(compare_frame(RUNS).head(3))
    axis = figure.layout.yaxis
    assert axis.ticktext == ("item-knn", "popular", "implicit-mf")
    assert axis.range[0] > axis.range[1]  # 0 is on top
    (means,) = [one for one in figure.data if one.name and one.name.startswith("mean at")]
    assert list(means.y) == [0, 1]


def test_intervals_made_in_different_ways_are_named_and_drawn_differently():
    frame = compare_frame(
        [
            named("a", [0.2, 0.4], None),
            named(
                "b",
                [0.2, 0.4],
                None,
                rule="precision",
                rule_params=(("tolerance", 0.03),),
                min_folds=1,
            ),
            named("c", [0.2, 0.4], None, confidence=0.9),
            named("d", [0.1], None),
        ]
    )
    kinds = ["95 %, t over folds", "95 %, k-fold mean", "90 %, t over folds", ""]
    assert frame["interval"].tolist() == kinds
    means = [one for one in compare_figure(frame).data if one.name and "mean at" in one.name]
    assert [one.name for one in means] == [
        f"mean at the stop and interval ({kind})" for kind in kinds[:3]
    ]
    assert [list(one.y) for one in means] == [[0, 3], [1], [2]]  # 'd' has no interval to mistake
    assert len({(one.marker.symbol, one.error_x.color) for one in means}) == 3


def test_a_hover_says_no_interval_of_a_single_fold():
    runs = [named("item-knn", [0.2], None), named("popular", [0.2, 0.4], None)]
    _ticks, means, *_ = compare_figure(compare_frame(runs)).data
    of_one_fold, of_two_folds = means.hovertemplate
    assert "interval" not in of_one_fold
    assert list(means.customdata[1][4:7]) == ["0.3000", "0.2000", "0.8000"]  # of `named`
    assert "mean %{customdata[4]}, interval %{customdata[5]} to %{customdata[6]} (" in of_two_folds


def test_each_dataset_has_a_panel_and_none_covers_another():
    runs = [named(a, [0.1, 0.2], None, dataset=d) for d in "xyz" for a in ("a", "b", "c")]
    frame = compare_frame(runs)
    figure = compare_figure(frame)
    spans = [figure.layout[name].domain for name in ("yaxis", "yaxis2", "yaxis3")]
    assert all(upper[0] > lower[1] for upper, lower in itertools.pairwise(spans))
    assert spans[-1][0] >= 0
    titles = [note.text for note in figure.layout.annotations]
    assert titles == [f"<b>nDCG@10</b> on <b>{d}</b>" for d in "xyz"]


@pytest.mark.parametrize(
    ("names", "of"), [(("NMF", "NMF, seed 7"), ""), (("alpha 1e-4", "alpha 1e-5"), " of NMF")]
)
def test_a_panel_of_one_algorithm_has_its_title_where_no_run_has_it(names, of):
    runs = [NamedRun(name, named("nmf", [0.1, 0.2], None).run) for name in names]
    (title,) = compare_figure(compare_frame(runs)).layout.annotations
    assert title.text == f"<b>nDCG@10</b>{of} on <b>Synthetic</b>"


def test_the_alt_text_names_every_run():
    text = compare_alt_text(compare_frame(RUNS))
    assert text == (
        "nDCG@10 of 3 runs on Synthetic: item-knn 0.3000 after 3 folds; popular 0.1000 after 1 "
        "fold; implicit-mf has no fold yet."
    )
