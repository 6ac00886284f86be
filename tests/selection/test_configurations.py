"""The parameters in which contenders differ."""

from ecv_core.selection.contenders import varied_parameters


def test_parameters_that_differ_are_the_space() -> None:
    assert varied_parameters(["item-knn:neighbours=10,shrink=5", "item-knn:shrink=5"]) == [
        {"neighbours": 10},
        {"neighbours": 100},
    ]
    assert varied_parameters(["item-knn", "ease"]) is None
    assert varied_parameters(["ease", "ease"]) is None
    assert varied_parameters(["mine", "yours"]) is None
    assert varied_parameters(["item-knn:neighbours", "item-knn"]) is None
