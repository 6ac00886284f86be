"""F1, R-precision, graded nDCG, popularity of lists: by hand, by plain code, and as peers say."""

import json
from functools import cache
from math import log2
from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import csr_array

from ecv_core import metrics as metrics_of_scores
from ecv_core.evaluation import Protocol, evaluate, evaluate_lists
from ecv_core.evaluation.formulas import Popularity, average_popularity, short_head, tail_share
from ecv_core.records.errors import DatasetError
from ecv_core.records.interactions import Interactions
from ecv_core.splits import fold_matrices, split
from tests.evaluation.plain import (
    plain_graded_ndcg,
    plain_list,
    plain_popularity,
    plain_r_precision,
)

HERE = Path(__file__).parent
PROBLEMS = json.loads((HERE / "peer_lists.json").read_text("utf-8"))["problems"]
MORE = json.loads((HERE / "peer_more.json").read_text("utf-8"))
CUTOFFS = [1, 3, 5, 10]
ITEMS = 12
DIGITS = {"rel": 1e-8, "abs": 1e-8}
ASKED = ("graded-ndcg", "graded-ndcg-exponential")
LINEAR = {"graded-ndcg": float, "graded-ndcg-exponential": lambda rating: 2**rating - 1}


def matrix(rows, values=None):
    """Rows of item numbers as a matrix, with ones or with other values, zeros stored too."""
    users = np.repeat(np.arange(len(rows)), [len(row) for row in rows])
    items = np.array([item for row in rows for item in row], dtype=int)
    cells = np.ones(len(items))
    if values is not None:
        cells = np.array([value for row in values for value in row], dtype=float)
    result = csr_array((cells, (users, items)), shape=(len(rows), ITEMS))
    result.sort_indices()
    return result


@pytest.fixture(scope="module")
def evaluated(given_scores):
    """The number of a problem -> what we say of it."""

    @cache
    def evaluation(at):
        given = PROBLEMS[at]
        train = matrix(given["train"])
        held_out = matrix(given["held_out"])
        ratings = matrix(given["held_out"], MORE["ratings"][at])
        if "list_lengths" not in given:
            model = given_scores(given["scores"])
            also = (*ASKED, "r-precision")
            return evaluate(model, train, held_out, CUTOFFS, ratings=ratings, extra_metrics=also)
        lists = np.full((len(given["scores"]), max(CUTOFFS)), -1)
        for user, scores in enumerate(given["scores"]):
            is_candidate = np.ones(ITEMS, dtype=bool)
            is_candidate[given["train"][user]] = False
            length = min(given["list_lengths"][user], max(CUTOFFS))
            lists[user, :length] = plain_list(scores, is_candidate, length)
        return evaluate_lists(
            lists, train, held_out, CUTOFFS, train=train, ratings=ratings, extra_metrics=ASKED
        )

    return evaluation


PEERS = [(peer, name) for peer, by_name in MORE["per_user"].items() for name in by_name]


@pytest.mark.parametrize(("peer", "name"), PEERS, ids=str)
def test_every_user_scores_as_the_peer_says(peer, name, evaluated):
    columns = [f"{name}@{n}" for n in CUTOFFS]
    if name == "r-precision":
        columns = [name]
    own = []
    expected = []
    for at, figures in enumerate(MORE["per_user"][peer][name]):
        evaluation = evaluated(at)
        if columns[0] not in evaluation.metrics:
            continue  # lists that are cut have no R-precision
        for row, user in enumerate(evaluation.users.tolist()):
            of_user = figures[user]
            if name == "r-precision":
                of_user = [of_user]
            for column, figure in zip(columns, of_user, strict=True):
                if figure is not None:
                    own.append(evaluation.of(column)[row])
                    expected.append(figure)
    assert len(expected) >= 30
    assert own == pytest.approx(expected, **DIGITS)


def test_a_rating_of_nothing_gains_nothing(evaluated):
    evaluation = evaluated(0)
    row = evaluation.users.tolist().index(1)
    assert evaluation.of("graded-ndcg@5")[row] == 0
    assert evaluation.of("ndcg@5")[row] > 0


D2, D3 = 1 / log2(3), 1 / log2(4)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        # The list is 0, 1, 2; rated are 1 with 3 and 2 with 1, so 3 and then 1 would be perfect.
        ("graded-ndcg@3", (3 * D2 + 1 * D3) / (3 + 1 * D2)),
        ("graded-ndcg@2", 3 * D2 / (3 + 1 * D2)),
        ("graded-ndcg@1", 0),
        ("graded-ndcg-exponential@3", (7 * D2 + 1 * D3) / (7 + 1 * D2)),
        ("f1@3", 0.8),  # precision 2/3, recall 1
        ("f1@1", 0),
        ("r-precision", 0.5),  # 0 and 1 are the first two, of which 1 is held out
        ("grouped-auc", 0),  # both held-out items are below the one that is not
    ],
)
def test_hand_worked_list(name, expected):
    scores = np.array([[3.0, 2, 1]])
    train = csr_array((1, 3))
    held_out = csr_array(np.array([[0, 3.0, 1]]))
    names = (*ASKED, "f1", "r-precision", "grouped-auc")
    result = metrics_of_scores(scores, train, held_out, cutoffs=(1, 2, 3), names=names)
    assert result[name] == pytest.approx(expected)


def test_ratings_of_an_item_that_is_stored_twice_are_averaged():
    twice = csr_array((np.array([2.0, 4, 1]), np.array([1, 1, 2]), np.array([0, 3])), shape=(1, 3))
    once = csr_array(np.array([[0, 3.0, 1]]))
    found = []
    for held_out in (twice, once):
        result = metrics_of_scores(
            np.array([[3.0, 2, 1]]), csr_array((1, 3)), held_out, cutoffs=(3,), names=ASKED
        )
        found.append(result)
    assert found[0] == found[1]


POPULARITY = Popularity(counts=np.array([5, 3, 1, 1, 0]), users=6)


def test_the_short_head_ends_with_the_item_that_reaches_80_percent():
    # 5 + 3 of 10 interactions are 80 %.
    assert short_head(POPULARITY).tolist() == [True, True, False, False, False]
    # 2 of 6 each, so 80 % are reached by the third.
    even = Popularity(counts=np.array([2, 2, 2]), users=2)
    assert short_head(even).tolist() == [True, True, True]


def test_popularity_of_hand_worked_lists():
    lists = np.array([[0, 2, 4], [1, -1, -1], [-1, -1, -1]])
    assert average_popularity(lists, (1, 3), POPULARITY).tolist() == [[5, 2], [3, 3], [0, 0]]
    expected = [[0, pytest.approx(2 / 3)], [0, 0], [0, 0]]
    assert tail_share(lists, (1, 3), POPULARITY).tolist() == expected


@pytest.fixture
def random_problem():
    rng = np.random.default_rng(3)
    scores = rng.integers(0, 6, (40, 15)).astype(float)  # many are equal
    held_out = (rng.random((40, 15)) < 0.2) * rng.integers(-1, 6, (40, 15))
    seen = (rng.random((40, 15)) < 0.3) & (held_out == 0)
    return scores, seen.astype(np.float32), held_out.astype(float)


@pytest.mark.parametrize("compiled", [True, False])
def test_full_ranking_is_that_of_plain_code(random_problem, given_scores, compiled, monkeypatch):
    if compiled:
        pytest.importorskip("numba")
    monkeypatch.setattr("ecv_core.evaluation.load_compiled", lambda _: compiled)
    scores, seen, held_out = random_problem
    names = (*ASKED, "r-precision", "average-popularity", "tail-share")
    result = evaluate(
        given_scores(scores),
        csr_array(seen),
        csr_array(held_out != 0),
        [2, 5],
        ratings=csr_array(held_out),
        metrics=names,
    )
    counts = seen.sum(axis=0).astype(int).tolist()
    for row, user in enumerate(result.users.tolist()):
        ratings = {item: max(held_out[user, item], 0) for item in np.flatnonzero(held_out[user])}
        items = plain_list(scores[user], seen[user] == 0, 5)
        expected = {"r-precision": plain_r_precision(scores[user], seen[user] == 0, set(ratings))}
        for n in (2, 5):
            expected |= plain_popularity(items, n, counts)
            for name, gain in LINEAR.items():
                expected[f"{name}@{n}"] = plain_graded_ndcg(items, ratings, n, gain)
        own = dict(zip(result.metrics, result.values[row].tolist(), strict=True))
        assert own == pytest.approx(expected)


@pytest.mark.parametrize("sampling", ["uniform", "popularity"])
def test_alone_against_all_others_a_held_out_item_is_its_own_ideal(
    random_problem, given_scores, sampling
):
    scores, seen, held_out = random_problem
    seen[:] = 0
    seen[0] = 1  # so that each item is in training
    held_out[0] = 0
    protocol = Protocol(negatives=3, sampling=sampling)
    asked = dict(
        ratings=csr_array(held_out), extra_metrics=(*ASKED, "r-precision"), protocol=protocol
    )
    held = csr_array(held_out != 0)
    result = evaluate(given_scores(scores), csr_array(seen), held, [1, 3], **asked)
    assert np.array_equal(result.of("graded-ndcg@3"), result.of("graded-ndcg-exponential@3"))
    # With one item held out R is 1, so it is the first or it is not.
    assert np.array_equal(result.of("r-precision"), result.of("hit@1"))
    all_gain = (held_out >= 0).all(axis=1)[result.users]
    assert np.array_equal(result.of("graded-ndcg@3")[all_gain], result.of("ndcg@3")[all_gain])
    assert (result.of("graded-ndcg@3") <= result.of("ndcg@3")).all()


def test_a_pool_of_all_items_is_full_ranking(random_problem, given_scores):
    scores, seen, held_out = random_problem
    names = (*ASKED, "r-precision", "grouped-auc")
    found = []
    for protocol in (Protocol(), Protocol(negatives=3000, sampling="pooled")):
        result = evaluate(
            given_scores(scores),
            csr_array(seen),
            csr_array(held_out != 0),
            [2, 5],
            ratings=csr_array(held_out),
            metrics=names,
            protocol=protocol,
        )
        found.append(result.values)
    assert found[0] == pytest.approx(found[1])


def test_ratings_come_from_the_part_that_is_held_out():
    rng = np.random.default_rng(0)
    cells = rng.permutation(200)[:120]
    data = Interactions(
        dataset="made",
        users=(cells // 10).astype(np.int32),
        items=(cells % 10).astype(np.int32),
        user_ids=np.arange(20).astype(str),
        item_ids=np.arange(10).astype(str),
        ratings=rng.integers(0, 6, 120).astype(np.float32),
    )
    parts = fold_matrices(data, split(data, "user-k-fold", 3, 1), 1)
    ratings = parts.held_out_ratings
    assert np.array_equal(ratings.indices, parts.held_out.indices)
    assert np.array_equal(ratings.indptr, parts.held_out.indptr)
    by_cell = dict(zip(cells.tolist(), data.ratings.tolist(), strict=True))
    users, items = parts.held_out.nonzero()
    expected = [by_cell[user * 10 + item] for user, item in zip(users, items, strict=True)]
    assert ratings.data.tolist() == expected


def test_without_ratings_graded_ndcg_is_refused_with_a_way_out(given_scores):
    with pytest.raises(DatasetError, match=r"takes its gains from ratings.*choose.*ndcg"):
        evaluate(
            given_scores([[1, 2]]),
            csr_array((1, 2)),
            csr_array(np.array([[1.0, 0]])),
            [1],
            metrics=["graded-ndcg"],
        )
