"""Scores of users of many runs in one file: what goes in comes out, to three digits."""

import numpy as np
import pyarrow.parquet as pq
import pytest

from ecv_core.records.errors import InputError
from ecv_core.records.run import UserScores
from ecv_core.store.recorded_users import names_with_users, read_users, users_table, write_users


def users_of(users, *scores, metrics=("ndcg@10",), clusters=None):
    if clusters is not None:
        clusters = np.array(clusters, dtype=np.int32)
    return UserScores(
        users=np.array(users, dtype=np.int32),
        metrics=metrics,
        values=np.array(scores, dtype=np.float32).T,
        clusters=clusters,
    )


BOTH = ("recall@10", "ndcg@10")
"""Metrics of the folds."""
FOLDS = {
    1: users_of([0, 7], [0.0, 1.0], [0.25, 0.630929], metrics=BOTH),
    0: users_of([3, 4, 90000], [1, 1, 1], [1.0, 0.0, 0.5], metrics=BOTH),
}


def put(path, name, scores, metrics):
    """What `record` does of users' scores."""
    part = path.with_suffix(".part")
    write_users(path, name, users_table(name, scores, metrics), part)
    part.replace(path)


@pytest.mark.parametrize("kept", [("ndcg@10",), ("ndcg@10", "recall@10")])
def test_the_scores_of_kept_metrics_come_back_fold_by_fold(tmp_path, kept):
    path = tmp_path / "users.parquet"
    put(path, "d--a", FOLDS, kept)
    found = read_users(path, "d--a", "ndcg@10")
    assert list(found) == [0, 1]
    assert found[0].users.tolist() == [3, 4, 90000]
    assert found[0].metrics == kept
    assert found[1].of("ndcg@10").tolist() == pytest.approx([0.25, 0.630929], rel=5e-4)


def test_every_run_has_its_own_metrics_and_its_own_row_group(tmp_path):
    path = tmp_path / "users.parquet"
    put(path, "d--b", FOLDS, ["ndcg@10"])
    put(path, "d--a", FOLDS, ["recall@10", "ndcg@10"])
    put(path, "d--c", {0: users_of([2], [0.5], metrics=("rmse",), clusters=[4])}, ["rmse"])
    put(path, "d--none", FOLDS, ["gini@10"])
    assert names_with_users(path) == {"d--a", "d--b", "d--c"}
    assert pq.ParquetFile(path).num_row_groups == 3
    assert read_users(path, "d--b", "ndcg@10")[0].metrics == ("ndcg@10",)
    assert read_users(path, "d--a", "recall@10")[0].metrics == ("recall@10", "ndcg@10")
    assert read_users(path, "d--a", "ndcg@10")[0].clusters is None
    other = read_users(path, "d--c", "rmse")[0]
    assert (other.metrics, other.of("rmse").tolist()) == (("rmse",), [0.5])
    assert other.clusters.tolist() == [4]
    assert read_users(path, "d--none", "gini@10") == {}


def test_a_run_that_is_put_again_is_there_once_and_without_scores_not_at_all(tmp_path):
    path = tmp_path / "users.parquet"
    put(path, "d--a", FOLDS, ["ndcg@10"])
    put(path, "d--b", FOLDS, ["ndcg@10"])
    put(path, "d--a", {2: users_of([5], [0.5])}, ["ndcg@10"])
    assert list(read_users(path, "d--a", "ndcg@10")) == [2]
    put(path, "d--a", {}, ["ndcg@10"])
    assert names_with_users(path) == {"d--b"}
    assert list(read_users(path, "d--b", "ndcg@10")) == [0, 1]


def test_a_metric_that_a_fold_has_not_is_not_kept(tmp_path):
    path = tmp_path / "users.parquet"
    put(path, "d--a", FOLDS | {2: users_of([1], [0.5])}, ["ndcg@10", "recall@10"])
    assert read_users(path, "d--a", "ndcg@10")[0].metrics == ("ndcg@10",)


def test_without_a_file_there_are_none(tmp_path):
    assert names_with_users(tmp_path / "users.parquet") == frozenset()
    assert read_users(tmp_path / "users.parquet", "d--a", "ndcg@10") == {}


@pytest.mark.parametrize("content", [b"", b"not a table", b"PAR1PAR1"])
def test_a_damaged_file_is_one_sentence_that_names_it(tmp_path, content):
    path = tmp_path / "users.parquet"
    path.write_bytes(content)
    with pytest.raises(InputError, match=r"the per-user scores .*users\.parquet cannot be read"):
        read_users(path, "d--a", "ndcg@10")
    with pytest.raises(InputError, match=r"users\.parquet"):
        names_with_users(path)
