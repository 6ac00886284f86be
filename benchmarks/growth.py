"""How seconds and memory grow with the data: models, and every stage of a fold.

    python -m benchmarks.growth [--sizes 1e5,1e6,1e7] [--models popular,item-knn,implicit-mf]
    python -m benchmarks.growth --stages [--sizes 1e5,1e6,1e7] [--only "read a CSV,prune"]

Every model on `synthetic-large` of each size, in a fresh process: wall seconds to make the data,
prune, split, fit and rank one fold of ten, all seconds of the processor, and peak memory; then the
exponent with which fit and ranking grow from the smallest size to the largest. Limit is what the
machine allows of ranking: all scores written to memory once at the bandwidth measured beside it,
or, for implicit-mf, their multiplications at the rate measured.

`--stages`: what has to be linear, from reading a file to a page, each at each size in a fresh
process: the least processor seconds of three times, or of one where they are more than ten seconds,
and the memory that it takes beyond what it is given; then the exponents with which both grow
between the two largest sizes. Exit code 1 where one is above 1.1, or above 1.5 for the seconds of
what reads memory in random order, which the processor's cache slows down as the data outgrow it.
"""

from __future__ import annotations

import argparse
import json
import math
import resource
import sys
import time
from collections.abc import Sequence
from importlib import import_module

import numpy as np

from benchmarks.fresh import measured_afresh
from benchmarks.growth_stages import FOLDS, STAGES, print_stages
from benchmarks.tables import print_head, print_row
from ecv_core import evaluation, models, splits
from ecv_core.dataset import synthetic
from ecv_core.dataset.pruning import prepare

MODELS = ("popular", "item-knn", "implicit-mf")
STEPS = ("make", "prune", "split", "fit", "rank")


class Clock:
    """Seconds of one step after the other."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._begin = time.perf_counter()

    def lap(self, step: str) -> None:
        """Keep the seconds since the last lap as those of this step."""
        now = time.perf_counter()
        self.seconds[step] = now - self._begin
        self._begin = now

    def skip(self) -> None:
        """Count what was done since the last lap to no step."""
        self._begin = time.perf_counter()


def measured(size: int, name: str) -> dict[str, float]:
    """One fold in this process: seconds of each step, limit, processor, memory and score."""
    clock = Clock()
    made = synthetic.generate_large(size)
    clock.lap("make")
    data = prepare(made)
    clock.lap("prune")
    folds = splits.split(data, next(iter(splits.SPLITS)), FOLDS, 0)
    parts = splits.fold_matrices(data, folds, 0)
    clock.lap("split")
    algorithm = models.algorithm(name)
    model = algorithm.build(algorithm.with_defaults(()))
    if algorithm.with_torch:
        import_module("torch")
    scores = data.n_users * data.n_items
    evaluation.load_compiled(scores)
    limit = seconds_to_move(scores)
    if name == "implicit-mf":
        limit = seconds_to_multiply(scores)
    clock.skip()
    processor_before = time.process_time()
    model.fit(parts.train, seed=1)
    clock.lap("fit")
    evaluated = evaluation.evaluate(
        model, parts.seen, parts.held_out, (1, 5, 10, 20), train=parts.train
    )
    clock.lap("rank")
    return {
        **clock.seconds,
        "size": len(data),
        "limit": limit,
        "processor": time.process_time() - processor_before,
        "memory": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        "score": evaluated.means["ndcg@10"],
    }


def seconds_to_move(scores: int) -> float:
    """To write so many scores to memory once, at the bandwidth of a block of 100 MB."""
    block = np.ones(25_000_000, dtype=np.float32)
    begin = time.perf_counter()
    block += 1
    seconds = time.perf_counter() - begin
    return seconds * scores / len(block) / 2  # a block is read and written


def seconds_to_multiply(scores: int) -> float:
    """To multiply 64 factors for each of so many scores."""
    repeats = 20
    users = np.ones((100, 64), dtype=np.float32)
    items = np.ones((20_000, 64), dtype=np.float32)
    begin = time.perf_counter()
    for _ in range(repeats):
        users @ items.T
    seconds = time.perf_counter() - begin
    return seconds / repeats * scores / (len(users) * len(items))


def print_models(sizes: Sequence[int], names: Sequence[str]) -> None:
    """A row for each model and size, and the exponents of growth."""
    columns = [f"{step} s" for step in STEPS]
    columns += ["limit of rank s", "processor s, fit and rank", "peak MB", "nDCG@10"]
    print_head(["model", "interactions", *columns])
    for name in names:
        rows = []
        for size in sizes:
            row = measured_afresh("benchmarks.growth", "--fold", str(size), name)
            rows.append(row)
            cells = [f"{row[quantity]:.2f}" for quantity in (*STEPS, "limit", "processor")]
            cells += [f"{row['memory']:,.0f}", f"{row['score']:.4f}"]
            print_row([name, f"{row['size']:,}", *cells])
        if len(rows) > 1:
            fit = power(rows, "fit")
            rank = power(rows, "rank")
            print(f"{name}: fit grows with the power {fit:.2f} of the size, ranking {rank:.2f}")


def power(rows: Sequence[dict[str, float]], step: str) -> float:
    """The power of the size with which a step's seconds grow, from the first row to the last."""
    growth = rows[-1][step] / rows[0][step]
    return math.log(growth) / math.log(rows[-1]["size"] / rows[0]["size"])


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sizes", default="1e5,1e6,1e7")
    parser.add_argument("--models", default=",".join(MODELS))
    parser.add_argument("--stages", action="store_true")
    parser.add_argument("--only", default=",".join(STAGES), help="stages, by their names")
    parser.add_argument("--fold", nargs=2, help=argparse.SUPPRESS)  # in a process of its own
    options = parser.parse_args()
    sizes = [int(float(size)) for size in options.sizes.split(",")]
    if options.fold:
        size, name = options.fold
        print(json.dumps(measured(int(size), name)))
    elif options.stages:
        if not print_stages(sizes, options.only.split(",")):
            sys.exit(1)
    else:
        print_models(sizes, options.models.split(","))


if __name__ == "__main__":
    main()
