"""What is recorded here -> our side of the papers' tables.

The names of tables, rows and columns are those of `data/papers.toml`.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping
from functools import cache
from typing import Any

import numpy as np
import pandas as pd

from ecv_core import dataset as datasets
from ecv_core import models
from ecv_core.analysis.tradeoff.curves import PAPER_ALGORITHMS, PAPER_STOP, explorable
from ecv_core.analysis.tradeoff.frames import headline_frame
from ecv_core.figures.study_summary import summary, systems_of
from ecv_core.models.bayesian import BAYESIAN, FEATURES
from ecv_core.papers.published import recorded
from ecv_core.papers.rating_figures import dimension_frame, dimension_of, factor_runs, steps_frame
from ecv_core.records.run import RunRecord
from ecv_core.selection.tuning.power import dominance, expected_curve
from ecv_core.store.configurations import TUNINGS, recorded_spaces, recorded_tuning
from ecv_core.store.recorded import FOLDER, recorded_runs

Frames = Mapping[str, pd.DataFrame]
"""Our tables of a paper, by the names that the file calls them."""

ALPHA = 1e-4
"""Of the paper's rule: its paper does not say which it took."""
MODELS_OF_MENG = 7
"""Models that Meng et al. rank; a place among fewer of them is none."""
DIMENSIONS = [16, 32, 64, 128]
STEPS = [16, 32, 64, 128, 256, 512]
"""Dimensions and steps at which Rendle et al. draw their curves."""


def implicit_counts() -> pd.DataFrame:
    """Users, items and interactions of each dataset after preparation; a row per dataset."""
    counts = {}
    for name, entry in datasets.catalogue().items():
        if entry.users and entry.items and entry.interactions:
            counts[name] = (entry.users, entry.items, entry.interactions)
    return _with_density(counts)


def rating_counts() -> pd.DataFrame:
    """Users, items and ratings of each dataset as they are given; a row per dataset."""
    counts = {}
    for name, entry in datasets.catalogue().items():
        if entry.rating_counts:
            counts[name] = entry.rating_counts
    return _with_density(counts)


def _with_density(counts: Mapping[str, tuple[int, int, int]]) -> pd.DataFrame:
    """The counts of each dataset as a table, with the share of cells that are filled."""
    frame = pd.DataFrame(counts, index=["users", "items", "interactions"], dtype=float).T
    frame["ratings"] = frame["interactions"]  # papers that predict ratings call interactions so
    frame["density %"] = 100 * frame["interactions"] / (frame["users"] * frame["items"])
    frame["sparsity %"] = 100 - frame["density %"]
    return frame


@cache
def e_fold_tables() -> Frames:
    """Of e-fold cross-validation: differences, stops and ranks of every algorithm and dataset."""
    runs = []
    for run in recorded_runs():
        if run.spec.algorithm in PAPER_ALGORITHMS and explorable(run):
            runs.append(run)
    # The file of papers names datasets and algorithms by their ids.
    study = summary(systems_of(runs, ids=True), ALPHA)
    explored = study.tradeoff
    (alpha,) = study.alphas  # the summary has a single alpha
    distances_to_paper = np.abs(explored.average.mean_stop - PAPER_STOP)
    nearest_alpha = explored.alphas[distances_to_paper.argmin()]
    averages = headline_frame(explored, [alpha, float(nearest_alpha)])
    averages.index = pd.Index(["alpha 1e-4", "alpha where the mean stop is nearest to the paper's"])
    differences = _by_algorithm(study.cells, "dataset", "difference_percent")
    stops = _by_algorithm(study.cells, "dataset", "mean_stop")
    e_fold_ranks = _by_algorithm(study.ranks, "dataset", "rank_e_fold")
    k_fold_ranks = _by_algorithm(study.ranks, "dataset", "rank_k_fold")
    statements = _e_fold_statements(differences, stops, e_fold_ranks, k_fold_ranks)
    return {
        "counts": implicit_counts(),
        "averages": averages,
        "differences": differences,
        "stops": stops,
        "e-fold ranks": e_fold_ranks,
        "10-fold ranks": k_fold_ranks,
        "said": pd.DataFrame({"text": statements}),
    }


def _by_algorithm(frame: pd.DataFrame, columns: str, value: str) -> pd.DataFrame:
    """A row per algorithm, and a column per value of `columns`."""
    return frame.pivot(index="algorithm", columns=columns, values=value)


def _e_fold_statements(
    differences: pd.DataFrame,
    stops: pd.DataFrame,
    e_fold_ranks: pd.DataFrame,
    k_fold_ranks: pd.DataFrame,
) -> dict[str, str]:
    """What the paper's text says of its figures, as our tables have it.

    Args:
        differences: From the k-fold mean, in percent; a row per algorithm, a column per dataset,
            as all tables here have it.
        stops: Mean folds used.
        e_fold_ranks: An algorithm's rank on a dataset, averaged over the orders of the folds.
        k_fold_ranks: Its rank by all folds.
    """
    # Tables have a row per algorithm and a column per dataset. Both orders begin with the least
    # mean difference.
    algorithms_in_order = differences.mean(axis="columns").sort_values().index
    datasets_in_order = differences.mean(axis="index").sort_values().index
    stop_of_dataset = stops.mean(axis="index")
    is_late = stop_of_dataset > stop_of_dataset.mean()
    # A mean over orders of the folds may be 2.3 and so is no rank. Ranking these means gives the
    # order in which they put the algorithms.
    same_rank = e_fold_ranks.rank() == k_fold_ranks
    same_order = same_rank.all(axis="index")
    return {
        "algorithm with the least difference": algorithms_in_order[0],
        "two algorithms with the largest": ", ".join(sorted(algorithms_in_order[-2:])),
        "two datasets with the least": ", ".join(sorted(datasets_in_order[:2])),
        "stop later than the average": ", ".join(stop_of_dataset.index[is_late]),
        "mean ranks in the order of 10 folds": (
            f"{same_order.sum()} of {len(same_order)} datasets"
        ),
    }


@cache
def split_tables() -> Frames:
    """Of data splitting strategies: scores and places under each split, counts of their parts."""
    counts = []
    frames = {}
    runs = recorded_runs(FOLDER / "sampled" / "splits")
    # Dataset -> split -> what is counted in its parts -> the count.
    counts_of_parts = json.loads((FOLDER / "parts.json").read_text("utf-8"))
    for dataset in ("ta-feng", "dunnhumby"):
        frame = pd.DataFrame.from_dict(counts_of_parts[dataset], orient="index")
        counts.append(frame.add_prefix(f"{dataset}, ", axis=0))
        runs_of_dataset = [run for run in runs if run.spec.dataset == dataset]
        for metric in ("ndcg@10", "recall@10"):
            scores = _scores_by_split(runs_of_dataset, metric)
            frames[f"{dataset}, {metric}"] = scores
            frames[f"{dataset}, {metric}, places"] = _places_gained(scores)
    frames["counts"] = pd.concat(counts)
    frames["taus"] = _split_agreements()
    return frames


def _scores_by_split(runs: list[RunRecord], metric: str) -> pd.DataFrame:
    """A row per algorithm, and a column per split."""
    scores = {}
    for run in runs:
        scores[run.spec.algorithm, run.spec.split] = run.folds[0].metrics[metric]
    return pd.Series(scores).unstack()


def _places_gained(scores: pd.DataFrame) -> pd.DataFrame:
    """By how many places a model is further up than under leave-last-item; empty for too few."""
    ranks = scores.dropna().rank(ascending=False)
    if len(ranks) < MODELS_OF_MENG:
        # The ranks are no places of the paper where models of it are missing, so none are given.
        ranks = ranks[:0]
    # The rank under leave-last-item minus that under each split: the reversed difference (`rsub`).
    return ranks.rsub(ranks["leave-last-item"], axis=0)


def _split_agreements() -> pd.DataFrame:
    """Kendall's tau of the orders under two splits; a row per dataset, a column per pair."""
    taus = {}
    for dataset, space in recorded_spaces().items():
        for agreement in space["agreements"]:
            taus[dataset, ", ".join(agreement["splits"])] = agreement["tau"]
    return pd.Series(taus).unstack()


@cache
def baseline_tables() -> Frames:
    """Of the difficulty of evaluating baselines: RMSE by dimensions and steps, and orders."""
    names = ["sgd-mf", *(algorithm.id for algorithm in BAYESIAN)]
    runs = factor_runs("ml-100k")
    largest_runs = [run for run in runs if dimension_of(run) == max(DIMENSIONS)]
    by_dimension = _by_algorithm(dimension_frame(runs, names), "dimension", "rmse")
    by_step = _by_algorithm(steps_frame(largest_runs), "step", "rmse")
    orders = {dataset: _order_by_rmse(dataset, names) for dataset in ("ml-100k", "ml-1m")}
    return {
        "dimensions": by_dimension.rename(columns=str),
        "steps": by_step.rename(columns=str),
        "features": pd.DataFrame({"features": _features()}),
        "order": pd.DataFrame({"order": orders}),
        "learnt": _best_settings(by_dimension, by_step),
        "better": _better_of_gibbs_and_sgd(by_dimension),
    }


def _best_settings(by_dimension: pd.DataFrame, by_step: pd.DataFrame) -> pd.DataFrame:
    """The dimension and the number of steps with the least RMSE; a row per algorithm."""
    best = {
        "best dimension": by_dimension[DIMENSIONS].dropna().idxmin(axis=1).astype(str),
        "best steps": by_step[STEPS].dropna().idxmin(axis=1).astype(str),
    }
    return pd.DataFrame(best)


def _better_of_gibbs_and_sgd(by_dimension: pd.DataFrame) -> pd.DataFrame:
    """Which of the two ways to learn has the lower RMSE; one row, a column per dimension."""
    both = by_dimension.loc[["bayesian-mf", "sgd-mf"]].dropna(axis=1)
    better_by_dimension = both.idxmin().rename(str)  # dimensions are texts in the file of papers
    return better_by_dimension.to_frame("better").T


def _features() -> dict[str, str]:
    """The features of each Bayesian model, in the paper's letters: 'u,i,t'."""
    letters = {"time": "t", "items_of_user": "iu", "users_of_item": "ii"}
    features = {}
    for algorithm in BAYESIAN:
        further_letters = [letters[feature] for feature in FEATURES[algorithm.id]]
        features[algorithm.id] = ",".join(["u", "i", *further_letters])
    return features


def _order_by_rmse(dataset: str, names: list[str]) -> str:
    """Algorithms from the worst to the best mean RMSE of the folds that all of them have."""
    scores = {}
    for run in recorded(dataset):
        # Runs with a single fold were recorded for the curves over dimensions, and are left out
        # here.
        if len(run.folds) > 1:
            scores[run.spec.algorithm] = {fold.fold: fold.score for fold in run.folds}
    means_of_common_folds = pd.DataFrame(scores)[names].dropna().mean()
    worst_first = means_of_common_folds.sort_values(ascending=False).index
    return ", ".join(worst_first)


@cache
def power_tables() -> Frames:
    """Of the discriminative power of hyper-parameters: power of each metric in each tuning."""
    # Tuning -> metric -> p values of all pairs of its settings, by fold.
    p_values: dict[str, dict[str, Any]] = defaultdict(dict)
    for key, values in np.load(FOLDER / "nested-power.npz").items():
        tuning, _, metric = key.rpartition("--")  # a key is 'ml-1m--bpr-mf--ndcg@10'
        p_values[tuning][metric] = values
    power_rows = {}
    for tuning, p_values_of_metric in p_values.items():
        power_rows[tuning.replace("--", ", ")] = _power_row(p_values_of_metric)
    return {
        "counts": rating_counts(),
        "power": pd.DataFrame(power_rows).T,
        "with one set": _power_where_one_parameter_is_fixed(),
        "grid": _paper_grid(),
    }


def _power_row(p_values: Mapping[str, Any]) -> dict[str, Any]:
    """The power of each metric in one tuning, and which metric has the most and the least."""
    curves = {metric: expected_curve(values) for metric, values in p_values.items()}
    # DP is a sum of p values: the lower it is, the more pairs of settings the metric tells apart.
    dp_of_metric = {metric: curve.dp for metric, curve in curves.items()}
    # The paper's tables leave out the two metrics of novelty.
    ranked = sorted(set(dp_of_metric) - {"efd@10", "epc@10"}, key=dp_of_metric.__getitem__)
    best = ranked[0]
    worst = ranked[-1]
    return dp_of_metric | {
        "best": best,
        "worst": worst,
        "best, DP": dp_of_metric[best],
        "worst, DP": dp_of_metric[worst],
        "best, DP + sd": curves[best].dp_plus_sd,
    }


def _power_where_one_parameter_is_fixed() -> pd.DataFrame:
    """Discriminative power (DP) of nDCG@10 among settings of bpr-mf with one parameter in common.

    Empty where that tuning is not on this machine.
    """
    if not TUNINGS.exists():
        return pd.DataFrame()
    tuning = recorded_tuning("ml-1m--bpr-mf")
    # Parameter -> its value -> discriminative power among the settings that share this value.
    power_at_fixed_values = dominance(tuning.p_values["ndcg@10"], tuning.configurations)
    return pd.DataFrame(power_at_fixed_values).T.add_prefix("ml-1m, ", axis=0)


def _paper_grid() -> pd.DataFrame:
    """The values that the paper tries of each parameter; a row per value, counted from one."""
    columns = {}
    for algorithm in ("bpr-mf", "item-knn"):
        for name, values in models.algorithm(algorithm).spaces["paper"].items():
            columns[name] = pd.Series(values)
    grid = pd.DataFrame(columns)
    return grid.set_axis([str(place + 1) for place in grid.index])


OUR_TABLES = {
    "e-fold-cross-validation": e_fold_tables,
    "data-splitting-strategies": split_tables,
    "difficulty-of-evaluating-baselines": baseline_tables,
    "discriminative-power-of-hyperparameters": power_tables,
}
"""What computes our tables of a paper."""
