"""The race as a still picture: what ran, what was saved, and how long each fold took."""

import pandas as pd
import pytest

from ecv_core.figures.race import race_figure, race_lanes

RACE = pd.DataFrame(
    {
        "n": [0, 1, 2, 3, 4],
        "e-fold goes on": [True, True, True, False, False],
        "ran": [False, True, True, True, False],
        "seconds": [0.0, 10.0, 30.0, 60.0, 80.0],
    }
)
"""Stopped after three of four folds; the fourth never ran."""


def test_e_fold_saves_what_is_behind_its_stop_and_k_fold_goes_on():
    lanes = race_lanes(RACE).set_index(["lane", "fold"])
    assert lanes.loc["e-fold", "kind"].tolist() == ["run", "run", "run", "saved"]
    assert lanes.loc["4-fold", "kind"].tolist() == ["run", "run", "run", "estimated"]
    assert lanes.loc["4-fold", "seconds"].tolist() == [10, 20, 30, 20]
    assert lanes.loc["e-fold", "start"].tolist() == [0, 10, 30, 60]


@pytest.mark.parametrize(("factor", "unit", "end"), [(1, "seconds", 80), (60, "minutes", 80)])
def test_bars_lie_end_to_end_in_a_unit_that_can_be_read(factor, unit, end):
    figure = race_figure(race_lanes(RACE.assign(seconds=RACE["seconds"] * factor)))
    assert unit in figure.layout.xaxis.title.text
    ends = [base + x for bar in figure.data for base, x in zip(bar.base, bar.x, strict=True)]
    assert max(ends) == pytest.approx(end)
    assert {bar.name: len(bar.x) for bar in figure.data} == {
        "run": 6,
        "never ran, estimated": 1,
        "saved": 1,
    }
    assert len({bar.marker.pattern.shape for bar in figure.data}) == 3  # not by colour alone
