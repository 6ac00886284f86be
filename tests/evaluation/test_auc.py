import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array

from ecv_core.evaluation.full import block_auc

NONE = float("-inf")  # the item is no candidate


def auc(scores, held_out):
    matrix = csr_array(np.array(held_out, dtype=np.float32))
    values = np.array(scores, dtype=np.float32)
    return block_auc(values, matrix, values > NONE).tolist()


@pytest.mark.parametrize(
    ("scores", "held_out", "expected"),
    [
        ([4, 3, 2, 1], [1, 0, 0, 0], 1),
        ([4, 3, 2, 1], [0, 0, 0, 1], 0),
        ([4, 3, 2, 1], [0, 1, 0, 0], 2 / 3),
        ([4, 3, 2, 1], [1, 0, 0, 1], 1 / 2),  # two wins, two losses
        ([1, 1, 1, 1], [1, 0, 1, 0], 1 / 2),  # nothing to tell apart
        ([2, 2, 1, 0], [1, 0, 0, 0], 5 / 6),  # a tie and two wins
        ([4, NONE, 2, 1], [0, 0, 1, 0], 1 / 2),  # only two others are candidates
        ([4, NONE, 2, NONE], [0, 1, 0, 0], 0),  # a held-out item that cannot be listed
        ([4, NONE, 2, 1], [1, 1, 0, 0], 1 / 2),
        ([4, 3], [1, 1], 1 / 2),  # no other candidate
    ],
)
def test_hand_worked_cases(scores, held_out, expected):
    assert auc([scores], [held_out]) == pytest.approx([expected])


def test_a_candidate_that_is_never_recommended_is_below_all_others():
    held_out = csr_array(np.array([[1, 0, 0, 0], [0, 0, 0, 1]]))
    scores = np.array([[2, 3, NONE, NONE]] * 2)
    shares = block_auc(scores, held_out, np.ones((2, 4), dtype=np.bool_))
    # user 0: below item 1, above items 2 and 3; user 1: below two, equal to item 2
    assert shares.tolist() == pytest.approx([2 / 3, 1 / 6])


def by_pairs(scores, held_out):
    """The same in plain loops over pairs."""
    held = [i for i in range(len(scores)) if held_out[i]]
    others = [j for j in range(len(scores)) if not held_out[j] and scores[j] > NONE]
    if not others:
        return 0.5
    wins = [
        1.0 if scores[i] > scores[j] else 0.5 if scores[i] == scores[j] else 0.0
        for i, j in itertools.product(held, others)
    ]
    return sum(wins) / len(wins)


@st.composite
def blocks(draw):
    """Scores with many ties, training items, and one held-out item per user at least."""
    users, items = draw(st.integers(1, 5)), draw(st.integers(2, 12))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    scores = rng.integers(0, draw(st.integers(1, 20)), (users, items)).astype(np.float32)
    held_out = rng.random((users, items)) < draw(st.floats(0, 1))
    held_out[np.arange(users), rng.integers(0, items, users)] = True
    scores[rng.random((users, items)) < 0.2] = NONE
    return scores, held_out


@given(blocks())
def test_agrees_with_brute_force_over_pairs(case):
    scores, held_out = case
    assert auc(scores, held_out) == pytest.approx(list(map(by_pairs, scores, held_out)))


def test_users_with_hundreds_of_held_out_items_do_not_overflow():
    rng = np.random.default_rng(0)
    scores = rng.integers(0, 50, (2, 900)).astype(np.float32)
    held_out = np.zeros((2, 900), dtype=bool)
    held_out[0, rng.permutation(900)[:600]] = True
    held_out[1, 3] = True
    assert auc(scores, held_out) == pytest.approx(list(map(by_pairs, scores, held_out)))


@given(blocks())
def test_turning_the_scores_round_turns_the_share_round(case):
    scores, held_out = case
    scores = np.where(np.isfinite(scores) | ~held_out, scores, 0)  # held out: all candidates
    flipped = np.where(np.isfinite(scores), -scores, NONE)
    together = np.array(auc(scores, held_out)) + np.array(auc(flipped, held_out))
    assert together == pytest.approx(np.ones(len(scores)))
