"""Shares and scores as people read them."""

import pytest

from ecv_core.records.parameters import ordinal, percent_text, score_text


@pytest.mark.parametrize(
    ("share", "digits", "text"),
    [
        (0.4321, ".0f", "43 %"),
        (0.999, ".0f", "99.9 %"),  # 999 of 1,000 folds
        (0.9996, ".3g", "99.96 %"),
        (1.001, ".0f", "100.1 %"),
        (0.0004, ".0f", "0.04 %"),
        (-0.0004, ".0f", "-0.04 %"),
        (0.1 + 0.2 - 0.3, ".0f", "0 %"),  # 0 but for rounding
        (1.0, ".0f", "100 %"),
        (-0.0, ".0f", "0 %"),
    ],
)
def test_only_nothing_is_0_percent_and_only_all_is_100(share, digits, text):
    assert percent_text(share, digits) == text


@pytest.mark.parametrize(
    ("score", "text"),
    [
        (0.298, "0.2980"),
        (0.00123, "0.0012"),
        (0.000412, "0.00041"),
        (0.0000123, "1.2e-05"),
        (-0.0000123, "-1.2e-05"),
        (0.0, "0.0000"),
        (0.3 - 0.1 - 0.2, "0.0000"),  # -2.8e-17: 0 but for rounding
    ],
)
def test_a_score_that_is_not_0_is_not_shown_as_0(score, text):
    assert score_text(score) == text


def test_a_score_has_no_digits_that_no_float_has():
    assert score_text(9e15) == "9000000000000000.0000"
    assert score_text(1e30) == "1e+30"
    assert score_text(-1.23456789e20, "+") == "-1.2346e+20"


def test_a_difference_has_its_sign():
    assert [score_text(value, "+") for value in (0.5, 0.00001, -0.5)] == [
        "+0.5000",
        "+1e-05",
        "-0.5000",
    ]


def test_an_ordinal_ends_as_it_is_spoken():
    numbers = [1, 2, 3, 4, 11, 12, 13, 21, 112, 123]
    spoken = "1st 2nd 3rd 4th 11th 12th 13th 21st 112th 123rd"
    assert " ".join(map(ordinal, numbers)) == spoken
