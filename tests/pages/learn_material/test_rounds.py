"""Rounds of the game, and the run that chapters follow."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from ecv_core.records.errors import InputError
from ecv_core.stopping import EFold, moments, stop_of
from pages.learn.material.recorded_runs import (
    FIRST_STOP,
    GUIDE,
    MAX_ROUND,
    complete_runs,
    guide_run,
    moments_in_order,
    round_of,
    stops_at,
)
from tests.fake_folds import fold_result

SCORES = (0.30, 0.34, 0.31, 0.33, 0.32, 0.29, 0.31, 0.335, 0.30, 0.32)


@pytest.fixture
def runs(make_run):
    return [make_run(SCORES), make_run([s / 3 for s in SCORES[::-1]], algorithm="item-knn")]


def test_a_round_is_the_same_whenever_it_is_played(runs):
    assert round_of(runs, 5) == round_of(runs, 5)
    assert round_of(runs, 5).moments != round_of(runs, 6).moments


@pytest.mark.parametrize("number", range(1, 21))
def test_a_round_stops_where_the_papers_formula_first_holds(runs, number):
    found = round_of(runs, number)
    assert sorted(one.fold for one in found.moments) == list(range(10))
    scores = [found.run.folds[one.fold].score for one in found.moments]
    widths = {
        n: 2 * stats.t.ppf(0.975, n - 1) * np.std(scores[:n], ddof=1) / np.sqrt(n)
        for n in range(2, 11)
    }
    fires = [n for n in range(3, 11) if widths[n] * abs(widths[n - 1] - widths[n]) <= found.alpha]
    assert found.stop == (fires[0] if fires else 10)


def test_no_fold_is_the_safe_bet(runs):
    stops = Counter(round_of(runs, number).stop for number in range(1, 101))
    assert set(stops) <= set(range(FIRST_STOP, 11))
    assert len(stops) >= 6
    assert max(stops.values()) < 50


@pytest.mark.parametrize("number", [0, -1, MAX_ROUND + 1])
def test_rounds_out_of_range_are_refused(runs, number):
    with pytest.raises(InputError, match=f"from 1 to {MAX_ROUND}"):
        round_of(runs, number)


def test_the_chapters_follow_the_guide_where_it_was_recorded(make_run):
    dataset, algorithm = GUIDE
    other, guide = make_run(SCORES), make_run(SCORES, dataset=dataset, algorithm=algorithm)
    assert guide_run([other, guide]) is guide
    assert guide_run([other]) is other


def test_without_recorded_runs_a_chapter_says_how_to_get_them(tmp_path, monkeypatch):
    monkeypatch.setattr("ecv_core.store.recorded.FOLDER", tmp_path)
    with pytest.raises(InputError, match="python -m ecv_core study"):
        complete_runs()


FIVE = np.array([0.30, 0.34, 0.31, 0.33, 0.32])


def test_the_moments_follow_the_order():
    found = moments_in_order(FIVE, [4, 0, 1, 2, 3])
    assert [one.fold for one in found] == [4, 0, 1, 2, 3]
    assert [one.score for one in found] == [0.32, 0.30, 0.34, 0.31, 0.33]
    assert found[1].mean == pytest.approx(0.31)
    assert found[0].interval is None


@given(st.permutations(range(5)), st.lists(st.floats(1e-7, 1.0), min_size=1, max_size=6))
def test_every_alpha_stops_where_the_live_rule_stops(order, alphas):
    stops = stops_at(moments_in_order(FIVE, order), np.array(alphas))
    results = [fold_result(fold, FIVE[fold]) for fold in order]
    live = [stop_of(moments(EFold(alpha=alpha), results, 0.95), 5) for alpha in alphas]
    assert stops.tolist() == live
