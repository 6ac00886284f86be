"""The table of rules as it is read: numbers, settings, what is out of reach, who is cheapest."""

import pandas as pd
import pytest

from ecv_core.analysis.tradeoff.rules import RULES_COLUMNS
from pages.studies.tables import table_steps, verdicts

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


def test_each_rule_has_its_numbers_and_its_setting(frame):
    ((efold, fixed, stagnation, there, precision),) = table_steps(frame, [1e-4], ["cells"])
    assert efold == ("e-fold", [("0.80 %", "with 40.0 % of the energy"), ("40.0 %", "0.80 %")])
    assert fixed == ("fixed", [("0.70 %", "4.0 folds"), ("35.0 %", "3.5 folds")])
    assert stagnation == (
        "std-stagnation",
        [("-", "never below 57 % of the energy"), ("57.0 % ± 0.2", "at least 4 folds")],
    )
    # Known for two of three cells only: e-fold is shown over the same two.
    assert there[0] == "e-fold (2 of 3 runs)"
    assert there[1][0] == ("0.90 %", "with 42.0 % of the energy")
    assert precision == (
        "precision (2 of 3 runs)",
        [("0.60 %", "tolerance 2.1 %"), ("30.0 %", "all folds")],
    )


def test_the_sentence_names_the_cheapest_first_among_rules_of_all_cells(frame):
    assert verdicts(frame, [1e-4], ["1e-4"], "cells") == [
        "For a difference of 0.80 %, that of e-fold with alpha 1e-4, the rules need this much of "
        "the energy: "
        "fixed 35 %, e-fold 40 %, std-stagnation 57 %."
    ]
