"""The pictures of the Learn page: what they show at each step, by hand."""

import numpy as np
import pandas as pd
import pytest

from ecv_core.figures.threshold import PICTURES, threshold_figure
from ecv_core.records.spec import RunSpec
from ecv_core.stopping import RULES, moments, rule_for
from pages.learn.material.dealing import draws_frame
from pages.learn.material.drawings import grades_figure, wander_figure
from tests.fake_folds import fold_result

LINE, ABOVE, REACHED, LIMIT, STOP = range(5)  # the traces, in their order


def test_the_best_model_is_named_not_only_coloured():
    frame = pd.DataFrame({"model": ["m", "n"], "seen": [1.0, 0.5], "held_out": [0.0, 0.3]})
    seen, held_out = (grades_figure(frame, graded) for graded in ("seen", "held_out"))
    assert [one.text for one in seen.layout.annotations if "best" in one.text] == [
        "<b>1.00</b>  m, <b>best</b>"
    ]
    assert "n, <b>best</b>" in [one.text for one in held_out.layout.annotations][-1]


@pytest.mark.parametrize("dark", [False, True])
def test_every_picture_can_be_drawn_light_and_dark(dark):
    scores = [0.2, 0.4, 0.6, 0.5]
    figures = [wander_figure(draws_frame(np.array(scores), 3), metric="nDCG@10", dark=dark)]
    for figure in figures:
        assert len(figure.data) >= 1
        assert figure.layout.font.size >= 19  # the last row reads it


# The products after folds 3 and 4 of tests/stopping/test_rules.py, worked out there by hand.
THIRD, FOURTH = 0.0101572, 0.000615788


@pytest.mark.parametrize(
    ("alpha", "above", "reached", "stop"),
    [(2e-2, [], [3, 4], 3), (1e-3, [3], [4], 4), (1e-5, [3, 4], [], None)],
)
def test_numbers_up_to_the_line_are_filled_and_the_first_is_the_stop(alpha, above, reached, stop):
    spec = RunSpec(dataset="d", algorithm="a", k=6, rule_params=(("alpha", alpha),))
    folds = [fold_result(at, score) for at, score in enumerate([0.30, 0.32, 0.31, 0.31])]
    figure = threshold_figure(moments(rule_for(spec), folds, 0.95), spec)
    assert list(figure.data[LINE].x) == [3, 4]
    assert figure.data[LINE].y == pytest.approx([THIRD, FOURTH], rel=1e-4)
    assert list(figure.data[ABOVE].x) == above
    assert list(figure.data[REACHED].x) == reached
    assert list(figure.data[LIMIT].y) == [alpha, alpha]
    assert figure.data[LIMIT].text[1] == RULES["e-fold"].axis.in_words(alpha)
    assert [tuple(one.x) for one in figure.data[STOP:]] == ([(stop, stop)] if stop else [])
    low, high = figure.layout.yaxis.range
    assert low <= np.log10(min(FOURTH, alpha))
    assert high >= np.log10(max(THIRD, alpha))
    assert figure.layout.font.size >= 19  # the last row reads it


def test_every_picture_that_a_rule_names_is_there():
    assert {one.picture for one in RULES.values()} <= {"", *PICTURES}
