"""The 30 tables on which `benchmarks.searches` compares searches, six of each of five scores.

Seven are scikit-learn's own, of which a third is held out as new data. The others are made by
scikit-learn's generators, so that new data are 4,000 further draws.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn import datasets
from sklearn.base import BaseEstimator
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.linear_model import ElasticNet, LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

Samples = NDArray[Any]
Grid = dict[str, list[Any]]
Model = tuple[BaseEstimator, Grid]
NEW_ROWS = 4_000
"""Of a made table."""


@dataclass(frozen=True)
class Table:
    """What is searched."""

    name: str
    scoring: str
    estimator: BaseEstimator
    grid: Grid
    X: Samples
    y: Samples
    new_X: Samples
    new_y: Samples


def _scaled(model: BaseEstimator) -> Pipeline:
    return Pipeline([("scale", StandardScaler()), ("model", model)])


_SVM_GRID: Grid = {"model__C": [0.1, 1, 10, 100], "model__gamma": [0.003, 0.03, 0.3]}
SVM: Model = (_scaled(SVC(random_state=0)), _SVM_GRID)
LOGISTIC: Model = (
    _scaled(LogisticRegression(max_iter=300)),
    {
        "model__C": [0.001, 0.01, 0.1, 1, 10, 100],
        "model__class_weight": [None, "balanced"],
    },
)
_NEIGHBOURS_GRID: Grid = {
    "model__n_neighbors": [1, 3, 7, 15, 31, 61],
    "model__weights": ["uniform", "distance"],
}
_TREE_GRID: Grid = {"max_depth": [2, 4, 8, 16], "min_samples_leaf": [1, 5, 20]}
_FOREST_GRID: Grid = {"max_features": [1, 3, 0.5, None], "min_samples_leaf": [1, 5, 20]}
NEIGHBOURS: Model = (_scaled(KNeighborsClassifier()), _NEIGHBOURS_GRID)
TREE: Model = (DecisionTreeClassifier(random_state=0), _TREE_GRID)
FOREST: Model = (RandomForestClassifier(10, random_state=0), _FOREST_GRID)
BAYES: Model = GaussianNB(), {"var_smoothing": np.logspace(-9, 1, 12).tolist()}
NET: Model = (
    _scaled(ElasticNet()),
    {
        "model__alpha": [0.003, 0.03, 0.3, 3],
        "model__l1_ratio": [0.1, 0.5, 0.9],
    },
)
NUMBER_SVM: Model = (_scaled(SVR()), _SVM_GRID)
NUMBER_NEIGHBOURS: Model = (_scaled(KNeighborsRegressor()), _NEIGHBOURS_GRID)
NUMBER_TREE: Model = (DecisionTreeRegressor(random_state=0), _TREE_GRID)
NUMBER_FOREST: Model = (RandomForestRegressor(10, random_state=0), _FOREST_GRID)
Generator = Callable[..., tuple[Samples, Samples]]


def _held_out(name: str, scoring: str, model: Model, X: Samples, y: Samples) -> Table:
    """A table of scikit-learn's, a third of it as new data."""
    strata = None
    if scoring != "r2":
        strata = y
    X, new_X, y, new_y = train_test_split(X, y, test_size=1 / 3, random_state=0, stratify=strata)
    estimator, grid = model
    return Table(name, scoring, estimator, grid, X, y, new_X, new_y)


def _made(
    name: str, scoring: str, model: Model, rows: int, generator: Generator, **options: object
) -> Table:
    """A table of so many rows, and further draws as new data."""
    X, y = generator(n_samples=rows + NEW_ROWS, random_state=0, **options)
    estimator, grid = model
    return Table(name, scoring, estimator, grid, X[:rows], y[:rows], X[rows:], y[rows:])


def _classes(name: str, scoring: str, model: Model, rows: int, **options: object) -> Table:
    """A table of `make_classification`, with a tenth of the labels wrong."""
    usual: dict[str, object] = {"n_features": 12, "n_informative": 6, "flip_y": 0.1}
    every_option = usual | options
    return _made(name, scoring, model, rows, datasets.make_classification, **every_option)


def _accuracy() -> Iterator[Table]:
    yield _held_out("digits", "accuracy", NEIGHBOURS, *datasets.load_digits(return_X_y=True))
    yield _made("moons", "accuracy", SVM, 600, datasets.make_moons, noise=0.3)
    yield _made("hastie", "accuracy", FOREST, 600, datasets.make_hastie_10_2)
    yield _classes("four classes", "accuracy", SVM, 500, n_classes=4)
    yield _made("quantiles", "accuracy", TREE, 1000, datasets.make_gaussian_quantiles, n_features=4)
    yield _classes("wide", "accuracy", LOGISTIC, 400, n_features=60)


def _f1() -> Iterator[Table]:
    yield _held_out("iris", "f1_macro", SVM, *datasets.load_iris(return_X_y=True))
    pixels, digits = datasets.load_digits(return_X_y=True)
    yield _held_out("digits: an 8", "f1", TREE, pixels, (digits == 8).astype(int))
    yield _classes("one in ten", "f1", LOGISTIC, 1500, weights=[0.9])
    yield _made("circles", "f1", NEIGHBOURS, 500, datasets.make_circles, noise=0.2, factor=0.6)
    yield _classes("one in four", "f1", FOREST, 600, weights=[0.75])
    yield _classes("three classes", "f1_macro", NEIGHBOURS, 700, n_classes=3)


def _auc() -> Iterator[Table]:
    cancer = datasets.load_breast_cancer(return_X_y=True)
    yield _held_out("breast cancer", "roc_auc", LOGISTIC, *cancer)
    yield _classes("many labels wrong", "roc_auc", SVM, 500, flip_y=0.3)
    yield _made("far moons", "roc_auc", TREE, 1000, datasets.make_moons, noise=0.4)
    yield _classes("two clusters", "roc_auc", NEIGHBOURS, 600, n_clusters_per_class=3)
    yield _classes("one in five", "roc_auc", FOREST, 700, weights=[0.8])
    yield _classes("redundant", "roc_auc", BAYES, 500, n_redundant=4, class_sep=0.5)


def _log_loss() -> Iterator[Table]:
    yield _held_out("wine", "neg_log_loss", LOGISTIC, *datasets.load_wine(return_X_y=True))
    pixels, digits = datasets.load_digits(return_X_y=True)
    yield _held_out("digits: odd", "neg_log_loss", BAYES, pixels, digits % 2)
    yield _classes("clean", "neg_log_loss", FOREST, 600, flip_y=0)
    yield _made(
        "five blobs", "neg_log_loss", BAYES, 600, datasets.make_blobs, centers=5, cluster_std=3.0
    )
    yield _classes("noisy", "neg_log_loss", LOGISTIC, 600, flip_y=0.2)
    yield _made("near circles", "neg_log_loss", TREE, 1000, datasets.make_circles, noise=0.3)


def _r2() -> Iterator[Table]:
    yield _held_out("diabetes", "r2", NET, *datasets.load_diabetes(return_X_y=True))
    yield _made("friedman 1", "r2", NUMBER_SVM, 500, datasets.make_friedman1, noise=1.0)
    yield _made("friedman 2", "r2", NUMBER_FOREST, 600, datasets.make_friedman2, noise=125.0)
    yield _made("friedman 3", "r2", NUMBER_TREE, 1000, datasets.make_friedman3, noise=0.1)
    yield _made("sparse", "r2", NET, 400, datasets.make_sparse_uncorrelated, n_features=30)
    yield _made("swiss roll", "r2", NUMBER_NEIGHBOURS, 800, datasets.make_swiss_roll, noise=1.0)


def tables(count: int) -> Iterator[Table]:
    """The first of the 30, each score in turn."""
    by_score = zip(_accuracy(), _f1(), _auc(), _log_loss(), _r2(), strict=True)
    return itertools.islice(itertools.chain.from_iterable(by_score), count)
