"""The compiled nearest columns are those of scipy's product, in its order, ties included."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from ecv_core.models import neighbourhood
from ecv_core.models.neighbourhood import (
    SimilarityTerms,
    compiled_nearest,
    keep_nearest,
    sparse_similarities,
)
from ecv_core.records.run import no_progress


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("ones", [True, False])
def test_keeps_the_same_neighbours_in_the_same_order(seed, ones, monkeypatch):
    monkeypatch.setattr(neighbourhood, "MAX_SCIPY_PAIRS", 500)  # several blocks
    rng = np.random.default_rng(seed)
    users, items = rng.integers(5, 80, 2)
    entries = csr_array((rng.random((users, items)) < rng.uniform(0.02, 0.5)).astype(np.float32))
    if not ones:
        entries.data[:] = rng.random(entries.nnz)
    own, others = (rng.choice([1, 2, 3], items).astype(np.float32) ** 0.5 for _ in range(2))
    similarity_terms = SimilarityTerms(
        entries=entries,
        divisors=own,
        divisors_as_neighbour=others,
        shrink=float(seed % 2) * 1.5,
    )
    for neighbours in (1, 3, min(10, items), int(items)):
        expected = keep_nearest(sparse_similarities(similarity_terms), neighbours)
        found = compiled_nearest(similarity_terms, neighbours, no_progress)
        for name in ("indptr", "indices", "data"):
            np.testing.assert_array_equal(getattr(found, name), getattr(expected, name))
