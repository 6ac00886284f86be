"""Every split strategy: seconds on ml-1m, peak memory as the data grow, and leakage's seconds.

`python -m benchmarks.splits` prints all three; `--short` measures memory up to 1 million only.
Seconds are for making the split and its first fold's matrices, the least of three, in processor
time: all of it is one thread, so that is what an idle machine takes, and a busy one does not
disturb it. Memory is the peak of what numpy and Python allocate meanwhile (tracemalloc), beyond
the interactions.
"""

from __future__ import annotations

import argparse
import gc
import time
import tracemalloc
from collections.abc import Iterator

import numpy as np

from ecv_core import fold, splits
from ecv_core.datasets import available, entry
from ecv_core.records import Interactions

MILLIONS = (1, 2, 4, 8)
REPEATS = 3


def synthetic(count: int) -> Interactions:
    """Interactions of users with 100 each, times at random, ten to a basket; sorted like real ones.

    Which items they are does not matter to any strategy's cost, so users take them in turn.
    """
    rng = np.random.default_rng(0)
    per_user, items = 100, 10_000
    users = count // per_user
    taken = (np.arange(count) * 97) % items
    return Interactions(
        dataset=f"{count:,} interactions",
        users=np.repeat(np.arange(users, dtype=np.int32), per_user),
        items=np.sort(taken.reshape(users, per_user), axis=1).ravel().astype(np.int32),
        user_ids=np.arange(users).astype(str),
        item_ids=np.arange(items).astype(str),
        timestamps=rng.integers(0, 10**8, count),
        baskets=np.tile(np.repeat(np.arange(10, dtype=np.int32), 10), users),
    )


def split_once(interactions: Interactions, name: str) -> None:
    """Make the split and its first fold."""
    known = splits.strategy(name)
    folds = splits.split(interactions, name, known.default_k, 0)
    splits.fold_matrices(interactions, folds, 0)


def seconds(interactions: Interactions, name: str) -> float:
    """The least processor time of a few."""
    took = []
    for _ in range(REPEATS):
        begin = time.process_time()
        split_once(interactions, name)
        took.append(time.process_time() - begin)
    return min(took)


def peak_bytes(interactions: Interactions, name: str) -> int:
    """The most that is allocated at any one time while splitting."""
    gc.collect()
    tracemalloc.start()
    try:
        split_once(interactions, name)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def speed_rows() -> Iterator[str]:
    """One row per strategy that ml-1m can serve."""
    yield "| strategy | k | split and fold 0, s |"
    yield "|---|---|---|"
    interactions = fold.prepared("ml-1m")
    for name, known in splits.SPLITS.items():
        if known.needs.met(interactions):
            yield f"| {name} | {known.default_k} | {seconds(interactions, name):.2f} |"
        else:
            yield f"| {name} | - | ml-1m has no baskets |"


def memory_rows(millions: tuple[int, ...]) -> Iterator[str]:
    """One row per strategy, one column per size: MB in all and bytes per interaction."""
    yield "| strategy |" + "".join(f" {size} M |" for size in millions)
    yield "|---|" + "---|" * len(millions)
    peaks: dict[str, list[int]] = {name: [] for name in splits.SPLITS}
    for size in millions:
        interactions = synthetic(size * 1_000_000)
        for name, found in peaks.items():
            found.append(peak_bytes(interactions, name))
    for name, found in peaks.items():
        cells = (
            f" {peak / 1e6:,.0f} MB ({peak / size / 1e6:.0f}) |"
            for peak, size in zip(found, millions, strict=True)
        )
        yield f"| {name} |" + "".join(cells)


def leakage_seconds() -> float:
    """Processor time for the leakage of one fold of a million; its pairs are 1.6e11."""
    interactions = synthetic(1_000_000)
    folds = splits.split(interactions, "user-k-fold", 5, 0)
    begin = time.process_time()
    splits.leakage(interactions, folds, 0)
    return time.process_time() - begin


def main() -> None:
    """Print the tables and the line below them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--short", action="store_true", help="memory at 1 million only")
    options = parser.parse_args()
    if available(entry("ml-1m")):
        print(*speed_rows(), "", sep="\n")
    else:
        print("ml-1m is not on this machine, so no seconds\n")
    print(*memory_rows(MILLIONS[:1] if options.short else MILLIONS), sep="\n")
    print(f"\nLeakage of one fold, 1 M interactions: {leakage_seconds():.2f} s (promise: 10 s)")


if __name__ == "__main__":
    main()
