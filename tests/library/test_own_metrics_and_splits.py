"""Metrics and splits of one's own: as objects, registered, reported, read elsewhere, refused."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import KFold

import ecv_core as ecv
from ecv_core import evaluation
from ecv_core.evaluation import METRICS
from ecv_core.figures.words import metric_label
from ecv_core.records.errors import InputError
from ecv_core.records.interactions import Part
from ecv_core.splits import SPLITS
from ecv_core.store.document import command_for
from ecv_core.store.imports import read_run

TWO = ecv.Fixed(folds=2)
SOME = {"k": 4, "rule": TWO}


def share_of_list(hits, held_out):
    """Precision, by its definition."""
    return hits.mean(axis=1)


def test_a_function_of_hits_is_the_score_under_its_own_name():
    mine = ecv.Metric("share", share_of_list, title="Share of the list")
    run = ecv.evaluate("synthetic", "popular", metric=mine, n=7, **SOME)
    assert run.spec.metric_name == "share@7"
    for fold in run.record.folds:
        assert fold.score == fold.metrics["share@7"] == pytest.approx(fold.metrics["precision@7"])
    assert metric_label(run.spec) == "Share of the list@7"
    plain = ecv.evaluate("synthetic", "popular", n=7, keep=False, **SOME)
    assert "share@7" not in plain.record.folds[0].metrics  # only who asks computes it


def test_a_function_of_hits_may_give_users_without_a_hit_more_than_0():
    mine = ecv.Metric("missed", lambda hits, held_out: 1.0 - hits.any(axis=1))
    run = ecv.evaluate("synthetic", "popular", metric=mine, **SOME)
    for fold in run.record.folds:
        assert fold.score == pytest.approx(1 - fold.metrics["hit@10"])


def test_functions_of_predictions_are_of_each_rating_or_of_the_fold():
    absolute = ecv.Metric(
        "absolute", lambda p, g: abs(p - g), kind="ratings", higher_is_better=False
    )
    root = ecv.Metric("root", lambda p, g: float(((p - g) ** 2).mean() ** 0.5), kind="ratings")
    assert (absolute.per_user, root.per_user) == (True, False)
    run = ecv.evaluate("synthetic", "bias", metric=absolute, **SOME)
    for fold in run.record.folds:
        assert fold.score == pytest.approx(fold.metrics["mae"])
        assert fold.user_scores is None or "absolute" in fold.user_scores.metrics
    assert metric_label(run.spec) == "Absolute (lower is better)"
    run = ecv.evaluate("synthetic", "bias", metric=root, **SOME)
    assert run.scores == pytest.approx([fold.metrics["rmse"] for fold in run.record.folds])


def test_folds_that_other_code_scored_are_computed_anew():
    first = ecv.evaluate("synthetic", "popular", metric=ecv.Metric("mine", share_of_list), **SOME)
    again = ecv.evaluate("synthetic", "popular", metric=ecv.Metric("mine", share_of_list), **SOME)
    other = ecv.Metric("mine", lambda hits, held_out: 1 - hits.mean(axis=1))
    changed = ecv.evaluate("synthetic", "popular", metric=other, **SOME)
    assert [fold.reused for fold in again.record.folds] == [True, True]
    assert [fold.reused for fold in changed.record.folds] == [False, False]
    assert changed.scores == pytest.approx([1 - score for score in first.scores])


def test_a_reported_score_outside_the_range_of_the_metric_is_refused():
    clicks = ecv.Metric("clicks", low=0, high=30)
    cv = ecv.track("shop", dataset="synthetic", k=5, metric=clicks, rule=TWO)
    for _ in cv:
        for score in (-1, 31):
            with pytest.raises(InputError, match=f"is {score}, but Clicks is at"):
                cv.report(score)
        cv.report(30)
    assert cv.run.scores == (30, 30)


BAD = [
    (lambda hits, held: "high", "gave 'high'; it has to give numbers"),
    (lambda hits, held: [["a"]] * len(hits), "it has to give numbers"),
    (lambda hits, held: 0.5, r"shape \(\) for 3 users; give one number for each user"),
    (lambda hits, held: hits, r"shape \(3, 4\) for 3 users"),
    (lambda hits, held: held * np.nan, "gave nan; it has to give finite numbers"),
    (lambda hits, held: hits.no_such_thing, r"failed on arrays of shape \(3, 4\) and \(3,\), with"),
    (lambda hits: hits, "with TypeError"),
    (7, "computed by 7 of the kind 'hits'; give a function of ranked hits"),
]


@pytest.mark.parametrize(("function", "said"), BAD)
def test_what_is_no_metric_is_refused_before_anything_is_stored(function, said):
    with pytest.raises(InputError, match=said) as refused:
        ecv.evaluate("synthetic", "popular", metric=ecv.Metric("bad", function), **SOME)
    assert "\n" not in str(refused.value)
    assert not len(ecv.runs())


@pytest.mark.parametrize(
    ("made", "said"),
    [
        (
            lambda: ecv.evaluate("synthetic", "popular", metric=ecv.Metric("clicks"), on="local:2"),
            "this metric is known to this program alone, not on local:2; register it",
        ),
        (lambda: ecv.Metric("My metric", share_of_list), "hyphens, but is 'My metric'"),
        (lambda: ecv.Metric("x", share_of_list, kind="clicks"), "'hits' or 'ratings'"),
        (lambda: ecv.Metric("x", share_of_list, kind="lists"), "with kind='ratings'"),
        (lambda: ecv.Metric("x", low=1, high=1), "is from 1 to 1; its low is a number below its"),
        (lambda: ecv.Metric("x", low="0"), "is from '0' to inf"),
        (lambda: ecv.Metric("x", unit=3), "unit of a metric is a line of text, but is 3"),
        (lambda: ecv.register_metric(ecv.Metric("ndcg", share_of_list)), "'ndcg' already"),
        (lambda: ecv.register_metric(share_of_list), "or an ecv.Metric"),
        (lambda: ecv.evaluate("synthetic", "popular", metric=3), "is text or a Metric, but is 3"),
        (
            lambda: ecv.evaluate("synthetic", "popular", metric=ecv.Metric("clicks")),
            "'clicks' has no function, so only other code can report it",
        ),
        (
            lambda: ecv.evaluate("synthetic", "bias", metric=ecv.Metric("x", share_of_list)),
            "X is of ranked items, but bias predicts ratings",
        ),
    ],
)
def test_metrics_that_cannot_be_are_refused_in_a_sentence(made, said):
    with pytest.raises(InputError, match=said):
        made()


CLICKS = ecv.Metric("clicks", title="Clicks", unit="per visit", higher_is_better=False)


def tracked(metric=CLICKS, report=lambda fold: 17.5, **settings):
    cv = ecv.track("mine", dataset="synthetic", metric=metric, **SOME, **settings)
    for fold in cv:
        cv.report(report(fold))
    return cv.run


def test_reported_scores_have_the_name_direction_and_unit_that_they_were_given():
    run = tracked()
    assert run.record.folds[0].metrics == {"clicks": 17.5}
    assert metric_label(run.spec) == "Clicks (per visit, lower is better)"
    assert not evaluation.metric_of(run.spec).higher_is_better
    assert "--own-metric clicks --lower-is-better --unit 'per visit'" in command_for(run.spec)


@pytest.mark.parametrize(
    "report", [lambda fold: 0.5, lambda fold: dict.fromkeys(fold.test.user_id, 0.5)]
)
def test_scores_of_any_meaning_are_never_filed_as_ndcg(report):
    with pytest.raises(
        InputError, match="it is not known of which metric these scores of fold 0 are; name it"
    ):
        tracked(None, report)
    assert tracked("ndcg@10", report).mean == 0.5


def test_lists_need_no_word_and_a_function_scores_them():
    def lists(fold):
        train = fold.matrices.train
        best = np.argsort(np.where(train.toarray(), 0, -train.sum(axis=0)), axis=1)[:, :10]
        users = np.repeat(fold.data.user_ids, 10)
        return pd.DataFrame({"user_id": users, "item_id": fold.data.item_ids[best.ravel()]})

    run = tracked(None, lists)
    again = tracked(ecv.Metric("share", share_of_list), lists)
    precision = [fold.metrics["precision@10"] for fold in run.record.folds]
    assert again.scores == pytest.approx(precision)
    with pytest.raises(InputError, match="code of the metric 'clicks' is not here"):
        tracked(CLICKS, lists, resume=False)


def test_a_run_is_read_where_nobody_knows_its_metric():
    run = ecv.evaluate("synthetic", "popular", metric=ecv.Metric("odd", share_of_list), **SOME)
    document = json.dumps(run.document() | {"run_id": "elsewhere"}).encode()
    del METRICS["odd"]
    read = read_run(document, "run.json").run
    assert metric_label(read.spec) == "Odd@10"
    assert read.spec == run.spec
    assert metric_label(tracked().spec)  # another run does not mind
    with pytest.raises(InputError, match="no metric is called 'odd'"):
        ecv.evaluate("synthetic", "popular", metric="odd")
    foreign = json.loads(document)
    foreign["spec"]["own_metric"]["whole"] = "yes"
    with pytest.raises(InputError, match="what is said of the metric 'odd' cannot be"):
        read_run(json.dumps(foreign).encode(), "run.json")


def by_item(data, k, seed, settings):
    return data.items % k


def drawn(data, k, seed, settings):
    return lambda index: np.where(data.items % 5 == index, Part.TEST, Part.TRAIN)


@pytest.mark.parametrize("function", [by_item, drawn])
def test_a_split_of_ones_own_holds_out_what_it_says(function):
    run = ecv.evaluate("synthetic", "popular", split=function, k=3, rule=ecv.Fixed(folds=1))
    assert run.spec.split == function.__name__.replace("_", "-")
    data = ecv.load("synthetic")
    held = ecv.split(data, function, k=3, seed=42).parts(1) == Part.TEST
    expected = {by_item: data.items % 3 == 1, drawn: data.items % 5 == 1}[function]
    assert (held == expected).all()


def test_a_split_in_order_stops_no_run_early_and_other_code_is_refused():
    early = ecv.Strategy("early", by_item, in_order=True, default_k=3)
    run = ecv.evaluate("synthetic", "popular", split=early)
    assert (run.spec.rule, run.k, run.stopped_at) == ("never", 3, 3)
    other = ecv.Strategy("early", drawn, in_order=True)
    with pytest.raises(InputError, match="code of the split 'early' is not what it was"):
        ecv.evaluate("synthetic", "popular", split=other, split_params=dict(run.spec.split_params))


@pytest.mark.parametrize(
    ("function", "said"),
    [
        (lambda *_: "random", "gave 'random'; give the fold"),
        (lambda *_: np.zeros(3), r"gave float64 of shape \(3,\)"),
        (lambda data, k, *_: np.zeros(len(data), int), "holds nothing out in fold 1 of 3"),
        (lambda data, k, *_: np.full(len(data), 9), "gave 9, where numbers go from -1 to 2"),
        (lambda data, k, *_: 1 / 0, "failed with ZeroDivisionError: division by zero"),
        (lambda *_: lambda fold: "all", "gave 'all'"),
    ],
)
def test_what_is_no_split_is_refused_before_anything_is_stored(function, said):
    with pytest.raises(InputError, match=said):
        ecv.evaluate("synthetic", "popular", split=ecv.Strategy("bad", function), k=3)
    assert not len(ecv.runs())


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (7, "split of evaluate is text, a Strategy or a function, but is 7"),
        (ecv.Strategy("user-k-fold", by_item), "there is a split 'user-k-fold' already"),
        (KFold(3), "a Strategy or a function, but is KFold"),
    ],
)
def test_objects_that_are_no_split_are_refused(given, said):
    with pytest.raises(InputError, match=said):
        ecv.evaluate("synthetic", "popular", split=given)


def test_a_run_whose_split_is_not_here_is_shown():
    run = ecv.evaluate("synthetic", "popular", split=by_item, **SOME)
    del SPLITS["by-item"]
    (found,) = ecv.runs()
    assert found.mean == run.mean
    assert "by-item" in found.frame().to_string() + found.spec.split
    assert ecv.report(found)
