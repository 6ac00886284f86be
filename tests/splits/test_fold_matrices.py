import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ecv_core.records.errors import FoldsError
from ecv_core.records.interactions import Folds, Interactions
from ecv_core.splits import fold_matrices, split


def matrices(interactions, folds, index):
    fold = fold_matrices(interactions, folds, index)
    return fold.train, fold.held_out


def dense(interactions):
    full = np.zeros((interactions.n_users, interactions.n_items), dtype=np.float32)
    full[interactions.users, interactions.items] = 1
    return full


def reordered(interactions, order):
    return Interactions(
        dataset=interactions.dataset,
        users=interactions.users[order],
        items=interactions.items[order],
        user_ids=interactions.user_ids,
        item_ids=interactions.item_ids,
    )


@given(
    sizes=st.lists(st.integers(0, 12), min_size=1, max_size=8),
    k=st.integers(2, 5),
    seed=st.integers(0, 999),
    ordered=st.booleans(),
)
def test_train_and_held_out_are_disjoint_and_add_up(make_interactions, sizes, k, seed, ordered):
    interactions = make_interactions([*sizes, k])
    if not ordered:
        order = np.random.default_rng(seed).permutation(len(interactions))
        interactions = reordered(interactions, order)
    folds = split(interactions, "user-k-fold", k, seed)
    seen = np.zeros((interactions.n_users, interactions.n_items))
    for index in range(k):
        train, held_out = matrices(interactions, folds, index)
        for matrix in (train, held_out):
            assert matrix.shape == (interactions.n_users, interactions.n_items)
            assert matrix.dtype == np.float32
            assert matrix.copy().has_canonical_format
            again = matrix.copy()
            again.has_sorted_indices = False
            again.sort_indices()
            np.testing.assert_array_equal(again.indices, matrix.indices)
            assert np.all(matrix.data == 1)
        np.testing.assert_array_equal(train.toarray() + held_out.toarray(), dense(interactions))
        assert held_out.nnz == np.sum(folds.assignment == index)
        seen += held_out.toarray()
    np.testing.assert_array_equal(seen, dense(interactions))  # each is held out exactly once


def test_users_and_items_are_not_swapped():
    interactions = Interactions(
        dataset="hand",
        users=np.array([0, 0, 1, 1], dtype=np.int32),
        items=np.array([0, 3, 1, 3], dtype=np.int32),
        user_ids=np.array(["a", "b"]),
        item_ids=np.array(["w", "x", "y", "z"]),
    )
    folds = Folds(
        strategy="hand", k=2, seed=None, assignment=np.array([0, 1, 1, 0], dtype=np.int16)
    )
    train, held_out = matrices(interactions, folds, 1)
    np.testing.assert_array_equal(train.toarray(), [[1, 0, 0, 0], [0, 0, 0, 1]])
    np.testing.assert_array_equal(held_out.toarray(), [[0, 0, 0, 1], [0, 1, 0, 0]])


def test_a_repeated_interaction_counts_once():
    interactions = Interactions(
        dataset="twice",
        users=np.array([0, 0, 0], dtype=np.int32),
        items=np.array([1, 1, 0], dtype=np.int32),
        user_ids=np.array(["a"]),
        item_ids=np.array(["x", "y"]),
    )
    folds = Folds(strategy="hand", k=2, seed=None, assignment=np.array([0, 0, 1], dtype=np.int16))
    _, held_out = matrices(interactions, folds, 0)
    np.testing.assert_array_equal(held_out.toarray(), [[0, 1]])


@pytest.mark.parametrize("index", [-1, 3])
def test_a_fold_that_does_not_exist_is_refused(make_interactions, index):
    interactions = make_interactions([9])
    folds = split(interactions, "user-k-fold", 3, 0)
    with pytest.raises(FoldsError, match=f"no fold {index}; these folds go from 0 to 2"):
        matrices(interactions, folds, index)


def test_folds_of_other_data_are_refused(make_interactions):
    folds = split(make_interactions([9]), "user-k-fold", 3, 0)
    with pytest.raises(FoldsError, match="assign 9 interactions, but tiny has 8"):
        matrices(make_interactions([8]), folds, 0)


@pytest.mark.parametrize("ordered", [True, False])
def test_history_has_a_value_for_each_training_entry_in_the_order_of_the_matrix(ordered):
    # Each interaction's basket says who and what: 100 user + item.
    users, items = np.array([0, 0, 0, 1, 1, 2]), np.array([1, 4, 5, 0, 4, 2])
    order = np.arange(6) if ordered else np.array([4, 0, 5, 2, 3, 1])
    interactions = Interactions(
        dataset="tiny",
        users=users[order].astype(np.int32),
        items=items[order].astype(np.int32),
        user_ids=np.array(["a", "b", "c"]),
        item_ids=np.array([f"i{n}" for n in range(6)]),
        timestamps=(users * 1000 + items)[order],
        baskets=(users * 100 + items)[order].astype(np.int32),
    )
    folds = Folds(strategy="given", k=2, seed=None, assignment=np.array([0, 1, 0, 0, 0, 0])[order])
    fold = fold_matrices(interactions, folds, 1)
    rows = np.repeat(np.arange(3), np.diff(fold.train.indptr))
    history = fold.history()
    assert fold.train.nnz == 5
    assert history.baskets.tolist() == (rows * 100 + fold.train.indices).tolist()
    assert history.order.tolist() == (rows * 1000 + fold.train.indices).tolist()
    kept = np.array([True, False, True, True, False])
    assert history.take(kept).baskets.tolist() == history.baskets[kept].tolist()


def test_history_of_data_without_any_is_empty(make_interactions):
    interactions = make_interactions([4, 5])
    history = fold_matrices(interactions, split(interactions, "user-k-fold", 2, 1), 0).history()
    assert history.order is None
    assert history.baskets is None
