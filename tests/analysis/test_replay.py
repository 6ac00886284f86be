"""A run told again: by the code that decides live, with a sentence for each moment."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ecv_core.analysis.replay import explanations, replay
from ecv_core.fold.spec import make_spec
from ecv_core.records.errors import InputError
from tests.fake_folds import fold_result

SCORES = np.array([0.30, 0.34, 0.31, 0.33, 0.32])


def folds_of(*scores):
    return [fold_result(index, score) for index, score in enumerate(scores)]


def spec_of(**settings):
    return make_spec(
        **{"dataset": "synthetic", "algorithm": "item-knn", "alpha": 1.0, "k": 5} | settings
    )


def test_a_replay_stops_where_the_rule_says():
    replayed_run = replay(spec_of(), folds_of(0.30, 0.34, 0.31, 0.33, 0.32))
    assert replayed_run.stopped_at == 3  # alpha 1 stops at the first chance


def test_another_alpha_moves_the_stop():
    assert replay(spec_of(alpha=1e-12), folds_of(*SCORES)).stopped_at == 5


@given(st.integers(0, 1000))
def test_a_shuffle_tells_every_fold_once_and_comes_again_with_its_seed(seed):
    folds = folds_of(*SCORES)
    told = replay(spec_of(), folds, seed).folds
    assert sorted(one.fold for one in told) == [0, 1, 2, 3, 4]
    assert told == replay(spec_of(), folds, seed).folds
    assert seed or list(told) == folds


def test_there_is_one_sentence_per_moment_and_one_before_the_first():
    # means: of three 0.95 / 3 = 0.31667, of four 0.32, of all 0.32
    said = explanations(replay(spec_of(), folds_of(0.30, 0.34, 0.31, 0.33, 0.32)))
    assert len(said) == 6
    assert said[0] == "Before the first fold: no score is known yet, and up to 5 folds may run."
    assert said[1].startswith("After 1 fold: one score gives no interval yet")
    assert said[3].endswith("so the interval is steady enough: stop.")
    # |0.31667 - 0.32| / 0.318333 = 1.05 %
    assert said[4] == (
        "After 4 folds, the last run only to check: the mean is 0.3200, "
        "1.05 % from the 0.3167 at the stop."
    )
    assert said[5] == (
        "Checked: the mean of all 5 folds is 0.3200, 1.05 % from the 0.3167 at the stop."
    )


def test_a_run_that_never_stopped_says_so_at_its_last_fold():
    said = explanations(replay(spec_of(alpha=1e-12), folds_of(*SCORES)))
    assert said[-1].endswith("All 5 folds have run, and the rule never decided to stop.")
    assert "go on" not in said[-1]


def test_a_run_that_ends_before_the_rule_stops_says_that_no_more_ran():
    replayed_run = replay(spec_of(alpha=1e-12), folds_of(0.30, 0.34, 0.31))
    assert replayed_run.stopped_at is None
    assert explanations(replayed_run)[-1].endswith("this run has 3 of 5.")


def test_one_fold_can_be_told_too():
    replayed_run = replay(spec_of(), folds_of(0.3))
    assert explanations(replayed_run)[-1].endswith("this run has 1 of 5.")


@pytest.mark.parametrize(
    ("spec", "folds", "seed", "words"),
    [
        ({}, (), 0, "no fold of this run is finished"),
        ({}, (0.3, 0.4), -1, "seed of an order must be 0 or more, but is -1"),
        ({"rule": "precision", "tolerance": 0.03, "min_folds": 1}, (0.3,), 0, "every user's score"),
    ],
)
def test_what_cannot_be_told_is_a_sentence(spec, folds, seed, words):
    with pytest.raises(InputError, match=words):
        replay(spec_of(**spec), folds_of(*folds), seed)


def test_seed_0_is_the_order_in_which_they_ran():
    folds = folds_of(0.3, 0.4, 0.1, 0.2)
    assert list(replay(spec_of(), folds, 0).folds) == folds
