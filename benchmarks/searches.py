"""`EFoldSearchCV` beside `GridSearchCV`, `HalvingGridSearchCV` and Optuna's `WilcoxonPruner`.

    python -m benchmarks.searches                 30 tables, about ten minutes on two cores
    python -m benchmarks.searches --tables 5      the first five: one of each score
    python -m benchmarks.searches --draw          the picture of docs/estimators.md, too

All search the same twelve candidates over the same folds, with two jobs and the defaults of their
makers, and fit their winner on all rows. What is measured goes into a file of JSON table by table,
and a table that is there is not measured again. Optuna's candidates are the grid's, in its order,
and the objective is that of the pruner's documentation: the mean of the folds so far, where a trial
is pruned. Folds of halving are counted by their rows: a fold of a third of the rows is a third of
one. The loss is the score on new data of the best candidate there, less that of the winner.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import optuna
import psutil
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.experimental import enable_halving_search_cv  # noqa: F401  # allows the next import
from sklearn.metrics import get_scorer
from sklearn.model_selection import (
    BaseCrossValidator,
    GridSearchCV,
    HalvingGridSearchCV,
    KFold,
    ParameterGrid,
    StratifiedKFold,
)

import ecv_core as ecv
from benchmarks.search_tables import Table, tables
from benchmarks.tables import percent, print_head, print_row

JOBS = 2
K = 10
PICTURE = Path(__file__).parents[1] / "docs" / "images" / "searches.svg"
Outcome = tuple[dict[str, Any], float]
"""The winner's parameters, and the folds that were run."""


def splitter(table: Table) -> BaseCrossValidator:
    """The folds that all searches share."""
    if table.scoring == "r2":
        return KFold(K, shuffle=True, random_state=0)
    return StratifiedKFold(K, shuffle=True, random_state=0)


def settings(table: Table) -> dict[str, Any]:
    """What the searches of scikit-learn and ours are told alike."""
    return {"scoring": table.scoring, "cv": splitter(table), "n_jobs": JOBS}


def by_e_folds(table: Table) -> Outcome:
    """Ours, by its default: an expected loss of 0.1 %."""
    search = ecv.EFoldSearchCV(table.estimator, table.grid, **settings(table))
    search.fit(table.X, table.y)
    return dict(search.best_params_), float(search.n_folds_used_.sum())


def by_grid(table: Table) -> Outcome:
    """All folds of all candidates."""
    search = GridSearchCV(table.estimator, table.grid, **settings(table))
    search.fit(table.X, table.y)
    return search.best_params_, float(K * len(ParameterGrid(table.grid)))


def by_halving(table: Table) -> Outcome:
    """A third of the candidates goes on with three times the rows."""
    search = HalvingGridSearchCV(table.estimator, table.grid, **settings(table), random_state=0)
    search.fit(table.X, table.y)
    rows = np.dot(search.n_resources_, search.n_candidates_)
    return search.best_params_, float(K * rows / len(table.y))


def by_optuna(table: Table) -> Outcome:
    """A trial ends once its folds are worse than those of the best by Wilcoxon's test."""
    folds = list(splitter(table).split(table.X, table.y))
    scorer = get_scorer(table.scoring)

    def objective(trial: optuna.Trial) -> float:
        parameters: dict[str, Any] = {}
        for name, values in table.grid.items():
            parameters[name] = trial.suggest_categorical(name, values)
        scores = []
        for fold, (train, test) in enumerate(folds):
            model = clone(table.estimator).set_params(**parameters)
            model.fit(table.X[train], table.y[train])
            score = float(scorer(model, table.X[test], table.y[test]))
            trial.report(score, fold)
            scores.append(score)
            if trial.should_prune():
                break
        return float(np.mean(scores))

    study = optuna.create_study(
        direction="maximize",
        pruner=optuna.pruners.WilcoxonPruner(),
        sampler=optuna.samplers.RandomSampler(seed=0),
    )
    candidates = list(ParameterGrid(table.grid))
    for candidate in candidates:
        study.enqueue_trial(candidate)
    study.optimize(objective, n_trials=len(candidates), n_jobs=JOBS)
    clone(table.estimator).set_params(**study.best_params).fit(table.X, table.y)
    folds_run = 0
    for trial in study.trials:
        folds_run += len(trial.intermediate_values)
    return study.best_params, float(folds_run)


SEARCHES: dict[str, Callable[[Table], Outcome]] = {
    "EFoldSearchCV": by_e_folds,
    "GridSearchCV": by_grid,
    "HalvingGridSearchCV": by_halving,
    "Optuna, WilcoxonPruner": by_optuna,
}


def scores_of_new_data(table: Table) -> list[float]:
    """Of each candidate, fitted on all rows of the table."""
    scorer = get_scorer(table.scoring)
    scores = []
    for parameters in ParameterGrid(table.grid):
        model = clone(table.estimator).set_params(**parameters)
        model.fit(table.X, table.y)
        scores.append(float(scorer(model, table.new_X, table.new_y)))
    return scores


def processor_seconds() -> float:
    """Of this process and those that joblib has started, so far."""
    process = psutil.Process()
    total = 0.0
    for member in [process, *process.children(recursive=True)]:
        times = member.cpu_times()
        total += times.user + times.system
    return total


def measured(table: Table, place: int) -> dict[str, Any]:
    """What each search took on a table and what its winner loses; they take turns to begin."""
    candidates = list(ParameterGrid(table.grid))
    new_scores = scores_of_new_data(table)
    row: dict[str, Any] = {"table": table.name, "scoring": table.scoring, "rows": len(table.y)}
    names = list(SEARCHES)
    first = place % len(names)
    for name in names[first:] + names[:first]:
        began = time.perf_counter()
        processor_before = processor_seconds()
        winner, folds = SEARCHES[name](table)
        processor = processor_seconds() - processor_before
        seconds = time.perf_counter() - began
        loss = max(new_scores) - new_scores[candidates.index(winner)]
        row[name] = {
            "folds": folds,
            "seconds": seconds,
            "processor": processor,
            "loss": loss,
        }
    return row


def measure(count: int, file: Path) -> list[dict[str, Any]]:
    """The rows of all tables; those that are not in the file are measured and added to it."""
    rows: list[dict[str, Any]] = []
    if file.exists():
        rows = json.loads(file.read_text("utf-8"))
    measured_tables = {row["table"] for row in rows}
    warmed = False
    for place, table in enumerate(tables(count)):
        if table.name in measured_tables:
            continue
        if not warmed:
            by_grid(table)  # starts the two processes, which all find running
            warmed = True
        rows.append(measured(table, place))
        file.write_text(json.dumps(rows, indent=1), "utf-8")
        print(table.name, flush=True)
    return rows


def values(rows: list[dict[str, Any]], search: str, what: str) -> NDArray[np.float64]:
    """One number of a search for each table, shape (tables,)."""
    return np.array([row[search][what] for row in rows])


def share_of_folds(rows: list[dict[str, Any]], search: str) -> NDArray[np.float64]:
    """Folds of a search as a share of those of `GridSearchCV`, shape (tables,)."""
    return values(rows, search, "folds") / values(rows, "GridSearchCV", "folds")


def print_summary(rows: list[dict[str, Any]]) -> None:
    """A row for each search over these tables: means, and the standard errors of the losses."""
    columns = ["search", "folds", "most", "seconds", "of a processor", "loss on new data"]
    print_head([*columns, "more than GridSearchCV", "better, equal, worse"])
    grid_losses = values(rows, "GridSearchCV", "loss")
    grid_seconds = values(rows, "GridSearchCV", "seconds").sum()
    for search in SEARCHES:
        shares = share_of_folds(rows, search)
        seconds = values(rows, search, "seconds").sum()
        processor = values(rows, search, "processor").sum()
        losses = values(rows, search, "loss")
        more = losses - grid_losses
        better = int((more < 0).sum())
        equal = int((more == 0).sum())
        worse = len(rows) - better - equal
        print_row(
            [
                search,
                percent(shares.mean(), 0),
                percent(shares.max(), 0),
                f"{seconds:.0f} ({percent(seconds / grid_seconds, 0)})",
                f"{processor:.0f}",
                mean_and_error(losses),
                mean_and_error(more),
                f"{better}, {equal}, {worse}",
            ]
        )


def mean_and_error(losses: NDArray[np.float64]) -> str:
    """A mean over tables with its standard error, in hundredths of the score."""
    error = losses.std(ddof=1) / np.sqrt(len(losses))
    return f"{100 * losses.mean():.2f} ± {100 * error:.2f}"


def draw(rows: list[dict[str, Any]], picture: Path) -> None:
    """A panel for each search beside `GridSearchCV`, a point for each table."""
    import matplotlib.pyplot as plt

    others = [search for search in SEARCHES if search != "GridSearchCV"]
    plt.rcParams |= {"svg.hashsalt": "searches", "svg.fonttype": "none", "font.size": 9}
    figure, panels = plt.subplots(1, len(others), figsize=(3 * len(others), 3), sharey=True)
    grid_losses = values(rows, "GridSearchCV", "loss")
    for panel, search in zip(panels, others, strict=True):
        shares = 100 * share_of_folds(rows, search)
        more = 100 * (values(rows, search, "loss") - grid_losses)
        panel.axhline(0, color="0.8", linewidth=1)
        panel.scatter(shares, more, s=14, alpha=0.6, linewidth=0)
        error = more.std(ddof=1) / np.sqrt(len(more))
        panel.errorbar(shares.mean(), more.mean(), error, fmt="kD", markersize=5, label="mean")
        panel.set(title=search, xlabel="folds, % of GridSearchCV", xlim=(0, 105))
        panel.set_yscale("symlog", linthresh=1)
        panel.spines[["top", "right"]].set_visible(False)
    panels[0].set_ylabel("more lost on new data,\nhundredths of the score")
    panels[-1].legend(frameon=False)
    figure.savefig(picture, bbox_inches="tight", metadata={"Date": None})


def main() -> None:
    """What the options ask for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tables", type=int, default=30, help="the first so many")
    parser.add_argument("--file", type=Path, default=Path("searches.json"))
    parser.add_argument("--draw", action="store_true", help=f"also write {PICTURE.name}")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    rows = measure(options.tables, options.file)
    print_summary(rows)
    if options.draw:
        draw(rows, PICTURE)


if __name__ == "__main__":
    main()
