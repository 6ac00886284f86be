"""Per-user scores in a file: what goes in comes out, to three digits."""

import numpy as np
import pytest

from ecv_core.records.errors import InputError
from ecv_core.records.run import UserScores
from ecv_core.store.recorded import read_user_scores, write_user_scores


def fold(users, *scores):
    values = np.array(scores, dtype=np.float32).T
    return UserScores(
        users=np.array(users, dtype=np.int32), metrics=("recall@10", "ndcg@10"), values=values
    )


@pytest.mark.parametrize("kept", [("ndcg@10",), ("ndcg@10", "recall@10")])
def test_the_scores_of_kept_metrics_come_back_fold_by_fold(tmp_path, kept):
    scores = {
        1: fold([0, 7], [0.0, 1.0], [0.25, 0.630929]),
        0: fold([3, 4, 90000], [1, 1, 1], [1.0, 0.0, 0.5]),
    }
    path = tmp_path / "users" / "d--a.parquet"
    write_user_scores(scores, kept, path)
    found = read_user_scores(path)
    assert list(found) == [0, 1]
    assert found[0].users.tolist() == [3, 4, 90000]
    assert found[0].metrics == kept
    assert found[1].of("ndcg@10").tolist() == pytest.approx([0.25, 0.630929], rel=5e-4)
    assert list(path.parent.iterdir()) == [path]


def test_a_missing_file_is_one_sentence_that_names_it(tmp_path):
    with pytest.raises(InputError, match=r"missing\.parquet"):
        read_user_scores(tmp_path / "missing.parquet")


@pytest.mark.parametrize("content", [b"", b"not a table", b"PAR1PAR1"])
def test_a_damaged_file_is_one_sentence_that_names_it(tmp_path, content):
    path = tmp_path / "d--a.parquet"
    path.write_bytes(content)
    with pytest.raises(InputError, match=r"per-user scores d--a\.parquet cannot be read"):
        read_user_scores(path)
