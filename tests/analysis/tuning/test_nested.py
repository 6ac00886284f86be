"""The protocol with a part put aside: what a choice owes to its folds, and what is said of it."""

import numpy as np
import pytest

from ecv_core.analysis.tuning.nested import Aside, aside_sentence, optimism


def test_what_a_choice_owes_to_its_folds() -> None:
    # The best by the other fold is in each fold the worse one: 0.3, 0.2; the best mean is 0.35.
    assert optimism(np.array([[0.5, 0.2], [0.3, 0.36]])) == pytest.approx(0.35 - 0.25)
    # One that is best in every fold owes nothing.
    assert optimism(np.array([[0.5, 0.4, 0.6], [0.1, 0.2, 0.1]])) == pytest.approx(0)


def test_a_difference_that_is_no_flattery_is_said_as_such() -> None:
    found = Aside(run_id="a", score=0.5, promised=0.4, by_choice=None, met=1)
    said = aside_sentence(found, "nDCG@10", 5)
    assert said.endswith("gave 0.4000, 20 % below that.")
