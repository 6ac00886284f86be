"""Discriminative power under the protocol of Anelli et al. (2019), section 2, for docs/tuning.md.

    ECV_DATABASE_URL=sqlite:///power.sqlite python -m scripts.record_nested_power ml-1m--user-knn
    python -m scripts.record_nested_power

The first computes what is named (DATASET--ALGORITHM) and keeps the p values of all pairs, folds x
pairs for each metric, in place of old ones; the second prints the table. The last fifth of every
user is put aside, ten folds of the rest, relevant is a rating above 4, all of the paper's neighbour
counts, or 45 of its configurations of bpr-mf, 27 on ml-1m. Every fold is in the database when it is
known, so that it goes on where it was cut off.
"""

from __future__ import annotations

import sys

import numpy as np
from numpy.typing import NDArray

from ecv_core import cli
from ecv_core.evaluation import column_title
from ecv_core.papers.reproduction import paper_cells
from ecv_core.selection.tuning.metrics_study import own_tuning
from ecv_core.selection.tuning.power import DRAWN, paired_p_values
from ecv_core.splits.holdouts import NESTED_K_FOLD
from ecv_core.store.recorded import FOLDER
from ecv_core.store.store import open_store

FILE = FOLDER / "nested-power.npz"
METRICS = ("efd@10", "epc@10", "mrr@10", "ndcg@10", "precision@10", "recall@10")
EPOCHS_AND_RATES = ("epochs=6,8,11", "learning_rate=0.05000097,0.02500049,0.01250024")
GRID = {
    "bpr-mf": ("factors=28,40,57,80,113", *EPOCHS_AND_RATES),
    "ml-1m--bpr-mf": ("factors=28,57,113", *EPOCHS_AND_RATES),
}
"""Values of the paper's grid that are tried; of the others all."""


def of_a_draw(p_values: NDArray[np.floating], drawn: int = DRAWN) -> tuple[float, float]:
    """Expectation and standard deviation of DP over the draws of so many pairs.

    Args:
        p_values: shape (folds, pairs).
        drawn: pairs of a draw, without replacement.
    Source: Cochran (1977), Sampling Techniques, theorem 2.2.
    """
    means = p_values.mean(axis=0, dtype=np.float64)
    pairs = len(means)
    of_sums = drawn * (1 - drawn / pairs) * means.var(ddof=1)
    return drawn * float(means.mean()), float(np.sqrt(of_sums))


def table() -> str:
    """DP of every tuning and metric, with one standard deviation of a draw; the paper's beside."""
    kept = np.load(FILE)
    printed = {
        (cell.row.replace(", ", "--"), cell.column): cell.published
        for cell in paper_cells("discriminative", "table 3")
    }
    lines = [["", *map(column_title, METRICS)], ["---"] * (1 + len(METRICS))]
    for name in dict.fromkeys(key.rpartition("--")[0] for key in kept):
        cells = ["{:.3f} ± {:.3f}".format(*of_a_draw(kept[f"{name}--{one}"])) for one in METRICS]
        lines.append([name.replace("--", ", "), *cells])
        if (name, METRICS[0]) in printed:
            lines.append(["the paper's", *(printed[name, one] or "" for one in METRICS)])
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def tuning(dataset: str, algorithm: str) -> list[str]:
    """The command that tunes it under the protocol of the paper."""
    values = GRID.get(f"{dataset}--{algorithm}", GRID.get(algorithm, ()))
    grid = [word for one in values for word in ("--grid", one)]
    protocol = ["--split", NESTED_K_FOLD, "--split-param", "above=4", "--all-folds"]
    return ["tune", dataset, algorithm, "--space", "paper", *protocol, *grid, "--no-energy"]


def p_values(dataset: str, algorithm: str) -> dict[str, NDArray[np.float64]]:
    """Tune it, as far as that is not done, and compare every pair of its configurations."""
    if cli.main(tuning(dataset, algorithm)):
        sys.exit(1)
    found = own_tuning(open_store(), dataset, algorithm)
    if found is None or found.spec.split != NESTED_K_FOLD:
        sys.exit(f"this database has a larger tuning of {algorithm} on {dataset}; take a new one")
    return {metric: paired_p_values(cube) for metric, cube in found.user_scores.items()}


def main() -> None:
    """Add the named tunings to the file, or print the table."""
    for name in sys.argv[1:]:
        kept = dict(np.load(FILE)) if FILE.exists() else {}
        for metric, found in p_values(*name.split("--")).items():
            kept[f"{name}--{metric}"] = found.astype(np.float32)
        np.savez_compressed(FILE, **kept)
    if not sys.argv[1:]:
        sys.stdout.write(f"{table()}\n")


if __name__ == "__main__":
    main()
