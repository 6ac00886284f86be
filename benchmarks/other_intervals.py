"""Our interval for new rows, beside four of the methods that R's mlr3inferr offers.

    python -m benchmarks.other_intervals               60 draws a cell, six minutes of a processor
    python -m benchmarks.other_intervals --draws 200

R is not run: its methods are written here from their papers, with the defaults of mlr3inferr 0.2.1.
As in `benchmarks.new_rows`, rows are drawn from a large table, and an interval has to hold the
expected accuracy on the other rows, of models fitted on as many rows as the method speaks of.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Mapping

import numpy as np
from numpy.typing import NDArray
from scipy import stats
from sklearn.base import BaseEstimator

import ecv_core as ecv
from benchmarks.new_rows import ESTIMATORS, TABLES, Table, fold_rows, held, right_rows, width

CELLS = (("made", 100), ("digits", 300))
"""Which tables, and how many of their rows are drawn."""
RATIO = 0.9
"""Share of the rows that is trained on, where rows are drawn."""
NORMAL = float(stats.norm.ppf(0.975))

Interval = tuple[float, float]
Right = Callable[[NDArray[np.intp], NDArray[np.intp]], NDArray[np.float64]]
"""Rows to learn from, rows held out -> 1 where a held-out row is classified rightly, else 0."""


def new_rows(scores: NDArray[np.float64]) -> Interval:
    """Ours, of ten folds; scores have shape (folds, rows), NaN where a row is not held out."""
    interval = ecv.new_data_interval(scores, k=len(scores), rows=True)
    return interval.low, interval.high


def wald(scores: NDArray[np.float64]) -> Interval:
    """Of the same ten folds, with the variance of all rows.

    Source: Bayle, Bayle, Janson, Mackey (2020), Cross-validation Confidence Intervals for Test
    Error.
    """
    rows = scores[~np.isnan(scores)]
    half = NORMAL * rows.std() / np.sqrt(len(rows))
    return rows.mean() - half, rows.mean() + half


def drawn_accuracies(
    rows: NDArray[np.intp], n_test: int, repeats: int, right: Right, rng: np.random.Generator
) -> NDArray[np.float64]:
    """Accuracies where `n_test` rows are held out at random, again and again."""
    accuracies = []
    for _ in range(repeats):
        order = rng.permutation(rows)
        accuracies.append(right(order[n_test:], order[:n_test]).mean())
    return np.array(accuracies)


def corrected_t(rows: NDArray[np.intp], right: Right, rng: np.random.Generator) -> Interval:
    """The corrected resampled t, of 25 draws of a tenth of the rows.

    Source: Nadeau, Bengio (2003), Inference for the Generalization Error.
    """
    repeats = 25
    n_train = round(RATIO * len(rows))
    n_test = len(rows) - n_train
    accuracies = drawn_accuracies(rows, n_test, repeats, right, rng)
    error = accuracies.std(ddof=1) * np.sqrt(1 / repeats + n_test / n_train)
    half = float(stats.t.ppf(0.975, repeats - 1)) * error
    return accuracies.mean() - half, accuracies.mean() + half


def conservative_z(rows: NDArray[np.intp], right: Right, rng: np.random.Generator) -> Interval:
    """Of 15 draws of a tenth; its variance is that between halves of the rows, ten times.

    Source: Nadeau, Bengio (2003), section 4.2 there.
    """
    inner = 15
    outer = 10
    n_test = len(rows) - round(RATIO * len(rows))
    mean = drawn_accuracies(rows, n_test, inner, right, rng).mean()
    squares = []
    half_rows = len(rows) // 2
    for _ in range(outer):
        order = rng.permutation(rows)
        first = drawn_accuracies(order[:half_rows], n_test, inner, right, rng).mean()
        second = drawn_accuracies(order[half_rows : 2 * half_rows], n_test, inner, right, rng)
        squares.append((first - second.mean()) ** 2)
    half = NORMAL * np.sqrt(np.sum(squares) / (2 * outer))
    return mean - half, mean + half


def nested(rows: NDArray[np.intp], right: Right, rng: np.random.Generator) -> Interval:
    """Nested cross-validation of five folds, ten times, its bias corrected.

    Source: Bates, Hastie, Tibshirani (2024), Cross-validation: What Does It Estimate and How Well
    Does It Do It?
    """
    folds = 5
    inner_rows: list[NDArray[np.float64]] = []
    outer_means = []
    errors = []
    for _ in range(10):
        parts = np.array_split(rng.permutation(rows), folds)
        for at, held_out in enumerate(parts):
            others = parts[:at] + parts[at + 1 :]
            outer = right(np.concatenate(others), held_out)
            inner = []
            for inside, test in enumerate(others):
                train = np.concatenate(others[:inside] + others[inside + 1 :])
                inner.append(right(train, test))
            inner_right = np.concatenate(inner)
            inner_rows.append(inner_right)
            outer_means.append(outer.mean())
            squared = (inner_right.mean() - outer.mean()) ** 2
            errors.append(squared - outer.var(ddof=1) / len(outer))
    all_inner = np.concatenate(inner_rows)
    least = all_inner.std(ddof=1) / np.sqrt(len(rows))
    squared_error = (folds - 1) / folds * float(np.mean(errors))
    error = np.clip(np.sqrt(max(0.0, squared_error)), least, least * np.sqrt(folds))
    bias = (1 + (folds - 2) / folds) * (all_inner.mean() - np.mean(outer_means))
    mean = all_inner.mean() - bias
    return mean - NORMAL * error, mean + NORMAL * error


METHODS = {
    "ours, of new rows": 10,
    "Wald (Bayle et al.)": 10,
    "corrected t": 25,
    "conservative z": 315,
    "nested": 250,
}
"""Method -> how many models it fits."""


def measured(
    estimator: BaseEstimator, table: Table, n: int, draws: int
) -> tuple[Mapping[str, list[Interval]], Mapping[str, float]]:
    """The intervals of each method, and the expected accuracy of which it speaks."""
    rng = np.random.default_rng(7)
    intervals: dict[str, list[Interval]] = {method: [] for method in METHODS}
    of_share: list[float] = []
    of_all: list[float] = []

    def right(train: NDArray[np.intp], test: NDArray[np.intp]) -> NDArray[np.float64]:
        return right_rows(estimator, table, train, test).astype(np.float64)

    for draw in range(draws):
        order = rng.permutation(len(table[1]))
        rows = order[:n]
        others = order[n:]
        of_share.append(float(right(rows[: round(RATIO * n)], others).mean()))
        of_all.append(float(right(rows, others).mean()))
        scores = fold_rows(estimator, table, rows, 10, 1, draw)
        intervals["ours, of new rows"].append(new_rows(scores))
        intervals["Wald (Bayle et al.)"].append(wald(scores))
        intervals["corrected t"].append(corrected_t(rows, right, rng))
        intervals["conservative z"].append(conservative_z(rows, right, rng))
        intervals["nested"].append(nested(rows, right, rng))
    truths = dict.fromkeys(METHODS, float(np.mean(of_share)))
    truths["nested"] = float(np.mean(of_all))  # its bias is corrected to all rows
    return intervals, truths


def lines(draws: int) -> Iterator[str]:
    """A table in Markdown, line by line as it is measured."""
    yield "| table, rows | estimator | method | models fitted | held | width to ours |"
    yield "|---|---|---|---|---|---|"
    for name, n in CELLS:
        table = TABLES[name]()
        for title, estimator in ESTIMATORS.items():
            intervals, truths = measured(estimator, table, n, draws)
            ours = width(intervals["ours, of new rows"])
            for method, models in METHODS.items():
                share = held(intervals[method], truths[method])
                relative = width(intervals[method]) / ours
                yield (
                    f"| {name}, {n} | {title} | {method} | {models} | {share:.1f} % "
                    f"| {relative:.2f} |"
                )


def main() -> None:
    """Print what was measured."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=60)
    options = parser.parse_args()
    for line in lines(options.draws):
        print(line, flush=True)


if __name__ == "__main__":
    main()
