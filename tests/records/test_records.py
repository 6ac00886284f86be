"""Records survive JSON, and derive what they promise."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ecv_core.records import codec
from ecv_core.records.errors import InputError
from ecv_core.records.parameters import Parameter
from ecv_core.records.run import Energy, Interval
from ecv_core.records.spec import RunSpec

values = st.one_of(st.integers(-1000, 1000), st.floats(0, 1), st.booleans(), st.text(max_size=5))


@given(
    params=st.dictionaries(st.text(min_size=1, max_size=5), values, max_size=4),
    alpha=st.floats(1e-9, 1),
    only=st.lists(st.integers(0, 9), unique=True),
    full=st.booleans(),
)
def test_a_spec_survives_json(params: dict, alpha: float, only: list[int], full: bool) -> None:
    spec = RunSpec(
        dataset="d",
        algorithm="a",
        params=tuple(sorted(params.items())),
        rule_params=(("alpha", alpha),),
        only_folds=tuple(only),
        full=full,
    )
    back = RunSpec.from_json(spec.to_json())
    assert back == spec
    assert hash(back) == hash(spec)


def test_a_spec_of_a_later_version_is_read_without_what_is_not_known() -> None:
    text = '{"dataset": "d", "algorithm": "a", "from_the_future": 1, "params": {"x": 2}}'
    assert RunSpec.from_json(text) == RunSpec(dataset="d", algorithm="a", params=(("x", 2),))


def test_a_spec_from_before_splits_had_parameters_equals_a_new_one_without() -> None:
    text = '{"dataset": "d", "algorithm": "a", "split": "user-k-fold", "params": {}}'
    assert RunSpec.from_json(text) == RunSpec(dataset="d", algorithm="a")


def test_parameters_of_a_split_survive_json() -> None:
    spec = RunSpec(dataset="d", algorithm="a", split="s", split_params=(("test", 0.2), ("x", "y")))
    assert RunSpec.from_json(spec.to_json()) == spec
    assert '"split_params":{"test":0.2,"x":"y"}' in spec.to_json()


def test_an_error_names_the_place_of_a_value_in_a_list() -> None:
    with pytest.raises(ValueError, match="int") as error:
        codec.read(tuple[int, ...], '[1, "x"]')
    assert codec.what_is_wrong(error.value) == "its [1] must be a whole number, but is x"


def test_an_error_without_a_place_is_told_whole() -> None:
    sentence = "it has 10 folds, and 9 moments of which the last is damaged"
    assert codec.what_is_wrong(ValueError(sentence)) == sentence
    assert codec.what_is_wrong(KeyError("metric")) == "KeyError('metric')"


@pytest.mark.parametrize("open_", [True, False])
def test_a_parameter_without_a_range_is_a_number_all_the_same(open_: bool) -> None:
    parameter = Parameter("weight", 1.0, "How much.", open=open_)
    with pytest.raises(InputError, match="parameter 'weight' must be a finite number, but is nan"):
        parameter.parse("nan")


def test_fold_order_is_all_folds_or_the_chosen_ones() -> None:
    assert RunSpec(dataset="d", algorithm="a", k=3).fold_order == (0, 1, 2)
    assert RunSpec(dataset="d", algorithm="a", k=3, only_folds=(2, 0)).fold_order == (2, 0)


def test_an_interval_has_a_width_and_energy_has_watt_hours() -> None:
    assert Interval(low=0.25, high=0.75).width == 0.5
    energy = Energy(
        joules=7200, cpu_joules=7200, gpu_joules=0, ram_joules=0, grams_co2e=1, source="rapl"
    )
    assert energy.watt_hours == 2
    assert energy.measured
    assert not Energy.none().measured
