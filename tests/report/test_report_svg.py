"""Report drawings: scales and ticks by hand, marks where the numbers say, text that is escaped."""

import math
import re
from xml.etree import ElementTree

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ecv_core.figures.efold import efold_frame, score_range
from ecv_core.records import Decision, Interval, Moment
from ecv_core.report.efold_svg import BOTTOM, HEIGHT, LEFT, RIGHT, TOP, WIDTH, efold_svg
from ecv_core.report.heatmap_svg import heatmap_svg
from ecv_core.report.svg import Scale, ticks

SVG = "{http://www.w3.org/2000/svg}"
GO_ON = Decision(stop=False, reason="go on")


def moments(scores):
    return [
        Moment(
            n=n,
            fold=n - 1,
            score=score,
            mean=sum(scores[:n]) / n,
            interval=Interval(low=0.2, high=0.4) if n > 1 else None,
            decision=GO_ON,
        )
        for n, score in enumerate(scores, start=1)
    ]


def drawn(scores, *, k=10, stopped_at=None, metric="nDCG@10", alt="a sentence"):
    frame = efold_frame(moments(scores), stopped_at)
    text = efold_svg(frame, k=k, metric=metric, stopped_at=stopped_at, alt=alt)
    return ElementTree.fromstring(text), frame


def words(svg):
    return [one.text for one in svg.iter(f"{SVG}text")]


def test_a_scale_maps_its_ends_and_its_middle():
    scale = Scale(data=(2, 4), pixels=(100, 0))
    assert [scale(2), scale(3), scale(4)] == [100, 50, 0]


@pytest.mark.parametrize(
    ("low", "high", "most", "expected"),
    [
        (0, 1, 5, [0, 0.2, 0.4, 0.6, 0.8, 1.0]),
        (0.283, 0.301, 6, [0.285, 0.29, 0.295, 0.3]),
        (-3, 3, 6, [-3, -2, -1, 0, 1, 2, 3]),
    ],
)
def test_ticks_are_round_values_inside_the_range(low, high, most, expected):
    assert ticks(low, high, most) == pytest.approx(expected)


@given(st.floats(-1e3, 1e3), st.floats(1e-6, 1e3), st.integers(2, 10))
def test_ticks_never_leave_the_range_and_never_crowd(low, span, most):
    found = ticks(low, low + span, most)
    assert len(found) <= most + 1
    assert all(low - span / 1e6 <= value <= low + span * (1 + 1e-6) for value in found)


def test_scores_stand_where_the_axes_say():
    svg, frame = drawn([0.30, 0.34])
    low, high = score_range(frame)
    dots = [c for c in svg.iter(f"{SVG}circle") if c.get("opacity") == "0.65"]
    x = [float(dot.get("cx")) for dot in dots]
    y = [float(dot.get("cy")) for dot in dots]
    step = (WIDTH - LEFT - RIGHT) / 10  # ten folds between 0.5 and 10.5
    assert x == pytest.approx([LEFT + step / 2, LEFT + 1.5 * step], abs=0.01)
    down = (high - 0.30) / (high - low) * (HEIGHT - BOTTOM - TOP)
    assert y[0] == pytest.approx(TOP + down, abs=0.01)


def test_the_stop_and_what_it_saved_are_said_in_words():
    assert {"stop after 3", "7 folds saved"} <= set(words(drawn([0.3, 0.31, 0.3], stopped_at=3)[0]))
    checked = words(drawn([0.3] * 3 + [0.32] * 2, k=5, stopped_at=3)[0])
    assert {"2 folds run to check", "mean of all 5: 0.3080"} <= set(checked)


def test_a_run_that_used_all_folds_has_no_stop_line():
    assert not [w for w in words(drawn([0.3, 0.31], k=2, stopped_at=2)[0]) if "stop" in w]


def test_words_from_outside_are_text_and_never_markup():
    svg, _ = drawn([0.3, 0.31], metric="<script>&", alt='"><script>alert(1)</script>')
    assert not list(svg.iter(f"{SVG}script"))
    assert "<script>&" in words(svg)
    assert svg.find(f"{SVG}title").text == '"><script>alert(1)</script>'


@given(
    st.lists(st.floats(-5, 5).map(lambda x: round(x, 6)), min_size=1, max_size=25),
    st.integers(0, 25),
)
def test_any_run_gives_a_drawing_without_impossible_numbers(scores, stop):
    frame = efold_frame(moments(scores), stop if 1 <= stop <= len(scores) else None)
    stopped_at = stop if 1 <= stop <= len(scores) else None
    text = efold_svg(frame, k=25, metric="m", stopped_at=stopped_at, alt="a")
    ElementTree.fromstring(text)
    assert not re.search(r"[\" ](nan|-?inf)", text)


def test_a_heatmap_has_every_number_and_says_what_was_not_run():
    cells = pd.DataFrame(
        {
            "dataset": ["a", "a", "b"],
            "algorithm": ["x", "y", "x"],
            "value": [1.234, math.nan, 3.0],
        }
    )
    svg = ElementTree.fromstring(heatmap_svg(cells, "value", digits=2, alt="Values."))
    assert words(svg) == ["x", "y", "a", "1.23", "not run", "b", "3.00", "not run"]
    lightest, strongest = "rgb(241,245,247)", "rgb(0,80,126)"
    fills = [one.get("fill") for one in svg.iter(f"{SVG}rect")]
    assert fills == [lightest, "none", strongest, "none"]
