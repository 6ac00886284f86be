import subprocess
import sys

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array

from ecv_core.evaluation import Protocol, evaluate, ranking
from ecv_core.evaluation.ranking import best_items, candidate_scores
from ecv_core.records.errors import Cancelled, InputError, RunError


class Fixed:
    """A model whose scores are given."""

    def __init__(self, scores):
        self.scores = torch.tensor(scores, dtype=torch.float32)

    def score(self, users):
        return self.scores[torch.from_numpy(users)]


def matrix(*rows):
    return csr_array(np.array(rows, dtype=np.float32))


TRAIN = matrix([1, 0, 0, 0, 0], [0, 0, 0, 0, 0], [0, 1, 0, 0, 0])
HELD_OUT = matrix([0, 1, 0, 0, 0], [1, 0, 0, 0, 1], [0, 0, 0, 0, 0])
SCORES = [[9, 2, 3, 1, 0], [5, 4, 3, 2, 1], [1, 9, 2, 3, 4]]


def lists(score, train, users, n):
    blocks = candidate_scores(score, train, users, np.ones(train.shape[1], dtype=bool))
    return np.concatenate([best_items(scores, n) for _, scores in blocks])


def test_training_items_are_never_recommended():
    users = np.array([0, 1, 2])
    assert lists(Fixed(SCORES).score, TRAIN, users, 2).tolist() == [[2, 1], [0, 1], [4, 3]]


def test_users_come_back_in_the_order_they_were_asked_for(monkeypatch):
    monkeypatch.setattr(ranking, "BLOCK_CELLS", 1)  # one user at a time
    blocks = list(
        candidate_scores(
            Fixed(SCORES).score, TRAIN, np.array([2, 0]), np.ones(TRAIN.shape[1], dtype=bool)
        )
    )
    assert [users.tolist() for users, _ in blocks] == [[2], [0]]
    assert [best_items(scores, 1).tolist() for _, scores in blocks] == [[[4]], [[2]]]


def test_places_without_a_candidate_left_are_empty():
    train = matrix([1, 1, 0, 1])
    items = lists(Fixed([[1, 2, 3, 4]]).score, train, np.array([0]), 3)
    assert items.tolist() == [[2, -1, -1]]


def test_empty_places_are_no_hits_even_where_the_item_is_held_out():
    # A fold file cannot hold an item out and train on it, but a caller can.
    train = matrix([1, 1, 1, 1])
    held_out = matrix([1, 0, 0, 1])
    result = evaluate(Fixed([[1, 2, 3, 4]]), train, held_out, [4])
    assert result.means["hit@4"] == 0


def test_empty_places_are_not_taken_for_the_last_item_of_the_user_before():
    train = matrix([0, 0, 0], [1, 1, 1])
    held_out = matrix([0, 0, 1], [1, 0, 0])
    result = evaluate(Fixed([[3, 2, 1], [3, 2, 1]]), train, held_out, [2])
    assert result.of("hit@2").tolist() == [0, 0]


def test_an_item_that_only_another_user_has_held_out_is_no_hit():
    items = 1 << 20  # so that the last bits of user and item are those of the item alone
    held_out = csr_array(([1.0, 1.0], [5, 7], [0, 1, 2]), shape=(2, items))
    hits = ranking.hits_of(np.array([0, 1]), np.array([[7, 5], [7, 5]]), held_out)
    assert hits.tolist() == [[False, True], [True, False]]


def test_only_users_with_something_held_out_count():
    result = evaluate(Fixed(SCORES), TRAIN, HELD_OUT, [1, 2])
    assert result.users.tolist() == [0, 1]
    assert result.values.shape == (2, len(result.metrics))


def test_user_without_training_items_counts():
    result = evaluate(Fixed(SCORES), TRAIN, HELD_OUT, [1, 2])
    assert result.of("hit@1").tolist() == [0, 1]
    assert result.of("recall@2").tolist() == [1, 0.5]


def test_means_are_over_users():
    result = evaluate(Fixed(SCORES), TRAIN, HELD_OUT, [2])
    # user 0: hit at rank 2 of 1 held out; user 1: hit at rank 1 of 2 held out
    assert result.means["mrr@2"] == pytest.approx((1 / 2 + 1) / 2)
    assert result.means["recall@2"] == pytest.approx((1 + 1 / 2) / 2)
    assert result.means.keys() == set(result.metrics) | {"coverage@2", "gini@2"}


def test_repeated_cutoffs_in_any_order_count_once():
    result = evaluate(Fixed(SCORES), TRAIN, HELD_OUT, [3, 1, 3])
    assert {name.split("@")[1] for name in result.metrics} == {"1", "3"}
    assert len(result.metrics) == len(set(result.metrics))


@given(st.integers(0, 2**32 - 1), st.integers(1, 7))
def test_any_block_size_gives_the_lists_of_a_full_sort(seed, block):
    rng = np.random.default_rng(seed)
    dense = rng.permutation(8 * 11).reshape(8, 11).astype(np.float32)  # no ties
    train = csr_array((rng.random((8, 11)) < 0.3).astype(np.float32))
    users = rng.permutation(8)
    masked = np.where(train.toarray() > 0, -np.inf, dense)
    order = np.argsort(-masked, axis=1)[:, :5]
    expected = np.where(np.isinf(np.take_along_axis(masked, order, axis=1)), -1, order)[users]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ranking, "BLOCK_CELLS", block * 11)
        actual = lists(Fixed(dense).score, train, users, 5)
    np.testing.assert_array_equal(actual, expected)


@given(
    seed=st.integers(0, 2**32 - 1),
    items=st.integers(40, 700),
    n=st.integers(1, 12),
    unseen=st.floats(0, 1),
)
def test_long_rows_give_the_lists_of_a_full_sort(seed, items, n, unseen):
    rng = np.random.default_rng(seed)
    dense = rng.permutation(4 * items).reshape(4, items).astype(np.float32)  # no ties
    seen = rng.random((4, items)) >= unseen
    masked = np.where(seen, -np.inf, dense)
    order = np.argsort(-masked, axis=1)[:, :n]
    expected = np.where(np.isinf(np.take_along_axis(masked, order, axis=1)), -1, order)
    train = csr_array(seen.astype(np.float32))
    np.testing.assert_array_equal(lists(Fixed(dense).score, train, np.arange(4), n), expected)


def test_progress_counts_users():
    calls = []
    evaluate(Fixed(SCORES), TRAIN, HELD_OUT, [1], lambda *call: calls.append(call))
    assert calls[0] == ("evaluate", 0, 2)
    assert calls[-1] == ("evaluate", 2, 2)


def test_progress_can_cancel():
    def cancel(phase, step, steps):
        raise Cancelled("enough")

    with pytest.raises(Cancelled):
        evaluate(Fixed(SCORES), TRAIN, HELD_OUT, [1], cancel)


@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_scores_that_are_not_finite_are_a_failed_run(bad):
    scores = [row.copy() for row in SCORES]
    scores[1][3] = bad
    with pytest.raises(RunError, match="not finite"):
        evaluate(Fixed(scores), TRAIN, HELD_OUT, [1])


def test_huge_but_finite_scores_are_fine():
    scores = [[3.2e38, 3e38, 2e38, 1e38, 0]] * 3
    assert evaluate(Fixed(scores), TRAIN, HELD_OUT, [1]).means["hit@1"] == 1


@pytest.mark.parametrize(
    ("cutoffs", "message"),
    [
        ([], "no cut-off is given"),
        ([0], "from 1 on, but is 0"),
        ([5, -3], "from 1 on, but is -3"),
        ([2.5], r"whole number .* 2\.5"),
    ],
)
def test_bad_cutoffs_are_refused(cutoffs, message):
    with pytest.raises(InputError, match=message):
        evaluate(Fixed(SCORES), TRAIN, HELD_OUT, cutoffs)


def test_nothing_held_out_is_refused():
    with pytest.raises(InputError, match="nothing to evaluate"):
        evaluate(Fixed(SCORES), TRAIN, csr_array((3, 5), dtype=np.float32), [1])


def test_auc_comes_only_when_it_is_asked_for():
    assert "auc" not in evaluate(Fixed(SCORES), TRAIN, HELD_OUT, [1]).means
    result = evaluate(Fixed(SCORES), TRAIN, HELD_OUT, [1, 2], extra_metrics=["auc"])
    # user 0: item 1 is above items 3 and 4 and below 2; user 1: 0 is above all three, 4 below all
    assert result.of("auc").tolist() == pytest.approx([2 / 3, 1 / 2])
    assert result.means["auc"] == pytest.approx(7 / 12)


def test_metrics_asked_for_are_the_only_ones_and_have_the_same_values():
    everything = evaluate(Fixed(SCORES), TRAIN, HELD_OUT, [1, 2])
    one = evaluate(Fixed(SCORES), TRAIN, HELD_OUT, [1, 2], metrics=["ndcg"])
    assert one.metrics == ("ndcg@1", "ndcg@2")
    for name in one.metrics:
        assert one.of(name).tolist() == everything.of(name).tolist()
    lists = evaluate(Fixed(SCORES), TRAIN, HELD_OUT, [2], metrics=["gini"])
    assert lists.values.shape == (2, 0)
    assert lists.means.keys() == {"gini@2"}


def test_items_without_training_are_no_candidates_where_only_training_items_are():
    # Items 0 and 1 are in training. User 0 has item 0 left out, so only item 1 can be listed.
    result = evaluate(Fixed(SCORES), TRAIN, HELD_OUT, [1, 2], protocol=Protocol(candidates="train"))
    assert result.of("hit@1").tolist() == [1, 1]
    # user 1's item 4 has no training interaction: it stays held out, and cannot be found
    assert result.of("recall@2").tolist() == [1, 1 / 2]
    assert result.means["coverage@2"] == 1  # both candidates are in a list


def test_popularity_is_counted_in_the_training_part_alone():
    seen = matrix([1, 0, 0, 1, 0], [0, 0, 0, 1, 0], [0, 1, 0, 1, 0])  # item 3: a validation part
    given = dict(protocol=Protocol(candidates="train"))
    apart = evaluate(Fixed(SCORES), seen, HELD_OUT, [2], train=TRAIN, **given)
    assert apart.means["coverage@2"] == 1  # candidates are 0 and 1
    together = evaluate(Fixed(SCORES), seen, HELD_OUT, [2], **given)
    assert together.means["coverage@2"] == pytest.approx(2 / 3)  # of 0, 1 and 3


@pytest.mark.parametrize(
    ("metric", "given", "message"),
    [
        ("ncdg", {}, "did you mean 'ndcg'"),
        ("rmse", {}, "RMSE is of predicted ratings, .* bias"),
        ("log-loss", {}, "Log loss needs probabilities .* only neu-mf"),
        ("gini", dict(protocol=Protocol(negatives=1)), "Gini index looks at the lists"),
    ],
)
def test_metric_that_does_not_apply_is_refused(metric, given, message):
    with pytest.raises(InputError, match=message):
        evaluate(Fixed(SCORES), TRAIN, HELD_OUT, [1], metrics=[metric], **given)


def test_log_loss_of_full_ranking_is_the_mean_over_all_candidates():
    odds = [[9, 0, 0, 0, 0], [0, 0, 0, 0, 0], [0, 0, 0, 0, 0]]
    result = evaluate(Fixed(odds), TRAIN, HELD_OUT, [1], log_odds=True)
    # p is one half for every candidate; user 0's training item does not count, however it scores
    assert result.of("log-loss").tolist() == pytest.approx([np.log(2), np.log(2)])


def test_log_odds_of_minus_infinity_cost_nothing_where_nothing_is_held_out():
    odds = [[0, 0, float("-inf"), 0, 0], [0, 0, 0, 0, 0], [0, 0, 0, 0, 0]]
    result = evaluate(Fixed(odds), TRAIN, HELD_OUT, [1], log_odds=True)
    # user 0: of four candidates three have a probability of one half, and one of 0
    assert result.of("log-loss").tolist() == pytest.approx([3 / 4 * np.log(2), np.log(2)])


@pytest.mark.parametrize("protocol", [Protocol(), Protocol(negatives=2)])
def test_an_infinite_log_loss_is_refused(protocol):
    odds = [[0, float("-inf"), 0, 0, 0], [0, 0, 0, 0, 0], [0, 0, 0, 0, 0]]
    with pytest.raises(RunError, match="infinite"):
        evaluate(Fixed(odds), TRAIN, HELD_OUT, [1], log_odds=True, protocol=protocol)


WITHOUT_TORCH = """
import sys
import numpy as np
import ecv_core as ecv
from scipy.sparse import csr_array

found = ecv.metrics(np.eye(3), csr_array((3, 3)), csr_array(np.eye(3)), names=["hit", "auc"])
assert "torch" not in sys.modules and "numba" not in sys.modules
print(found)
"""


def test_small_arrays_are_ranked_without_torch_and_numba():
    program = [sys.executable, "-c", WITHOUT_TORCH]
    said = subprocess.run(program, capture_output=True, text=True, check=True).stdout
    assert said.strip() == "{'hit@10': 1.0, 'auc': 1.0}"
