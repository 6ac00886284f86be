from math import log2

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array

from ecv_core.evaluation.formulas import Popularity, Ranked, efd, epc

D2, D3 = 1 / log2(3), 1 / log2(4)  # discounts of ranks 2 and 3; rank 1 has 1

# Four users with training items; item 0 has 4 of 8 interactions, 1 has 2, 2 and 3 one, 4 none.
POPULARITY = Popularity(counts=np.array([4, 2, 1, 1, 0]), users=4)


def lists(items, hits, cutoffs):
    items, hits = np.array(items), np.array(hits, dtype=bool)
    held = np.maximum(hits.sum(axis=1), 1)
    return Ranked(hits=hits, held_out=held, cutoffs=cutoffs), items


def test_popularity_counts_interactions_and_users_with_any():
    train = csr_array(np.array([[1, 1, 0], [0, 1, 0], [0, 0, 0]], dtype=np.float32))
    popularity = Popularity.of(train)
    assert popularity.counts.tolist() == [1, 2, 0]
    assert popularity.users == 2


@pytest.mark.parametrize(
    ("items", "hits", "expected_epc", "expected_efd"),
    [
        ([1, 2, 3], [0, 0, 0], 0, 0),
        ([0, 2, 3], [1, 0, 0], 0, 1 / (1 + D2 + D3)),  # everybody has it: -log2(4 / 8) = 1 bit
        ([0, 2, 3], [0, 1, 0], (3 / 4) * D2 / (1 + D2 + D3), 3 * D2 / (1 + D2 + D3)),
        ([1, 2, 3], [1, 0, 1], (1 / 2 + 3 / 4 * D3) / (1 + D2 + D3), (2 + 3 * D3) / (1 + D2 + D3)),
        # nobody has item 4: as novel as can be, and as surprising as one that one user has
        ([4, 0, 1], [1, 0, 0], 1 / (1 + D2 + D3), 3 / (1 + D2 + D3)),
    ],
)
def test_hand_worked_cases(items, hits, expected_epc, expected_efd):
    ranked, listed = lists([items], [hits], (3,))
    assert epc(ranked, listed, POPULARITY)[0, 0] == pytest.approx(expected_epc)
    assert efd(ranked, listed, POPULARITY)[0, 0] == pytest.approx(expected_efd)


def test_list_is_cut_at_n_and_so_is_its_ideal():
    ranked, listed = lists([[1, 2, 3]], [[0, 1, 1]], (1, 2))
    assert epc(ranked, listed, POPULARITY)[0].tolist() == pytest.approx([0, 0.75 * D2 / (1 + D2)])


def test_places_without_an_item_add_nothing():
    ranked, listed = lists([[1, -1, -1]], [[1, 0, 0]], (3,))
    assert epc(ranked, listed, POPULARITY)[0, 0] == pytest.approx(0.5 / (1 + D2 + D3))


def naive(items, hits, n, novelty):
    gained = sum(novelty[items[r - 1]] / log2(r + 1) for r in range(1, n + 1) if hits[r - 1])
    return gained / sum(1 / log2(r + 1) for r in range(1, n + 1))


@given(st.integers(0, 2**32 - 1), st.integers(1, 6))
def test_agrees_with_a_naive_implementation(seed, n):
    rng = np.random.default_rng(seed)
    counts = rng.integers(0, 9, 10)
    popularity = Popularity(counts=counts, users=9)
    items = np.array([rng.permutation(10)[:6] for _ in range(4)])
    ranked, listed = lists(items, rng.random((4, 6)) < 0.4, (n,))
    share = [1 - count / 9 for count in counts]
    bits = [-log2(max(count, 1) / max(counts.sum(), 1)) for count in counts]
    for row in range(4):
        given_list = items[row, :n].tolist(), ranked.hits[row, :n].tolist(), n
        assert epc(ranked, listed, popularity)[row, 0] == pytest.approx(naive(*given_list, share))
        assert efd(ranked, listed, popularity)[row, 0] == pytest.approx(naive(*given_list, bits))


def test_without_any_training_every_hit_is_new_to_everybody():
    nothing = Popularity.of(csr_array((2, 3), dtype=np.float32))
    ranked, listed = lists([[0, 1]], [[1, 1]], (2,))
    assert epc(ranked, listed, nothing)[0, 0] == pytest.approx(1)
    assert efd(ranked, listed, nothing)[0, 0] == 0
