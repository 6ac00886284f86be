"""Our models and evaluation beside LensKit's own, in one run: seconds, nDCG@10, peak memory.

`python -m benchmarks.models [--short]` prints a markdown table. Every measurement runs in a fresh
process, so that peak memory is its own; seconds are the least of several repeats in that process,
after loading, so that they compare the work and not the start-up.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ecv_core import evaluation, splits
from ecv_core.dataset.preparation import prepared
from ecv_core.models import algorithm
from ecv_core.splits.exchange import read_folds

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from scipy.sparse import csr_array

RELEASED_FOLDS = Path("../shared/reference/ml-100k.folds.csv.gz")
"""Used for ml-100k where it is there, so that scores compare with RecBole's."""

CUTOFFS = (1, 5, 10, 20)

RECBOLE = {
    ("ml-100k", "item-knn"): "0.20 + 0.15 s, 0.2894",
    ("ml-1m", "item-knn"): "2.7 + 2.3 s",
    ("amazon-cell-phones", "item-knn"): "4.5 + 3.3 s",
}
"""RecBole 1.2.1 on 2 uncontended cores: fit + evaluate, nDCG@10; measured elsewhere (facts)."""

CASES = [
    ("ml-100k", "item-knn"),
    ("ml-100k", "implicit-mf"),
    ("ml-1m", "item-knn"),
    ("ml-1m", "implicit-mf"),
    ("amazon-cell-phones", "item-knn"),
    ("amazon-apps", "item-knn"),
    ("amazon-apps", "implicit-mf"),
]
SHORT = [("synthetic", "popular"), ("synthetic", "item-knn"), ("synthetic", "implicit-mf")]
TOO_SLOW_FOR_LENSKIT = {("amazon-apps", "item-knn"), ("amazon-apps", "implicit-mf")}
"""Left out beside ours: LensKit's batch run takes many minutes there."""


def parts_of(dataset: str) -> splits.FoldMatrices:
    """Fold 0."""
    interactions = prepared(dataset)
    if dataset == "ml-100k" and RELEASED_FOLDS.exists():
        folds = read_folds(RELEASED_FOLDS, interactions)
    else:
        folds = splits.split(interactions, "user-k-fold", 10, 42)
    return splits.fold_matrices(interactions, folds, 0)


def ours(parts: splits.FoldMatrices, name: str) -> tuple[float, float, float]:
    """Seconds to fit, seconds to evaluate, nDCG@10."""
    chosen = algorithm(name)
    model = chosen.build(dict(chosen.resolve({})))
    start = time.perf_counter()
    chosen.fit(model, parts.train, parts.history, seed=42)
    fitted = time.perf_counter()
    result = evaluation.evaluate(model, parts.train, parts.held_out, CUTOFFS)
    return fitted - start, time.perf_counter() - fitted, result.means["ndcg@10"]


def lenskit(parts: splits.FoldMatrices, name: str) -> tuple[float, float, float]:
    """As `ours`, with LensKit's pipeline, batch recommendation and metrics, and our parameters.

    nDCG@10 is computed by our metric from its lists, outside the time: LensKit's own has another
    discount.
    """
    import pandas as pd
    from lenskit import batch
    from lenskit.als import ImplicitMFScorer
    from lenskit.basic import PopScorer
    from lenskit.data import ItemListCollection, from_interactions_df
    from lenskit.knn import ItemKNNScorer
    from lenskit.metrics import NDCG, Hit, Precision, Recall, RecipRank, RunAnalysis
    from lenskit.pipeline import topn_pipeline

    params = dict(algorithm(name).resolve({}))

    def frame(matrix: csr_array) -> pd.DataFrame:
        rows = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
        return pd.DataFrame({"user_id": rows, "item_id": matrix.indices})

    scorers: dict[str, Callable[[], Any]] = {
        "popular": PopScorer,
        "item-knn": lambda: ItemKNNScorer(
            max_nbrs=params["neighbours"], save_nbrs=params["neighbours"], feedback="implicit"
        ),
        "implicit-mf": lambda: ImplicitMFScorer(
            embedding_size=params["factors"],
            epochs=params["epochs"],
            regularization=params["regularization"],
            weight=params["weight"],
        ),
    }
    data = from_interactions_df(frame(parts.train))
    test = ItemListCollection.from_df(frame(parts.held_out), ["user_id"])
    pipeline = topn_pipeline(scorers[name](), n=max(CUTOFFS))
    start = time.perf_counter()
    pipeline.train(data)
    fitted = time.perf_counter()
    lists = batch.recommend(pipeline, list(test.keys()), n=max(CUTOFFS), n_jobs=1)
    analysis = RunAnalysis()
    for n in CUTOFFS:
        for metric in (NDCG, Recall, Precision, RecipRank, Hit):
            analysis.add_metric(metric(n=n))
    analysis.measure(lists, test)
    end = time.perf_counter()
    users = np.array([int(key.user_id) for key, _ in lists])
    items = np.full((len(users), 10), -1, dtype=np.int64)
    for row, (_, ranked) in enumerate(lists):
        items[row, : min(10, len(ranked))] = np.asarray(ranked.ids()[:10], dtype=np.int64)
    return fitted - start, end - fitted, _ndcg(users, items, parts.held_out)


def _ndcg(users: NDArray[np.intp], items: NDArray[np.int64], held_out: csr_array) -> float:
    hits = evaluation.hits_of(users, items, held_out)
    counts = np.diff(held_out.indptr)[users]
    return float(evaluation.per_user(hits, counts, [10])["ndcg"].mean())


def measure(system: str, dataset: str, name: str, repeats: int) -> dict[str, float]:
    """Run one case in this process."""
    parts = parts_of(dataset)
    run = {"ours": ours, "lenskit": lenskit}[system]
    results = [run(parts, name) for _ in range(repeats)]
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    fit, evaluate, ndcg = np.min(np.array(results), axis=0).tolist()
    return {"fit": fit, "evaluate": evaluate, "ndcg": ndcg, "peak": peak}


def in_fresh_process(system: str, dataset: str, name: str, repeats: int) -> dict[str, float]:
    """As `measure`, with a peak memory that nothing else has raised."""
    command = [sys.executable, "-W", "ignore", "-m", "benchmarks.models"]
    case = ["--measure", system, dataset, name, "--repeats", str(repeats)]
    done = subprocess.run([*command, *case], stdout=subprocess.PIPE, text=True)
    if done.returncode:
        raise SystemExit(f"{system} on {dataset} with {name} failed; its error is above")
    measured: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return measured


def main() -> None:
    """Print the table, or with --measure one case as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--short", action="store_true", help="only the embedded data, one repeat")
    parser.add_argument("--measure", nargs=3, metavar=("SYSTEM", "DATASET", "ALGORITHM"))
    parser.add_argument("--repeats", type=int, default=5)
    args = parser.parse_args()
    if args.measure:
        system, dataset, name = args.measure
        print(json.dumps(measure(system, dataset, name, args.repeats)))
        return
    print("| dataset | algorithm | fit s | evaluate s | sum s | nDCG@10 | peak MB | ", end="")
    print("LensKit fit + evaluate s | LensKit nDCG@10 | LensKit peak MB | ratio | ", end="")
    print("RecBole 1.2.1 (measured elsewhere, facts) |")
    print("|---" * 12 + "|")
    for dataset, name in SHORT if args.short else CASES:
        we = in_fresh_process("ours", dataset, name, 2 if args.short else args.repeats)
        total = we["fit"] + we["evaluate"]
        row = [f"{we['fit']:.3f}", f"{we['evaluate']:.3f}", f"{total:.3f}", f"{we['ndcg']:.4f}"]
        row.append(f"{we['peak']:.0f}")
        if (dataset, name) in TOO_SLOW_FOR_LENSKIT:
            row += ["-"] * 4
        else:
            they = in_fresh_process("lenskit", dataset, name, 2 if dataset == "ml-100k" else 1)
            row.append(f"{they['fit']:.2f} + {they['evaluate']:.2f}")
            row += [f"{they['ndcg']:.4f}", f"{they['peak']:.0f}"]
            row.append(f"{(they['fit'] + they['evaluate']) / total:.0f} x")
        row.append(RECBOLE.get((dataset, name), "-"))
        print("| " + " | ".join([dataset, name, *row]) + " |", flush=True)


if __name__ == "__main__":
    main()
