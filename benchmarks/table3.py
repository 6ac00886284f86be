"""Table 3 of Meng et al. (2020) on Ta-Feng: seven models, three splits, all items or 100 negatives.

    python -m benchmarks.table3 compute FOLDER [--only ngcf]
    python -m benchmarks.table3 write FOLDER
    python -m benchmarks.table3 show

A model is fitted once for a split, and ranks twice: against all items, and each held-out item
against 100 drawn ones. Fits run without a meter, so that they can share a machine: their energy is
unknown. A fit that is in FOLDER is not done again. `write` records what is there, `show` prints
the tables of docs/splits.md from the records.
"""

from __future__ import annotations

import argparse
import pickle
import tempfile
import time
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, cast

from ecv_core import fold, models, splits
from ecv_core.energy import NoMeter
from ecv_core.records import FoldResult, RunSpec, no_progress
from ecv_core.runner import InProcess, execute, this_process
from ecv_core.runs.recorded import FOLDER, record, recorded_path, recorded_runs
from ecv_core.runs.recorded import recorded_user_scores as user_scores_of
from ecv_core.spec import make_spec
from ecv_core.store import open_store

if TYPE_CHECKING:
    from ecv_core.models.base import Recommender

MODELS = ("nmf", "bpr-mf", "multi-vae", "neu-mf", "vbcar", "ngcf", "triple2vec")
SPLITS = ("leave-last-item", "leave-last-basket", "temporal-user")
"""The copy of the data has no dates, which the paper's global temporal split needs."""
NEGATIVES = 100
SAMPLED = FOLDER / "sampled"
"""Folder of the runs with sampled negatives, which are compared with each other alone."""
METRICS = ("ndcg@10", "recall@10")


def specs(algorithm: str, split: str) -> tuple[RunSpec, RunSpec]:
    """With all items, and with drawn ones."""
    spec = partial(
        make_spec, dataset="ta-feng", algorithm=algorithm, split=split, rule="never", full=True
    )
    return spec(), spec(negatives=NEGATIVES)


def compute(folder: Path, only: str) -> None:
    """Fit what is missing."""
    folder.mkdir(parents=True, exist_ok=True)
    for algorithm in MODELS:
        for split in SPLITS:
            path = folder / f"{algorithm}--{split}.pickle"
            if path.exists() or only not in algorithm:
                continue
            both = specs(algorithm, split)
            path.write_bytes(pickle.dumps([_result(*both, one) for one in both]))
            print(path.name, flush=True)
            _fitted.clear()


_fitted: dict[RunSpec, tuple[Recommender, float]] = {}


def _result(full: RunSpec, sampled: RunSpec, wanted: RunSpec) -> FoldResult:
    parts = splits.fold_matrices(fold.data_of(full), fold.folds_of(full), 0)
    if full not in _fitted:
        algorithm = models.algorithm(full.algorithm)
        model = cast("Recommender", algorithm.build(dict(full.params)))
        began = time.perf_counter()
        algorithm.fit(model, parts.train, parts.history, seed=fold.fold_seed(full.seed, 0))
        _fitted[full] = model, time.perf_counter() - began
    model, seconds = _fitted[full]
    began = time.perf_counter()
    found = fold.ranked(wanted, 0, model, parts, no_progress)
    took = time.perf_counter() - began
    return FoldResult(
        fold=0,
        score=found.means[wanted.metric_name],
        metrics=found.means,
        users=len(found.users),
        inner_curve=(),
        fit_seconds=seconds,
        evaluate_seconds=took,
        total_seconds=seconds + took,
        energy=NoMeter().stop(),
        user_scores=found.kept_per_user(wanted.n),
    )


def write(folder: Path) -> None:
    """Record every run whose fold is in the folder; a metered one of all items stays."""
    with tempfile.TemporaryDirectory() as scratch:
        store = open_store(f"sqlite:///{scratch}/runs.sqlite")
        for path in sorted(folder.glob("*.pickle")):
            algorithm, split = path.stem.split("--")
            for spec, result in zip(
                specs(algorithm, split), pickle.loads(path.read_bytes()), strict=True
            ):
                target = recorded_path(
                    SAMPLED if spec.negatives else FOLDER, spec.dataset, algorithm, split
                )
                if target.exists():
                    continue
                run_id = store.create([spec], owner=this_process())[0]
                execute(store, run_id, InProcess(), job=lambda *_, result=result: result)
                run = replace(store.run(run_id), other_work="several fits at a time, machine busy")
                record(run, target, store.user_scores(run_id), also=METRICS)
                print(target)


def show() -> None:
    """Print both tables, and what swaps."""
    from ecv_core.analysis import rank_swaps

    for folder, words in ((FOLDER, "all items"), (SAMPLED, f"{NEGATIVES} drawn items")):
        runs = [
            run
            for run in recorded_runs(folder / "splits")
            if run.spec.dataset == "ta-feng" and run.spec.algorithm in MODELS
        ]
        for metric in METRICS:
            block = rank_swaps.block_of(runs, MODELS)
            found = rank_swaps.swaps(block, metric, partial(user_scores_of, folder=folder))
            frame = rank_swaps.ranks_frame(found, SPLITS[0])
            print(f"\n{metric}, {words}\n\n| model | " + " | ".join(found.splits) + " |")
            print("|---" * (len(found.splits) + 1) + "|")
            for name in frame["algorithm"].unique():
                cells = []
                for split in found.splits:
                    one = frame[(frame.algorithm == name) & (frame.split == split)].iloc[0]
                    moved = f" ({one.up:+.0f})" if one.up else ""
                    half = (one.high - one.low) / 2
                    cells.append(f"{one.score:.4f} ± {half:.4f}{moved}")
                print(f"| {name} | " + " | ".join(cells) + " |")
            print(f"\n{rank_swaps.winners(found)} {rank_swaps.headline(found, SPLITS[0])}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("action", choices=("compute", "write", "show"))
    parser.add_argument("folder", type=Path, nargs="?", default=Path("build/table3"))
    parser.add_argument("--only", default="", help="models whose id has this")
    asked = parser.parse_args()
    if asked.action == "compute":
        compute(asked.folder, asked.only)
    elif asked.action == "write":
        write(asked.folder)
    else:
        show()
