"""Our models and metrics on the released folds of ml-100k, against RecBole 1.2.1 on the same."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array

from ecv_core.evaluation import evaluate
from ecv_core.models import algorithm

FOLDS = Path(__file__).parents[3] / "shared" / "reference" / "ml-100k.folds.csv.gz"

pytestmark = pytest.mark.skipif(
    not FOLDS.exists(), reason="needs ../shared/reference/ml-100k.folds.csv.gz"
)

RECBOLE_ITEM_KNN = {
    0: dict(ndcg=0.2894, recall=0.2370, precision=0.2033, mrr=0.4912, hit=0.7879, map=0.1725),
    1: dict(ndcg=0.2962, recall=0.2427, precision=0.2067, mrr=0.4948, hit=0.8059, map=0.1786),
}


@pytest.fixture(scope="module")
def split():
    frame = pd.read_csv(FOLDS)
    users = pd.factorize(frame["user_id"], sort=True)[0]
    items = pd.factorize(frame["item_id"], sort=True)[0]

    def matrix(chosen):
        ones = np.ones(chosen.sum(), dtype=np.float32)
        shape = (users.max() + 1, items.max() + 1)
        result = csr_array((ones, (users[chosen], items[chosen])), shape=shape)
        result.sort_indices()
        return result

    return lambda fold: (matrix(frame["fold"] != fold), matrix(frame["fold"] == fold))


def means(algorithm_id, train, held_out):
    chosen = algorithm(algorithm_id)
    model = chosen.build(dict(chosen.resolve({})))
    model.fit(train, seed=42)
    return evaluate(model, train, held_out, [10]).means


@pytest.mark.parametrize("fold", [0, 1])
def test_item_knn_agrees_with_recbole_on_every_metric(split, fold):
    scores = means("item-knn", *split(fold))
    expected = {f"{metric}@10": value for metric, value in RECBOLE_ITEM_KNN[fold].items()}
    assert scores == pytest.approx(expected, rel=0.005)


@pytest.mark.parametrize(("fold", "expected"), [(0, 0.139), (1, 0.149)])
def test_popular_reaches_the_score_of_a_correct_baseline(split, fold, expected):
    assert means("popular", *split(fold))["ndcg@10"] == pytest.approx(expected, abs=0.001)


def test_implicit_mf_reaches_at_least_030_with_its_defaults(split):
    scores = [means("implicit-mf", *split(fold))["ndcg@10"] for fold in (0, 1)]
    assert np.mean(scores) >= 0.30
