import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

from ecv_core.fold.computing import run_fold
from ecv_core.fold.spec import make_spec
from ecv_core.models import ALGORITHMS, algorithm
from ecv_core.records.errors import DatasetError, InputError, UnknownName
from ecv_core.records.interactions import Interactions, Need

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


@pytest.mark.parametrize("name", ["triple2vec", "vbcar"])
def test_a_dataset_without_baskets_is_refused_in_one_sentence(name):
    spec = make_spec(dataset="synthetic", algorithm=name)
    with pytest.raises(DatasetError) as refused:
        run_fold(spec, 0)
    assert str(refused.value) == (
        f"synthetic has no baskets (a column 'basket'), which {name} learns from; "
        "choose another dataset or another algorithm"
    )


@pytest.mark.parametrize(
    ("need", "has", "met"),
    [
        (Need.BASKETS, "baskets", True),
        (Need.BASKETS, "timestamps", False),
        (Need.HISTORY, "timestamps", True),
        (Need.HISTORY, "sequence", True),
        (Need.HISTORY, None, False),
        (Need.NOTHING, None, True),
    ],
)
def test_a_model_may_need_baskets_or_order(need, has, met):
    times = {has: np.array([1, 1])} if has else {}
    interactions = Interactions(
        dataset="tiny",
        users=np.array([0, 1]),
        items=np.array([0, 0]),
        user_ids=np.array(["a", "b"]),
        item_ids=np.array(["x"]),
        **times,
    )
    asking = replace(algorithm("popular"), needs=need)
    if met:
        asking.check(interactions)
    else:
        with pytest.raises(DatasetError, match="tiny has no"):
            asking.check(interactions)
