"""How the defaults of the models of ratings fare on inner folds.

`python -m benchmarks.tuning_ratings [MODEL ...]` prints the RMSE for each setting tried, at several
steps of one fit. Inner folds, as in `benchmarks.tuning`: of the ten of ml-100k, 0 and 1 are left
out altogether, and each of 2 and 3 is predicted from the other seven and a half (4 to 9).
"""

from __future__ import annotations

import sys
from itertools import product
from typing import cast

import numpy as np
from numpy.typing import NDArray

from benchmarks.tuning import INNER
from ecv_core import evaluation, fold, models
from ecv_core.models.base import RatingPredictor
from ecv_core.records import ParamValue, Ratings
from ecv_core.spec import make_spec

DATASET = "ml-100k"
STEPS = (8, 16, 32, 64, 128, 256, 512)
"""Where the RMSE is said; fits end at the last."""
DIMENSIONS: dict[str, tuple[ParamValue, ...]] = {"dimension": (8, 16, 32, 64)}
GRIDS: dict[str, dict[str, tuple[ParamValue, ...]]] = {
    "bayesian-mf": DIMENSIONS,
    "bayesian-time-svd++-flipped": {"dimension": (8, 16), "days": (1, 7, 30)},
    "sgd-mf": {
        "dimension": (8, 64),
        "learning_rate": (0.003, 0.01),
        "regularization": (0.04, 0.08, 0.15),
    },
}


def curve(name: str, params: dict[str, ParamValue]) -> list[float]:
    """Mean RMSE over the inner folds after each step."""
    steps: ParamValue = STEPS[-1] if name != "sgd-mf" else 128
    wanted = params | {"epochs" if name == "sgd-mf" else "steps": steps}
    spec = make_spec(dataset=DATASET, algorithm=name, params=wanted, rule="never")
    data = fold.data_of(spec)
    of = fold.folds_of(spec).assignment
    assert of is not None
    low, high = 1.0, 5.0
    curves = []
    for held in INNER:
        train = Ratings.of(data, of > max(INNER), (low, high))
        asked = Ratings.of(data, of == held, (low, high))
        found: list[float] = []

        def report(
            step: int,
            steps: int,
            predicted: NDArray[np.float64] | None = None,
            asked: Ratings = asked,
            found: list[float] = found,
        ) -> None:
            if predicted is not None:
                found.append(evaluation.clipped_rmse(predicted, asked.values, (low, high)))

        model = cast("RatingPredictor", models.computing(spec).build(dict(spec.params)))
        model.predict(train, asked.pairs, seed=1, report=report)
        curves.append(found)
    return np.mean(curves, axis=0).tolist()  # type: ignore[no-any-return]


def main() -> None:
    """Print one line per setting."""
    for name in sys.argv[1:] or GRIDS:
        for values in product(*GRIDS[name].values()):
            params = dict(zip(GRIDS[name], values, strict=True))
            rmse = curve(name, params)
            shown = " ".join(f"{key}={value:g}" for key, value in params.items())
            at = [step for step in STEPS if step <= len(rmse)]
            scores = " ".join(f"{step}:{rmse[step - 1]:.4f}" for step in at)
            print(f"{name} {shown} -> {scores}", flush=True)


if __name__ == "__main__":
    main()
