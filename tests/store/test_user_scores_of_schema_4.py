"""Per-user scores in a database of schema 4, the one before they were packed as they are now.

The file says beside the packed scores what they were: a hash of the plain bytes of each fold.
"""

import gzip
import hashlib
import json
import sqlite3
from pathlib import Path

import numpy as np
import pytest

from ecv_core.store.store import open_store

HERE = Path(__file__).parent


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "schema-4.sqlite"
    path.write_bytes(gzip.decompress((HERE / "user-scores-schema-4.sqlite.gz").read_bytes()))
    return path


@pytest.fixture
def store(path):
    return open_store(f"sqlite:///{path}")


def rows(path, query):
    with sqlite3.connect(path) as connection:
        found = connection.execute(query).fetchall()
    connection.close()
    return found


def test_every_users_scores_are_the_same_to_the_last_bit(store, path):
    told = rows(path, "SELECT run_id, fold, metrics, sha256 FROM told_sha256")
    assert len(told) == len(rows(path, "SELECT fold FROM user_scores")) == 23
    for run_id, fold, metrics, sha256 in told:
        scores = store.user_scores(run_id)[fold]
        assert scores.metrics == tuple(json.loads(metrics))
        users, values = scores.users.astype("<i4"), np.ascontiguousarray(scores.values, "<f4")
        assert hashlib.sha256(users.tobytes() + values.tobytes()).hexdigest() == sha256


def test_a_folds_score_is_the_mean_of_its_users_scores(store):
    for run in store.runs():
        # That of a made-up run has nothing to do with its users; RMSE is over ratings.
        if (run.spec.metric, run.spec.seed) != ("ndcg", 42):
            continue
        for fold, scores in store.user_scores(run.run_id).items():
            (score,) = [one.score for one in run.folds if one.fold == fold]
            assert scores.of(run.spec.metric_name).mean() == pytest.approx(score, rel=1e-6)
