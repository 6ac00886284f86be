"""Grids and tunings in a file each: read, and refused where damaged."""

import json
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ecv_core.fold.spec import make_spec
from ecv_core.records.errors import InputError, UnknownName
from ecv_core.store.configurations import (
    PairedTests,
    configuration_names,
    recorded_grid,
    recorded_tuning,
    specs_of,
)
from scripts.record_tunings import record_tuning

SPEC = make_spec(dataset="synthetic", algorithm="item-knn", k=2, rule="never")
FOUND = [{"neighbours": 10}, {"neighbours": 20}]


def write_grid(path):
    rows = []
    for params in FOUND:
        for fold, users in enumerate(([3, 7], [5])):
            rows.append(
                {
                    "name": "a--b--neighbours",
                    "spec": SPEC.to_json(),
                    "params": json.dumps(params),
                    "fold": fold,
                    "score": 0.5,
                    "joules": 3.0 + fold,
                    "user": users,
                    "ndcg@10": [[0.5, 0.25], [0.75]][fold],
                }
            )
    pq.write_table(pa.Table.from_pylist(rows), path)


def test_a_grid_is_read_and_users_without_anything_held_out_are_nan(tmp_path):
    path = tmp_path / "grids.parquet"
    write_grid(path)
    assert configuration_names(path) == ["a--b--neighbours"]
    found = recorded_grid("a--b--neighbours", path)
    assert found.spec == SPEC
    assert list(found.configurations) == FOUND
    assert found.fold_scores.tolist() == [[0.5, 0.5]] * 2
    assert found.joules.tolist() == [[3, 4]] * 2
    assert [one.name for one in found.scores] == [
        "item-knn:neighbours=10",
        "item-knn:neighbours=20",
    ]
    nan = np.nan
    expected = [[0.5, nan, 0.25], [nan, 0.75, nan]]  # users 3, 5, 7
    np.testing.assert_array_equal(found.user_scores["ndcg@10"], [expected, expected])


def a_tuning(p):
    return PairedTests(
        spec=SPEC,
        configurations=tuple(FOUND),
        p_values={"recall@10": np.full((2, 1), 1.0), "ndcg@10": np.array([[p], [0.1 + 0.2]])},
        means={"recall@10": np.full((2, 2), 0.25), "ndcg@10": np.array([[0.1, 0.2], [0.3, 0.4]])},
    )


def test_tunings_come_back_to_the_last_bit_and_one_takes_the_place_of_its_name(tmp_path):
    path = tmp_path / "tunings.parquet"
    assert configuration_names(path) == []
    record_tuning("b--c", a_tuning(0.5), path)
    record_tuning("a--b", a_tuning(0.25), path)
    record_tuning("b--c", a_tuning(1 / 3), path)
    assert configuration_names(path) == ["a--b", "b--c"]
    found = recorded_tuning("b--c", path)
    assert found.spec == SPEC
    assert list(found.configurations) == FOUND
    assert list(found.p_values) == ["recall@10", "ndcg@10"]
    assert found.p_values["ndcg@10"].tolist() == [[1 / 3], [0.1 + 0.2]]
    assert found.means["ndcg@10"].tolist() == [[0.1, 0.2], [0.3, 0.4]]
    assert recorded_tuning("a--b", path).p_values["ndcg@10"][0, 0] == 0.25


@pytest.mark.parametrize("read", [recorded_grid, recorded_tuning])
def test_a_damaged_file_and_an_unknown_name_are_one_sentence(tmp_path, read):
    path = tmp_path / "a.parquet"
    with pytest.raises(InputError, match=r"configurations .*a\.parquet cannot be read"):
        read("a--b", path)
    path.write_bytes(b"PAR1")
    with pytest.raises(InputError, match=r"a\.parquet cannot be read"):
        read("a--b", path)
    with pytest.raises(InputError, match=r"a\.parquet cannot be read"):
        configuration_names(path)
    pq.write_table(pa.table({"name": ["a--b"]}), path)
    with pytest.raises(InputError, match=r"a\.parquet cannot be read"):
        read("a--b", path)
    with pytest.raises(UnknownName, match="a--b"):
        read("a--c", path)


def test_every_configuration_has_its_parameters_and_the_others_stay():
    first, second = specs_of(SPEC, FOUND)
    assert dict(first.params)["neighbours"] == 10
    assert replace(second, params=first.params) == first
    with pytest.raises(InputError, match="neighbours"):
        specs_of(SPEC, [{"neighbours": -1}])
