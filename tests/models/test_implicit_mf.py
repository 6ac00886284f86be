import subprocess
import sys

import numpy as np
import pytest

from ecv_core.models import algorithm
from ecv_core.records.errors import RunError

FIT = """
import warnings
warnings.simplefilter("error")
import numpy as np, torch
from scipy.sparse import csr_array
from ecv_core.models import algorithm
torch.set_num_threads(2)
torch.set_num_interop_threads(1)
torch.ones(500, 500) @ torch.ones(500, 500)
chosen = algorithm("implicit-mf")
model = chosen.build(dict(chosen.resolve({"epochs": 1})))
model.fit(csr_array(np.eye(5, 7, dtype=np.float32)), seed=1)
print(torch.get_num_threads())
"""


@pytest.mark.slow
def test_first_fit_is_silent_and_leaves_torchs_threads_alone():
    done = subprocess.run([sys.executable, "-c", FIT], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["2"]
    assert done.stderr == ""


def fitted(train, **params):
    chosen = algorithm("implicit-mf")
    model = chosen.build(dict(chosen.resolve(params)))
    model.fit(train, seed=1)
    return model


def test_user_without_training_items_and_item_without_users_score_0(lopsided):
    scores = fitted(lopsided, weight=4.0, regularization=0.1).score(np.arange(13))
    assert scores[3].abs().max() == 0
    assert scores[:, 7].abs().max() == 0
    assert scores.abs().max() > 0.5


def test_users_are_at_the_optimum_for_the_final_items(lopsided):
    """Hu, Koren, Volinsky (2008), equation 4, with confidence 1 + weight and no rating."""
    weight, regularization, factors = 4.0, 2.0, 5
    model = fitted(lopsided, weight=weight, regularization=regularization, factors=factors)
    items = model._items.numpy().astype(np.float64)
    scores = model.score(np.arange(13)).numpy()
    for user, profile in enumerate(lopsided.toarray()):
        confidence = 1 + weight * profile
        left = (items.T * confidence) @ items + regularization * np.eye(factors)
        vector = np.linalg.solve(left, (items.T * confidence) @ profile)
        np.testing.assert_allclose(scores[user], items @ vector, atol=1e-4)


def test_different_seeds_give_different_factors(lopsided):
    chosen = algorithm("implicit-mf")
    scores = []
    for seed in (1, 2):
        model = chosen.build(dict(chosen.resolve({"epochs": 1, "regularization": 0.1})))
        model.fit(lopsided, seed=seed)
        scores.append(model.score(np.arange(13)).numpy())
    assert not np.allclose(*scores)


def test_equations_without_a_solution_are_a_failed_run(lopsided):
    with pytest.raises(RunError, match="higher regularization"):
        fitted(lopsided, factors=512, regularization=1e-6, weight=1e-3)


def test_factors_that_are_not_finite_are_a_failed_run(lopsided, monkeypatch):
    from lenskit.als import ImplicitMFScorer

    class Broken:
        def __init__(self, scorer):
            self.scorer, self.u_ctx = scorer, None

        def train_epoch(self):
            self.scorer.user_embeddings = np.full((13, 64), np.nan, dtype=np.float32)
            self.scorer.item_embeddings = np.ones((41, 64), dtype=np.float32)

        def als_half_epoch(self, epoch, context):
            pass

    monkeypatch.setattr(ImplicitMFScorer, "create_trainer", lambda self, *_: Broken(self))
    with pytest.raises(RunError, match="higher regularization"):
        fitted(lopsided)
