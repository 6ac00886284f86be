"""The recorded grid of sgd-mf: what learning rate, regularization and dimension make of one method.

    python -m benchmarks.baseline_grid ml-100k --folds 0,1,2

Writes data/recorded/ratings/grids/<dataset>--sgd-mf.json; configurations that are there with these
folds stay. Computed without a meter, so that it can share a machine.
"""

from __future__ import annotations

import argparse
import json
from itertools import product

from ecv_core.errors import RunError
from ecv_core.files import replacing
from ecv_core.fold import run_fold
from ecv_core.runs.recorded import RATINGS
from ecv_core.spec import make_spec

GRIDS = {
    "ml-100k": {
        "learning_rate": (0.001, 0.003, 0.01, 0.03),
        "regularization": (0.01, 0.02, 0.04, 0.08, 0.15),
        "dimension": (8, 32, 128),
    },
    "ml-1m": {
        "learning_rate": (0.001, 0.003, 0.01),
        "regularization": (0.01, 0.04, 0.1),
        "dimension": (16, 64),
    },
}


def main(dataset: str, folds: tuple[int, ...]) -> None:
    """Compute what is missing and write after every configuration."""
    path = RATINGS / "grids" / f"{dataset}--sgd-mf.json"
    known = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    found = known.get("configurations", []) if known.get("folds") == list(folds) else []
    grid = GRIDS[dataset]
    for values in product(*grid.values()):
        params = dict(zip(grid, values, strict=True))
        if any(one["params"] == params for one in found):
            continue
        spec = make_spec(dataset=dataset, algorithm="sgd-mf", params=params, rule="never")
        try:
            results = [run_fold(spec, fold) for fold in folds]
        except RunError as error:  # a diverged fit is a result too
            found.append({"params": params, "rmse": None, "error": str(error)})
        else:
            curves = [
                [round(result.inner_curve[epochs - 1], 4) for result in results]
                for epochs in (8, 16, 32, 64, 128)
            ]
            rmse = [round(result.score, 5) for result in results]
            found.append({"params": params, "rmse": rmse, "after_8_16_32_64_128": curves})
        print(found[-1], flush=True)
        document = {
            "dataset": dataset,
            "algorithm": "sgd-mf",
            "split": spec.split,
            "k": spec.k,
            "seed": spec.seed,
            "folds": list(folds),
            "grid": grid,
            "configurations": found,
        }
        path.parent.mkdir(parents=True, exist_ok=True)
        with replacing(path) as part:
            part.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("dataset", choices=GRIDS)
    parser.add_argument("--folds", default="0")
    asked = parser.parse_args()
    main(asked.dataset, tuple(int(fold) for fold in asked.folds.split(",")))
