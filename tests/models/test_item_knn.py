import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.sparse import csr_array

from ecv_core.models import algorithm, neighbourhood


def textbook_scores(dense, k, shrink):
    """Item k-NN straight from its definition, one item at a time."""
    users, items = dense.shape
    counts = dense.sum(axis=0)
    scores = np.zeros((users, items))
    for target in range(items):
        similar = np.zeros(items)
        for other in range(items):
            shared = float(dense[:, target] @ dense[:, other])
            if other != target and shared:
                similar[other] = shared / (np.sqrt(counts[target] * counts[other]) + shrink)
        for other in np.argsort(-similar, kind="stable")[:k]:
            scores[:, target] += similar[other] * dense[:, other]
    return scores


@pytest.fixture(params=["dense", "sparse"])
def representation(request, monkeypatch):
    """Forces one of the two ways to compute, so that both are tested on the same small data."""
    dense = request.param == "dense"
    monkeypatch.setattr(neighbourhood, "dense_is_cheaper", lambda train: dense)
    monkeypatch.setattr(neighbourhood, "DENSE_ITEMS", 1_000_000 if dense else 0)
    return request.param


def scores_of(dense, **params):
    chosen = algorithm("item-knn")
    model = chosen.build(dict(chosen.resolve(params)))
    model.fit(csr_array(dense), seed=0)
    return model.score(np.arange(len(dense))).numpy()


@pytest.mark.parametrize("shrink", [0.0, 3.0])
def test_agrees_with_the_definition_when_all_neighbours_count(representation, shrink):
    dense = (np.random.default_rng(0).random((30, 300)) < 0.1).astype(np.float32)
    scores = scores_of(dense, neighbours=300, shrink=shrink)
    np.testing.assert_allclose(scores, textbook_scores(dense, 300, shrink), rtol=1e-5, atol=1e-6)


def test_keeps_only_the_nearest_neighbours(representation):
    # Distinct profile sizes give distinct similarities, so that there are no ties to break.
    rng = np.random.default_rng(3)
    while True:
        dense = (rng.random((60, 12)) < 0.4).astype(np.float32)
        counts = dense.sum(axis=0)
        similar = (dense.T @ dense) / np.sqrt(np.outer(counts, counts))
        ordered = np.sort(similar, axis=1)
        if np.diff(ordered, axis=1).min() > 1e-4:
            break
    for k in (1, 4):
        np.testing.assert_allclose(
            scores_of(dense, neighbours=k), textbook_scores(dense, k, 0.0), rtol=1e-5, atol=1e-6
        )


def test_equally_similar_neighbours_are_cut_at_k_too(representation):
    train = csr_array(np.ones((4, 9), dtype=np.float32))  # all pairs have similarity 1
    for k in (1, 3, 8, 20):
        kept = neighbourhood.Similarities(neighbourhood.cosine(train, shrink=0.0), k).nearest(k)
        assert np.diff(kept.indptr).tolist() == [min(k, 8)] * 9
        assert kept.diagonal().tolist() == [0] * 9


def test_hand_worked_case(representation):
    # Items a and b share 1 user of 2 and 1: sim = 1/sqrt(2); c is alone.
    dense = np.array([[1, 1, 0], [1, 0, 0], [0, 0, 1]], dtype=np.float32)
    half = 1 / np.sqrt(2)
    expected = [[half, half, 0], [0, half, 0], [0, 0, 0]]
    np.testing.assert_allclose(scores_of(dense), expected, rtol=1e-6)


@given(
    arrays(
        np.float32,
        st.tuples(st.integers(1, 9), st.integers(1, 9)),
        elements=st.sampled_from([0, 1]),
    )
)
def test_both_products_count_shared_users(dense):
    train = csr_array(dense)
    train.eliminate_zeros()
    expected = dense.T @ dense
    for block in (2, 1024):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(neighbourhood, "BLOCK_ITEMS", block)
            counts = neighbourhood.dense_cooccurrences(train).numpy()
        np.testing.assert_array_equal(counts, expected)
    np.testing.assert_array_equal(neighbourhood.sparse_cooccurrences(train).toarray(), expected)


def test_sparse_product_is_chosen_for_large_sparse_data():
    users = items = 20_000
    diagonal = np.arange(users)
    train = csr_array((np.ones(users, np.float32), (diagonal, diagonal)), shape=(users, items))
    assert not neighbourhood.dense_is_cheaper(train)


def test_dense_product_is_chosen_for_small_dense_data():
    assert neighbourhood.dense_is_cheaper(csr_array(np.ones((50, 60), dtype=np.float32)))
