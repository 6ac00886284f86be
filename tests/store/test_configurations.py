"""Configurations with all folds in two small files: read, and refused where damaged."""

import json
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ecv_core.fold.spec import make_spec
from ecv_core.records.errors import InputError
from ecv_core.store.recorded import read_configurations, specs_of

SPEC = make_spec(dataset="synthetic", algorithm="item-knn", k=2, rule="never")
FOUND = [{"neighbours": 10}, {"neighbours": 20}]


def test_what_is_recorded_is_read_and_users_without_anything_held_out_are_nan(tmp_path):
    path = tmp_path / "a--b.json"
    entries = [
        {"params": one, "scores": [0.5, 0.5], "seconds": [1, 2], "joules": [3, 4]} for one in FOUND
    ]
    document = {
        "spec": json.loads(SPEC.to_json()),
        "metrics": ["ndcg@10", "recall@10"],
        "configurations": entries,
    }
    path.write_text(json.dumps(document))
    columns = {"fold": [0, 0, 1], "user": [3, 7, 5]}
    for place in (0, 1):
        columns[f"{place}:ndcg@10"] = [0.5, 0.25, 0.75]
        columns[f"{place}:recall@10"] = [1.0, 0.0, 0.5]
    pq.write_table(pa.table(columns), path.with_suffix(".parquet"))
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
