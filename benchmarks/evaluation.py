"""What metrics and ranking protocols cost, beside full ranking with nDCG alone.

`python -m benchmarks.evaluation [--short]` prints a markdown table: seconds of the processor to
evaluate fold 0, the least of several rounds, and how many times those of nDCG alone. One thread, so
that other work on the machine changes little; every round runs each case once.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Mapping
from typing import Any

from ecv_core import evaluation, fold, splits
from ecv_core.dataset.preparation import prepared
from ecv_core.evaluation import Protocol
from ecv_core.fold.spec import make_spec
from ecv_core.models import algorithm

CUTOFFS = (1, 5, 10, 20)
ROUNDS = 15
CASES: Mapping[str, Mapping[str, Any]] = {
    "full ranking, nDCG alone": {"metrics": ["ndcg"]},
    "full ranking, all metrics of a run": {},
    "full ranking, AUC too": {"also": ["auc"]},
    "100 uniform negatives, all metrics": {"protocol": Protocol(negatives=100)},
    "100 popular negatives, all metrics": {
        "protocol": Protocol(negatives=100, sampling="popularity")
    },
    "1,000 uniform negatives, all metrics": {"protocol": Protocol(negatives=1000)},
}
ALGORITHMS = ("item-knn", "popular")


def seconds(dataset: str, name: str) -> dict[str, float]:
    """Processor seconds of each case."""
    spec = make_spec(dataset=dataset, algorithm=name)
    parts = splits.fold_matrices(prepared(dataset), fold.folds_of(spec), 0)
    model = algorithm(name).build(dict(spec.params))
    model.fit(parts.train, seed=spec.seed)
    least = dict.fromkeys(CASES, float("inf"))
    for _ in range(ROUNDS):
        for case, how in CASES.items():
            start = time.process_time()
            evaluation.evaluate(model, parts.seen, parts.held_out, CUTOFFS, **how)
            least[case] = min(least[case], time.process_time() - start)
    return least


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--short", action="store_true", help="only the embedded dataset")
    dataset = "synthetic" if parser.parse_args().short else "ml-1m"
    import torch

    torch.set_num_threads(1)
    found = {name: seconds(dataset, name) for name in ALGORITHMS}
    print(f"| {dataset}, fold 0 |", " | ".join(f"{name} s | ratio" for name in found), "|")
    print("|---" * (1 + 2 * len(found)) + "|")
    for case in CASES:
        cells = []
        for times in found.values():
            ratio = times[case] / next(iter(times.values()))
            cells += [f"{times[case]:.3f}", f"{ratio:.2f}"]
        print(f"| {case} |", " | ".join(cells), "|")


if __name__ == "__main__":
    main()
