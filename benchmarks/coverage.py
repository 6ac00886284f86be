"""Does the precision rule keep its promise in every recorded cell, and is its variance right?

python -m benchmarks.coverage

Prints markdown. For each recorded cell with per-user scores: in how many orders of the folds the
score at the stop is within the tolerance, exactly; and the variance of the ten fold means over what
its users explain of it. Were there nothing else, that ratio would scatter about 1 like a
chi-square with k - 1 degrees of freedom over k - 1.
"""

from __future__ import annotations

import sys
from dataclasses import replace

import numpy as np
from scipy.stats import chi2

from ecv_core.analysis.exploration import explore
from ecv_core.analysis.tradeoff import system_of
from ecv_core.runs.recorded import recorded_runs, recorded_user_scores
from ecv_core.stopping.fold_variance import fold_variance
from ecv_core.stopping.precision import user_matrix
from ecv_core.words import metric_label

TOLERANCES = (0.02, 0.03, 0.05)
PROMISED = 0.95


def main() -> None:
    """Measure and print."""
    heads = [f"within {100 * tolerance:g} %" for tolerance in TOLERANCES]
    sys.stdout.write(f"| cell | {' | '.join(heads)} | variance ratio |\n|---|---|---|---|---|\n")
    kept, ratios, stops = [], [], []
    for run in recorded_runs():
        users = recorded_user_scores(run.run_id)
        if len(users) < run.spec.k:
            continue
        results = [replace(fold, user_scores=users[fold.fold]) for fold in run.folds_in_order]
        values = user_matrix(results, run.spec.metric_name)
        scores = replace(system_of(run, metric_label(run.spec)).scores, users=values)
        walk = explore(scores, "precision")
        outcomes = [walk.at(one, within_percent=100 * one) for one in TOLERANCES]
        kept.append([one.within or 0.0 for one in outcomes])
        stops.append([one.mean_stop for one in outcomes])
        everything = np.ones((1, run.spec.k), dtype=np.bool_)
        level = fold_variance(values, everything, random=scores.random).users[0]
        ratios.append(scores.folds.var(ddof=1) / level)
        if min(kept[-1]) < PROMISED:
            shares = " | ".join(f"{100 * share:.1f} %" for share in kept[-1])
            name = f"{run.spec.dataset}, {run.spec.algorithm}"
            sys.stdout.write(f"| {name} | {shares} | {ratios[-1]:.2f} |\n")
    mean = " | ".join(f"{100 * share:.1f} %" for share in _means(kept))
    folds_used = ", ".join(f"{stop:.2f}" for stop in _means(stops))
    low, high = (float(chi2.ppf(share, 9)) / 9 for share in (0.025, 0.975))
    sys.stdout.write(
        f"| **mean of all {len(kept)} cells** | {mean} | {np.mean(ratios):.2f} |\n\n"
        f"Above: the cells below {PROMISED:.0%} at some tolerance. Folds used: {folds_used}. "
        f"Ratios from {min(ratios):.2f} to {max(ratios):.2f}; chance alone gives {low:.2f} to "
        f"{high:.2f} in 95 % of cells of ten folds.\n"
    )


def _means(rows: list[list[float]]) -> list[float]:
    """Of each column."""
    return [sum(column) / len(rows) for column in zip(*rows, strict=True)]


if __name__ == "__main__":
    main()
