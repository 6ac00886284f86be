"""How often does a gate let a worse candidate pass, or stop one that is good enough?

    python -m benchmarks.gate                three minutes
    python -m benchmarks.gate --draws 100

Two recorded runs of a dataset are baseline and candidate. Of their users some are drawn, with
replacement, and the candidate's scores are moved so that over all users and folds it is worse by
exactly the margin: then passing and failing are both false. It is moved to be equal too, where
failing is false, and by two margins, where passing is. By users, and by the means of folds alone.
"""

from __future__ import annotations

import argparse
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from benchmarks.new_users import recorded_tables
from ecv_core.analysis.gate import GateVerdict, gate

Floats = NDArray[np.float64]
MARGIN = 0.02
"""Of the baseline's mean."""
USERS = 500


def moved(candidate: Floats, baseline: Floats, difference: float) -> Floats:
    """The candidate with this difference to the baseline over all users and folds.

    Its scores are multiplied, so that users who score nothing go on doing so.
    """
    wanted = np.nanmean(baseline, axis=1).mean() + difference
    return candidate * (wanted / np.nanmean(candidate, axis=1).mean())


def count(
    baseline: Floats, candidate: Floats, margin: float, draws: int, *, by_users: bool, seed: int
) -> tuple[float, float, float]:
    """Shares of draws that pass and fail, and the folds used on average."""
    random = np.random.default_rng(seed)
    passes = 0
    fails = 0
    folds = 0
    for _ in range(draws):
        users = random.integers(0, baseline.shape[1], USERS)
        order = random.permutation(len(baseline))
        first = baseline[order][:, users]
        second = candidate[order][:, users]
        if not by_users:
            first = np.nanmean(first, axis=1)
            second = np.nanmean(second, axis=1)
        decided = gate(first, second, margin=margin)
        passes += decided.verdict is GateVerdict.PASSES
        fails += decided.verdict is GateVerdict.FAILS
        folds += decided.folds
    return passes / draws, fails / draws, folds / draws


def main() -> None:
    """Print a line for each pair of runs and each truth, and the most of all."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--draws", type=int, default=200)
    options = parser.parse_args()
    by_dataset: dict[str, dict[str, Floats]] = {}
    for name, table in recorded_tables():
        dataset, algorithm = name.split()
        by_dataset.setdefault(dataset, {})[algorithm] = table[:, ~np.isnan(table).all(axis=0)]
    print(f"{options.draws} draws of {USERS} users each, margin {MARGIN:.0%}; passes/fails (folds)")
    worst = {"worse by the margin": [0.0, 0.0], "equal": [0.0, 0.0], "worse by two": [0.0, 0.0]}
    for dataset, tables in by_dataset.items():
        chosen = [name for name in ("ease", "item-knn", "bpr-mf") if name in tables]
        for first, second in combinations(chosen, 2):
            baseline = tables[first]
            margin = MARGIN * float(np.nanmean(baseline, axis=1).mean())
            for truth, times in (("worse by the margin", 1), ("equal", 0), ("worse by two", 2)):
                candidate = moved(tables[second], baseline, -times * margin)
                words = []
                for by_users in (True, False):
                    passes, fails, folds = count(
                        baseline, candidate, margin, options.draws, by_users=by_users, seed=times
                    )
                    words.append(f"{passes:.1%}/{fails:.1%} ({folds:.1f})")
                    worst[truth][0] = max(worst[truth][0], passes)
                    worst[truth][1] = max(worst[truth][1], fails)
                print(f"{dataset} {first}/{second}, {truth}: users {words[0]}, folds {words[1]}")
    for truth, (passes, fails) in worst.items():
        print(f"most over all: {truth}: passes {passes:.1%}, fails {fails:.1%}")


if __name__ == "__main__":
    main()
