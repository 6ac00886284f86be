"""Per-user scores in the database: small, and the same to the last bit."""

from __future__ import annotations

import tracemalloc
from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from ecv_core.evaluation.formulas import HIT_METRICS, NOVELTY_METRICS, Popularity, Ranked
from ecv_core.records.errors import StoreError
from ecv_core.records.run import UserScores
from ecv_core.records.spec import RunSpec
from ecv_core.store.rows import user_scores_row
from ecv_core.store.schema import user_scores
from ecv_core.store.store import Store, open_store
from tests.fake_folds import fold_result

SPEC = RunSpec(dataset="synthetic", algorithm="popular", k=5, rule="never")


@pytest.fixture
def store(tmp_path) -> Store:
    return open_store(f"sqlite:///{tmp_path / 'runs.sqlite'}")


def ranked_scores(n: int, users: int = 400, *, novelty: bool = True, seed: int = 1) -> UserScores:
    """What the evaluation itself makes of random hits."""
    rng = np.random.default_rng(seed)
    held_out = rng.integers(1, 40, users)
    hits = rng.random((users, n)) < rng.random((users, 1)) * 0.4
    hits &= np.cumsum(hits, axis=1) <= held_out[:, None]
    ranked = Ranked(hits=hits, held_out=held_out, cutoffs=(n,))
    columns = {f"{name}@{n}": of(ranked)[:, 0] for name, of in HIT_METRICS.items()}
    if novelty:
        counts = np.arange(1, 301)[::-1]  # of 300 items
        popularity = Popularity(counts=counts, users=400)
        items = rng.integers(0, 300, (users, n))
        for name, of_items in NOVELTY_METRICS.items():
            columns[f"{name}@{n}"] = of_items(ranked, items, popularity)[:, 0]
    return UserScores(
        users=np.sort(rng.choice(10 * users, users, replace=False)).astype(np.int32),
        metrics=tuple(columns),
        values=np.stack(list(columns.values()), axis=1).astype(np.float32),
    )


def kept(store: Store, *scores: UserScores) -> str:
    run_id = store.create([SPEC], owner="me")[0]
    for fold, one in enumerate(scores):
        store.add_fold(run_id, replace(fold_result(fold, 0.5), user_scores=one), stopped_at=None)
    return run_id


def bits(values: NDArray[np.float32]) -> NDArray[np.uint32]:
    return np.ascontiguousarray(values).view(np.uint32)


def assert_same(back: UserScores, given: UserScores) -> None:
    assert back.metrics == given.metrics
    np.testing.assert_array_equal(back.users, given.users)
    np.testing.assert_array_equal(bits(back.values), bits(given.values))


def strange_novelty(n: int) -> UserScores:
    """Novelties that no evaluation gives: negative, endless, none, and of users without a hit."""
    given = ranked_scores(n)
    values = given.values.copy()
    epc, efd = (given.metrics.index(f"{name}@{n}") for name in NOVELTY_METRICS)
    values[:8, epc] = [np.nan, np.inf, -np.inf, -0.0, 3.4e38, 1e-45, -1.5, 2.0]
    values[4:12, efd] = [np.nan, np.inf, -np.inf, -0.0, 3.4e38, 1e-45, -1.5, 99.0]
    return replace(given, values=values)


ODD = np.array([[np.nan, -0.0, 1e-45], [np.inf, 0.0, 3.4e38], [-1.5, 7.25, np.nan]], np.float32)


@pytest.mark.parametrize(
    "given",
    [
        ranked_scores(10),
        ranked_scores(1),
        ranked_scores(12, novelty=False),
        ranked_scores(50),
        strange_novelty(10),
        UserScores(
            users=np.array([5, 2, 2**31 - 1], np.int32), metrics=("a", "b", "c"), values=ODD
        ),
        UserScores(
            users=np.array([3], np.int32), metrics=("rmse",), values=np.array([[0.9]], np.float32)
        ),
        UserScores(
            users=np.empty(0, np.int32), metrics=("a",), values=np.empty((0, 1), np.float32)
        ),
    ],
    ids=["n=10", "n=1", "n=12", "n=50", "novelty", "odd", "rmse", "nobody"],
)
def test_what_is_read_is_what_was_written_to_the_last_bit(store, given):
    run_id = kept(store, given, given)
    back = store.user_scores(run_id)
    assert_same(back[0], given)
    assert_same(back[1], given)


def test_a_fold_takes_less_than_two_fifths_of_its_bytes(store):
    given = ranked_scores(10, users=3000)
    run_id = kept(store, given)
    with store.transaction("read") as connection:
        row = connection.execute(user_scores.select()).one()
    plain = given.users.nbytes + given.values.nbytes
    assert len(row.users) + len(row.scores) + len(row.metrics) < 0.4 * plain
    assert_same(store.user_scores(run_id)[0], given)


def test_damaged_scores_are_said_in_one_sentence(store):
    run_id = kept(store, ranked_scores(10))
    with store.transaction("written") as connection:
        connection.execute(user_scores.update().values(scores=b"nothing that was packed"))
    with pytest.raises(StoreError, match=f"fold 0 of run {run_id} .* damaged .*restore"):
        store.user_scores(run_id)


def test_packing_a_fold_takes_little_memory() -> None:
    """The usual dictionary of LZMA takes 94 MB for a moment, in a server that many look at."""
    scores = ranked_scores(10)
    tracemalloc.start()
    try:
        user_scores_row(scores)
        assert tracemalloc.get_traced_memory()[1] < 3_000_000
    finally:
        tracemalloc.stop()
