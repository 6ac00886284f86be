"""Our metrics beside those that other libraries compute from the same small random inputs.

The files say which versions computed them, and how. Where a peer defines a metric otherwise, the
difference that docs/metrics.md states is worked out here, and has to give the peer's figure.
"""

import json
from dataclasses import dataclass
from functools import cache
from math import log2
from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import csr_array

from ecv_core.evaluation import evaluate, evaluate_lists, evaluate_ratings
from ecv_core.evaluation.formulas import log_loss
from ecv_core.evaluation.pairs import ScoredPairs, pooled_auc

HERE = Path(__file__).parent
LISTS = json.loads((HERE / "peer_lists.json").read_text("utf-8"))
ERRORS = json.loads((HERE / "peer_errors.json").read_text("utf-8"))
CUTOFFS = LISTS["cutoffs"]
ITEMS = 12
DIGITS = {"rel": 1e-8, "abs": 1e-8}
"""Figures are kept with ten digits."""
FLOAT32 = {"rel": 1e-6}
"""LensKit's errors of ratings are computed with these."""


@dataclass(frozen=True)
class UserList:
    """What a user is recommended, best first, of which some is held out."""

    hits: list[bool]
    held_out: int

    def real_length(self, n):
        return min(n, len(self.hits))

    def precision_at(self, rank):
        return sum(self.hits[:rank]) / rank

    def precision_at_hits(self, n):
        ranks = range(1, self.real_length(n) + 1)
        return sum(self.precision_at(rank) for rank in ranks if self.hits[rank - 1])


def matrix(rows):
    dense = np.zeros((len(rows), ITEMS), dtype=np.float32)
    for row, items in enumerate(rows):
        dense[row, items] = 1
    return csr_array(dense)


def recommended(at):
    """What each user of a problem is recommended, sorted here and not by us."""
    problem = LISTS["problems"][at]
    lists = []
    for user, scores in enumerate(problem["scores"]):
        candidates = [item for item in range(ITEMS) if item not in problem["train"][user]]
        candidates.sort(key=lambda item: -scores[item])
        if "list_lengths" in problem:
            candidates = candidates[: problem["list_lengths"][user]]
        lists.append(candidates)
    return lists


@cache
def user_lists(at):
    """The lists of a problem's users, and what is held out of them."""
    held_out = LISTS["problems"][at]["held_out"]
    return [
        UserList([item in relevant for item in items], len(relevant))
        for items, relevant in zip(recommended(at), held_out, strict=True)
    ]


@pytest.fixture(scope="module")
def evaluated(given_scores):
    """Problem -> our evaluation of it."""

    @cache
    def evaluation(at):
        problem = LISTS["problems"][at]
        train = matrix(problem["train"])
        held_out = matrix(problem["held_out"])
        if "list_lengths" in problem:
            lists = np.full((len(problem["scores"]), max(CUTOFFS)), -1)
            for user, items in enumerate(recommended(at)):
                lists[user, : len(items)] = items[: max(CUTOFFS)]
            return evaluate_lists(lists, train, held_out, CUTOFFS, train=train)
        scores = given_scores(problem["scores"])
        return evaluate(scores, train, held_out, CUTOFFS, extra_metrics=("auc", "grouped-auc"))

    return evaluation


def lenskit_ndcg(own, user, n):
    """Ranks 1 and 2 have the same weight."""
    weights = [1 / max(log2(rank), 1) for rank in range(1, n + 1)]
    gained = sum(weight for weight, hit in zip(weights, user.hits, strict=False) if hit)
    return gained / sum(weights[: user.held_out])


def of_reachable(own, user, n):
    """Recall over min(n, |H|)."""
    return own * user.held_out / min(n, user.held_out)


def of_real_length(own, user, n):
    """Precision over the list's real length; no number for an empty list."""
    return own * n / user.real_length(n)


def lenskit_map(own, user, n):
    """Divided by min(the list's real length, |H|)."""
    return user.precision_at_hits(n) / min(user.real_length(n), user.held_out)


def map_of_held_out(own, user, n):
    """Divided by |H|."""
    return user.precision_at_hits(n) / user.held_out


def elliot_map(own, user, n):
    """The mean precision at every rank, hit or not."""
    return sum(user.precision_at(rank) for rank in range(1, n + 1)) / n


def elliot_novelty(own, user, n):
    """The discounts are divided by their sum over the list's real length."""

    def discounts(length):
        return sum(1 / log2(rank + 1) for rank in range(1, length + 1))

    if own == 0:
        return 0
    return own * discounts(n) / discounts(user.real_length(n))


OTHERWISE = {
    ("LensKit", "ndcg"): lenskit_ndcg,
    ("LensKit", "recall"): of_reachable,
    ("LensKit", "precision"): of_real_length,
    ("LensKit", "map"): lenskit_map,
    ("RecPack", "recall of min(n, held out)"): of_reachable,
    ("pytrec_eval", "map"): map_of_held_out,
    ("ranx", "map"): map_of_held_out,
    ("recommenders", "map by held out"): map_of_held_out,
    ("Elliot", "map"): elliot_map,
    ("Elliot", "epc"): elliot_novelty,
    ("Elliot", "efd"): elliot_novelty,
}
"""Peers' own definitions; every other figure is ours."""
PER_USER = [(peer, metric) for peer, metrics in LISTS["per_user"].items() for metric in metrics]


def both(peer, metric, evaluated):
    """Problem, user, cut-off, our value, and the peer's where it has one."""
    for at, figures in enumerate(LISTS["per_user"][peer][metric]):
        evaluation = evaluated(at)
        for row, user in enumerate(evaluation.users.tolist()):
            for n, figure in zip(CUTOFFS, figures[user], strict=True):
                if figure is not None:
                    yield at, user, n, evaluation.of(f"{metric.split()[0]}@{n}")[row], figure


@pytest.mark.parametrize(("peer", "metric"), PER_USER, ids=str)
def test_every_users_lists_score_as_the_peer_says(peer, metric, evaluated):
    expected = []
    actual = []
    for at, user, n, own, figure in both(peer, metric, evaluated):
        if (peer, metric) in OTHERWISE:
            own = OTHERWISE[peer, metric](own, user_lists(at)[user], n)
        actual.append(own)
        expected.append(figure)
    assert len(expected) >= 150
    assert actual == pytest.approx(expected, **DIGITS)


@pytest.mark.parametrize(("peer", "metric"), OTHERWISE, ids=str)
def test_a_difference_that_is_stated_shows_in_some_figure(peer, metric, evaluated):
    steps = [abs(own - figure) for *_, own, figure in both(peer, metric, evaluated)]
    assert max(steps) > 0.01


def test_an_item_without_training_is_rarer_than_any_in_efd_and_like_the_rarest_in_elliot():
    unseen = LISTS["unseen"]
    train = matrix(unseen["train"])
    held_out = matrix([unseen["held_out"], [], [], []])
    lists = np.full((4, 3), -1)
    lists[0] = unseen["list"]
    evaluation = evaluate_lists(lists, train, held_out, [3], train=train)
    figures = unseen["Elliot"]
    assert evaluation.of("epc@3")[0] == pytest.approx(figures["epc"], **DIGITS)
    # Every item of the nine interactions in training is there twice at least: the rarest has
    # log2(9 / 2) bits, and one without any counts as one of nine, a bit more.
    bit_of_hits = (1 + 1 / log2(3)) / (1 + 1 / log2(3) + 1 / log2(4))
    assert evaluation.of("efd@3")[0] == pytest.approx(figures["efd"] + bit_of_hits, **DIGITS)


def test_a_user_with_an_empty_list_counts_0_as_in_most_peers():
    held_out = matrix([[0, 2, 5], [1, 3, 7]])
    nothing = matrix([[], []])
    lists = np.array([list(range(5)), [-1] * 5])
    evaluation = evaluate_lists(lists, nothing, held_out, [5], train=nothing)
    figures = LISTS["empty_list"]
    agree = {}
    for peer, by_metric in figures.items():
        agree[peer] = {name for name, figure in by_metric.items() if figure is not None}
        for name in agree[peer]:
            assert evaluation.of(f"{name}@5")[1] == by_metric[name] == 0
    # LensKit's precision and AP are no number there; recommenders leaves the user out of the mean.
    assert set(figures["LensKit"]) - agree["LensKit"] == {"precision", "map"}
    assert agree["recommenders"] == {"ndcg"}
    for peer in ("RecPack", "ranx", "pytrec_eval", "Cornac", "Elliot"):
        assert agree[peer] == set(figures[peer])


def as_ours(own, at):
    return own


def of_items_and_padding(own, at):
    """Coverage with the padding, an item that is in no list."""
    return own * ITEMS / (ITEMS + 1)


def gini_with_padding(own, at):
    """One item more without a place, at the lower end, moves all others up by a rank."""
    return (own * ITEMS + 1) / (ITEMS + 1)


def number_of_items(own, at):
    return own * ITEMS


def turned_gini(own, at):
    """Divided by one item less, and higher is better."""
    return 1 - own * ITEMS / (ITEMS - 1)


def of_items_in_training(own, at):
    trained = {item for items in LISTS["problems"][at]["train"] for item in items}
    return own * ITEMS / len(trained)


ALL_LISTS = {
    ("RecBole", "coverage"): of_items_and_padding,
    ("RecBole", "gini"): gini_with_padding,
    ("RecPack", "coverage"): as_ours,
    ("LensKit", "gini"): as_ours,
    ("Elliot", "coverage"): number_of_items,
    ("Elliot", "gini"): turned_gini,
    ("recommenders", "coverage of items in training"): of_items_in_training,
}


def test_every_peers_figures_of_all_lists_are_compared():
    figures = LISTS["all_lists"]
    assert set(ALL_LISTS) == {(peer, metric) for peer in figures for metric in figures[peer]}


@pytest.mark.parametrize(("peer", "metric"), ALL_LISTS, ids=str)
def test_all_lists_together_score_as_the_peer_says(peer, metric, evaluated):
    expected = []
    actual = []
    for at, figures in enumerate(LISTS["all_lists"][peer][metric]):
        for n, figure in zip(CUTOFFS, figures, strict=True):
            if figure is not None:
                own = evaluated(at).means[f"{metric.split()[0]}@{n}"]
                actual.append(ALL_LISTS[peer, metric](own, at))
                expected.append(figure)
    assert len(expected) >= 12
    assert actual == pytest.approx(expected, **DIGITS)


@pytest.mark.parametrize("peer", LISTS["auc"])
def test_auc_of_every_user_is_the_peers(peer, evaluated):
    for at, figures in enumerate(LISTS["auc"][peer]):
        own = dict(zip(evaluated(at).users.tolist(), evaluated(at).of("auc"), strict=True))
        expected = {user: figure for user, figure in enumerate(figures) if figure is not None}
        assert {user: own[user] for user in expected} == pytest.approx(expected, **DIGITS)


def test_grouped_auc_is_gauc_of_recbole(evaluated):
    for at, figure in enumerate(LISTS["auc_of_all"]["RecBole GAUC"]):
        assert evaluated(at).means["grouped-auc"] == pytest.approx(figure, **DIGITS)


def test_auc_of_all_users_pairs_together_is_that_of_recbole():
    for at, figure in enumerate(LISTS["auc_of_all"]["RecBole AUC"]):
        problem = LISTS["problems"][at]
        scores = []
        chosen = []
        owners = []
        for user, held_out in enumerate(problem["held_out"]):
            if held_out:
                scores += [problem["scores"][user][item] for item in recommended(at)[user]]
                chosen += user_lists(at)[user].hits
                owners += [user] * len(recommended(at)[user])
        pairs = ScoredPairs(
            scores=np.array(scores, dtype=float),
            is_held_out=np.array(chosen),
            users=np.array(owners),
        )
        assert pooled_auc(pairs).mean() == pytest.approx(figure, **DIGITS)


@pytest.mark.parametrize("problem", ERRORS["ratings"], ids=lambda problem: problem["seed"])
def test_errors_of_ratings_are_the_peers(problem):
    predicted = np.array(problem["predicted"])
    users = np.array(problem["users"])
    evaluation = evaluate_ratings(predicted, np.array(problem["given"]), users, (0.5, 5))
    for figures in problem["figures"].values():
        expected = {name: figures[name] for name in ("rmse", "mae")}
        assert evaluation.means == pytest.approx(expected, **FLOAT32)


@pytest.mark.parametrize("problem", ERRORS["ratings"], ids=lambda problem: problem["seed"])
def test_the_mean_of_users_own_errors_that_lenskit_has_too_is_another_number(problem):
    error = np.abs(np.array(problem["predicted"]) - np.array(problem["given"]))
    users = np.array(problem["users"])
    means = [error[users == user].mean() for user in np.unique(users)]
    figures = problem["figures"]["LensKit"]
    assert np.mean(means) == pytest.approx(figures["mae of a user, averaged"], **FLOAT32)
    assert np.mean(means) != pytest.approx(figures["mae"], rel=1e-3)


@pytest.mark.parametrize("problem", ERRORS["log_loss"], ids=lambda problem: problem["seed"])
def test_log_loss_of_pairs_is_the_peers(problem):
    own = log_loss(problem["log_odds"], problem["chosen"]).mean()
    assert problem["figures"] == pytest.approx(dict.fromkeys(problem["figures"], own), **DIGITS)
