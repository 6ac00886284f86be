"""Ranks, arrows, tau and swaps: Meng et al.'s table 3, and small cases by hand."""

import numpy as np
import pytest

from ecv_core.analysis.rank_swaps.blocks import largest_block
from ecv_core.analysis.rank_swaps.frames import ranks_frame, swapped_frame, taus_frame
from ecv_core.analysis.rank_swaps.sentences import headline, winners
from ecv_core.analysis.rank_swaps.swaps import common_metrics, rank_block
from ecv_core.figures.split_ranks import arrow
from ecv_core.records.errors import InputError

# Table 3 of Meng et al. (2020), Ta-Feng, nDCG@10; our algorithms stand in for theirs.
SPLITS = ("leave-last-item", "temporal-user", "temporal-global")
TABLE = {
    "neu-mf": (0.0879, 0.0796, 0.1811),  # NMF
    "bpr-mf": (0.1347, 0.1987, 0.2575),  # BPR
    "multi-vae": (0.1580, 0.2309, 0.2858),  # VAECF
    "ease": (0.1738, 0.2504, 0.3313),  # NeuMF
    "item-knn": (0.1739, 0.2549, 0.3744),  # VBCAR
    "user-knn": (0.1852, 0.2726, 0.3794),  # NGCF
    "implicit-mf": (0.1978, 0.2555, 0.3569),  # Triple2Vec
}


def nobody(run):
    return {}


@pytest.fixture
def table_3(a_run):
    return [
        a_run(split, algorithm, {"ndcg@10": scores[number]}, **({"k": 1}))
        for number, split in enumerate(SPLITS)
        for algorithm, scores in TABLE.items()
    ]


def two_splits(a_run, first, second, metric="ndcg@10"):
    """Two runs per algorithm: its scores under random-holdout and leave-last-item."""
    return [
        a_run(split, algorithm, {metric: score})
        for split, scores in (("random-holdout", first), ("leave-last-item", second))
        for algorithm, score in scores.items()
    ]


def test_the_largest_block_is_found_wherever_it_is(a_run):
    """Three splits: the one with most algorithms shares none with the others, which share two."""
    known = {
        "temporal-user": ["popular", "bpr-mf", "ease", "nmf"],
        "random-holdout": ["item-knn", "user-knn", "multi-vae"],
        "leave-last-item": ["item-knn", "user-knn"],
    }
    runs = [
        a_run(split, name, {"ndcg@10": 0.1}, k=1)
        for split, names in known.items()
        for name in names
    ]
    block = largest_block(runs)
    assert {split.partition(",")[0] for split in block.splits} == {
        "random-holdout",
        "leave-last-item",
    }
    assert set(block.algorithms) == {"item-knn", "user-knn"}


def test_table_3_has_the_papers_arrows(table_3):
    found = rank_block(largest_block(table_3), "ndcg@10", nobody)
    ranks = ranks_frame(found, "leave-last-item")
    moved = {(row.split, row.algorithm): arrow(row.up) for row in ranks.itertuples() if row.up != 0}
    assert moved == {
        ("temporal-user", "user-knn"): "↑1",
        ("temporal-user", "implicit-mf"): "↓1",
        ("temporal-global", "item-knn"): "↑1",
        ("temporal-global", "user-knn"): "↑1",
        ("temporal-global", "implicit-mf"): "↓2",
    }
    assert ranks["split"].unique().tolist() == list(SPLITS)  # the reference first
    assert ranks["algorithm"].tolist()[:7] == list(reversed(TABLE))  # its best first


def test_tau_counts_the_pairs_of_table_3(table_3):
    taus = taus_frame(rank_block(largest_block(table_3), "ndcg@10", nobody))
    known = {(row.split, row.other): (row.tau, row.swaps) for row in taus.itertuples()}
    assert known == {
        ("leave-last-item", "temporal-user"): (pytest.approx(19 / 21), 1),
        ("leave-last-item", "temporal-global"): (pytest.approx(17 / 21), 2),
        ("temporal-user", "temporal-global"): (pytest.approx(19 / 21), 1),
    }
    assert taus["pairs"].unique().tolist() == [21]
    assert taus[["low", "high"]].isna().all(axis=None)  # nobody knows the users


def test_without_users_the_headline_does_not_judge(table_3):
    found = rank_block(largest_block(table_3), "ndcg@10", nobody)
    assert found.without_users == SPLITS
    assert headline(found, "leave-last-item") == (
        "Under 'temporal-user', user-knn beats implicit-mf; under 'leave-last-item' it is the "
        "other way round. Pairs of algorithms that swap between 'leave-last-item' and 2 others: "
        "2 of 21; without the users' scores, which of them are due to chance is not known."
    )


def test_a_clear_swap_holds_in_all_samples_and_a_narrow_one_does_not(a_run, users_like):
    runs = two_splits(
        a_run,
        {"popular": 0.1, "ease": 0.2, "item-knn": 0.3},
        {"popular": 0.3, "ease": 0.2, "item-knn": 0.1},
    )
    users = {run.run_id: users_like(run, seed=index) for index, run in enumerate(runs)}
    found = rank_block(largest_block(runs), "ndcg@10", lambda run: users[run.run_id])
    pairs = swapped_frame(found, "random-holdout")
    assert pairs["both_percent"].tolist() == [100.0] * 3
    (tau,) = taus_frame(found).itertuples()
    assert (tau.tau, tau.low, tau.high) == (-1, -1, -1)
    assert headline(found, "random-holdout").endswith(
        "Pairs of algorithms that swap between 'random-holdout' and the other split: 3 of 3, 3 of "
        "them in at least 95 % of the bootstrap samples."
    )

    narrow = two_splits(a_run, {"popular": 0.2, "ease": 0.2001}, {"popular": 0.2001, "ease": 0.2})
    users = {run.run_id: users_like(run, seed=index) for index, run in enumerate(narrow)}
    found = rank_block(largest_block(narrow), "ndcg@10", lambda run: users[run.run_id])
    (share,) = swapped_frame(found, "random-holdout")["both_percent"]
    assert 5 < share < 60  # two coins, each a little loaded
    assert headline(found, "random-holdout").endswith(
        "swap between 'random-holdout' and the other split: 1 of 1, none of them in at least 95 % "
        "of the bootstrap samples; it may be due to chance."
    )


def test_the_winners_are_named_with_their_splits(a_run, table_3):
    found = rank_block(largest_block(table_3), "ndcg@10", nobody)
    # Table 3: Triple2Vec, then NGCF twice.
    assert (
        winners(found) == "user-knn wins under 2 of 3 splits; implicit-mf under 'leave-last-item'."
    )
    low, high = {"popular": 0.1, "ease": 0.2}, {"popular": 0.1, "ease": 0.3}
    same = rank_block(largest_block(two_splits(a_run, low, high)), "ndcg@10", nobody)
    assert winners(same) == "ease wins under both splits."
    fewer = rank_block(largest_block(two_splits(a_run, low, high, "rmse")), "rmse", nobody)
    assert winners(fewer) == "popular wins under both splits."  # an error: the least is the best
    level = {"popular": 0.2, "ease": 0.2, "item-knn": 0.1}
    level_twice = rank_block(largest_block(two_splits(a_run, level, level)), "ndcg@10", nobody)
    assert winners(level_twice) == "ease and popular share the first rank under both splits."


def test_intervals_hold_the_scores(a_run, users_like):
    runs = two_splits(a_run, {"popular": 0.1, "ease": 0.2}, {"popular": 0.15, "ease": 0.3})
    found = rank_block(largest_block(runs), "ndcg@10", users_like)
    ranks = ranks_frame(found, "random-holdout")
    assert ((ranks["low"] < ranks["score"]) & (ranks["score"] < ranks["high"])).all()
    assert headline(found, "random-holdout") == (
        "No pair of algorithms swaps between 'random-holdout' and the other split."
    )


@pytest.mark.parametrize("metric", ["gini@10", "log-loss", "rmse"])
def test_where_lower_is_better_the_lowest_is_first(a_run, metric):
    runs = two_splits(
        a_run,
        {"popular": 0.9, "ease": 0.5, "item-knn": 0.7},
        {"popular": 0.5, "ease": 0.6, "item-knn": 0.7},
        metric,
    )
    found = rank_block(largest_block(runs), metric, nobody)
    ranks = ranks_frame(found, "random-holdout")
    assert ranks["algorithm"].tolist()[:3] == ["ease", "item-knn", "popular"]
    last = ranks[ranks["split"] == "leave-last-item"].set_index("algorithm")["up"]
    assert last.to_dict() == {"ease": -1, "item-knn": -1, "popular": 2}
    assert "popular beats" in headline(found, "random-holdout")


def test_equal_scores_have_no_order_to_lose(a_run):
    runs = two_splits(a_run, {"popular": 0.1, "ease": 0.1}, {"popular": 0.1, "ease": 0.2})
    found = rank_block(largest_block(runs), "ndcg@10", nobody)
    assert swapped_frame(found, "random-holdout").empty
    assert np.isnan(taus_frame(found)["tau"]).all()
    assert headline(found, "random-holdout").startswith("No pair of algorithms swaps")


def test_the_largest_block_without_a_gap_is_compared(a_run):
    scores = {"ndcg@10": 0.1}
    runs = [
        a_run(split, algorithm, scores)
        for split in ("temporal-global", "random-holdout", "user-k-fold")
        for algorithm in ("ease", "popular", "item-knn")
        if (split, algorithm) != ("temporal-global", "item-knn")
    ]
    # 3 splits x 2 algorithms are as many cells as 2 x 3: then more splits.
    block = largest_block(runs, ["popular", "item-knn", "ease"])
    assert block.splits == ("user-k-fold", "random-holdout", "temporal-global")
    assert block.algorithms == ("popular", "ease")
    assert block.left_out == ("item-knn",)
    more = [*runs, *(a_run(s, "bpr-mf", scores) for s in ("user-k-fold", "random-holdout"))]
    block = largest_block(more, ["popular", "item-knn", "ease"])
    assert block.algorithms == ("popular", "item-knn", "ease", "bpr-mf")
    assert block.left_out == ("temporal-global",)


def test_the_same_split_with_other_settings_is_another_one(a_run):
    scores = {"ndcg@10": 0.1}
    runs = [
        a_run("temporal-windows", algorithm, scores, k=k)
        for k in (5, 3)
        for algorithm in ("ease", "popular")
    ]
    runs += [
        a_run("random-holdout", algorithm, scores, split_params={"test": 0.5})
        for algorithm in ("ease", "popular")
    ]
    assert largest_block(runs).splits == (
        "random-holdout, test = 0.5",
        "temporal-windows",
        "temporal-windows, k = 3",
    )


def test_only_metrics_of_every_run_can_be_compared(a_run):
    runs = [
        a_run("random-holdout", "ease", {"recall@10": 0.1, "ndcg@10": 0.2, "gini@10": 0.5}),
        a_run("random-holdout", "popular", {"recall@10": 0.1, "ndcg@10": 0.2}),
        a_run("leave-one-out", "ease", {"recall@10": 0.1, "ndcg@10": 0.2, "gini@10": 0.5}),
        a_run("leave-one-out", "popular", {"recall@10": 0.1, "ndcg@10": 0.2, "gini@10": 0.5}),
    ]
    block = largest_block(runs)
    assert common_metrics(block) == ["ndcg@10", "recall@10"]
    with pytest.raises(InputError, match="not every run has gini@10; choose one of: ndcg@10"):
        rank_block(block, "gini@10", nobody)


def test_too_little_to_compare_is_one_sentence(a_run):
    scores = {"ndcg@10": 0.1}
    lonely = [a_run("random-holdout", "ease", scores), a_run("leave-one-out", "ease", scores)]
    with pytest.raises(InputError, match="at least two algorithms"):
        largest_block(lonely)
    other = a_run("leave-one-out", "popular", scores, dataset="ml-100k")
    with pytest.raises(InputError, match="2 different combinations"):
        largest_block([*lonely, other])


def test_an_unknown_reference_is_one_sentence(table_3):
    found = rank_block(largest_block(table_3), "ndcg@10", nobody)
    with pytest.raises(InputError, match="'leave-one-out' is not compared; choose one of: leave"):
        ranks_frame(found, "leave-one-out")
