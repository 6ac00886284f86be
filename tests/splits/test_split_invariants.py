"""What every strategy promises, whatever the data."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from ecv_core.records.errors import FoldsError
from ecv_core.records.interactions import Need, Part
from ecv_core.records.tasks import Task
from ecv_core.splits import SPLITS, Past, fold_matrices, serving, split

SETTINGS = {
    "user-k-fold": {},
    "record-k-fold": {},
    "nested-k-fold": {"aside": [0.1, 0.5]},
    "user-fold-in": {"fold_in": [0.0, 0.5, 0.8], "validation": [False, True]},
    "user-split": {"test": [0.1, 0.5], "fold_in": [0.0, 0.5], "validation": [0.0, 0.3]},
    "random-holdout": {
        "test": [0.1, 0.5, 0.9],
        "validation": [0.0, 0.3],
        "together": [False, True],
    },
    "leave-one-out": {"validation": [False, True]},
    "leave-last-item": {"validation": [False, True]},
    "leave-last-basket": {"validation": [False, True]},
    "temporal-user": {"test": [0.1, 0.5, 0.9], "validation": [0.0, 0.3]},
    "temporal-global": {"test": [0.1, 0.5], "unknown": ["drop", "keep"], "validation": [0.0, 0.3]},
    "temporal-windows": {
        "first": [0.3, 0.6],
        "training": ["growing", "sliding"],
        "unknown": ["drop", "keep"],
        "validation": [0.0, 0.3],
    },
}
EVERYONE_TRAINS = ("random-holdout", "leave-one-out", "leave-last-item", "leave-last-basket")
EVERYONE_TRAINS += ("temporal-user",)

histories = st.lists(st.integers(0, 12), min_size=1, max_size=8)


def made(make_interactions, sizes, data):
    """Interactions with times, some equal, and baskets that follow them."""
    count = sum(sizes)
    times = data.draw(st.lists(st.integers(0, 40), min_size=count, max_size=count))
    return make_interactions(sizes, times=times, baskets=[time // 5 for time in times])


def tried(interactions, name, k, seed, settings):
    try:
        return split(interactions, name, k, seed, settings)
    except FoldsError:
        return None


@pytest.mark.parametrize("name", serving(Task.TOP_N))
@given(data=st.data(), sizes=histories, seed=st.integers(0, 2**32 - 1))
def test_promises_hold_in_every_fold(make_interactions, name, data, sizes, seed):
    known = SPLITS[name]
    interactions = made(make_interactions, sizes, data)
    k = 1 if known.single else data.draw(st.integers(known.least_k, 4))
    tried_values = SETTINGS.get(name, {})
    settings = {key: data.draw(st.sampled_from(of)) for key, of in tried_values.items()}
    folds = tried(interactions, name, k, seed, settings)
    assume(folds is not None)
    assert (folds.strategy, folds.k, folds.seed) == (name, k, seed)
    times = interactions.baskets if name == "leave-last-basket" else interactions.timestamps
    for index in range(k):
        parts = folds.parts(index)
        assert parts.shape == (len(interactions),)
        assert parts.dtype == np.int8
        assert set(parts.tolist()) <= set(Part)
        train, test = parts == Part.TRAIN, parts == Part.TEST
        validation = parts == Part.VALIDATION

        if name not in ("temporal-windows",):
            assert train.any()
        if (
            index == 0
            and name not in ("temporal-windows", "nested-k-fold")
            and settings.get("unknown") != "drop"
        ):
            # The first fold uses everything.
            assert np.all(train | test | validation)
            assert test.any()
        if not any(settings.get(key) for key in ("validation",)):
            assert not validation.any()

        if known.past is Past.EVERYBODY and train.any() and test.any():
            assert times[train].max() < times[test].min()
            if validation.any():
                assert times[train].max() < times[validation].min()
                assert times[validation].max() < times[test].min()
        if known.past is Past.USER:
            for user in np.unique(interactions.users[test]):
                own = interactions.users == user
                assert times[own & train].max() <= times[own & test].min()
                if (own & validation).any():
                    assert times[own & train].max() <= times[own & validation].min()
                    assert times[own & validation].max() <= times[own & test].min()
        if name in EVERYONE_TRAINS and not settings.get("together"):
            assert set(interactions.users[train]) == set(interactions.users)
        if settings.get("unknown") == "drop":
            for kind in (interactions.users, interactions.items):
                assert set(kind[test | validation]) <= set(kind[train])


@pytest.mark.parametrize("name", serving(Task.TOP_N))
def test_same_seed_same_split_and_a_fold_does_not_depend_on_those_drawn_before(
    make_interactions, name
):
    sizes = [15] * 30
    rng = np.random.default_rng(1)
    times = rng.integers(0, 60, sum(sizes))  # many are equal
    interactions = make_interactions(sizes, times=times, baskets=times // 10)
    k = min(3, SPLITS[name].most_k)
    first, again = (split(interactions, name, k, 7) for _ in range(2))
    for index in reversed(range(k)):
        again.parts(index)
    for index in range(k):
        np.testing.assert_array_equal(first.parts(index), again.parts(index))


@pytest.mark.parametrize(
    "name",
    [
        "user-k-fold",
        "record-k-fold",
        "user-fold-in",
        "user-split",
        "random-holdout",
        "leave-one-out",
    ],
)
def test_another_seed_is_another_split(make_interactions, name):
    interactions = make_interactions([15] * 30)
    first, other = (split(interactions, name, 3, seed).parts(0) for seed in (7, 8))
    assert np.any(first != other)


@pytest.mark.parametrize("name", ["random-holdout", "leave-one-out", "user-split"])
def test_repetitions_are_drawn_anew(make_interactions, name):
    folds = split(make_interactions([15] * 30), name, 3, 7)
    assert np.any(folds.parts(0) != folds.parts(1))
    assert np.any(folds.parts(1) != folds.parts(2))


@pytest.mark.parametrize("name", ["user-k-fold", "record-k-fold", "user-fold-in"])
@given(sizes=histories, k=st.integers(2, 4), seed=st.integers(0, 99))
def test_no_interaction_is_held_out_in_two_folds(make_interactions, name, sizes, k, seed):
    interactions = make_interactions(sizes)
    folds = tried(interactions, name, k, seed, {})
    assume(folds is not None)
    held = sum((folds.parts(index) == Part.TEST).astype(int) for index in range(k))
    assert held.max() == 1
    if name != "user-fold-in":
        assert held.min() == 1


@given(sizes=histories, k=st.integers(2, 4), seed=st.integers(0, 99))
def test_with_fold_in_each_user_is_tested_in_one_fold_and_users_are_dealt_evenly(
    make_interactions, sizes, k, seed
):
    interactions = make_interactions([size + 2 for size in sizes] + [2] * k)
    folds = split(interactions, "user-fold-in", k, seed)
    tested = [
        set(interactions.users[folds.parts(index) == Part.TEST].tolist()) for index in range(k)
    ]
    assert set.union(*tested) == set(range(interactions.n_users))
    assert sum(map(len, tested)) == interactions.n_users
    assert max(map(len, tested)) - min(map(len, tested)) <= 1


@given(data=st.data(), seed=st.integers(0, 99), k=st.integers(1, 4))
def test_windows_follow_each_other_without_overlap_or_gap(make_interactions, data, seed, k):
    interactions = made(make_interactions, [12] * 5, data)
    folds = tried(interactions, "temporal-windows", k, seed, {"unknown": "keep"})
    assume(folds is not None)
    held = [folds.parts(index) == Part.TEST for index in range(k)]
    first = folds.parts(0) == Part.TRAIN
    np.testing.assert_array_equal(sum(part.astype(int) for part in [first, *held]), 1)
    for earlier, later in pairwise(held):
        assert interactions.timestamps[earlier].max() < interactions.timestamps[later].min()


@pytest.mark.parametrize("name", serving(Task.TOP_N))
def test_the_matrices_of_a_fold_are_its_parts(make_interactions, name):
    rng = np.random.default_rng(2)
    times = rng.permutation(150)
    interactions = make_interactions([15] * 10, times=times, baskets=times // 10)
    folds = split(interactions, name, min(2, SPLITS[name].most_k), 3)
    parts, fold = folds.parts(0), fold_matrices(interactions, folds, 0)
    for part, matrix in (
        (Part.TRAIN, fold.train),
        (Part.VALIDATION, fold.validation),
        (Part.TEST, fold.held_out),
    ):
        wanted = np.zeros((interactions.n_users, interactions.n_items))
        wanted[interactions.users[parts == part], interactions.items[parts == part]] = 1
        np.testing.assert_array_equal(matrix.toarray(), wanted)


def test_what_is_set_aside_for_validation_is_no_candidate(make_interactions):
    folds = split(
        interactions := make_interactions([9] * 4), "leave-one-out", 1, 0, {"validation": True}
    )
    fold = fold_matrices(interactions, folds, 0)
    assert fold.validation.nnz == 4
    np.testing.assert_array_equal(
        fold.seen.toarray(), fold.train.toarray() + fold.validation.toarray()
    )
    assert fold.seen.has_sorted_indices


def test_every_strategy_says_what_it_is():
    for known in SPLITS.values():
        assert known.title
        assert known.source
        assert known.help.endswith(".")
        assert known.ecv.endswith(".")
        assert known.least_k <= known.default_k <= known.most_k
        assert isinstance(known.needs, Need)
        for parameter in known.parameters:
            assert parameter.help.endswith(".")
            assert parameter.parse(parameter.default) == parameter.default


def test_a_share_of_all_interactions_together_takes_users_as_it_comes(make_interactions):
    """RecBole's group_by none: the same number of interactions, drawn from everybody's at once."""
    interactions = make_interactions([10] * 40)
    params = {"test": 0.25, "validation": 0.1, "together": True}
    folds = split(interactions, "random-holdout", 3, 7, params)
    shares = set()
    for index in range(3):
        parts = folds.parts(index)
        # a quarter of 400, and a tenth of the 300 that are left
        assert np.bincount(parts, minlength=5).tolist() == [270, 30, 100, 0, 0]
        shares |= set(np.bincount(interactions.users[parts == Part.TEST], minlength=40).tolist())
    assert len(shares) > 3  # of every user it would be 2 always
    assert np.any(folds.parts(0) != folds.parts(1))
