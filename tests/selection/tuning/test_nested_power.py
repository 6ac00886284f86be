"""The recorded p values under the paper's own protocol."""

from itertools import combinations

import numpy as np
import pytest

from ecv_core import cli
from scripts.record_nested_power import of_a_draw, tuning


def test_a_draw_varies_as_all_draws_say():
    p_values = np.array([[0.9, 0.5, 0.1, 0.0, 0.3], [0.7, 0.1, 0.3, 0.0, 0.9]])
    sums = [p_values.mean(axis=0)[list(pairs)].sum() for pairs in combinations(range(5), 3)]
    assert of_a_draw(p_values, 3) == pytest.approx((np.mean(sums), np.std(sums)))


def test_the_tuning_is_a_command_that_there_is():
    asked = cli.parse(tuning("ml-1m", "bpr-mf"))
    assert (asked.split, asked.split_param, asked.all_folds) == ("nested-k-fold", ["above=4"], True)
    assert [one.partition("=")[0] for one in asked.grid] == ["factors", "epochs", "learning_rate"]
