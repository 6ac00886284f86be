"""How seconds, memory and bytes grow with the data: splits, a file of one's own, many runs.

python -m benchmarks.growth [--millions 1,2,4,8] [--rows 5000000] [--runs 2000]

Every split strategy: seconds of the processor for the split and its first fold's matrices on ml-1m,
the least of three, and the peak of what is allocated beyond the interactions (tracemalloc), for
made ones. A CSV of so many rows: what `add` takes in a fresh process; of 5 million at most 30 s and
3 GB. So many runs of ten folds of ml-100k with scores per user: MB of the SQLite file, of 2,000
at most 250, and milliseconds to commit a fold and to read its scores.
"""

from __future__ import annotations

import argparse
import gc
import os
import sqlite3
import subprocess
import sys
import tempfile
import time
import tracemalloc
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import numpy as np

from ecv_core import fold, splits
from ecv_core.dataset import available, entry
from ecv_core.energy.meter import NoMeter
from ecv_core.fold.spec import make_spec
from ecv_core.records.interactions import Interactions
from ecv_core.records.run import RunState
from ecv_core.store.store import open_store

REPEATS, FOLDS = 3, 10


def made(count: int) -> Interactions:
    """Interactions of users with 100 each, times at random, ten to a basket; sorted like real ones.

    Which items they are does not matter to any strategy's cost, so users take them in turn.
    """
    per_user, items = 100, 10_000
    users = count // per_user
    taken = (np.arange(count) * 97) % items
    return Interactions(
        dataset=f"{count:,} interactions",
        users=np.repeat(np.arange(users, dtype=np.int32), per_user),
        items=np.sort(taken.reshape(users, per_user), axis=1).ravel().astype(np.int32),
        user_ids=np.arange(users).astype(str),
        item_ids=np.arange(items).astype(str),
        timestamps=np.random.default_rng(0).integers(0, 10**8, count),
        baskets=np.tile(np.repeat(np.arange(10, dtype=np.int32), 10), users),
    )


def split_once(interactions: Interactions, name: str) -> None:
    """Make the split and its first fold."""
    folds = splits.split(interactions, name, splits.strategy(name).default_k, 0)
    splits.fold_matrices(interactions, folds, 0)


def seconds(interactions: Interactions, name: str) -> float:
    """The least processor time of a few."""
    least = float("inf")
    for _ in range(REPEATS):
        begin = time.process_time()
        split_once(interactions, name)
        least = min(least, time.process_time() - begin)
    return least


def peak_bytes(interactions: Interactions, name: str) -> int:
    """The most that is allocated at any one time while splitting."""
    gc.collect()
    tracemalloc.start()
    try:
        split_once(interactions, name)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def print_splits(millions: Sequence[int]) -> None:
    """A row for each strategy: seconds on ml-1m, then MB and bytes an interaction for each size."""
    real = fold.prepared("ml-1m") if available(entry("ml-1m")) else None
    sizes = [made(million * 1_000_000) for million in millions]
    print("| strategy | ml-1m, s |", " | ".join(f"{million} M" for million in millions), "|")
    print("|---" * (2 + len(millions)) + "|")
    for name, strategy in splits.SPLITS.items():
        served = real is not None and strategy.needs.met(real)
        cells = [f"{seconds(real, name):.2f}" if real is not None and served else "-"]
        for interactions in sizes:
            peak = peak_bytes(interactions, name)
            cells.append(f"{peak / 1e6:,.0f} MB ({peak / len(interactions):.0f})")
        print(f"| {name} | {' | '.join(cells)} |", flush=True)


def print_file(rows: int) -> None:
    """Seconds, seconds of the processor and memory of one `add`."""
    rng = np.random.default_rng(1)
    users, items = rng.integers(0, 200_000, rows), rng.exponential(8000, rows).astype(np.int64)
    stars, times = rng.integers(1, 6, rows), rng.integers(1_500_000_000, 1_700_000_000, rows)
    with tempfile.TemporaryDirectory() as data:
        path = Path(data) / "rows.csv"
        with path.open("w") as out:
            print("user_id,item_id,rating,timestamp", file=out)
            for user, item, star, at in zip(users, items, stars, times, strict=True):
                out.write(f"customer-{user},article-{item},{star},{at}\n")
        environment = os.environ | {"ECV_DATA_DIR": data, "ECV_MAX_UPLOAD_MB": "1000"}
        words = [sys.executable, "-m", "ecv_core", "add", "mine", str(path)]
        begin = time.perf_counter()
        with subprocess.Popen(words, env=environment, stdout=subprocess.DEVNULL) as process:
            _, status, used = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            sys.exit("the file could not be added")
        print(
            f"\nA CSV of {path.stat().st_size / 1e6:.0f} MB: {time.perf_counter() - begin:.1f} s, "
            f"{used.ru_utime + used.ru_stime:.1f} s of the processor, "
            f"at most {used.ru_maxrss / 1024:.0f} MB of memory"
        )


def print_runs(many: int) -> None:
    """Room for the per-user scores of so many runs of three models in turns."""
    dataset = "ml-100k" if available(entry("ml-100k")) else "synthetic"
    specs = [make_spec(dataset=dataset, algorithm=name) for name in ("item-knn", "popular", "ease")]
    results = [[fold.run_fold(spec, at, meter=NoMeter()) for at in range(FOLDS)] for spec in specs]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "runs.sqlite"
        store = open_store(f"sqlite:///{path}")
        write = 0.0
        for number in range(many):
            place = number % len(specs)
            (run_id,) = store.create([specs[place]], owner="benchmark")
            begin = time.process_time()
            for result in results[place]:
                store.add_fold(run_id, result, stopped_at=None)
            write += time.process_time() - begin
            store.finish(run_id, RunState.FINISHED)
        begin = time.process_time()
        kept = store.user_scores(run_id)
        read = time.process_time() - begin
        for result in results[place]:
            assert result.user_scores is not None
            assert np.array_equal(kept[result.fold].values, result.user_scores.values)
        with closing(sqlite3.connect(path)) as database:
            database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        room = path.stat().st_size / 1e6
    print(
        f"\n{many:,} runs of {FOLDS} folds of {dataset}: {room:.0f} MB; "
        f"{1000 * write / many / FOLDS:.1f} ms to commit a fold, "
        f"{1000 * read / FOLDS:.1f} ms to read one"
    )


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--millions", default="1,2,4,8")
    parser.add_argument("--rows", type=int, default=5_000_000)
    parser.add_argument("--runs", type=int, default=2000)
    asked = parser.parse_args()
    print_splits([int(million) for million in asked.millions.split(",")])
    print_file(asked.rows)
    print_runs(asked.runs)


if __name__ == "__main__":
    main()
