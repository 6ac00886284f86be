from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array

from ecv_core.evaluation import Protocol, sampled
from ecv_core.evaluation.formulas import Popularity
from ecv_core.evaluation.sampled import draw_negatives
from ecv_core.records.errors import InputError


def drawn(seen, held_out, count, *, candidates=None, **protocol):
    fold = SimpleNamespace(
        seen=seen,
        held_out=held_out,
        users=np.flatnonzero(np.diff(held_out.indptr)),
        candidates=np.ones(seen.shape[1], dtype=bool) if candidates is None else candidates,
        popularity=Popularity.of(seen),
        protocol=Protocol(negatives=count, **protocol),
    )
    return np.concatenate(list(draw_negatives(fold)))


def nobody_has_anything(users, items):
    """Every user holds out the last item, and has seen nothing."""
    held_out = np.zeros((users, items), dtype=np.float32)
    held_out[:, -1] = 1
    return csr_array((users, items), dtype=np.float32), csr_array(held_out)


@given(
    seed=st.integers(0, 2**32 - 1),
    sampling=st.sampled_from(["uniform", "popularity"]),
    share=st.floats(0, 0.6),
    count=st.integers(1, 8),
)
def test_negatives_are_candidates_that_the_user_has_not(seed, sampling, share, count):
    rng = np.random.default_rng(seed)
    dense = rng.random((9, 40))
    seen = (dense < share).astype(np.float32)
    held_out = ((dense >= share) & (dense < share + 0.05)).astype(np.float32)
    held_out[0, 0], seen[0, 0] = 1, 0
    candidates = rng.random(40) < 0.8
    weights = seen.sum(axis=0) if sampling == "popularity" else np.ones(40)
    drawable = candidates & (weights > 0)
    users = np.flatnonzero(held_out.sum(axis=1))
    left = [set(np.flatnonzero(drawable & (seen[u] + held_out[u] == 0)).tolist()) for u in users]
    asked = dict(candidates=candidates, sampling=sampling, seed=seed)
    gone = [drawable.sum() - seen[u] @ drawable - held_out[u] @ drawable for u in users]
    if min(gone) < count:
        with pytest.raises(InputError, match="negatives are asked for"):
            drawn(csr_array(seen), csr_array(held_out), count, **asked)
        return
    rows = drawn(csr_array(seen), csr_array(held_out), count, **asked)
    assert rows.shape == (len(users), count)
    for row, allowed in zip(rows.tolist(), left, strict=True):
        assert set(row) <= allowed
        assert len(set(row)) == count


def test_same_seed_same_negatives_and_another_seed_others():
    seen, held_out = nobody_has_anything(50, 400)
    first = drawn(seen, held_out, 20, seed=1)
    np.testing.assert_array_equal(first, drawn(seen, held_out, 20, seed=1))
    assert (first != drawn(seen, held_out, 20, seed=2)).any(axis=1).all()


def test_users_get_negatives_of_their_own():
    seen, held_out = nobody_has_anything(300, 400)
    rows = drawn(seen, held_out, 20)
    assert len({tuple(row) for row in rows.tolist()}) == 300


def test_as_many_negatives_as_there_are_items_left_are_all_of_them():
    rng = np.random.default_rng(0)
    seen = csr_array(np.tile((rng.random(30) < 0.4).astype(np.float32), (7, 1)))
    held = np.zeros((7, 30), dtype=np.float32)
    held[:, np.flatnonzero(seen.toarray()[0] == 0)[0]] = 1
    left = np.flatnonzero((seen.toarray()[0] + held[0]) == 0)
    rows = drawn(seen, csr_array(held), len(left))
    assert [sorted(row) for row in rows.tolist()] == [left.tolist()] * 7


@pytest.mark.parametrize("spare", [0, 5])
def test_uniform_draws_give_every_item_the_same_chance(spare, monkeypatch):
    # Without spare draws nearly every row must be filled up afterwards.
    monkeypatch.setitem(sampled.DRAWS_PER_NEGATIVE, "uniform", spare)
    users, items, count = 6000, 13, 5
    rows = drawn(*nobody_has_anything(users, items), count)
    shares = np.bincount(rows.ravel(), minlength=items)[:-1] / users
    # Twelve items share five places: 5/12 each, within five standard errors.
    error = np.sqrt(5 / 12 * 7 / 12 / users)
    assert np.abs(shares - 5 / 12).max() < 5 * error


def chances_without_replacement(weights, count):
    """Exact chance of each item to be among `count` weighted draws without replacement."""
    found = np.zeros(len(weights))

    def go(left, chance, places):
        if places == 0:
            return
        total = sum(weights[i] for i in left)
        for i in left:
            p = chance * weights[i] / total
            found[i] += p
            go([j for j in left if j != i], p, places - 1)

    go(list(range(len(weights))), 1.0, count)
    return found


@pytest.mark.parametrize("spare", [0, 1, 6])
def test_popular_draws_follow_the_training_interactions(spare, monkeypatch):
    monkeypatch.setitem(sampled.DRAWS_PER_NEGATIVE, "popularity", spare)
    # Items 0 .. 4 have 1, 2, 4, 8 and 16 interactions of users that are not evaluated.
    weights = [1, 2, 4, 8, 16]
    train = np.zeros((16 + 8000, 6), dtype=np.float32)
    for item, weight in enumerate(weights):
        train[:weight, item] = 1
    held_out = np.zeros_like(train)
    held_out[16:, 5] = 1
    rows = drawn(csr_array(train), csr_array(held_out), 3, sampling="popularity")
    shares = np.bincount(rows.ravel(), minlength=6)[:5] / 8000
    expected = chances_without_replacement(weights, 3)
    assert np.abs(shares - expected).max() < 5 * np.sqrt(0.25 / 8000)


def test_more_negatives_than_items_left_are_refused_with_a_number_that_works():
    seen, held_out = nobody_has_anything(3, 10)
    with pytest.raises(InputError, match=r"10 negatives .* only 9 .* ask for at most 9,"):
        drawn(seen, held_out, 10)


def test_an_item_that_is_seen_and_held_out_is_one_item_less_to_draw():
    # Of six items the first is bought once more, and the second is new: four are left.
    seen = csr_array(np.array([[1, 0, 0, 0, 0, 0]], dtype=np.float32))
    held_out = csr_array(np.array([[1, 1, 0, 0, 0, 0]], dtype=np.float32))
    assert sorted(drawn(seen, held_out, 4)[0].tolist()) == [2, 3, 4, 5]
    with pytest.raises(InputError, match=r"only 4 .* ask for at most 4,"):
        drawn(seen, held_out, 5)


def test_popular_negatives_are_only_items_that_somebody_has():
    seen = csr_array(np.array([[1, 1, 0, 0], [0, 0, 0, 0]], dtype=np.float32))
    held_out = csr_array(np.array([[0, 0, 0, 0], [0, 0, 0, 1]], dtype=np.float32))
    assert sorted(drawn(seen, held_out, 2, sampling="popularity")[0].tolist()) == [0, 1]
    with pytest.raises(InputError, match="only 2 other candidate items with a training"):
        drawn(seen, held_out, 3, sampling="popularity")
