"""What names a fold's scores: equal keys for equal scores, on every machine and in older files."""

import json
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from ecv_core.records.spec import SCORE_ROLES, SETTINGS, RunSpec

PARAM_VALUES = st.one_of(
    st.booleans(), st.integers(-2, 2), st.sampled_from([0.0, -0.0, 1.0, 0.5, 2.0]), st.just("1")
)
PARAMS = st.dictionaries(st.sampled_from("ab"), PARAM_VALUES).map(
    lambda given: tuple(sorted(given.items()))
)
CHANGES = {
    "algorithm": st.sampled_from(["a", "b"]),
    "params": PARAMS,
    "tracked": st.booleans(),
    "split": st.sampled_from(["user-k-fold", "imported"]),
    "split_params": PARAMS,
    "own_metric": PARAMS,
    "folds_sha256": st.sampled_from([None, "1"]),
    "data_sha256": st.sampled_from([None, "1"]),
    "k": st.sampled_from([5, 10]),
    "only_folds": st.sampled_from([(), (1,), (0, 1)]),
    "overlap": st.sampled_from([0.0, 0.25]),
    "clustered": st.booleans(),
    "in_time": st.booleans(),
    "seed": st.sampled_from([0, 42]),
    "metric": st.sampled_from(["ndcg", "recall"]),
    "n": st.sampled_from([1, 10]),
    "candidates": st.sampled_from(["all", "train"]),
    "negatives": st.sampled_from([None, 1]),
    "negative_sampling": st.sampled_from(["uniform", "popularity"]),
    "rule_params": st.sampled_from([(), (("alpha", 1.0),)]),
    "rule": st.sampled_from(["never", "e-fold"]),
    "full": st.booleans(),
    "cutoffs": st.sampled_from([(10,), (1, 5, 10, 20)]),
    "country": st.sampled_from(["DEU", "FRA"]),
}
SPECS = st.fixed_dictionaries({}, optional=CHANGES).map(
    lambda changes: replace(RunSpec(dataset="d", algorithm="a"), **changes)
)


def test_every_setting_that_decides_scores_is_drawn() -> None:
    deciding = {name for name, one in SETTINGS.items() if one.role in SCORE_ROLES}
    assert deciding <= {"dataset", *CHANGES}


@given(SPECS, SPECS)
def test_keys_are_equal_exactly_where_scores_are(one: RunSpec, other: RunSpec) -> None:
    assert (one.score_key == other.score_key) is one.same_scores(other)


@given(SPECS)
def test_a_spec_that_was_written_and_read_keeps_its_key(spec: RunSpec) -> None:
    assert RunSpec.from_json(spec.to_json()).score_key == spec.score_key


@given(SPECS)
def test_a_file_of_before_a_setting_was_there_has_the_key_of_its_default(spec: RunSpec) -> None:
    written = json.loads(spec.to_json())
    older = {
        name: value
        for name, value in written.items()
        if name in ("dataset", "algorithm") or getattr(spec, name) != SETTINGS[name].default
    }
    assert RunSpec.from_json(json.dumps(older)).score_key == spec.score_key


def test_a_key_is_the_same_in_every_program() -> None:
    """The hash of the canonical JSON as it is worked out by another tool: sha256sum."""
    spec = RunSpec(dataset="ml-100k", algorithm="item-knn", params=(("shrink", 0.0),), seed=7)
    # printf '{"algorithm":"item-knn","dataset":"ml-100k","params":[["shrink",0]],"seed":7}' | ...
    assert spec.score_key == "ee4e297271b29de908bd15c1166024c4"
