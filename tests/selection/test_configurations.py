"""The parameters in which contenders differ."""

from ecv_core.selection.contenders import varied


def test_parameters_that_differ_are_the_space() -> None:
    assert varied(["item-knn:neighbours=10,shrink=5", "item-knn:shrink=5"]) == [
        {"neighbours": 10},
        {"neighbours": 100},
    ]
    assert varied(["item-knn", "ease"]) is None
    assert varied(["ease", "ease"]) is None
    assert varied(["mine", "yours"]) is None
    assert varied(["item-knn:neighbours", "item-knn"]) is None
