"""The lanes of a selection: what is drawn where, by hand."""

import math

import pandas as pd
import pytest

from ecv_core.figures.selection import axis_range, selection_figures, selection_steps

COLUMNS = ["step", "contender", "state", "folds", "behind", "low", "high", "says"]
NAN = math.nan
LANES = pd.DataFrame(
    [
        (0, "A", "waiting", 0, NAN, NAN, NAN, "has not run yet"),
        (0, "B", "waiting", 0, NAN, NAN, NAN, "has not run yet"),
        (0, "C", "waiting", 0, NAN, NAN, NAN, "has not run yet"),
        (1, "A", "leader", 1, 0.0, 0.0, 0.0, "leads"),
        (1, "B", "in", 1, 4.0, -2.0, math.inf, "can win"),
        (1, "C", "out", 1, 60.0, 50.0, 70.0, "out after 1 fold"),
    ],
    columns=COLUMNS,
)


def test_the_axis_shows_those_near_the_leader_and_never_moves():
    # The lower of 4 and 60 is the third quartile; times 1.35 or 2.5 of the nearest.
    assert axis_range(LANES) == pytest.approx((-3.5, 10.0))
    figures = selection_figures(LANES)
    assert [tuple(one.layout.xaxis.range) for one in figures] == [axis_range(LANES)] * 2


def test_an_interval_ends_where_the_axis_does_and_who_is_beyond_is_an_arrow():
    before, after = selection_figures(LANES)
    assert not [trace for trace in before.data if trace.mode == "lines"]
    bars = {trace.y[0]: trace for trace in after.data if trace.mode == "lines"}
    assert list(bars[-1].x) == pytest.approx([-2.0, 10 - 0.02 * 13.5])
    assert bars[-2].line.width < bars[-1].line.width  # whoever is out is thin and grey
    marks = {
        (trace.name, trace.marker.symbol): trace for trace in after.data if trace.mode == "markers"
    }
    assert marks["dropped: behind on these folds", "arrow-right"].y == (-2,)
    assert marks["dropped: behind on these folds", "x"].showlegend  # no cross is to be seen
    assert list(marks["still evaluated", "circle"].x) == [4.0]
    assert marks["still evaluated", "circle"].showlegend
    assert not marks["place is known", "triangle-right"].showlegend


def test_every_lane_says_its_name_and_state():
    words = [note.text for note in selection_figures(LANES, dark=True)[1].layout.annotations]
    assert words == ["<b>A</b> · leads", "<b>B</b> · can win", "C · out after 1 fold"]
    steps = selection_steps(LANES, ["All run.", "A leads."])
    assert [step.figure for step in steps] == [0, 1]
    assert steps[1].alt == "A leads. A: leads; B: can win; C: out after 1 fold."


def test_an_axis_without_any_distance_is_there_all_the_same():
    low, high = axis_range(LANES[LANES["step"] == 0])
    assert low < 0 < high
