"""Does the interval for new rows of a table hold, also where a cross-validation is repeated?

    python -m benchmarks.new_rows                  every cell, 100 draws each, some minutes
    python -m benchmarks.new_rows --draws 1000     as many as a claim of a point needs, an hour
    python -m benchmarks.new_rows --in-time        folds in the order of time, a minute

Rows are drawn from a large table and an estimator is cross-validated on them. The interval has to
hold the expected score on the other rows: the mean, over all draws, of a model fitted on as many
rows as those of a fold are. With --in-time rows come one after the other, what decides their class
may drift, and the interval of five folds of TimeSeriesSplit has to hold the expected score of a
model of the first 500 rows on the next 120.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, clone
from sklearn.datasets import load_digits, make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import RepeatedStratifiedKFold, TimeSeriesSplit
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier

import ecv_core as ecv
from ecv_core.stopping.interval import mean_interval

Table = tuple[NDArray[Any], NDArray[Any]]
"""Features and classes."""

ESTIMATORS = {
    "tree": DecisionTreeClassifier(random_state=0),
    "k-NN": KNeighborsClassifier(),
    "logistic": LogisticRegression(max_iter=300),
}
LAYOUTS = ((10, 1), (5, 1), (5, 4), (5, 10), (10, 10))
"""Folds, and how often they are dealt."""


def made_table() -> Table:
    """20,000 rows of two classes, a tenth of which are mislabelled."""
    return make_classification(
        n_samples=20_000, n_features=20, n_informative=8, flip_y=0.1, random_state=1
    )


def digits_table() -> Table:
    """1,797 images of digits; whether each is odd."""
    features, digits = load_digits(return_X_y=True)
    return features / 16, digits % 2


TABLES = {"made": made_table, "digits": digits_table}
CELLS = (("made", 100), ("made", 1000), ("digits", 300))
"""Which tables, and how many of their rows are drawn."""


def right_rows(
    estimator: BaseEstimator, table: Table, train: NDArray[Any], test: NDArray[Any]
) -> NDArray[np.bool_]:
    """Which held-out rows a new model classifies rightly."""
    features, classes = table
    model = clone(estimator).fit(features[train], classes[train])
    return model.predict(features[test]) == classes[test]


def fold_rows(
    estimator: BaseEstimator,
    table: Table,
    rows: NDArray[np.intp],
    folds: int,
    repeats: int,
    seed: int,
) -> NDArray[np.float64]:
    """The accuracy of each drawn row in each fold; shape (folds x repeats, rows), else NaN."""
    splitter = RepeatedStratifiedKFold(n_splits=folds, n_repeats=repeats, random_state=seed)
    scores = np.full((folds * repeats, len(rows)), np.nan)
    for fold, (train, test) in enumerate(splitter.split(rows, table[1][rows])):
        scores[fold, test] = right_rows(estimator, table, rows[train], rows[test])
    return scores


class Count:
    """What the intervals of a layout came to, draw by draw."""

    def __init__(self) -> None:
        self.new_rows: list[tuple[float, float]] = []
        self.of_mean: list[tuple[float, float]] = []
        self.plain: list[tuple[float, float]] = []

    def add(self, scores: NDArray[np.float64], folds: int) -> None:
        """Add the intervals of one draw."""
        interval = ecv.new_data_interval(scores, k=folds, rows=True)
        self.new_rows.append((interval.low, interval.high))
        means = np.nanmean(scores, axis=1).tolist()
        overlap = 0.0
        if len(scores) > folds:
            overlap = 1 / (folds - 1)
        for intervals, share in ((self.of_mean, overlap), (self.plain, 0.0)):
            of_mean = mean_interval(means, 0.95, share)
            assert of_mean is not None
            intervals.append((of_mean.low, of_mean.high))


def held(intervals: Sequence[tuple[float, float]], truth: float) -> float:
    """In how many percent the truth is inside."""
    ends = np.array(intervals)
    return 100 * float(((ends[:, 0] <= truth) & (truth <= ends[:, 1])).mean())


def width(intervals: Sequence[tuple[float, float]]) -> float:
    """How wide they are on average."""
    ends = np.array(intervals)
    return float((ends[:, 1] - ends[:, 0]).mean())


def measured(
    estimator: BaseEstimator, table: Table, n: int, draws: int
) -> tuple[Mapping[tuple[int, int], Count], Mapping[int, float]]:
    """The intervals of each layout, and the expected score for each number of folds."""
    rng = np.random.default_rng(7)
    counts = {layout: Count() for layout in LAYOUTS}
    on_others: dict[int, list[float]] = {5: [], 10: []}
    for draw in range(draws):
        order = rng.permutation(len(table[1]))
        rows = order[:n]
        for folds, means in on_others.items():
            train = rows[: n - n // folds]
            means.append(float(right_rows(estimator, table, train, order[n:]).mean()))
            scores = fold_rows(estimator, table, rows, folds, 10, draw)
            for layout, count in counts.items():
                if layout[0] == folds:
                    count.add(scores[: folds * layout[1]], folds)
    return counts, {folds: float(np.mean(means)) for folds, means in on_others.items()}


def lines(draws: int) -> Iterator[str]:
    """A table in Markdown, line by line as it is measured."""
    yield "| table, rows | estimator | folds | new rows held | width | of the mean | plain t |"
    yield "|---|---|---|---|---|---|---|"
    for name, n in CELLS:
        table = TABLES[name]()
        for title, estimator in ESTIMATORS.items():
            counts, truths = measured(estimator, table, n, draws)
            for (folds, repeats), count in counts.items():
                truth = truths[folds]
                single = width(counts[folds, 1].new_rows)
                yield (
                    f"| {name}, {n} | {title} | {folds}x{repeats} "
                    f"| {held(count.new_rows, truth):.1f} % "
                    f"| {width(count.new_rows) / single:.2f} "
                    f"| {held(count.of_mean, truth):.1f} % | {held(count.plain, truth):.1f} % |"
                )


def drifting_table(rng: np.random.Generator, drift: float) -> Table:
    """720 rows in the order of time; over the first 600 each coefficient moves by about `drift`."""
    features = rng.normal(size=(720, 10))
    shift = np.linspace(0, 1.2 * drift, 720)[:, None] * np.repeat([1, -1], 5)
    sums = (features * (1 / 3 + shift)).sum(axis=1)
    return features, (sums + rng.normal(size=720) > 0).astype(int)


def rows_in_time(estimator: BaseEstimator, table: Table) -> NDArray[np.float64]:
    """The accuracy of each of the first 600 rows in each fold; shape (5, 600), else NaN."""
    scores = np.full((5, 600), np.nan)
    for fold, (train, test) in enumerate(TimeSeriesSplit(5).split(np.arange(600))):
        scores[fold, test] = right_rows(estimator, table, train, test)
    return scores[:, ~np.isnan(scores).all(axis=0)]


def lines_in_time(draws: int) -> Iterator[str]:
    """Of folds in the order of time, how often the interval holds the next rows' score."""
    yield "| estimator | drift | held |"
    yield "|---|---|---|"
    for title in ("logistic", "tree"):
        for drift in (0.0, 1.0):
            rng = np.random.default_rng(0)
            intervals = []
            means = []
            for _ in range(draws):
                table = drifting_table(rng, drift)
                interval = ecv.new_data_interval(
                    rows_in_time(ESTIMATORS[title], table), k=5, rows=True
                )
                intervals.append((interval.low, interval.high))
                right = right_rows(ESTIMATORS[title], table, np.arange(500), np.arange(600, 720))
                means.append(float(right.mean()))
            yield f"| {title} | {drift:g} | {held(intervals, float(np.mean(means))):.1f} % |"


def main() -> None:
    """Print what was measured."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=100)
    parser.add_argument("--in-time", action="store_true")
    options = parser.parse_args()
    printed = lines(options.draws)
    if options.in_time:
        printed = lines_in_time(options.draws)
    for line in printed:
        print(line, flush=True)


if __name__ == "__main__":
    main()
