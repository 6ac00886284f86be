"""Search spaces: what is declared fits its model; own values; what samplers draw of them."""

import re

import pytest

from ecv_core import dataset as datasets
from ecv_core.dataset.pruning import prepare
from ecv_core.models import ALGORITHMS
from ecv_core.records.errors import InputError, UnknownName
from ecv_core.selection.tuning.spaces import allowed_by, budget_of, sampled, size_of, space_of

SPACE = {"a": tuple(range(6)), "b": (0.1, 0.2, 0.4, 0.8), "c": (True, False)}


@pytest.mark.parametrize("algorithm", ALGORITHMS.values(), ids=lambda one: one.id)
def test_every_declared_value_is_one_that_the_model_takes(algorithm) -> None:
    for space in algorithm.spaces.values():
        known = {one.name: one for one in algorithm.parameters}
        for name, values in space.items():
            assert [known[name].parse(value) for value in values] == list(values)
            assert len(set(values)) == len(values)


def test_the_papers_grid_is_powers_of_two_half_a_step_apart() -> None:
    # Table 2: exponents 3.321 + i / 2 for factors, i / 2 for iterations, -2.3219 - i for rates.
    space = ALGORITHMS["bpr-mf"].spaces["paper"]
    assert size_of(space) == 3150
    assert [round(2 ** (3.321 + i / 2)) for i in range(14)] == pytest.approx(
        list(space["factors"][:14]), abs=1
    )
    assert sorted({round(2 ** (i / 2)) for i in range(15)}) == list(space["epochs"])
    assert space["learning_rate"] == pytest.approx(
        [2 ** (-2.3219 - i) for i in range(15)], rel=1e-3
    )


def test_own_values_take_the_place_of_declared_ones() -> None:
    model = ALGORITHMS["bpr-mf"]
    assert space_of(model, None, {"factors": ["8", "16"]}) == {"factors": (8, 16)}
    mixed = space_of(model, "default", {"epochs": ["3"]})
    assert mixed["epochs"] == (3,)
    assert size_of(mixed) == 9


@pytest.mark.parametrize(
    ("algorithm", "name", "own", "words"),
    [
        ("popular", None, {}, "popular has no search space 'default' (it has: none)"),
        ("ease", "paper", {}, "ease has no search space 'paper' (it has: default)"),
        ("item-knn", None, {"neighbours": ["5", "5"]}, "needs different values, but has 5, 5"),
        (
            "item-knn",
            None,
            {"neighbours": ["5"]},
            "at least two configurations, but has 1",
        ),
        ("item-knn", None, {"neighbours": ["5", "x"]}, "must be a whole number, but is 'x'"),
    ],
)
def test_a_space_that_cannot_be_is_refused(algorithm, name, own, words) -> None:
    with pytest.raises(InputError, match=re.escape(words)):
        space_of(ALGORITHMS[algorithm], name, own)


def test_an_unknown_parameter_is_named() -> None:
    with pytest.raises(UnknownName, match="did you mean 'neighbours'"):
        space_of(ALGORITHMS["item-knn"], None, {"neighbors": ["5", "6"]})


def test_values_that_a_dataset_does_not_allow_are_left_out() -> None:
    data = prepare(datasets.load("synthetic"), core=5)
    model = ALGORITHMS["user-knn"]  # 943 users
    kept, left_out = allowed_by(model.spaces["paper"], model, data)
    assert left_out == {"neighbours": (1809,)}
    assert kept["neighbours"][-1] == 905
    with pytest.raises(InputError, match=r"allows neighbours up to 943, but got 1000, 2000"):
        allowed_by({"neighbours": (50, 1000, 2000)}, model, data)


def test_a_grid_is_every_combination_in_order() -> None:
    found = list(sampled(SPACE, "grid", budget_of(SPACE, "grid", None), seed=0))
    assert len(found) == 48
    assert found[:2] == [{"a": 0, "b": 0.1, "c": True}, {"a": 0, "b": 0.1, "c": False}]


@pytest.mark.parametrize("sampler", ["grid", "random", "tpe"])
def test_a_sampler_draws_different_configurations_within_its_budget(sampler) -> None:
    def drawn(seed: int) -> list[dict]:
        return list(sampled(SPACE, sampler, 15, seed=seed, score=lambda one: one["a"] * one["b"]))

    found = drawn(1)
    assert len({tuple(one.values()) for one in found}) == len(found) == 15
    assert all(one[name] in SPACE[name] for one in found for name in SPACE)
    assert found == drawn(1)
    assert found != drawn(2)


def test_tpe_comes_nearer_to_the_best_than_random_does() -> None:
    space = {"a": tuple(range(30)), "b": tuple(range(30))}

    def worth(one: dict) -> float:
        return -((one["a"] - 21) ** 2) - (one["b"] - 8) ** 2

    def last(sampler: str, seed: int) -> float:
        found = list(sampled(space, sampler, 40, seed=seed, score=worth))
        return sum(worth(one) for one in found[20:]) / 20

    assert sum(last("tpe", seed) > last("random", seed) for seed in range(4)) == 4


def test_a_budget_is_at_most_the_space() -> None:
    assert budget_of(SPACE, "random", None) == 20
    assert budget_of(SPACE, "grid", 1000) == 48
    with pytest.raises(InputError, match="must be at least 2 configurations, but is 1"):
        budget_of(SPACE, "random", 1)
