"""The rules beside each other as they are read: who is cheapest."""

import pandas as pd
import pytest

from ecv_core.analysis.tradeoff.rules_compared import RULES_COLUMNS
from pages.studies.figures import rule_sentences

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


def test_the_sentence_names_the_cheapest_first_and_rules_of_some_cells_beside_e_fold(frame):
    assert rule_sentences(frame, [1e-4], "cells") == [
        "For a difference of 0.80 %, which e-fold has with alpha 1e-4, the rules need these shares "
        "of the energy: "
        "Fixed number 35 %; e-fold 40 %; Stagnating standard deviation 57 %. Over 2 of the 3 runs: "
        "Precision 30 %, where e-fold needs 42 %."
    ]
