"""Errors say the way out, and cross process borders whole."""

import pickle

from ecv_core.records.errors import InputError, UnknownName


def test_an_unknown_name_offers_the_close_one_and_all() -> None:
    error = UnknownName("algorithm", "item-kn", ["popular", "item-knn"])
    assert str(error) == (
        "no algorithm is called 'item-kn'; did you mean 'item-knn'? "
        "choose one of: item-knn, popular"
    )


def test_an_unknown_name_keeps_its_text_between_processes() -> None:
    error = UnknownName("rule", "x", ["never"])
    back = pickle.loads(pickle.dumps(error))
    assert isinstance(back, InputError)
    assert str(back) == str(error)
