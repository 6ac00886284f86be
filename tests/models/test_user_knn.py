import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.sparse import csr_array

from ecv_core.models import algorithm, neighbourhood


def textbook_scores(dense, k, shrink=0.0):
    """User k-NN straight from its definition, one user at a time."""
    counts = dense.sum(axis=1)
    scores = np.zeros(dense.shape)
    for user in range(len(dense)):
        shared = (dense @ dense[user]).astype(np.float64)
        similar = np.divide(
            shared, np.sqrt(counts * counts[user]) + shrink, out=0 * shared, where=shared > 0
        )
        similar[user] = 0
        for other in np.argsort(-similar, kind="stable")[:k]:
            scores[user] += similar[other] * dense[other]
    return scores


def scores_of(dense, **params):
    chosen = algorithm("user-knn")
    model = chosen.build(dict(chosen.resolve(params)))
    model.fit(csr_array(dense), seed=0)
    return model.score(np.arange(len(dense))).numpy()


@pytest.mark.parametrize("dense_product", [True, False])
@pytest.mark.parametrize("shrink", [0.0, 3.0])
def test_agrees_with_the_definition_when_all_neighbours_count(monkeypatch, dense_product, shrink):
    monkeypatch.setattr(neighbourhood, "dense_is_cheaper", lambda train: dense_product)
    dense = (np.random.default_rng(0).random((30, 70)) < 0.1).astype(np.float32)
    expected = textbook_scores(dense, 30, shrink)
    np.testing.assert_allclose(scores_of(dense, shrink=shrink), expected, rtol=1e-5, atol=1e-6)


def test_hand_worked_case_with_one_neighbour():
    # User 0 shares both its items with user 1 (cosine 2 / sqrt(2 * 3)), one with user 2.
    dense = np.array([[1, 1, 0, 0], [1, 1, 1, 0], [1, 0, 0, 1]], dtype=np.float32)
    similarity = 2 / np.sqrt(6)
    expected = [similarity, similarity, similarity, 0]
    np.testing.assert_allclose(scores_of(dense, neighbours=1)[0], expected, rtol=1e-6)


@given(
    arrays(
        np.float32,
        st.tuples(st.integers(1, 8), st.integers(1, 8)),
        elements=st.sampled_from([0, 1]),
    ),
    st.integers(1, 30),
)
def test_small_parts_give_the_same_neighbours_as_one(dense, pairs):
    train = csr_array(dense)
    train.eliminate_zeros()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(neighbourhood, "dense_is_cheaper", lambda train: False)
        whole = neighbourhood.Similarities(neighbourhood.cosine(train, shrink=0.0), 3).nearest(3)
        patch.setattr(neighbourhood, "MAX_SCIPY_PAIRS", pairs)
        parts = neighbourhood.Similarities(neighbourhood.cosine(train, shrink=0.0), 3).nearest(3)
    np.testing.assert_array_equal(parts.toarray(), whole.toarray())


@pytest.mark.parametrize(("name", "there"), [("user-knn", 10), ("item-knn", 20)])
def test_more_neighbours_than_there_are_are_all(name, there):
    chosen = algorithm(name)
    train = csr_array((np.random.default_rng(3).random((10, 20)) < 0.4).astype(np.float32))
    scores = []
    for neighbours in (there, 100_000):
        model = chosen.build(dict(chosen.resolve({"neighbours": neighbours})))
        model.fit(train, seed=0)
        scores.append(np.asarray(model.score(np.arange(10))))
    np.testing.assert_array_equal(*scores)
