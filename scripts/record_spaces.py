"""230 configurations of three algorithms under several splits, for figure 2 of Meng et al. (2020).

    python -m scripts.record_spaces ta-feng leave-last-item leave-last-basket --to spaces
    python -m scripts.record_spaces ta-feng --to spaces --write

The first fits what the folder of files has not yet, several fits at once if --at-once says so, and
keeps every user's nDCG@10 of each, all items ranked; configurations that differ in their epochs are
one fit. The second writes data/recorded/spaces.json: every configuration's mean under each
split, and between every two splits Kendall's tau-b, with an interval of 95 % of 500 draws of users
(with replacement, the same draw in both splits), and how far the best of the one is below the best
of the other, there.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Mapping
from concurrent.futures import ProcessPoolExecutor, as_completed
from itertools import combinations, product
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ecv_core.analysis.rank_swaps.bootstrap import resampled_scores
from ecv_core.analysis.ranking import pair_signs, tau_b
from ecv_core.fold.computing import run_shared_fold
from ecv_core.fold.spec import make_spec
from ecv_core.store.configurations import SPACES, contender_word, recorded_spaces
from ecv_core.untrusted.files import replacing

Scores = NDArray[np.float32]

EPOCHS = (1, 2, 4, 8, 16)
GRIDS: dict[str, dict[str, tuple[Any, ...]]] = {
    "triple2vec": {"factors": (16, 32, 64, 128), "learning_rate": (0.01, 0.02, 0.04, 0.08)},
    "neu-mf": {"factors": (8, 16, 32, 64, 128), "learning_rate": (0.0025, 0.005, 0.01)},
    "vbcar": {"factors": (8, 16, 32, 64, 128), "learning_rate": (0.005, 0.01, 0.02)},
}
"""16, 15 and 15 fits, each with five numbers of epochs: 80 + 75 + 75 = 230 configurations."""
SET = {"batch_size": 4096}
"""Of all of them; larger than the defaults, for a GPU waits for each step."""
SPLITS = ("leave-last-item", "leave-last-basket", "temporal-global")
"""Of the paper."""
METRIC = "ndcg@10"
DRAWS = 500


def fits() -> list[tuple[str, dict[str, Any]]]:
    """Every algorithm with every value of its grid but for the epochs."""
    return [
        (name, dict(zip(grid, values, strict=True)))
        for name, grid in GRIDS.items()
        for values in product(*grid.values())
    ]


def file_of(folder: Path, dataset: str, split: str, algorithm: str, params: dict[str, Any]) -> Path:
    """Where a fit is kept."""
    return folder / f"{dataset}--{split}--{contender_word(algorithm, params)}.npz"


def fit(file: Path, dataset: str, split: str, algorithm: str, params: dict[str, Any]) -> float:
    """Fit once, rank after each number of epochs, and keep users and their scores.

    Returns: seconds.
    """
    began = time.perf_counter()
    specs = [
        make_spec(
            dataset=dataset,
            algorithm=algorithm,
            split=split,
            rule="never",
            params={**params, **SET, "epochs": epochs},
        )
        for epochs in EPOCHS
    ]
    found = {place: result.user_scores for place, result in run_shared_fold(specs, 0)}
    kept = [found[place] for place in range(len(specs))]
    scores = np.stack([one.of(METRIC) for one in kept if one is not None])
    assert kept[0] is not None
    with replacing(file) as part, part.open("wb") as to:
        np.savez_compressed(to, users=kept[0].users, scores=scores)
    return time.perf_counter() - began


def table(folder: Path, dataset: str, split: str, users: int) -> Scores:
    """Scores of every configuration; shape (configurations, 1, users), NaN where there is none."""
    files = [np.load(file_of(folder, dataset, split, *one)) for one in fits()]
    found = np.full((len(files), len(EPOCHS), users), np.nan, dtype=np.float32)
    for at, one in enumerate(files):
        found[at, :, one["users"]] = one["scores"].T
    return found.reshape(-1, 1, users)


def means_of(scores: Scores) -> NDArray[np.float64]:
    """Of every configuration, over the users who have a score; shape (configurations,)."""
    means: NDArray[np.float64] = np.nanmean(scores[:, 0], axis=1, dtype=float)
    return means


def agreements(tables: Mapping[str, Scores]) -> list[dict[str, Any]]:
    """How alike every two splits rank configurations, as the file has it."""
    means = {split: means_of(one) for split, one in tables.items()}
    drawn = resampled_scores(list(tables.values()), resamples=DRAWS)
    signs = dict(zip(tables, (pair_signs(one.T) for one in drawn), strict=True))
    found = []
    for first, second in combinations(tables, 2):
        best = float(means[second].max())
        chosen = float(means[second][means[first].argmax()])
        tau = tau_b(pair_signs(means[first]), pair_signs(means[second]))
        interval = np.nanquantile(tau_b(signs[first], signs[second]), [0.025, 0.975])
        found.append(
            {
                "splits": [first, second],
                "tau": float(tau),
                "interval": interval.tolist(),
                "best_loss_percent": 100 * (best - chosen) / best,
            }
        )
    return found


def write(folder: Path, dataset: str) -> None:
    """What the fits say, as a file of the project; the taus are told."""
    files = list(folder.glob(f"{dataset}--*.npz"))
    splits = {file.name.split("--")[1] for file in files}
    users = 1 + max(int(np.load(file)["users"].max()) for file in files)
    tables = {name: table(folder, dataset, name, users) for name in SPLITS if name in splits}
    agree = agreements(tables)
    document = {
        "dataset": dataset,
        "metric": METRIC,
        "configurations": [
            contender_word(name, {**params, "epochs": epochs})
            for name, params in fits()
            for epochs in EPOCHS
        ],
        "scores": {split: means_of(one).round(6).tolist() for split, one in tables.items()},
        "agreements": agree,
    }
    for one in agree:
        low, high = one["interval"]
        sys.stdout.write(
            f"{' and '.join(one['splits'])}: tau {one['tau']:.2f} ({low:.2f} to {high:.2f}), the "
            f"best of the first is {one['best_loss_percent']:.1f} % below the best there\n"
        )
    spaces = recorded_spaces() | {dataset: document}
    SPACES.write_text(json.dumps(spaces, indent=1) + "\n")


def main() -> None:
    """Fit what is missing, or write what was found."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("dataset")
    parser.add_argument("splits", nargs="*", metavar="split", help=", ".join(SPLITS))
    parser.add_argument("--to", type=Path, required=True, help="the folder of files")
    parser.add_argument("--at-once", type=int, default=1, help="fits at once")
    parser.add_argument("--write", action="store_true")
    given = parser.parse_args()
    if given.write:
        return write(given.to, given.dataset)
    given.to.mkdir(parents=True, exist_ok=True)
    wanted = [
        (file, given.dataset, split, *one)
        for split in given.splits
        for one in fits()
        if not (file := file_of(given.to, given.dataset, split, *one)).exists()
    ]
    with ProcessPoolExecutor(given.at_once) as pool:
        for done in as_completed(names := {pool.submit(fit, *one): one[0].stem for one in wanted}):
            sys.stdout.write(f"{names[done]}: {done.result():.0f} s\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
