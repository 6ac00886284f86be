"""What is said of two runs has no more digits than a test is worth."""

import pytest

from ecv_core.analysis.comparison.further import FurtherTests
from ecv_core.analysis.further_tests import Chances
from ecv_core.figures.verdicts import chance_words, further_sentence


@pytest.mark.parametrize(
    ("probability", "words"),
    [
        (0.0, "less than 0.1 %"),
        (8.67e-13, "less than 0.1 %"),
        (0.001, "0.1 %"),
        (0.4519, "45.2 %"),
        (0.999, "99.9 %"),
        (0.9999999, "more than 99.9 %"),
    ],
)
def test_a_chance_has_one_decimal_and_never_claims_certainty(probability, words):
    assert chance_words(probability) == words


def test_the_chances_of_a_pair_are_told_without_false_precision():
    tests = FurtherTests(
        first="ease",
        second="popular",
        margin=0.0035,
        chances=Chances(first=1 - 8.67e-13, equivalent=3.7e-13, second=5e-13),
        signed_rank_p=None,
        randomization_p=None,
        pairs=0,
    )
    assert "e-1" not in further_sentence(tests)
    assert "100 %" not in further_sentence(tests)
