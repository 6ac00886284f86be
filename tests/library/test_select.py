"""`ecv.select`, and `ecv.evaluate` with a mean that is corrected by cheap models."""

import numpy as np
import pytest

import ecv_core as ecv
from ecv_core.records.errors import InputError


def test_the_winner_is_the_best_over_all_folds_and_losers_stop_early():
    names = ["ease", "popular", "item-knn:neighbours=5"]
    found = ecv.select("synthetic", names, k=5, keep=False)
    means = [
        ecv.evaluate("synthetic", "ease", rule="never", k=5, keep=False).mean,
        ecv.evaluate("synthetic", "popular", rule="never", k=5, keep=False).mean,
        ecv.evaluate(
            "synthetic", "item-knn", params={"neighbours": 5}, rule="never", k=5, keep=False
        ).mean,
    ]
    assert found.winner == names[int(np.argmax(means))]
    assert found.order[0] == found.winner
    assert found.folds_used["popular"] < 5
    assert list(found.frame().index) == list(found.order)
    assert found.winner in repr(found)
    assert "<table" in found._repr_html_()
    assert list(ecv.runs()) == []


def test_one_contender_is_refused():
    with pytest.raises(InputError, match="two contenders, but has 1"):
        ecv.select("synthetic", ["ease"], k=5, keep=False)


def test_a_run_is_adjusted_by_cheap_models_that_run_all_folds_once():
    rule = ecv.Precision(tolerance=0.05, adjust_by=["popular", "item-knn"])
    run = ecv.evaluate("synthetic", "ease", rule=rule, k=5)
    assert {one.spec.algorithm: len(one.scores) for one in ecv.runs()} == {
        "ease": run.stopped_at,
        "popular": 5,
        "item-knn": 5,
    }
    whole = ecv.evaluate("synthetic", "ease", rule="never", k=5, keep=False).mean
    assert run.interval[0] <= whole <= run.interval[1]
    if run.stopped_at < 5:
        assert "the mean adjusted from" in run.reason
    ecv.evaluate("synthetic", "ease", rule=rule, k=5, seed=42)
    assert len(ecv.runs()) == 4  # the cheap models' runs are used again


def test_who_asked_is_told_of_the_folds_of_the_run_and_not_of_cheap_models():
    told = []
    rule = ecv.Precision(tolerance=0.5, adjust_by=["popular"])
    run = ecv.evaluate("synthetic", "ease", rule=rule, k=3, keep=False, on_fold=told.append)
    assert [len(one.scores) for one in told] == list(range(1, len(run.scores) + 1))


def test_folds_that_are_there_are_used_again_unless_they_are_wanted_anew():
    for index in range(3):
        ecv.evaluate("synthetic", "popular", k=3, rule="never", only_folds=(index,))
    again = ecv.evaluate("synthetic", "popular", k=3, rule="never")
    assert [fold["reused"] for fold in again.document()["folds"]] == [True] * 3
    anew = ecv.evaluate("synthetic", "popular", k=3, rule="never", anew=True)
    assert [fold["reused"] for fold in anew.document()["folds"]] == [False] * 3
    assert anew.scores == again.scores


def test_what_it_cannot_be_adjusted_by_is_refused():
    with pytest.raises(InputError, match="'ease' cannot be adjusted by itself"):
        ecv.evaluate("synthetic", "ease", rule=ecv.Precision(tolerance=0.1, adjust_by=["ease"]))
    with pytest.raises(InputError, match="belongs to the rule precision, but the rule is e-fold"):
        ecv.evaluate("synthetic", "ease", adjust_by=["popular"])
    twice = ecv.Precision(tolerance=0.1, adjust_by=["popular", "popular"])
    with pytest.raises(InputError, match="names 'popular' twice"):
        ecv.evaluate("synthetic", "ease", rule=twice)
    with pytest.raises(InputError, match="no algorithm is called 'popula'"):
        ecv.evaluate("synthetic", "ease", rule="precision", tolerance=0.1, adjust_by="popula")
