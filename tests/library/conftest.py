"""Rules from outside the package, as users write them."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

import ecv_core as ecv


class RangeOfTwo:
    """Stops when the newest score is within 0.015 of the lowest so far."""

    def decide(self, results: Sequence[ecv.FoldResult]) -> ecv.Decision:
        scores = [result.score for result in results]
        near = len(scores) > 1 and scores[-1] - min(scores[:-1]) <= 0.015
        return ecv.Decision(stop=near, reason=f"After {len(scores)} folds: {near}.")


class Rising:
    """Stops when the newest score is above the one before: the order is all it looks at."""

    def decide(self, results: Sequence[ecv.FoldResult]) -> ecv.Decision:
        stop = len(results) > 1 and results[-1].score > results[-2].score
        return ecv.Decision(stop=stop, reason=f"After {len(results)} folds: {stop}.")


@pytest.fixture(autouse=True)
def no_names_left(registries_as_they_were: None) -> None:
    """Most tests here give names to something of their own."""


@pytest.fixture
def range_of_two() -> RangeOfTwo:
    return RangeOfTwo()


@pytest.fixture
def rising() -> Rising:
    return Rising()
