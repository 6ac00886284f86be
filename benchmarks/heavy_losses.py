"""Are searches right where losses have no bound, and where candidates agree in the first folds?

    python -m benchmarks.heavy_losses            100 orders of the folds for each table
    python -m benchmarks.heavy_losses --orders 1000

Every candidate is fitted once in every fold. A search is then played on these scores in many
orders of the folds, certain and by an expected loss, as `EFoldSearchCV` plays it. It is wrong where
another candidate than its winner has the best mean of all folds, and what is lost is the distance
of the two means, as a share of the better one.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.datasets import load_breast_cancer, make_classification, make_regression
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import GroupKFold, KFold, ParameterGrid, StratifiedKFold
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from ecv_core.estimators.differences import SampleDifferences
from ecv_core.estimators.fold_scores import Scored, SplitSamples
from ecv_core.estimators.race import search_terms
from ecv_core.evaluation.scoring import Scoring
from ecv_core.selection.rounds import Selection

K = 10
"""Folds of every candidate."""
NUMBERS = ("r2", "neg_mean_squared_error", "neg_mean_absolute_error")
"""Scores without a bound."""
ASKED = 0.001
"""The expected loss that is asked for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """Samples, their targets and their groups."""

    name: str
    X: Any
    y: Any
    groups: Any = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Family:
    """An estimator and the values of its parameter, of which the best is searched."""

    name: str
    estimator: Any
    grid: dict[str, Sequence[Any]]


@dataclass(slots=True, kw_only=True)
class Tally:
    """What searches in many orders of the folds came to."""

    wrong: list[bool] = field(default_factory=list)
    losses: list[float] = field(default_factory=list)
    folds: list[float] = field(default_factory=list)
    after_one: list[bool] = field(default_factory=list)
    withheld: list[bool] = field(default_factory=list)

    def text(self) -> str:
        """Shares in percent: wrong, lost, folds, decided after one fold, withheld."""
        columns = (self.wrong, self.losses, self.folds, self.after_one, self.withheld)
        shares = [f"{100 * float(np.mean(column)):8.2f}" for column in columns]
        return " ".join(shares)


def classifiers() -> list[Family]:
    """Families that classify."""
    scaler = StandardScaler()
    return [
        Family(
            name="k-NN",
            estimator=make_pipeline(scaler, KNeighborsClassifier()),
            grid={"kneighborsclassifier__n_neighbors": [3, 5, 9, 15, 25, 41]},
        ),
        Family(
            name="logistic",
            estimator=make_pipeline(scaler, LogisticRegression(max_iter=300)),
            grid={"logisticregression__C": [0.01, 0.1, 1, 10, 100]},
        ),
        Family(
            name="naive Bayes",
            estimator=GaussianNB(),
            grid={"var_smoothing": [1e-11, 1e-9, 1e-7, 1e-5, 1e-3, 1e-1]},
        ),
        Family(
            name="SVC",
            estimator=make_pipeline(scaler, SVC()),
            grid={"svc__C": [0.1, 0.3, 1, 3, 10, 30, 100]},
        ),
        Family(
            name="tree",
            estimator=DecisionTreeClassifier(random_state=0),
            grid={"max_depth": [2, 3, 4, 5, 6, 8]},
        ),
    ]


def regressors() -> list[Family]:
    """Families that predict numbers."""
    return [
        Family(
            name="ridge",
            estimator=Ridge(),
            grid={"alpha": [0.01, 1, 10, 100, 1000]},
        ),
        Family(
            name="k-NN",
            estimator=KNeighborsRegressor(),
            grid={"n_neighbors": [1, 3, 5, 9, 15, 25]},
        ),
        Family(
            name="tree",
            estimator=DecisionTreeRegressor(random_state=0),
            grid={"max_depth": [2, 3, 4, 5, 6, 8]},
        ),
    ]


def tables_of_classes() -> list[Table]:
    """Breast cancer and made tables."""
    X, y = load_breast_cancer(return_X_y=True)
    tables = [Table(name="breast_cancer", X=X, y=y)]
    for seed, separation, noise in ((0, 1.0, 0.0), (1, 2.0, 0.02), (2, 1.5, 0.1)):
        X, y = make_classification(500, class_sep=separation, flip_y=noise, random_state=seed)
        tables.append(Table(name=f"made {seed}", X=X, y=y))
    X, y = make_classification(300, class_sep=2.0, flip_y=0.02, random_state=3)
    tables.append(Table(name="grouped", X=X, y=y, groups=np.repeat(np.arange(30), 10)))
    return tables


def tables_of_numbers() -> list[Table]:
    """Made tables: of calm noise, of noise with heavy tails, and with rare outliers."""
    tables = []
    rng = np.random.default_rng(0)
    X, y = make_regression(500, 10, noise=0.0, random_state=0)
    scale = y.std()
    tables.append(Table(name="calm", X=X, y=y + 0.5 * scale * rng.standard_normal(500)))
    tables.append(Table(name="t with 1.5", X=X, y=y + 0.3 * scale * rng.standard_t(1.5, 500)))
    outliers = (rng.random(500) < 0.01) * rng.standard_normal(500) * 20
    tables.append(Table(name="outliers", X=X, y=y + scale * outliers))
    far = X.copy()
    far[rng.random(500) < 0.01] *= 20
    tables.append(Table(name="far rows", X=far, y=y + 0.5 * scale * rng.standard_normal(500)))
    return tables


def folds_of(table: Table, family: Family, scoring: str, seed: int) -> list[dict[int, Scored]]:
    """Of each candidate, fold -> scores.

    Args:
        table: of samples.
        family: of candidates.
        scoring: name of the scorer.
        seed: of the partition.
    """
    splits: Any = KFold(K, shuffle=True, random_state=seed)
    if table.groups is not None:
        splits = GroupKFold(K, shuffle=True, random_state=seed)
    elif len(np.unique(table.y)) == 2:
        splits = StratifiedKFold(K, shuffle=True, random_state=seed)
    samples = SplitSamples(family.estimator, table.X, table.y, splits, table.groups)

    def scorer(estimator: BaseEstimator) -> Scoring:
        return Scoring(estimator, scoring)

    candidates = []
    for candidate in ParameterGrid(family.grid):
        estimator = clone(family.estimator).set_params(**candidate)
        tasks = [(estimator, fold) for fold in range(K)]
        results = samples.scored_folds(tasks, scorer, 1, error_score=np.nan)
        candidates.append(dict(enumerate(results)))
    return candidates


def play(
    candidates: Sequence[dict[int, Scored]], orders: int, *, certain: bool, bounded: bool
) -> Tally:
    """Search in many orders of the folds.

    Args:
        candidates: of each, fold -> scores.
        orders: how many.
        certain: whether to be certain, or else to go by the expected loss.
        bounded: whether the score has a bound, or it is known what one sample can do.
    """
    terms = replace(search_terms(K, 0.95, ASKED, certain), bounded=bounded)
    kinds = [()] * len(candidates)
    differences = SampleDifferences(candidates, kinds, held_out_once=True, certain=certain)
    scores = [[folds[fold].score for fold in range(K)] for folds in candidates]
    means = np.array(scores).mean(axis=1)
    best = float(means.max())
    tally = Tally()
    rng = np.random.default_rng(0)
    for _ in range(orders):
        order = rng.permutation(K).tolist()
        selection = Selection(differences, len(candidates), terms)
        ran = 0
        while not selection.decided:
            for contender, fold in list(selection.next_folds(order)):
                selection.add_fold(contender, fold)
                ran += 1
            selection.look()
        winner = selection.verdict().winner
        loss = (best - float(means[winner])) / abs(best)
        tally.wrong.append(loss > 1e-12)
        tally.losses.append(loss)
        tally.folds.append(ran / (K * len(candidates)))
        tally.after_one.append(ran == len(candidates))
        tally.withheld.append(not bounded)
    return tally


def report(tables: Sequence[Table], families: Sequence[Family], scoring: str, orders: int) -> None:
    """Print a row for each table, family and question."""
    for table in tables:
        for family in families:
            if scoring in ("neg_log_loss",) and family.name == "SVC":
                continue  # It has no probabilities.
            candidates = folds_of(table, family, scoring, 0)
            for certain in (True, False):
                bounded = scoring not in NUMBERS and (certain or scoring != "neg_log_loss")
                tally = play(candidates, orders, certain=certain, bounded=bounded)
                question = "certain" if certain else "loss 0.1 %"
                print(f"{scoring:18} {table.name:14} {family.name:12} {question:11}", tally.text())


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--orders", type=int, default=100)
    parser.add_argument("--metrics", nargs="*", default=None, help="names of scorers")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    classes = ("neg_log_loss", "accuracy", "f1", "precision", "balanced_accuracy", "roc_auc")
    print(f"{'':58} {'wrong':>8} {'lost':>8} {'folds':>8} {'one':>8} {'withheld':>8}  (percent)")
    for scoring in options.metrics or (*classes, *NUMBERS):
        if scoring in NUMBERS:
            report(tables_of_numbers(), regressors(), scoring, options.orders)
        else:
            report(tables_of_classes(), classifiers(), scoring, options.orders)


if __name__ == "__main__":
    main()
