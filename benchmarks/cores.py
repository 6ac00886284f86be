"""A study without metering: one fold at a time in this process, and as many as there are cores.

python -m benchmarks.cores [--dataset ml-100k] [--folds 3] [--only popular,ease]

Prints the seconds of both by the clock, their ratio, and whether every score and every user's score
is the same to the last bit.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from contextlib import closing
from pathlib import Path

from ecv_core.jobs.executors import Executor, Here, unmetered
from ecv_core.jobs.plans import study
from ecv_core.store.store import open_store

TWELVE = (
    "popular,item-knn,user-knn,ease,implicit-mf,rp3beta,nmf,bpr-mf,multi-vae,neu-mf,light-gcn,ngcf"
)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--dataset", default="ml-100k")
    parser.add_argument("--folds", type=int, default=3)
    parser.add_argument("--only", default=TWELVE)
    asked = parser.parse_args()
    names = asked.only.split(",")
    together, found = _computed(asked.dataset, names, asked.folds, unmetered())
    alone, same = _computed(asked.dataset, names, asked.folds, Here())
    print(f"{len(names)} models, {asked.folds} folds each, {asked.dataset}")
    print(f"one at a time {alone:.1f} s, together {together:.1f} s: {together / alone:.2f}")
    differ = [name for name in names if found[name] != same[name]]
    print(f"not the same: {', '.join(differ)}" if differ else "every score is the same")


def _computed(
    dataset: str, names: list[str], folds: int, executor: Executor
) -> tuple[float, dict[str, object]]:
    """Seconds, and all that was scored by each model."""
    with tempfile.TemporaryDirectory() as folder, closing(executor):
        store = open_store(f"sqlite:///{Path(folder) / 'runs.sqlite'}")
        cells = study.planned([dataset], names, k=folds, rule="never", no_energy=True)
        begin = time.perf_counter()
        done = study.compute(store, cells, executor=executor)
        seconds = time.perf_counter() - begin
        found: dict[str, object] = {}
        for run in (cell.run for cell in done if cell.run is not None):
            users = store.user_scores(run.run_id)
            scored = [(one.fold, dict(one.metrics)) for one in run.folds]
            bits = [(fold, users[fold].values.tobytes()) for fold in sorted(users)]
            found[run.spec.algorithm] = (run.state, scored, bits)
        return seconds, found


if __name__ == "__main__":
    main()
