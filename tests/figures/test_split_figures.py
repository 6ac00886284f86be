"""The figures of a split: every mark is drawn, and no part is told by its colour alone."""

import json

import pandas as pd
import pytest

from ecv_core.analysis.split_tables.toy import ToySplit
from ecv_core.figures.palette import palette, part_styles
from ecv_core.figures.splits import STACK, timeline_figure, timeline_steps

MARKS = pd.DataFrame(
    [
        (0, 0, "Ada", 3, 0.0, "A", "training"),
        (0, 0, "Ada", 9, -0.5, "B", "test"),
        (0, 1, "Ben", 5, 0.5, "C", "training"),
        (1, 0, "Ada", 3, 0.0, "A", "test"),
        (1, 0, "Ada", 9, -0.5, "B", "training"),
        (1, 1, "Ben", 5, 0.5, "C", "unused"),
    ],
    columns=["fold", "user", "name", "day", "level", "item", "part"],
)
LEAK = MARKS.loc[[4, 3]]  # Ada's day 9 is learnt from, her day 3 is tested
TOY = ToySplit(marks=MARKS, periods=((9, 9), None), leaks=(None, LEAK))


def trace(figure, name):
    (found,) = [one for one in figure.data if one.name == name]
    return found


@pytest.mark.parametrize("dark", [False, True])
def test_parts_differ_in_colour_and_in_shape(dark):
    styles = part_styles(palette(dark)).values()
    for of in zip(*styles, strict=True):
        assert len(set(of)) == len(styles)


def test_each_interaction_is_a_mark_in_its_users_row():
    figure = timeline_figure(TOY)
    assert trace(figure, "training").x == (3, 5)
    assert trace(figure, "training").y == (0, 1 + STACK * 0.5)
    assert trace(figure, "test").x == (9,)
    assert trace(figure, "test").text == ("Ada: item B",)
    assert figure.layout.yaxis.ticktext == ("Ada", "Ben")


def test_the_legend_names_only_parts_that_some_fold_has():
    figure = timeline_figure(TOY)
    assert [one.name for one in figure.data if one.showlegend] == ["training", "test", "unused"]


def test_the_point_in_time_is_a_line_and_a_leak_an_arrow():
    figure = timeline_figure(TOY)
    assert trace(figure, "point in time").x == (8.5, 8.5)
    assert trace(figure, "leak").x == ()


def test_a_step_shows_what_the_figure_of_its_fold_shows():
    steps = timeline_steps(TOY, ["first", "second"], [0, 1])
    names = [one.name for one in timeline_figure(TOY).data]
    assert [
        {names[at]: change["x"] for at, change in step.changes.items() if change["x"]}
        for step in steps
    ] == [
        {
            "held-out period": [8.5, 9.5, 9.5, 8.5],
            "point in time": [8.5, 8.5],
            "training": [3, 5],
            "test": [9],
        },
        {"leak": [9, 3], "training": [9], "test": [3], "unused": [5]},
    ]
    before, after = (step.changes for step in steps)
    assert before[names.index("training")]["y"] == [0, 1 + STACK * 0.5]
    assert after[names.index("training")]["y"] == [STACK * -0.5]
    assert after[names.index("leak")]["y"] == [STACK * -0.5, 0]
    assert json.loads(json.dumps(after[names.index("leak")])) == after[names.index("leak")]
    assert after[names.index("unused")]["text"] == ["Ben: item C"]
    # A step empties what the one before it drew: no trace is left out.
    assert set(before) == set(after) == set(range(len(names)))
    assert [step.alt for step in steps] == ["first", "second"]
