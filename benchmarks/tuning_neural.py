"""How the defaults of all models but item-knn and implicit-mf were found.

`python -m benchmarks.tuning_neural [MODEL]` prints nDCG@10 on inner validation folds for each
setting tried, at several epochs of one training where the model has epochs. The inner folds are
those of `benchmarks.tuning`: the folds that we report scores on (0 and 1) are left out altogether.
Models that learn from baskets: Ta-Feng, each user's last basket left out and the one before it
ranked.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from itertools import product

import numpy as np
from scipy.sparse import csr_array

from benchmarks.tuning import INNER, inner_parts
from ecv_core import evaluation, fold, splits
from ecv_core.models import algorithm
from ecv_core.models.training import Average, NeuralRecommender
from ecv_core.records import History, Need, ParamValue

DATASETS = ("ml-100k", "amazon-instant-video")
WITH_BASKETS = ("ta-feng",)
EPOCHS = (5, 8, 10, 15, 20, 30)
"""Where a neural model is evaluated on its way; the last is where it ends."""

GRIDS: dict[str, dict[str, tuple[ParamValue, ...]]] = {
    "multi-vae": {
        "hidden": (300, 500, 600),
        "latent": (100, 200),
        "learning_rate": (0.002, 0.004),
        "kl_weight": (0.2, 0.5),
        "averaging": (0.0, 0.9),
    },
    "neu-mf": {
        "learning_rate": (0.003, 0.005),
        "weight_decay": (0.1, 0.3),
        "averaging": (0.0, 0.7),
    },
    "bpr-mf": {
        "learning_rate": (0.01, 0.02),
        "regularization": (0.01, 0.02, 0.05),
        "averaging": (0.0, 0.7),
    },
    "user-knn": {"neighbours": (20, 50, 100, 150, 200, 300), "shrink": (0.0, 5.0, 20.0)},
    "ease": {"regularization": (100.0, 250.0, 500.0)},
    "rp3beta": {
        "alpha": (0.4, 0.5, 0.6),
        "beta": (0.3, 0.35, 0.4, 0.45),
        "neighbours": (100, 200, 400),
    },
    "nmf": {"factors": (32, 64, 128), "regularization": (2.0, 5.0, 10.0, 20.0)},
    "light-gcn": {"layers": (1, 2, 3), "regularization": (0.001, 0.003, 0.005, 0.01)},
    "ngcf": {
        "layers": (1, 2),
        "regularization": (0.015, 0.03),
        "learning_rate": (0.03, 0.05),
    },
    "triple2vec": {"weight_decay": (0.25, 0.4), "negatives": (5, 20)},
    "vbcar": {"kl_weight": (0.003, 0.01, 0.03, 0.1)},
}


def inner(name: str, dataset: str) -> Iterator[tuple[csr_array, csr_array, History]]:
    """What to train on, what to rank, and the history of the former; never what we report on."""
    if algorithm(name).needs is Need.BASKETS:
        interactions = fold.prepared(dataset)
        folds = splits.split(interactions, "leave-last-basket", 1, 42, {"validation": True})
        parts = splits.fold_matrices(interactions, folds, 0)
        yield parts.train, parts.validation, parts.history()
        return
    for held_out_fold in INNER:
        yield *inner_parts(dataset, held_out_fold), History()


def curve(name: str, dataset: str, params: Mapping[str, ParamValue]) -> dict[int, float]:
    """Mean nDCG@10 over the inner folds, by epoch; by 0 for a model without epochs."""
    chosen = algorithm(name)
    values = dict(chosen.resolve(params))
    scores: dict[int, list[float]] = {}
    for train, held_out, history in inner(name, dataset):
        model = chosen.build(values)
        if not isinstance(model, NeuralRecommender):
            model.fit(train, seed=1)
            result = evaluation.evaluate(model, train, held_out, [10])
            scores.setdefault(0, []).append(result.means["ndcg@10"])
            continue
        needs = chosen.needs is not Need.NOTHING
        net = model.untrained(train, 1, history if needs else None)
        average = Average(net.weights(), float(values["averaging"]))
        for epoch in range(1, EPOCHS[-1] + 1):
            net.epoch(lambda: None)
            average.update()
            if epoch in EPOCHS:
                with average.in_place():
                    result = evaluation.evaluate(net, train, held_out, [10])
                scores.setdefault(epoch, []).append(result.means["ndcg@10"])
    return {epoch: float(np.mean(found)) for epoch, found in scores.items()}


def main() -> None:
    """Print one line per dataset and setting."""
    for name in sys.argv[1:] or GRIDS:
        where = WITH_BASKETS if algorithm(name).needs is Need.BASKETS else DATASETS
        for dataset, values in product(where, product(*GRIDS[name].values())):
            params = dict(zip(GRIDS[name], values, strict=True))
            found = curve(name, dataset, params)
            shown = " ".join(f"{key}={value:g}" for key, value in params.items())
            scores = " ".join(f"{epoch}:{score:.4f}" for epoch, score in found.items())
            print(f"{name} {dataset} {shown} -> {scores}", flush=True)


if __name__ == "__main__":
    main()
