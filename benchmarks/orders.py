"""The exact walk over every order of the folds, beside the paper's 5,000 random orders.

python -m benchmarks.orders [--short]

Prints a markdown table; seconds are the least of several repeats in this process on made-up scores,
on one core. The random orders are drawn and judged in NumPy, all at once.
"""

from __future__ import annotations

import argparse
import os

# One core, as the promise says; must be set before NumPy loads.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import resource
import sys
import time
from collections.abc import Callable
from functools import partial

import numpy as np
from numpy.typing import NDArray

from ecv_core.analysis.exploration import explore
from ecv_core.analysis.orders.drawn import sampled as drawn_outcome
from ecv_core.analysis.orders.outcomes import Outcome
from ecv_core.records.run import Scores
from ecv_core.stopping.interval import running, t_quantile

ALPHA = 1e-4
CONFIDENCE = 0.95


def least_seconds(work: Callable[[], object], repeats: int) -> float:
    """The quickest of some repeats; lazily built tables are built in the first."""
    seconds = []
    for _ in range(repeats):
        begin = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - begin)
    return min(seconds)


def made_up(k: int) -> Scores:
    """Fold scores like those of a real model."""
    return Scores(folds=np.random.default_rng(k).normal(0.3, 0.01, k))


def one_alpha(k: int) -> Outcome:
    """The exact outcome at one alpha, from the scores on."""
    return explore(made_up(k)).at(ALPHA)


def sampled(scores: Scores, draws: int = 5000) -> Outcome:
    """The paper's way: the e-fold rule on random orders."""
    k = len(scores.folds)
    n = np.arange(2, k + 1)
    factors = np.array([t_quantile(int(size) - 1, CONFIDENCE) for size in n]) / np.sqrt(n)

    def stops(shuffled: NDArray[np.float64]) -> NDArray[np.intp]:
        widths = 2 * factors * running(shuffled)[1][:, 1:]
        fires = widths[:, 1:] * np.abs(np.diff(widths, axis=1)) <= ALPHA
        fires[:, -1] = True
        first: NDArray[np.intp] = np.argmax(fires, axis=1) + 3
        return first

    return drawn_outcome(scores.folds, stops, confidence=CONFIDENCE, orders=draws)


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--short", action="store_true", help="leave out the 20 folds")
    options = parser.parse_args()

    ten = made_up(10)
    walk = explore(ten)
    exact, drawn = walk.at(ALPHA), sampled(ten)
    every = partial(walk.curve, walk.breakpoints())
    rows: list[tuple[str, float, float | None]] = [
        ("10 folds, one alpha, exact", least_seconds(partial(one_alpha, 10), 20), 0.002),
        ("10 folds, the whole curve, exact", least_seconds(every, 5), 0.150),
        ("10 folds, one alpha, 5,000 random orders", least_seconds(partial(sampled, ten), 5), None),
    ]
    for k, limit in [(16, 0.250)] if options.short else [(16, 0.250), (20, 6.0)]:
        seconds = least_seconds(partial(one_alpha, k), 2)
        rows.append((f"{k} folds, one alpha, exact", seconds, limit))
    print("| what | ms | at most |\n|---|---|---|")
    for what, seconds, most in rows:
        print(f"| {what} | {seconds * 1e3:.2f} | {'' if most is None else f'{most * 1e3:g}'} |")
    gigabytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(f"\nPeak memory {gigabytes:.2f} GB.")
    print(
        f"Mean stop {exact.mean_stop:.4f} exact; {drawn.mean_stop:.4f} "
        f"± {drawn.standard_errors['mean_stop']:.4f} from random orders."
    )
    print(
        f"Mean difference {exact.mean_difference_percent:.4f} % exact; "
        f"{drawn.mean_difference_percent:.4f} "
        f"± {drawn.standard_errors['mean_difference_percent']:.4f} % from random orders."
    )
    return any(most is not None and seconds > most for _, seconds, most in rows)


if __name__ == "__main__":
    sys.exit(main())
