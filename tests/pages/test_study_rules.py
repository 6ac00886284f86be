"""The rules beside each other as they are read: energy, settings, who is cheapest."""

import pandas as pd
import pytest

from ecv_core.analysis.tradeoff.rules import RULES_COLUMNS
from pages.studies.figures import rules_steps, verdicts

NAN = float("nan")


@pytest.fixture
def frame():
    rows = [
        (1e-4, "cells", "e-fold", 3, 40, 0.8, 1e-4, 0.8, 0, 1e-4, 40, 0, 30),
        (1e-4, "cells", "fixed", 3, 40, 0.8, 4.0, 0.7, 0, 3.5, 35, 0, 10),
        (1e-4, "cells", "std-stagnation", 3, 40, 0.8, NAN, NAN, NAN, 4, 57, 0.2, 57),
        (1e-4, "cells", "precision", 2, 42, 0.9, 0.021, 0.6, 0, 0.0, 30, 0, 10),
    ]
    return pd.DataFrame(rows, columns=list(RULES_COLUMNS))


def test_each_rule_has_its_energy_and_its_setting(frame):
    rules = ["e-fold", "fixed", "std-stagnation", "precision"]
    (values,), (notes,) = rules_steps(frame, [1e-4], rules)
    assert values == ["40.0 %", "35.0 %", "57.0 % ± 0.2", "30.0 %"]
    assert notes[1:3] == ["3.5 folds", "at least 4 folds"]
    # Known for two of three cells only: e-fold's energy over the same two stands beside it.
    assert notes[3] == "all folds; 2 of 3 runs, of which e-fold needs 42.0 %"


def test_the_sentence_names_the_cheapest_first_among_rules_of_all_cells(frame):
    assert verdicts(frame, [1e-4], ["1e-4"], "cells") == [
        "For a difference of 0.80 %, that of e-fold with alpha 1e-4, the rules need this much of "
        "the energy: "
        "fixed 35 %, e-fold 40 %, std-stagnation 57 %."
    ]
