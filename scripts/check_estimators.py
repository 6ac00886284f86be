"""What docs/estimators.md says of adversaries, and of what a fold costs beside scikit-learn's own.

python -m scripts.check_estimators adversaries [WORD]   # those whose name has the word
python -m scripts.check_estimators overhead
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import KFold, RepeatedKFold, StratifiedKFold, cross_validate
from sklearn.neighbors import KNeighborsClassifier

import ecv_core as ecv

Made = tuple[Any, NDArray[Any], NDArray[Any], Any]
"""Estimator, samples, targets and splitter."""
RUNS = 20


def tiny(seed: int, k: int = 10) -> Made:
    """50 rows."""
    made = make_classification(50, 10, random_state=seed)
    return LogisticRegression(), *made, StratifiedKFold(k, shuffle=True, random_state=seed)


def rare(seed: int) -> Made:
    """One in a hundred is positive, three in a fold."""
    made = make_classification(3000, 10, weights=[0.99], flip_y=0, random_state=seed)
    return LogisticRegression(), *made, StratifiedKFold(10, shuffle=True, random_state=seed)


def leak(seed: int) -> Made:
    """One fold is learnt from too, by heart; a fifth of the labels are noise."""
    X, y = make_classification(1000, 10, flip_y=0.2, random_state=seed)
    folds = list(StratifiedKFold(10, shuffle=True, random_state=seed).split(X, y))
    train, test = folds[seed % 10]
    folds[seed % 10] = (np.concatenate([train, test]), test)
    return KNeighborsClassifier(1), X, y, folds


def duplicates(seed: int) -> Made:
    """Each row three times, across folds."""
    X, y = make_classification(300, 10, flip_y=0.2, random_state=seed)
    splitter = StratifiedKFold(10, shuffle=True, random_state=seed)
    return KNeighborsClassifier(1), np.tile(X, (3, 1)), np.tile(y, 3), splitter


def heavy(seed: int) -> Made:
    """Noise without a variance: Student's t with 1.5 degrees of freedom."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(1000, 5))
    y = X.sum(axis=1) + rng.standard_t(1.5, 1000)
    return Ridge(), X, y, KFold(10, shuffle=True, random_state=seed)


def repeated(seed: int) -> Made:
    """5 folds, three times."""
    made = make_classification(400, 10, random_state=seed)
    return LogisticRegression(), *made, RepeatedKFold(n_splits=5, n_repeats=3, random_state=seed)


ADVERSARIES: tuple[tuple[str, Callable[[int], Made], str | None, float], ...] = (
    ("50 rows, 5 folds, accuracy", lambda seed: tiny(seed, 5), None, 0.05),
    ("50 rows, 10 folds, accuracy", tiny, None, 0.05),
    ("50 rows, 5 folds, ROC AUC", lambda seed: tiny(seed, 5), "roc_auc", 0.05),
    ("1:100, ROC AUC", rare, "roc_auc", 0.02),
    ("1:100, average precision", rare, "average_precision", 0.1),
    ("1:100, F1", rare, "f1", 0.1),
    ("1:100, accuracy", rare, None, 0.005),
    ("one fold leaks", leak, None, 0.03),
    ("duplicates", duplicates, None, 0.03),
    ("heavy tails, squared error", heavy, "neg_mean_squared_error", 0.1),
    ("heavy tails, absolute error", heavy, "neg_mean_absolute_error", 0.05),
    ("heavy tails, RMSE", heavy, "neg_root_mean_squared_error", 0.1),
    ("repeated", repeated, None, 0.03),
)


def adversaries(word: str = "") -> None:
    """Folds used, and how often the mean at the stop is within the tolerance."""
    for name, make, scoring, tolerance in ADVERSARIES:
        if word not in name:
            continue
        folds, apart, warned = [], [], 0
        for seed in range(RUNS):
            estimator, X, y, cv = make(seed)
            whole = cross_validate(estimator, X, y, cv=cv, scoring=scoring)["test_score"].mean()
            found = ecv.cross_validate(
                estimator,
                X,
                y,
                cv=cv,
                scoring=scoring,
                rule=ecv.Precision(tolerance),
                fold_order=seed,
            )
            folds.append(len(found.folds))
            off = abs(found["test_score"].mean() - whole)
            apart.append(off / abs(whole) if off else 0.0)
            warned += "look at it" in found.sentence
        within = np.mean(np.array(apart) <= tolerance + 1e-12)
        print(
            f"{name}, {tolerance:.1%}: {np.mean(folds):.1f} folds, within {within:.0%}, at most "
            f"{max(apart):.1%} off; a fold is doubted in {warned} of {RUNS}",
            flush=True,
        )


class Sleeps(ClassifierMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """Costs no processor time itself, so that what is left is the cross-validation's own."""

    def fit(self, X: NDArray[Any], y: NDArray[Any]) -> Sleeps:
        """Take a quarter of a second."""
        self.classes_ = np.unique(y)
        time.sleep(0.25)
        return self

    def predict(self, X: NDArray[Any]) -> NDArray[Any]:
        """By the sign of the first feature."""
        return (X[:, 0] > 0).astype(int)


def overhead() -> None:
    """Processor time of a fold beside scikit-learn's own `cross_validate`, median of three."""
    rng = np.random.default_rng(0)
    for rows in (1000, 5000, 50_000):
        X = rng.normal(size=(rows, 20))
        y = (X[:, 0] + rng.normal(size=rows) / 2 > 0).astype(int)
        ways: dict[str, Callable[[], Any]] = {
            "scikit-learn": lambda X=X, y=y: cross_validate(Sleeps(), X, y, cv=10),
            "ours, all folds": lambda X=X, y=y: ecv.cross_validate(Sleeps(), X, y, rule="never"),
            "ours, precision": lambda X=X, y=y: ecv.cross_validate(
                Sleeps(), X, y, rule=ecv.Precision(1e-9)
            ),
        }
        spent: dict[str, list[float]] = {way: [] for way in ways}
        for _ in range(4):  # the first of them loads modules
            for way, call in ways.items():
                began = time.process_time()
                call()
                spent[way].append(100 * (time.process_time() - began))
        medians = {way: float(np.median(values[1:])) for way, values in spent.items()}
        for way, middle in medians.items():
            more = middle - medians["scikit-learn"]
            print(f"{rows:,} rows, {way}: {middle:.1f} ms of a processor, {more:.1f} more")


def main(what: str, *more: str) -> None:
    """Measure, and print."""
    warnings.simplefilter("ignore")
    if what == "overhead":
        overhead()
    else:
        adversaries(*more)


if __name__ == "__main__":
    main(*sys.argv[1:])
