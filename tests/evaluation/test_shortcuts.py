"""Lists made without a score for every item are those of every score, ties included."""

from types import SimpleNamespace
from unittest.mock import patch

import numba
import numpy as np
import pytest
import torch
from scipy.sparse import csr_array, random_array

from ecv_core.evaluation import evaluate, shortcuts
from ecv_core.evaluation.ranking import best_items
from ecv_core.evaluation.shortcuts import LongestFirst, ranked_blocks
from ecv_core.records.errors import RunError
from tests.evaluation.plain import plain_lists


class Says:
    """A model with both attributes, one of which it has nothing to say of."""

    common = product = None

    def __init__(self, common, product):
        self.common, self.product = common, product

    def score(self, users):
        raise AssertionError("every item is scored")


@pytest.fixture(params=[1, 3])
def cores(request, monkeypatch):
    """Of the machine."""
    monkeypatch.setattr(numba.config, "NUMBA_NUM_THREADS", request.param)


def sparse(rng, shape, density, values):
    made = random_array(shape, density=density, rng=rng, dtype=np.float32, format="csr")
    made.data[:] = rng.integers(1, values, made.nnz, endpoint=True)
    made.sort_indices()
    return csr_array(made)


def lists_of(model, seen, candidates, users, n):
    fold = SimpleNamespace(
        model=model, seen=seen, candidates=candidates, users=users, compiled=True
    )
    return np.concatenate([lists for _, lists in ranked_blocks(fold, n)])


@pytest.mark.parametrize("kind", ["common", "product", "negative"])
@pytest.mark.parametrize("seed", range(12))
def test_lists_are_those_of_every_score(kind, seed, cores):
    rng = np.random.default_rng(seed)
    users, items = int(rng.integers(3, 60)), int(rng.choice([640, 700, 1999]))
    n, values = int(rng.choice([1, 2, 10])), int(rng.choice([1, 3, 1000]))
    seen = sparse(rng, (users, items), float(rng.choice([0.0, 0.01, 0.5, 0.998])), 1)
    candidates = rng.random(items) < rng.choice([0.005, 0.9, 1.0])
    common, product = rng.integers(0, 5 * values, items).astype(np.float32), None
    scores = np.tile(common, (users, 1))
    if kind != "common":
        left = sparse(rng, (users, 30), rng.uniform(0.0, 0.3), values)
        right = sparse(rng, (30, items), rng.choice([0.001, 0.02, 0.4]), values)
        right.data[:: 2 if kind == "negative" else right.nnz + 1] *= -1
        scores = (left @ right).toarray()
        common, product = None, (left, right)
    asked = rng.permutation(users).astype(np.intp)
    found = lists_of(Says(common, product), seen, candidates, asked, n)
    expected = plain_lists(scores, seen.toarray(), candidates, n)
    np.testing.assert_array_equal(found, expected[asked])


class Factors(Says):
    """A model whose scores are products of factors, and may be asked for."""

    def score(self, users):
        left, right = self.product
        return left[torch.from_numpy(users)] @ right


def worse(kind, left, right, rng):
    """Factors that make it hard to tell which items are best; right is (factors, items)."""
    items = right.shape[1]
    if kind == "ties":
        return left.round(), right.round()
    if kind == "zeros":  # users whom nothing can be ranked for, items that everybody is told 0 of
        left[rng.random(len(left)) < 0.3] = 0
        right[:, rng.random(items) < 0.5] = 0
    if kind == "duplicates":
        right = right[:, rng.integers(0, items // 4, items)]
    if kind == "equal lengths":
        right = right / np.linalg.norm(right, axis=0)
    if kind == "last bits":  # one item, but for the last bits of its numbers
        right = np.tile(right[:, :1], items).astype(np.float32)
        right = np.nextafter(right, rng.choice([-np.inf, np.inf], right.shape).astype(np.float32))
    return left, right


@pytest.mark.parametrize(
    "kind", ["random", "ties", "zeros", "duplicates", "equal lengths", "last bits"]
)
@pytest.mark.parametrize("seed", range(8))
def test_lists_of_factors_are_those_of_every_score(seed, kind, cores):
    rng = np.random.default_rng(seed)
    users, items = int(rng.integers(3, 60)), int(rng.choice([640, 700, 1999]))
    n, size = int(rng.choice([1, 2, 10])), rng.lognormal(0, rng.choice([0.1, 2]), items)
    left, right = rng.normal(size=(users, 5)), rng.normal(size=(5, items)) * size
    left, right = worse(kind, left, right, rng)
    left, right = (torch.from_numpy(one.astype(np.float32)) for one in (left, right))
    seen = sparse(rng, (users, items), float(rng.choice([0.0, 0.01, 0.5, 0.998])), 1)
    candidates = rng.random(items) < rng.choice([0.05, 0.9, 1.0])
    asked = rng.permutation(users).astype(np.intp)
    model = Factors(None, (left, right))
    fold = SimpleNamespace(model=model, seen=seen, candidates=candidates, compiled=True)
    found = LongestFirst(fold, n)(asked)
    expected = plain_lists((left @ right).numpy(), seen.toarray(), candidates, n)
    np.testing.assert_array_equal(found, expected[asked])


def test_of_factors_whose_products_are_well_apart_not_every_item_is_scored(cores, monkeypatch):
    monkeypatch.setattr(shortcuts, "FACTOR_CELLS", 0)
    scores = np.random.default_rng(0).permutation(700).astype(np.float32)
    product = (torch.ones(9, 1), torch.from_numpy(scores)[None])
    nothing = csr_array((9, 700), dtype=np.float32)
    found = lists_of(Says(None, product), nothing, scores >= 0, np.arange(9), 10)
    assert found.tolist() == [np.argsort(-scores)[:10].tolist()] * 9


def test_whose_scores_are_as_near_as_roundings_is_ranked_by_every_score():
    # Two items' scores for user 1 are neighbours among float32; user 0 has none so near.
    apart = np.float32(1.05) ** np.arange(700, dtype=np.float32)
    near = apart.copy()
    near[698] = np.nextafter(near[699], np.float32(0))
    asked = []

    class Asked(Factors):
        def score(self, users):
            asked.extend(users.tolist())
            return super().score(users)

    model = Asked(None, (torch.eye(2), torch.from_numpy(np.stack([apart, near]))))
    nothing = csr_array((2, 700), dtype=np.float32)
    everything = np.ones(700, dtype=bool)
    fold = SimpleNamespace(model=model, seen=nothing, candidates=everything, compiled=True)
    lists = LongestFirst(fold, 10)(np.arange(2))
    assert lists.tolist() == [list(range(699, 689, -1))] * 2
    assert asked == [1]


@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize("seed", range(4))
def test_rows_of_many_scores_are_ranked_alike_with_compiled_code_and_without(seed, kind, cores):
    rng = np.random.default_rng(seed)
    users, items = int(rng.integers(1, 60)), int(rng.choice([640, 700, 1999]))
    n, values = int(rng.choice([1, 2, 64, 65, 500])), int(rng.choice([1, 3, 1000]))
    scores = rng.integers(-values, values, (users, items), endpoint=True).astype(kind)
    scores[rng.random(scores.shape) < rng.choice([0.0, 0.01, 0.5, 0.998])] = -np.inf
    nothing, everything = np.zeros(scores.shape), np.ones(items, dtype=bool)
    expected = plain_lists(scores, nothing, everything, n)
    for compiled in (False, True):
        found = best_items(scores, n, compiled=compiled)
        np.testing.assert_array_equal(found, expected)


def test_scores_that_are_not_finite_are_refused(monkeypatch):
    monkeypatch.setattr(shortcuts, "FACTOR_CELLS", 0)
    rng = np.random.default_rng(0)
    train, held_out = sparse(rng, (9, 700), 0.1, 1), sparse(rng, (9, 700), 0.1, 1)
    right = sparse(rng, (700, 700), 0.1, 1)
    right.data[3] = np.nan
    popular = np.ones(700, dtype=np.float32)
    popular[5] = np.nan
    models = [Says(None, (train, right)), Says(popular, None)]
    for user, item in ((3e18, 1e21), (1, np.nan)):  # finite factors of an infinite product, and not
        product = torch.full((9, 1), 1.0), 1e17 * torch.arange(1.0, 701.0)[None]
        product[0][3], product[1][0, 5] = user, item
        models.append(Factors(None, product))
    for model in models:
        with (
            patch("ecv_core.evaluation.load_compiled", return_value=True),
            pytest.raises(RunError, match="not finite"),
        ):
            evaluate(model, train, held_out, [10])
