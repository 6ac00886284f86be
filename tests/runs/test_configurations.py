"""Configurations with all folds in two small files: written, read back, refused where damaged."""

from dataclasses import replace

import numpy as np
import pytest

from ecv_core.errors import InputError
from ecv_core.records import UserScores
from ecv_core.runs.configurations import read_configurations, specs_of, write_configurations
from ecv_core.spec import make_spec
from tests.jobs import fold_result

SPEC = make_spec(dataset="synthetic", algorithm="item-knn", k=2, rule="never")
FOUND = [{"neighbours": 10}, {"neighbours": 20}]


def fold(index, users, values):
    scores = UserScores(
        users=np.array(users, np.int32),
        metrics=("ndcg@10", "recall@10"),
        values=np.array(values, np.float32),
    )
    return replace(fold_result(index, 0.5), user_scores=scores)


def test_what_was_written_is_read_and_users_without_anything_held_out_are_nan(tmp_path):
    path = tmp_path / "a--b.json"
    folds = [fold(0, [3, 7], [[0.5, 1], [0.25, 0]]), fold(1, [5], [[0.75, 0.5]])]
    write_configurations(path, SPEC, [(one, folds) for one in FOUND], ["ndcg@10", "recall@10"])
    found = read_configurations(path)
    assert found.spec == SPEC
    assert list(found.configurations) == FOUND
    assert found.folds.tolist() == [[0.5, 0.5]] * 2
    assert [one.name for one in found.scores] == [
        "item-knn:neighbours=10",
        "item-knn:neighbours=20",
    ]
    nan = np.nan
    expected = [[0.5, nan, 0.25], [nan, 0.75, nan]]  # users 3, 5, 7
    np.testing.assert_array_equal(found.values["ndcg@10"], [expected, expected])
    np.testing.assert_array_equal(found.values["recall@10"][0, 0], [1, nan, 0])


def test_a_fold_without_scores_per_user_is_refused(tmp_path):
    with pytest.raises(InputError, match="fold 1 has no scores per user"):
        write_configurations(tmp_path / "a.json", SPEC, [({}, [fold_result(1, 0.5)])], ["ndcg@10"])


@pytest.mark.parametrize("content", ["", "{}", '{"spec": 1, "configurations": []}'])
def test_a_damaged_file_is_one_sentence(tmp_path, content):
    path = tmp_path / "a.json"
    path.write_text(content)
    with pytest.raises(InputError, match=r"the recorded configurations a\.json cannot be read"):
        read_configurations(path)


def test_every_configuration_has_its_parameters_and_the_others_stay():
    first, second = specs_of(SPEC, FOUND)
    assert dict(first.params)["neighbours"] == 10
    assert replace(second, params=first.params) == first
    with pytest.raises(InputError, match="neighbours"):
        specs_of(SPEC, [{"neighbours": -1}])
