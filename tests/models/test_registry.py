import subprocess
import sys

import pytest

from ecv_core.errors import InputError, UnknownName
from ecv_core.models import ALGORITHMS, algorithm

CLASSES = {
    "popular": "Popular",
    "item-knn": "ItemKNN",
    "implicit-mf": "ImplicitMF",
    "ease": "EASE",
    "user-knn": "UserKNN",
}
"""Ids whose model is a class of its own."""


@pytest.mark.parametrize(("known", "model"), CLASSES.items(), ids=list(CLASSES))
def test_known_id_gives_the_algorithm(known, model):
    found = algorithm(known)
    assert found.id == known
    assert type(found.build(dict(found.resolve({})))).__name__ == model


def test_the_registry_says_each_algorithms_own_id():
    assert {key: found.id for key, found in ALGORITHMS.items()} == {key: key for key in ALGORITHMS}


def test_unknown_id_is_one_sentence_with_the_nearest_one():
    with pytest.raises(UnknownName, match=r"no algorithm is called 'item-knm'; did you mean 'item"):
        algorithm("item-knm")


def test_resolve_fills_in_defaults_sorted_by_name():
    assert algorithm("item-knn").resolve({"shrink": "5"}) == (("neighbours", 100), ("shrink", 5.0))


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("neighbors", 5, "did you mean 'neighbours'"),
        ("neighbours", 0, "must be from 1 to"),
        ("neighbours", "many", "must be a whole number"),
        ("shrink", float("nan"), "must be from 0 to"),
    ],
)
def test_bad_parameter_is_refused(name, value, message):
    with pytest.raises(InputError, match=message):
        algorithm("item-knn").resolve({name: value})


def test_listing_algorithms_loads_neither_torch_nor_lenskit():
    code = (
        "import sys, ecv_core.models, ecv_core.evaluation;"
        "print(sorted({'torch', 'lenskit', 'pandas'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
