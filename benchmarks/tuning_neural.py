"""How the defaults of the neural models, bpr-mf, user-knn and ease were found.

`python -m benchmarks.tuning_neural [MODEL]` prints nDCG@10 on inner validation folds for each
setting tried, at several epochs of one training where the model has epochs. The inner folds are
those of `benchmarks.tuning`: the folds that we report scores on (0 and 1) are left out altogether.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from itertools import product

import numpy as np

from benchmarks.tuning import INNER, inner_parts
from ecv_core import evaluation
from ecv_core.models import algorithm
from ecv_core.models.training import Average, NeuralRecommender, Schedule
from ecv_core.records import ParamValue

DATASETS = ("ml-100k", "amazon-instant-video")
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
}


def curve(name: str, dataset: str, params: Mapping[str, ParamValue]) -> dict[int, float]:
    """Mean nDCG@10 over the inner folds, by epoch; by 0 for a model without epochs."""
    chosen = algorithm(name)
    values = dict(chosen.resolve(params))
    scores: dict[int, list[float]] = {}
    for held_out_fold in INNER:
        train, held_out = inner_parts(dataset, held_out_fold)
        model = chosen.build(values)
        if not isinstance(model, NeuralRecommender):
            model.fit(train, seed=1)
            result = evaluation.evaluate(model, train, held_out, [10])
            scores.setdefault(0, []).append(result.means["ndcg@10"])
            continue
        net = model.untrained(train, seed=1)
        average = Average(net.weights(), Schedule.of(values).averaging)
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
        for dataset, values in product(DATASETS, product(*GRIDS[name].values())):
            params = dict(zip(GRIDS[name], values, strict=True))
            found = curve(name, dataset, params)
            shown = " ".join(f"{key}={value:g}" for key, value in params.items())
            scores = " ".join(f"{epoch}:{score:.4f}" for epoch, score in found.items())
            print(f"{name} {dataset} {shown} -> {scores}", flush=True)


if __name__ == "__main__":
    main()
