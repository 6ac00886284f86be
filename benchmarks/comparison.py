"""How often is a difference found between two learners that are equally good?

    python -m benchmarks.comparison                     500 tables of 200 rows, two minutes
    python -m benchmarks.comparison --draws 200 --rows 100

Each drawn table has ten columns that all tell equally much of its two classes. Two decision trees
are compared by accuracy on the same ten folds, by the two tests that Compare has for tables. Either
both trees see all columns and differ in their random numbers, or each sees five of the ten columns.
Both pairs are equally good on average over tables, so a difference that is found is false.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import StratifiedKFold
from sklearn.tree import DecisionTreeClassifier

from ecv_core.analysis.significance import corrected_t_test_over_folds, t_tests_over_users

COLUMNS = 10
K = 10
LEVEL = 0.05
Floats = NDArray[np.float64]
Fold = tuple[NDArray[np.intp], NDArray[np.intp]]


def right_of_seeds(table: Floats, classes: NDArray[np.intp], fold: Fold) -> Floats:
    """Whether each held-out row is told right by two trees with other random numbers.

    Returns:
        1 where right; shape (2, held-out rows).
    """
    train, held_out = fold
    right = []
    for seed in (0, 1):
        tree = DecisionTreeClassifier(max_features="sqrt", random_state=seed)
        tree.fit(table[train], classes[train])
        right.append(tree.predict(table[held_out]) == classes[held_out])
    return np.array(right, dtype=np.float64)


def right_of_halves(table: Floats, classes: NDArray[np.intp], fold: Fold) -> Floats:
    """The same of two trees of which each sees half of the columns."""
    train, held_out = fold
    half = COLUMNS // 2
    right = []
    for columns in (slice(0, half), slice(half, COLUMNS)):
        tree = DecisionTreeClassifier(random_state=0)
        tree.fit(table[train, columns], classes[train])
        right.append(tree.predict(table[held_out, columns]) == classes[held_out])
    return np.array(right, dtype=np.float64)


PAIRS: dict[str, Callable[[Floats, NDArray[np.intp], Fold], Floats]] = {
    "other random numbers": right_of_seeds,
    "other halves of the columns": right_of_halves,
}


def false_findings(pair: str, draws: int, rows: int, seed: int = 0) -> tuple[float, float]:
    """The shares of tables on which the test over folds, and that over rows, find a difference."""
    rng = np.random.default_rng(seed)
    found_over_folds = 0
    found_over_rows = 0
    for draw in range(draws):
        table = rng.standard_normal((rows, COLUMNS))
        signal = table.sum(axis=1) / np.sqrt(COLUMNS) + rng.standard_normal(rows)
        classes = (signal > 0).astype(np.intp)
        fold_scores = np.empty((2, K))
        right = np.empty((2, rows))
        folds = StratifiedKFold(K, shuffle=True, random_state=draw).split(table, classes)
        for number, fold in enumerate(folds):
            of_fold = PAIRS[pair](table, classes, fold)
            fold_scores[:, number] = of_fold.mean(axis=1)
            right[:, fold[1]] = of_fold
        by_folds = corrected_t_test_over_folds(fold_scores[0], fold_scores[1], k=K)
        (by_rows,) = t_tests_over_users(right, [(0, 1)], resamples=2)
        found_over_folds += by_folds.p <= LEVEL
        found_over_rows += by_rows.p <= LEVEL
    return found_over_folds / draws, found_over_rows / draws


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description="false differences between equal learners")
    parser.add_argument("--draws", type=int, default=500, help="tables drawn")
    parser.add_argument("--rows", type=int, default=200, help="rows of a table")
    options = parser.parse_args()
    print("| equal trees with | over folds, corrected (learners) | over rows (fitted models) |")
    print("|---|---|---|")
    for pair in PAIRS:
        of_folds, of_rows = false_findings(pair, options.draws, options.rows)
        print(f"| {pair} | {100 * of_folds:.1f} % | {100 * of_rows:.1f} % |")


if __name__ == "__main__":
    main()
