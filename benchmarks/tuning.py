"""How the defaults of implicit-mf were found: a grid on inner validation folds.

`python -m benchmarks.tuning` takes several minutes. Of each dataset's ten folds, those that we
report scores on (0 and 1) are left out altogether; folds 2 and 3 are held out in turn, and the rest
is trained on. Scores are below those of a full run, because the left-out interactions are neither
learnt nor masked; only their order matters.
"""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from benchmarks.models import RELEASED_FOLDS
from ecv_core import evaluation, fold, splits
from ecv_core.models import algorithm

if TYPE_CHECKING:
    from scipy.sparse import csr_array

DATASETS = ("ml-100k", "hetrec-lastfm", "amazon-instant-video", "ml-1m")
FACTORS = (64,)
WEIGHTS = (0.5, 1.0, 2.0, 4.0, 8.0, 16.0)
REGULARIZATIONS = (3.0, 10.0, 20.0, 40.0, 80.0)
REPORTED = (0, 1)
INNER = (2, 3)


def inner_parts(dataset: str, held_out_fold: int) -> tuple[csr_array, csr_array]:
    """What to train on and what to validate on, without the reported folds."""
    interactions = fold.prepared(dataset)
    if dataset == "ml-100k" and RELEASED_FOLDS.exists():
        folds = splits.read_folds(RELEASED_FOLDS, interactions)
    else:
        folds = splits.split(interactions, "user-k-fold", 10, 42)
    train, held_out = splits.matrices(interactions, folds, held_out_fold)
    for reported in REPORTED:
        train = train - splits.matrices(interactions, folds, reported)[1]
    train.eliminate_zeros()
    train.sort_indices()
    return train, held_out


def score(dataset: str, params: dict[str, float]) -> float:
    """Mean nDCG@10 over the inner folds."""
    chosen = algorithm("implicit-mf")
    scores = []
    for held_out_fold in INNER:
        train, held_out = inner_parts(dataset, held_out_fold)
        model = chosen.build(dict(chosen.resolve(params)))
        model.fit(train, seed=1)
        scores.append(evaluation.evaluate(model, train, held_out, [10]).means["ndcg@10"])
    return float(np.mean(scores))


def main() -> None:
    """Print one line of scores per combination."""
    print("| factors | weight | regularization | " + " | ".join(DATASETS) + " |")
    print("|---" * (3 + len(DATASETS)) + "|")
    for factors, weight, regularization in product(FACTORS, WEIGHTS, REGULARIZATIONS):
        params = {"factors": factors, "weight": weight, "regularization": regularization}
        scores = " | ".join(f"{score(dataset, params):.4f}" for dataset in DATASETS)
        print(f"| {factors} | {weight:g} | {regularization:g} | {scores} |", flush=True)


if __name__ == "__main__":
    main()
