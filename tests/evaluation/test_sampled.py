"""Ranking against sampled negatives: its limits, its expectation, what it does not depend on."""

from math import comb, log2

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array

from ecv_core.evaluation import Protocol, evaluate, ranking, sampled
from ecv_core.evaluation.formulas import log_loss
from ecv_core.evaluation.sampled import Comparisons, sampled_auc, sampled_hits
from ecv_core.records.errors import RunError


def against(owners, higher, tied=None, negatives=9):
    higher = np.array(higher)
    tied = np.zeros_like(higher) if tied is None else np.array(tied)
    owners = np.array(owners)
    ranks = 1 + higher
    return Comparisons(
        user_count=max(owners) + 1,
        user_rows=owners,
        higher=higher,
        tied=tied,
        ranks=ranks,
        negatives_per_user=negatives,
    )


def test_each_held_out_item_has_a_list_of_its_own():
    # User 0: ranks 1 and 3; user 1: rank 6, outside a list of 5.
    one = against([0, 0, 1], [0, 2, 5])
    metrics = ["ndcg", "recall", "precision", "mrr", "hit", "map"]
    found = sampled_hits(one, [2, 5], metrics)
    rank_3 = 1 / log2(4)
    expected = dict(
        ndcg=[[1 / 2, (1 + rank_3) / 2], [0, 0]],
        recall=[[1 / 2, 1], [0, 0]],
        precision=[[1 / 4, 1 / 5], [0, 0]],
        mrr=[[1 / 2, (1 + 1 / 3) / 2], [0, 0]],
        hit=[[1 / 2, 1], [0, 0]],
        map=[[1 / 2, (1 + 1 / 3) / 2], [0, 0]],
    )
    for metric in metrics:
        assert found[metric] == pytest.approx(np.array(expected[metric])), metric


def test_auc_of_hand_worked_lists():
    one = against([0, 0, 1], [0, 2, 5], tied=[0, 2, 4], negatives=9)
    assert sampled_auc(one).tolist() == pytest.approx([(1 + 1 - 3 / 9) / 2, 1 - 7 / 9])


def test_of_equal_scores_in_a_single_list_the_lower_number_comes_first(given_scores):
    # All other items are negatives. Users 0 to 3 have item 0 to 3 held out; all scores are equal.
    held_out = csr_array(np.eye(4, dtype=np.float32))
    nothing = csr_array((4, 4), dtype=np.float32)
    model = given_scores(np.ones((4, 4)))
    result = evaluate(model, nothing, held_out, [1, 4], protocol=Protocol(negatives=3))
    assert result.of("mrr@4").tolist() == pytest.approx([1, 1 / 2, 1 / 3, 1 / 4])
    assert result.of("auc").tolist() == [1 / 2] * 4


def test_an_item_that_is_never_recommended_is_in_no_single_list(given_scores):
    held_out = csr_array(np.array([[0, 0, 1]], dtype=np.float32))
    nothing = csr_array((1, 3), dtype=np.float32)
    model = given_scores([[1, -np.inf, -np.inf]])
    result = evaluate(model, nothing, held_out, [3, 9], protocol=Protocol(negatives=2))
    assert result.of("hit@3").tolist() == [0]
    assert result.of("hit@9").tolist() == [0]
    assert result.of("auc").tolist() == [1 / 4]  # below one of two, equal to the other


@st.composite
def single_held_out(draw):
    """Users with one held-out item each, training items, and scores without ties."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    users, items = draw(st.integers(1, 200)), draw(st.integers(3, 25))
    scores = rng.permutation(users * items).reshape(users, items).astype(np.float32)
    kinds = rng.permuted(np.tile(np.arange(items), (users, 1)), axis=1)
    seen = (kinds > 0) & (kinds <= draw(st.integers(0, items - 2)))
    return scores, csr_array(seen.astype(np.float32)), csr_array((kinds == 0).astype(np.float32))


@given(single_held_out(), st.integers(0, 9))
def test_all_other_items_as_negatives_give_full_ranking(given_scores, case, seed):
    scores, seen, held_out = case
    items = seen.shape[1]
    lengths = sorted({1, 2, items})
    full = evaluate(given_scores(scores), seen, held_out, lengths, extra_metrics=["auc"])
    left = int((items - 1) - np.diff(seen.indptr)[0])
    protocol = Protocol(negatives=left, seed=seed)
    short = evaluate(given_scores(scores), seen, held_out, lengths, protocol=protocol)
    for name in short.metrics:
        np.testing.assert_allclose(short.of(name), full.of(name), err_msg=name)


def test_sampled_metrics_have_the_expectation_that_drawing_gives_them(given_scores):
    # 20 items, the held-out one at rank 5 of all: how many of the 4 better ones are among N = 6 of
    # 19 is hypergeometric.
    users, items, better, count = 20_000, 20, 4, 6
    scores = np.tile(np.arange(items, 0, -1), (users, 1))
    held_out = np.zeros((users, items), dtype=np.float32)
    held_out[:, better] = 1
    chance = [
        comb(better, x) * comb(items - 1 - better, count - x) / comb(items - 1, count)
        for x in range(better + 1)
    ]
    result = evaluate(
        given_scores(scores),
        csr_array((users, items), dtype=np.float32),
        csr_array(held_out),
        [3],
        protocol=Protocol(negatives=count, seed=5),
    )
    expected = {
        "ndcg@3": sum(p / log2(x + 2) for x, p in enumerate(chance) if x < 3),
        "hit@3": sum(chance[:3]),
        "auc": 1 - (better * count / (items - 1)) / count,  # unbiased: equals that of full ranking
    }
    for name, value in expected.items():
        error = result.of(name).std() / np.sqrt(users)
        assert result.means[name] == pytest.approx(value, abs=5 * error), name


@pytest.fixture(scope="module")
def random_fold():
    rng = np.random.default_rng(1)
    dense = rng.random((300, 60))
    seen, held_out = dense < 0.1, (dense > 0.1) & (dense < 0.15)
    as_matrix = [csr_array(part.astype(np.float32)) for part in (seen, held_out)]
    return rng.standard_normal((300, 60)), *as_matrix


@pytest.mark.parametrize("sampling", ["uniform", "popularity"])
def test_scores_do_not_depend_on_how_users_are_blocked(
    given_scores, random_fold, monkeypatch, sampling
):
    scores, seen, held_out = random_fold
    protocol = Protocol(negatives=10, sampling=sampling, seed=4)
    model = given_scores(scores)
    whole = evaluate(model, seen, held_out, [1, 5], protocol=protocol)
    blocks = len(model.blocks)
    monkeypatch.setattr(ranking, "BLOCK_CELLS", 1)
    monkeypatch.setattr(sampled, "BLOCK_CELLS", 1)
    monkeypatch.setattr(sampled, "COMPARISONS_AT_ONCE", 7)
    again = evaluate(model, seen, held_out, [1, 5], protocol=protocol)
    assert len(model.blocks) - blocks > blocks
    np.testing.assert_array_equal(whole.values, again.values)


def test_every_algorithm_meets_the_same_negatives(given_scores, random_fold):
    """What beats an item under some scores loses to it when they are turned round."""
    scores, seen, held_out = random_fold
    found, turned = (
        evaluate(given_scores(one), seen, held_out, [1], protocol=Protocol(negatives=10, seed=4))
        for one in (scores, -scores)
    )
    assert found.of("auc") + turned.of("auc") == pytest.approx(np.ones(len(found.users)))
    assert found.of("auc") != pytest.approx(turned.of("auc"))


def test_metrics_of_whole_lists_are_left_out(given_scores, random_fold):
    scores, seen, held_out = random_fold
    result = evaluate(given_scores(scores), seen, held_out, [5], protocol=Protocol(negatives=10))
    assert {"ndcg@5", "auc"} <= result.means.keys()
    of_lists = {"epc@5", "efd@5", "coverage@5", "gini@5"}
    assert not of_lists & (result.means.keys() | set(result.metrics))


def test_held_out_item_that_is_no_candidate_is_in_no_list(given_scores, matrix):
    # Only items 0 and 1 are in training; user 1 holds out item 3, with the highest score of all.
    seen = matrix([1, 1, 0, 0], [0, 0, 0, 0])
    held_out = matrix([0, 0, 0, 0], [0, 0, 0, 1])
    model = given_scores([[1, 2, 3, 4], [1, 2, 3, 4]])
    protocol = Protocol(candidates="train", negatives=2)
    result = evaluate(model, seen, held_out, [2, 3], protocol=protocol)
    assert result.means["hit@2"] == 0
    assert result.means["hit@3"] == 0  # though the list has a place for it
    assert result.means["auc"] == 0


def test_pooled_a_user_has_one_list_of_all_that_is_held_out_and_negatives_for_each(
    given_scores, matrix
):
    # Held out are items 0 and 1, item 3 is in training, so item 2 is every negative: by score the
    # list is 0, 2, 1. Alone against item 2, item 0 has rank 1 and item 1 rank 2.
    case = given_scores([[3.0, 1.0, 2.0, 9.0]]), matrix([0, 0, 0, 1]), matrix([1, 1, 0, 0])
    pooled, alone = (
        evaluate(*case, [2, 3], protocol=Protocol(negatives=1, sampling=one), log_odds=True)
        for one in ("pooled", "uniform")
    )
    ideal = 1 + 1 / log2(3)
    assert pooled.means["ndcg@2"] == pytest.approx(1 / ideal)
    assert pooled.means["ndcg@3"] == pytest.approx((1 + 1 / 2) / ideal)
    assert pooled.means["recall@2"] == 1 / 2
    assert pooled.means["auc"] == 1 / 2
    losses = [log_loss(3.0, 1), log_loss(1.0, 1), log_loss(2.0, 0)]
    assert pooled.means["log-loss"] == pytest.approx(np.mean(losses))
    assert alone.means["ndcg@2"] == pytest.approx((1 + 1 / log2(3)) / 2)
    assert "epc@2" not in pooled.means


def test_pooled_negatives_are_drawn_with_repetition_for_each_held_out_item(given_scores):
    # The better of two held-out items is second best of 12 others: it is the first of its list
    # where none of 2 x 5 draws is the best one.
    users, items = 4000, 14
    held_out = np.zeros((users, items), dtype=np.float32)
    held_out[:, [1, 13]] = 1
    found = evaluate(
        given_scores(np.tile(np.arange(items, 0, -1), (users, 1))),
        csr_array((users, items), dtype=np.float32),
        csr_array(held_out),
        [1],
        protocol=Protocol(negatives=5, sampling="pooled", seed=3),
    )
    chance = (11 / 12) ** 10
    assert found.means["hit@1"] == pytest.approx(
        chance, abs=5 * np.sqrt(chance * (1 - chance) / users)
    )


def test_pooled_with_very_many_negatives_is_full_ranking(given_scores, random_fold):
    scores, seen, held_out = random_fold
    many = Protocol(negatives=2000, sampling="pooled")
    pooled = evaluate(given_scores(scores), seen, held_out, [1, 5], protocol=many)
    full = evaluate(given_scores(scores), seen, held_out, [1, 5], extra_metrics=["auc"])
    for name in pooled.metrics:
        np.testing.assert_allclose(pooled.of(name), full.of(name), err_msg=name)


def test_log_loss_is_over_the_list(given_scores, matrix):
    model = given_scores([[2.0, -1.0, -1.0, 0.5]])
    held_out = matrix([1, 0, 0, 1])
    result = evaluate(
        model, matrix([0, 0, 0, 0]), held_out, [1], protocol=Protocol(negatives=2), log_odds=True
    )
    lists = [
        (log_loss(score, 1) + 2 * log_loss(-1.0, 0)) / 3 for score in (2.0, 0.5)
    ]  # both negatives have log-odds -1
    assert result.means["log-loss"] == pytest.approx(np.mean(lists))


def test_scores_that_are_not_finite_are_a_failed_run(given_scores, matrix):
    with pytest.raises(RunError, match="not finite"):
        evaluate(
            given_scores([[1, float("nan"), 2]]),
            matrix([0, 0, 0]),
            matrix([1, 0, 0]),
            [1],
            protocol=Protocol(negatives=1),
        )
