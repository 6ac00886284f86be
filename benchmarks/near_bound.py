"""Does the precision rule keep its promise for scores near their bound?

    python -m benchmarks.near_bound                      50 partitions of each table, two minutes
    python -m benchmarks.near_bound --partitions 10

Classifiers whose ROC AUC, average precision or Matthews correlation is near 1 are evaluated on all
ten folds of each partition. The rule is then asked where it would have stopped at each tolerance,
and whether the mean there is within the tolerance of the mean of all ten folds. Beside it stands
what it did before users not seen yet were counted near a bound.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from unittest.mock import patch

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, clone
from sklearn.datasets import load_breast_cancer, load_digits, make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import ecv_core.stopping.fold_variance as variance
from ecv_core.evaluation.scoring import Scoring
from ecv_core.stopping.precision import TOLERANCE, least_tolerance

SCORES = ("roc_auc", "average_precision", "matthews_corrcoef")
SLOW = ("digits, an 8 or not", "matthews_corrcoef")
"""A table on which this score takes minutes."""
ABOUT = 0.94
"""A score is left out where its first partition has a mean below this."""
NEAR = 0.95
"""From this mean on a score counts as near its bound."""
KEPT = 0.93
K = 10
CONFIDENCE = 0.95
Floats = NDArray[np.float64]
Table = tuple[Floats, NDArray[np.intp]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """All folds of one partition, in the order in which they run."""

    scores: Floats
    """Shape (K,)."""
    samples: Floats
    """What each sample tells; shape (K, samples), NaN where it is not in the fold."""


def tables() -> dict[str, Table]:
    """Tables of two classes that are easy to tell apart."""
    images, digits = load_digits(return_X_y=True)
    named = {
        "breast_cancer": load_breast_cancer(return_X_y=True),
        "digits, an 8 or not": (images, (digits == 8).astype(np.intp)),
    }
    for rows, share in ((300, 0.5), (1000, 0.9)):
        named[f"made, {rows} rows, {share:.0%} of one class"] = make_classification(
            rows, 10, n_informative=5, weights=[share], class_sep=2.5, flip_y=0.01, random_state=1
        )
    return named


def models() -> dict[str, BaseEstimator]:
    """Classifiers of three kinds."""
    return {
        "logistic": make_pipeline(StandardScaler(), LogisticRegression()),
        "k-NN": make_pipeline(StandardScaler(), KNeighborsClassifier()),
        "naive Bayes": GaussianNB(),
    }


def runs_of(model: BaseEstimator, table: Table, names: Sequence[str], seed: int) -> dict[str, Run]:
    """One partition, by each of these scores."""
    columns, classes = table
    scores = {name: np.empty(K) for name in names}
    samples = {name: np.full((K, len(classes)), np.nan) for name in names}
    folds = StratifiedKFold(K, shuffle=True, random_state=seed).split(columns, classes)
    for number, (train, held_out) in enumerate(folds):
        fitted = clone(model).fit(columns[train], classes[train])
        for name in names:
            scoring = Scoring(fitted, name)
            scoring.units = held_out
            score = scoring.scorer(fitted, columns[held_out], classes[held_out])
            scores[name][number] = score
            if scoring.samples is not None:
                samples[name][number, scoring.samples.units] = scoring.samples.values
    return {name: Run(scores=scores[name], samples=samples[name]) for name in names}


def stops_of(run: Run) -> list[tuple[bool, int]]:
    """At each tolerance offered, whether the mean at the stop is within it, and folds used."""
    first_folds = np.tril(np.ones((K, K), dtype=np.bool_))
    half = variance.fold_variance(run.samples, first_folds).half_widths(K, CONFIDENCE)
    means = np.cumsum(run.scores) / np.arange(1, K + 1)
    least = least_tolerance(half, means)
    stops = []
    for tolerance in TOLERANCE.steps:
        used = int(np.argmax(least <= tolerance)) + 1
        off = abs(means[used - 1] - means[-1])
        stops.append((bool(off <= tolerance * abs(means[-1])), used))
    return stops


def nobody(*_arguments: object) -> float:
    """What was counted near a bound before."""
    return 0.0


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description="the precision rule near a bound")
    parser.add_argument("--partitions", type=int, default=50)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    today = []
    before = []
    for table_name, table in tables().items():
        for model_name, model in models().items():
            names = [name for name in SCORES if (table_name, name) != SLOW]
            first = runs_of(model, table, names, 0)
            names = [name for name in names if first[name].scores.mean() >= ABOUT]
            runs = [first]
            for seed in range(1, options.partitions):
                runs.append(runs_of(model, table, names, seed))
            for name in names:
                of_score = [by_score[name] for by_score in runs]
                mean = np.mean([run.scores for run in of_score])
                if mean < NEAR:
                    continue
                today.append(np.mean([stops_of(run) for run in of_score], axis=0))
                with patch.object(variance, "_variance_of_unseen_users", nobody):
                    before.append(np.mean([stops_of(run) for run in of_score], axis=0))
                least = today[-1][:, 0].min()
                print(
                    f"{table_name}, {model_name}, {name}: {mean:.3f}, least {least:.0%}", flush=True
                )
    print(
        f"\n| tolerance | least of {len(today)} | below {KEPT:.0%} | folds | before: least |",
        end="",
    )
    print(f" below {KEPT:.0%} | folds |\n|---|---|---|---|---|---|---|")
    for place, tolerance in enumerate(TOLERANCE.steps):
        cells = [f"{tolerance:.1%}"]
        for outcomes in (today, before):
            within = np.array([outcome[place, 0] for outcome in outcomes])
            folds = np.mean([outcome[place, 1] for outcome in outcomes])
            cells += [f"{within.min():.0%}", str(int((within < KEPT).sum())), f"{folds:.2f}"]
        print(f"| {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
