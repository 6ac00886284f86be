"""The pictures of the Learn page: what they show at each step, by hand."""

import numpy as np
import pandas as pd
import pytest

from ecv_core.figures.lessons import (
    LIT,
    SAVED,
    SEEN,
    USED,
    grades_figure,
    misses_figure,
    savings_figure,
    savings_steps,
    wander_figure,
    widths_figure,
    widths_steps,
)
from ecv_core.figures.products import (
    ABOVE,
    BELOW,
    PICTURES,
    STOP,
    products_figure,
    products_steps,
    threshold_figure,
)
from ecv_core.lessons.folds import draws_frame, widths_frame
from ecv_core.records.spec import RunSpec
from ecv_core.stopping import RULES, moments, rule_for
from tests.fake_folds import fold_result

PRODUCTS = pd.DataFrame(
    {
        "n": [1, 2, 3, 4, 5],
        "before": [np.nan, np.nan, 0.2, 0.1, 0.05],
        "width": [np.nan, 0.2, 0.1, 0.05, 0.04],
        "product": [np.nan, np.nan, 0.01, 0.0025, 0.0004],
    }
)


@pytest.mark.parametrize(
    ("alpha", "stop", "above", "below"),
    [(1e-1, 3, [], [3, 4, 5]), (3e-3, 4, [3], [4, 5]), (1e-5, 5, [3, 4, 5], [])],
)
def test_points_up_to_alpha_are_filled_and_the_first_is_the_stop(alpha, stop, above, below):
    steps = products_steps(PRODUCTS, [alpha], ["a"], [stop])
    (patch,) = steps.patches
    assert patch[ABOVE]["x"] == above
    assert patch[BELOW]["x"] == below
    assert patch[STOP]["x"] == ([stop, stop] if below else [])
    assert ("never says stop" in steps.alts[0]) == (not below)


def test_energy_used_and_saved_are_shares_of_each_datasets_energy():
    frame = pd.DataFrame(
        {
            "alpha": [1e-4] * 3,
            "dataset": ["b", "a", "a"],
            "used_joules": [5.0, 10.0, 20.0],
            "saved_joules": [5.0, 30.0, 40.0],
        }
    )
    steps = savings_steps(frame, ["a", "b"], [1e-4], ["1e-4"])
    assert steps.patches[0][USED]["x"] == [30, 50]  # a: 30 of 100 J
    assert steps.patches[0][SAVED]["x"] == [70, 50]
    assert "a 70 %, b 50 %" in steps.alts[0]


def test_the_lit_interval_is_that_of_the_folds_seen():
    scores = [0.2, 0.4, 0.6, 0.5]
    frame = widths_frame(np.array(scores))
    steps = widths_steps(frame, scores)
    assert len(steps.patches) == 3
    assert steps.patches[1][SEEN]["y"] == scores[:3]
    low, high = steps.patches[1][LIT]["y"]
    assert (low + high) / 2 == pytest.approx(0.4)


def test_the_best_model_is_named_not_only_coloured():
    frame = pd.DataFrame({"model": ["m", "n"], "seen": [1.0, 0.5], "held_out": [0.0, 0.3]})
    seen, held_out = (grades_figure(frame, held_out=held) for held in (False, True))
    assert [one.text for one in seen.layout.annotations if "best" in one.text] == [
        "<b>1.00</b>  m, <b>best</b>"
    ]
    assert "n, <b>best</b>" in [one.text for one in held_out.layout.annotations][-1]


@pytest.mark.parametrize("dark", [False, True])
def test_every_picture_can_be_drawn_light_and_dark(dark):
    scores = [0.2, 0.4, 0.6, 0.5]
    misses = pd.DataFrame(
        {
            "kind": ["rule", "rule", "plan"],
            "system": ["s", "", ""],
            "alpha": [1e-3, 1e-3, np.nan],
            "folds": [3.0, 3.0, 3.0],
            "misses_percent": [5.0, 5.0, 2.0],
        }
    )
    figures = [
        products_figure(PRODUCTS, dark=dark),
        savings_figure(["a"], dark=dark),
        widths_figure(widths_frame(np.array(scores)), scores, metric="nDCG@10", dark=dark),
        wander_figure(draws_frame(np.array(scores), 3), metric="nDCG@10", dark=dark),
        misses_figure(misses, k=4, dark=dark),
    ]
    for figure in figures:
        assert len(figure.data) >= 1
        assert figure.layout.font.size >= 19  # the last row reads it


def test_the_number_that_decides_is_drawn_against_the_setting_of_the_rule():
    spec = RunSpec(dataset="d", algorithm="a", k=5, rule_params=(("alpha", 1e-3),))
    folds = [fold_result(at, score) for at, score in enumerate([0.30, 0.32, 0.31, 0.31])]
    figure = threshold_figure(moments(rule_for(spec), folds, 0.95), spec)
    # The products of tests/stopping/test_rules.py, worked out there by hand.
    assert figure.data[0].y[:2] == (None, None)
    assert figure.data[0].y[2:] == pytest.approx([0.0101572, 0.000615788], rel=1e-4)
    assert figure.layout.shapes[0].y0 == 1e-3
    assert figure.layout.annotations[0].text == "alpha 1e-3"
    assert figure.layout.yaxis.type == "log"
    assert {one.picture for one in RULES.values()} <= {"", *PICTURES}
