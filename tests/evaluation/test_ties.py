"""Equal scores: the lower number first, before any cut, on every path; -inf is in no list."""

from dataclasses import dataclass
from decimal import Decimal
from types import SimpleNamespace
from unittest.mock import patch

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
import torch
from hypothesis import given
from hypothesis import strategies as st

import ecv_core as ecv
from ecv_core.evaluation import Protocol, evaluate
from ecv_core.evaluation.any_scores import AnyScores
from ecv_core.evaluation.formulas import Popularity
from ecv_core.evaluation.kernels import best_of_scores
from ecv_core.evaluation.ranking import best_of_array, best_of_tensor
from ecv_core.evaluation.sampled import draw_negatives
from ecv_core.evaluation.shortcuts import LongestFirst
from ecv_core.records.errors import InputError
from tests.evaluation.plain import plain_evaluation, plain_lists, plain_single_lists

NEVER = -np.inf


@dataclass(frozen=True)
class Problem:
    """Scores, and what users have and hold out, as somebody's notebook may have it."""

    scores: np.ndarray
    train: scipy.sparse.csr_array
    held_out: scipy.sparse.csr_array
    cutoffs: tuple[int, ...]


def carelessly(rng, present):
    """A sparse matrix of what is present, with stored zeros and with cells stored twice."""
    rows, columns = np.nonzero(present | (rng.random(present.shape) < 0.2))
    values = present[rows, columns].astype(float)
    again = rng.random(len(rows)) < 0.2
    stored = np.concatenate([values, values[again]])
    cells = (np.concatenate([rows, rows[again]]), np.concatenate([columns, columns[again]]))
    order = np.lexsort((rng.random(len(stored)), cells[0]))
    ends = np.searchsorted(cells[0][order], np.arange(len(present) + 1))
    return scipy.sparse.csr_array((stored[order], cells[1][order], ends), shape=present.shape)


def random_scores(rng, shape):
    """Few levels, so that many are equal: small, huge, tiny or whole numbers, some of them -inf."""
    levels = rng.integers(0, rng.integers(1, 6), shape, endpoint=True)
    kind = rng.integers(5)
    if kind == 0:
        return 1_700_000_000_000_000_000 + levels  # nanoseconds: float64 cannot tell them apart
    if kind == 1:
        scores = 1_600_000_000.0 + levels  # seconds: float32 cannot
    elif kind == 2:
        scores = np.array([-1e300, -1e-300, 0.0, 5e-324, 1e300, 1.7e308])[levels]
    elif kind == 3:
        scores = levels.astype(np.float32)
    else:
        scores = np.array([-0.0, 0.0, 1e-12, 0.1, 0.1 + 1e-17, 1 / 3])[levels]
    scores[rng.random(shape) < rng.choice([0, 0.3])] = NEVER
    return scores


def random_problem(seed):
    """Up to six users and fourteen items; cut-offs may be more than there are items."""
    rng = np.random.default_rng(seed)
    shape = (int(rng.integers(1, 7)), int(rng.integers(2, 15)))
    place = rng.random(shape)
    train = place < rng.uniform(0, 0.6)
    held_out = ~train & (place < rng.uniform(0.5, 1))
    empty = rng.random(shape[0]) < 0.2  # users with nothing held out
    held_out[empty] = False
    train[0, 0] = False
    held_out[0, 0] = True
    lengths = rng.choice(shape[1] + 3, int(rng.integers(1, 4)), replace=False) + 1
    return Problem(
        random_scores(rng, shape),
        carelessly(rng, train),
        carelessly(rng, held_out),
        tuple(lengths.tolist()),
    )


def clean(matrix):
    return scipy.sparse.csr_array(matrix.toarray())


def assert_same(means, expected, what):
    for name, value in expected.items():
        assert means[name] == pytest.approx(value, abs=1e-12), f"{name} of {what}"


def check_lists(problem, what):
    """Every way to pick the best of scores, at every length."""
    users = np.arange(len(problem.scores))
    scores = AnyScores(problem.scores, problem.scores.shape).score(users)
    scores[problem.train.toarray() != 0] = NEVER
    everything = np.ones(scores.shape[1], dtype=bool)
    for n in range(1, scores.shape[1] + 1):
        expected = plain_lists(problem.scores, problem.train.toarray(), everything, n)
        np.testing.assert_array_equal(best_of_array(scores, n), expected, what)
        np.testing.assert_array_equal(best_of_scores(scores, n), expected, what)
        np.testing.assert_array_equal(best_of_tensor(torch.from_numpy(scores), n), expected, what)


def check_full(problem, what):
    """Every metric of full ranking, by numpy and by compiled code."""
    dense = problem.train.toarray(), problem.held_out.toarray()
    expected = plain_evaluation(problem.scores, *dense, problem.cutoffs)
    names = {name.partition("@")[0] for name in expected}
    found = ecv.metrics(
        problem.scores, problem.train, problem.held_out, cutoffs=problem.cutoffs, names=[*names]
    )
    assert_same(found, expected, f"metrics() of {what}")
    for compiled in (False, True):
        for also in ([], ["auc"]):  # with AUC lists are made another way
            with patch("ecv_core.evaluation.load_compiled", return_value=compiled):
                found = evaluate(
                    AnyScores(problem.scores, problem.scores.shape),
                    clean(problem.train),
                    clean(problem.held_out),
                    problem.cutoffs,
                    extra_metrics=also,
                )
            of_these = {name: expected[name] for name in found.means}
            assert_same(found.means, of_these, f"{what}, {compiled=}, {also=}")


class Formed(AnyScores):
    """Scores with the form that a shortcut takes."""

    common = product = None


def check_common(problem, what):
    """Scores that are the same for all users."""
    everybody = np.tile(problem.scores[0], (len(problem.scores), 1))
    model = Formed(everybody, everybody.shape)
    model.common = model.score(np.arange(1))[0]
    check_formed(problem, model, what)


def check_product(problem, what):
    """Scores that are products of sparse matrices, whole numbers, so that sums are exact."""
    rng = np.random.default_rng(len(what))
    users, items = problem.scores.shape
    left = rng.integers(-1, 2, (users, 3)).astype(np.float32)
    right = rng.integers(-1, 2, (3, items)).astype(np.float32)
    model = Formed(left @ right, problem.scores.shape)
    model.product = (scipy.sparse.csr_array(left), scipy.sparse.csr_array(right))
    check_formed(problem, model, what)


def check_formed(problem, model, what):
    scores = model.score(np.arange(len(problem.scores)))
    dense = problem.train.toarray(), problem.held_out.toarray()
    expected = plain_evaluation(scores, *dense, problem.cutoffs)
    matrices = clean(problem.train), clean(problem.held_out)
    with patch("ecv_core.evaluation.load_compiled", return_value=True):
        found = evaluate(model, *matrices, problem.cutoffs)
    assert_same(found.means, {name: expected[name] for name in found.means}, what)


def check_factors(problem, what):
    """Scores that are products of dense factors, whole numbers, so that they are exact."""
    rng = np.random.default_rng(len(what))
    users, items = problem.scores.shape
    left = rng.integers(-2, 3, (users, 2)).astype(np.float32)
    right = rng.integers(-2, 3, (2, items)).astype(np.float32)
    candidates = rng.random(items) < 0.8
    model = SimpleNamespace(
        product=(torch.from_numpy(left), torch.from_numpy(right)),
        score=lambda part: torch.from_numpy(left[part] @ right),
    )
    for compiled in (False, True):
        fold = SimpleNamespace(
            model=model, seen=clean(problem.train), candidates=candidates, compiled=compiled
        )
        for n in range(1, int(candidates.sum())):
            assert LongestFirst.serves(fold, n)
            found = LongestFirst(fold, n)(np.arange(users))
            expected = plain_lists(left @ right, problem.train.toarray(), candidates, n)
            np.testing.assert_array_equal(found, expected, what)


def check_samples(problem, what):
    """Held-out items alone against negatives, and in one pool with so many that all are drawn."""
    seen, held_out = clean(problem.train), clean(problem.held_out)
    users = np.flatnonzero(np.diff(held_out.indptr))
    everything = np.ones(seen.shape[1], dtype=bool)
    left = seen.shape[1] - np.diff(seen.indptr)[users] - np.diff(held_out.indptr)[users]
    if left.min() == 0:
        return
    model = AnyScores(problem.scores, problem.scores.shape)
    protocol = Protocol(negatives=int(left.min()), seed=3)
    fold = SimpleNamespace(
        seen=seen,
        held_out=held_out,
        users=users,
        candidates=everything,
        popularity=Popularity.of(seen),
        protocol=protocol,
    )
    drawn = draw_negatives(fold)
    expected = plain_single_lists(
        problem.scores, held_out.toarray(), problem.cutoffs, users, np.concatenate([*drawn])
    )
    found = evaluate(model, seen, held_out, problem.cutoffs, protocol=protocol)
    assert_same(found.means, expected, f"single lists of {what}")
    pooled = Protocol(negatives=400, sampling="pooled")
    found = evaluate(model, seen, held_out, problem.cutoffs, protocol=pooled)
    dense = seen.toarray(), held_out.toarray()
    expected = plain_evaluation(problem.scores, *dense, problem.cutoffs)
    of_these = {name: expected[name] for name in found.means}
    assert_same(found.means, of_these, f"the pool of {what}")


CHECKS = (check_lists, check_full, check_common, check_product, check_factors, check_samples)


@pytest.mark.parametrize("check", CHECKS)
def test_every_way_of_ranking_is_the_plain_one(check):
    for seed in range(100):
        check(random_problem(seed), f"problem {seed}")


@pytest.mark.slow
@pytest.mark.parametrize("check", CHECKS)
def test_every_way_of_ranking_is_the_plain_one_in_two_thousand_problems(check):
    """Others for each way, some 2,000 in all; each way was compared in 10,000 of them once."""
    first = 1000 + 400 * CHECKS.index(check)
    for seed in range(first, first + 400):
        check(random_problem(seed), f"problem {seed}")


@pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no GPU")
def test_lists_made_on_a_gpu_are_the_plain_ones():
    for seed in range(300):
        problem = random_problem(seed)
        scores = AnyScores(problem.scores, problem.scores.shape)
        on_gpu = SimpleNamespace(score=lambda part: torch.from_numpy(scores.score(part)).cuda())  # noqa: B023
        matrices = clean(problem.train), clean(problem.held_out)
        for also in ([], ["auc"]):
            here = evaluate(scores, *matrices, problem.cutoffs, extra_metrics=also)
            there = evaluate(on_gpu, *matrices, problem.cutoffs, extra_metrics=also)
            assert here.means == there.means, f"problem {seed}"


@given(st.integers(0, 2**32 - 1), st.sets(st.integers(1, 300), max_size=4))
def test_a_metric_at_5_does_not_depend_on_the_other_cutoffs(seed, others):
    rng = np.random.default_rng(seed)
    scores = rng.integers(0, 5, (200, 300)).astype(np.float32)
    held_out = rng.random((200, 300)) < 0.05
    nothing = np.zeros(held_out.shape)
    order = np.argsort(-scores, axis=1, kind="stable")[:, :5]
    hits = np.take_along_axis(held_out, order, axis=1)
    discounts = 1 / np.log2(np.arange(2, 7))
    counts = held_out.sum(axis=1)
    ideal = np.cumsum(discounts)[np.minimum(counts, 5) - 1]
    expected = ((hits @ discounts) / ideal)[counts > 0].mean()
    found = ecv.metrics(
        scores,
        scipy.sparse.csr_array(nothing),
        scipy.sparse.csr_array(held_out),
        cutoffs=[5, *others],
        names=["ndcg"],
    )
    assert found["ndcg@5"] == pytest.approx(expected, abs=1e-12)


def test_an_item_that_is_never_recommended_is_in_no_list():
    scores = np.array([[3, 2, 1, NEVER, NEVER]])
    found = ecv.metrics(
        scores,
        scipy.sparse.csr_array((1, 5)),
        scipy.sparse.csr_array(np.array([[0, 0, 0, 0, 1]])),
        cutoffs=(1, 2, 3, 4, 5),
        names=["recall", "coverage"],
    )
    assert [found[f"recall@{n}"] for n in range(1, 6)] == [0] * 5
    assert found["coverage@5"] == 0.6


def test_a_cutoff_above_the_number_of_items_is_a_list_that_is_not_filled():
    found = ecv.metrics(
        np.array([[3.0, 2.0, 1.0]]),
        scipy.sparse.csr_array((1, 3)),
        scipy.sparse.csr_array(np.array([[0, 1, 0]])),
        cutoffs=(10,),
        names=["recall", "precision", "mrr"],
    )
    assert found == {"recall@10": 1.0, "precision@10": 0.1, "mrr@10": 0.5}


def test_stored_zeros_are_no_interactions_and_an_item_stored_twice_is_one():
    scores = np.array([[0.9, 0.1, 0.2, 0.3]])
    held_out = scipy.sparse.csr_array(np.array([[5.0, 2.0, 0, 0]]))
    held_out.data[1] = 0
    train = scipy.sparse.csr_array(([0.0], ([0], [0])), shape=(1, 4))
    found = ecv.metrics(scores, train, held_out, cutoffs=(1,), names=["ndcg", "recall"])
    assert found == {"ndcg@1": 1.0, "recall@1": 1.0}
    assert held_out.nnz == 2  # what was given stays as it is
    twice = scipy.sparse.csr_array(([1.0, 1.0], [1, 1], [0, 2]), shape=(1, 4))
    found = ecv.metrics(-scores, train, twice, cutoffs=(2,), names=["ndcg", "recall"])
    assert found == {"ndcg@2": 1.0, "recall@2": 1.0}


@pytest.mark.parametrize(
    "scores",
    [
        [1_600_000_000.0, 1_600_000_060.0, 0.0],
        [1_700_000_000_000_000_000, 1_700_000_000_000_000_001, 0],
        [1e300, 1e301, 0.0],
        [-1e301, -1e300, NEVER],
        [2e-46, 3e-46, 1e-46],
    ],
)
def test_scores_are_ranked_before_any_cast(scores):
    found = ecv.metrics(
        np.array([scores]),
        scipy.sparse.csr_array((1, 3)),
        scipy.sparse.csr_array(np.array([[0, 1, 0]])),
        cutoffs=(1,),
        names=["ndcg", "auc"],
    )
    assert found == {"ndcg@1": 1.0, "auc": 1.0}


def nanoseconds_after_2024(nanoseconds):
    return np.datetime64("2024-01-01", "ns") + np.array(nanoseconds, "m8[ns]")


@pytest.mark.parametrize(
    "scores",
    [
        np.array([1 + np.longdouble(1e-18), 1 + np.longdouble(2e-18), 0], np.longdouble),
        np.array([10**20, 10**20 + 1, 0], object),
        np.array([Decimal("1.00000000000000000001"), Decimal("1.00000000000000000002"), 0], object),
        nanoseconds_after_2024([0, 1, -1]),
        np.array([10**18, 10**18 + 1, 0], "m8[ns]"),
        np.array([10**20, 10**20 + 1, -np.inf], object),
    ],
    ids=["long double", "Python", "decimal", "time", "duration", "Python and -inf"],
)
def test_scores_that_float64_cannot_tell_apart_keep_their_order(scores):
    if scores.dtype == np.longdouble and np.finfo(np.longdouble).nmant <= 52:
        pytest.skip("a long double is a float64 here")
    found = ecv.metrics(
        np.stack([scores, scores]),
        scipy.sparse.csr_array((2, 3)),
        scipy.sparse.csr_array(np.array([[0, 1, 0], [0, 1, 0]])),
        cutoffs=(1,),
        names=["ndcg", "auc"],
    )
    assert found == {"ndcg@1": 1.0, "auc": 1.0}


FORMS = {
    "list": np.ndarray.tolist,
    "frame": pd.DataFrame,
    "frame with names": lambda scores: pd.DataFrame(
        scores, columns=list("abcd"), index=list("xyz")
    ),
    "coordinates": scipy.sparse.coo_matrix,
    "diagonals": scipy.sparse.dia_array,
    "blocks": scipy.sparse.bsr_array,
    "sparse tensor": lambda scores: torch.from_numpy(scores).to_sparse(),
    "sparse tensor of rows": lambda scores: torch.from_numpy(scores).to_sparse_csr(),
}
"""Name -> how the same scores may be given."""


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.filterwarnings("ignore:Sparse CSR tensor support is in beta")
def test_scores_of_any_form_are_users_by_items(form):
    # Two of three users are evaluated: row 1 of the second is what a column would not be.
    scores = np.array([[1.0, 2, 3, 4], [9, 8, 7, 6], [3, 5, 1, 4]])
    held_out = scipy.sparse.csr_array(np.array([[0, 0, 0, 0], [1, 0, 0, 0], [0, 1, 0, 0]]))
    found = ecv.metrics(
        FORMS[form](scores), scipy.sparse.csr_array((3, 4)), held_out, cutoffs=(1,), names=["ndcg"]
    )
    assert found == {"ndcg@1": 1.0}


@pytest.mark.parametrize(
    ("scores", "says"),
    [
        (np.ma.masked_array([[3.0, 2.0, 1.0]], mask=[[True, False, False]]), "-np.inf"),
        (pd.DataFrame([[3.0, 2.0, 1.0]], columns=[2, 0, 1]), "2, 0, 1"),
        ([[3.0, 2.0], [1.0]], "one row per user"),
    ],
    ids=["masked", "columns in another order", "rows of different lengths"],
)
def test_scores_of_which_the_order_is_not_known_are_refused(scores, says):
    with pytest.raises(InputError, match=says):
        ecv.metrics(
            scores,
            scipy.sparse.csr_array((1, 3)),
            scipy.sparse.csr_array(np.array([[0, 1, 0]])),
            cutoffs=(1,),
        )


def test_a_like_and_a_dislike_of_one_item_are_an_interaction():
    train = scipy.sparse.csr_array(([1.0, -1.0], [0, 0], [0, 2]), shape=(1, 3))
    found = ecv.metrics(
        np.array([[3.0, 2.0, 1.0]]),
        train,
        scipy.sparse.csr_array(np.array([[0, 1, 0]])),
        cutoffs=(1,),
        names=["ndcg"],
    )
    assert found == {"ndcg@1": 1.0}
