"""Lists are the same with torch and without, wherever scores are equal."""

import subprocess
import sys

import numpy as np
import pytest
import torch
from scipy.sparse import csr_array

from ecv_core.evaluation import evaluate
from ecv_core.evaluation.without_torch import best_of


@pytest.mark.parametrize(
    ("items", "n"),
    [
        *[(3000, 20), (1280, 20), (6400, 100), (130, 2), (64, 1)],  # a heap
        *[(1279, 20), (300, 50), (300, 17), (300, 18), (40, 40), (3, 2), (1, 1)],  # a pivot
    ],
)
@pytest.mark.parametrize(("values", "gone"), [(3, 0.0), (30, 0.3), (10**6, 0.0), (5, 0.99)])
def test_equal_scores_come_in_the_order_of_torch(items, n, values, gone):
    rng = np.random.default_rng([items, n, values])
    scores = rng.integers(0, values, (40, items)).astype(np.float32)
    scores[rng.random(scores.shape) < gone] = -np.inf
    best = torch.topk(torch.from_numpy(scores), n, dim=1)
    expected = best.indices.masked_fill(best.values == -torch.inf, -1)
    np.testing.assert_array_equal(best_of(scores, n), expected)


class Fixed:
    def __init__(self, scores):
        self.scores = scores

    def score(self, users):
        return self.scores[users].copy()


PROGRAM = """
import sys
import numpy as np
from scipy.sparse import csr_array
from ecv_core.evaluation import Protocol, evaluate

class Fixed:
    def score(self, users):
        return np.random.default_rng(1).integers(0, 9, (50, 1400)).astype(np.float32)[users]

rng = np.random.default_rng(2)
train, held_out = (csr_array((rng.random((50, 1400)) < 0.02).astype(np.float32)) for _ in range(2))
found = evaluate(Fixed(), train, held_out, [10, 20], also=("auc",))
assert "torch" not in sys.modules
print(found.values.tobytes().hex())
"""


def test_a_fold_is_evaluated_alike_without_torch():
    said = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True
    ).stdout
    rng = np.random.default_rng(2)
    train, held_out = (
        csr_array((rng.random((50, 1400)) < 0.02).astype(np.float32)) for _ in range(2)
    )
    scores = np.random.default_rng(1).integers(0, 9, (50, 1400)).astype(np.float32)
    found = evaluate(Fixed(scores), train, held_out, [10, 20], also=("auc",))
    assert said.strip() == found.values.tobytes().hex()
