"""A study's frames: every number is what the walk over orders says of that cell."""

from dataclasses import replace

import numpy as np
import pytest

from ecv_core.analysis.exploration import explore
from ecv_core.analysis.tradeoff.alphas import slider_alphas
from ecv_core.analysis.tradeoff.curves import tradeoff
from ecv_core.analysis.tradeoff.frames import (
    CELLS_COLUMNS,
    HEADLINE_COLUMNS,
    RANKS_COLUMNS,
    STABILITY_COLUMNS,
    cells_frame,
    headline_frame,
    ranks_frame,
    stability_frame,
)
from ecv_core.analysis.tradeoff.rankings import rankings
from ecv_core.records.run import Scores
from tests.fake_folds import fold_result


@pytest.fixture
def systems():
    rng = np.random.default_rng(1)
    return [
        Scores(
            name=f"{algorithm} on {dataset}",
            dataset=dataset,
            algorithm=algorithm,
            metric="nDCG@10",
            folds=rng.normal(0.3, 0.02, 6),
            joules=joules * rng.uniform(1, 2, 6),
        )
        for dataset, algorithm, joules in [("d", "a", 1.0), ("d", "b", 100.0), ("e", "a", 10.0)]
    ]


@pytest.fixture
def explored(systems):
    return tradeoff(systems, within_percent=2.0)


def test_a_cell_is_what_its_own_walk_says(systems, explored):
    alphas = slider_alphas(explored.alphas)
    frame = cells_frame(explored, alphas)
    assert list(frame.columns) == list(CELLS_COLUMNS)
    assert len(frame) == 3 * len(alphas)
    alpha = alphas[len(alphas) // 2]
    row = frame[(frame["alpha"] == alpha) & (frame["dataset"] == "d") & (frame["algorithm"] == "b")]
    at = explore(systems[1]).at(alpha)
    assert row["difference_percent"].item() == pytest.approx(at.mean_difference_percent)
    assert row["mean_stop"].item() == pytest.approx(at.mean_stop)
    assert row["energy_percent"].item() == pytest.approx(at.cost_percent)
    assert row["k_fold_mean"].item() == pytest.approx(np.mean(systems[1].folds))


def test_the_headline_averages_cells_and_the_bill_sums_joules(systems, explored):
    alpha = slider_alphas(explored.alphas)[10]
    frame = headline_frame(explored, [alpha])
    assert list(frame.columns) == list(HEADLINE_COLUMNS)
    outcomes = [explore(one).at(alpha) for one in systems]
    joules = [float(np.sum(one.costs)) for one in systems]
    row = frame.iloc[0]
    assert row["mean_stop"] == pytest.approx(np.mean([at.mean_stop for at in outcomes]))
    assert row["energy_percent"] == pytest.approx(np.mean([at.cost_percent for at in outcomes]))
    spent = sum(at.cost_percent * j for at, j in zip(outcomes, joules, strict=True))
    assert row["joules_percent"] == pytest.approx(spent / sum(joules))


def test_processor_time_is_summed_over_the_runs_of_which_a_fold_says_it(systems):
    folds = [fold_result(at, 0.3) for at in range(6)]
    for at, seconds in ((0, 2.0), (2, 4.0)):  # all of 6 folds: 12 s and 24 s
        first = replace(folds[0], processor_seconds=seconds)
        systems[at] = replace(systems[at], results=(first, *folds[1:]))
    explored = tradeoff(systems, within_percent=2.0)
    alpha = slider_alphas(explored.alphas)[10]
    row = headline_frame(explored, [alpha]).iloc[0]
    used = [explore(systems[at]).at(alpha).mean_stop / 6 for at in (0, 2)]
    assert row["processor_percent"] == pytest.approx(100 * (12 * used[0] + 24 * used[1]) / 36)
    assert row["processor_runs"] == 2


def test_ranks_and_what_stays_are_tidy(systems, explored):
    alphas = slider_alphas(explored.alphas)[:4]
    ranked = rankings(systems, alphas)
    ranks, stays = ranks_frame(ranked), stability_frame(ranked)
    assert list(ranks.columns) == list(RANKS_COLUMNS)
    assert list(stays.columns) == list(STABILITY_COLUMNS)
    assert set(ranks["dataset"]) == {"d"}  # e has one algorithm: nothing to rank
    assert ranks.groupby("alpha")["rank_e_fold"].sum().to_numpy() == pytest.approx(3)  # 1 + 2
    assert stays["same_order_percent"].between(0, 100).all()
    assert (stays["orders"] == 720).all()  # all orders of 6 folds
    assert (stays["orders"] == 720).all()


def test_nothing_to_rank_gives_empty_frames_with_their_columns(systems):
    assert list(ranks_frame([]).columns) == list(RANKS_COLUMNS)
    assert list(stability_frame([]).columns) == list(STABILITY_COLUMNS)
