"""Figure 1: the frame by hand, the axis that does not jump, and what the figure marks."""

import math
from dataclasses import replace

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ecv_core.figures.efold import COLUMNS, FoldHistory, alt_text, efold_frame, score_range
from ecv_core.figures.efold_plot import efold_figure
from ecv_core.records.run import Decision, Interval, Moment

GO_ON = Decision(stop=False, reason="go on")
# Scores 0.30, 0.34, 0.32, 0.36; the intervals are made up, round numbers.
MOMENTS = [
    Moment(n=1, fold=2, score=0.30, mean=0.30, interval=None, decision=GO_ON),
    Moment(
        n=2, fold=0, score=0.34, mean=0.32, interval=Interval(low=0.2, high=0.44), decision=GO_ON
    ),
    Moment(
        n=3, fold=1, score=0.32, mean=0.32, interval=Interval(low=0.27, high=0.37), decision=GO_ON
    ),
    Moment(
        n=4, fold=3, score=0.36, mean=0.33, interval=Interval(low=0.29, high=0.37), decision=GO_ON
    ),
]


def history_of(moments, stopped_at, k=10):
    return FoldHistory(moments=moments, k=k, metric="nDCG@10", stopped_at=stopped_at)


def figure_of(moments, stopped_at, k=10):
    return efold_figure(history_of(moments, stopped_at, k))


def texts(figure):
    return [note.text for note in figure.layout.annotations]


def trace(figure, name):
    return next(trace for trace in figure.data if trace.name == name)


@pytest.mark.parametrize(
    ("scale", "mean", "width", "ticks"),
    [
        (1, "0.3200 [0.2000, 0.4400]", "0.2400", ".3~f"),
        (1e-4, "3.2e-05 [2e-05, 4.4e-05]", "2.4e-05", ".7~f"),
        (1e6, "320000.0000 [200000.0000, 440000.0000]", "240000.0000", ".2~f"),
    ],
)
def test_hovers_and_ticks_suit_scores_of_any_size(scale, mean, width, ticks):
    moments = []
    for moment in MOMENTS[:2]:
        interval = moment.interval
        if interval is not None:
            interval = Interval(low=scale * interval.low, high=scale * interval.high)
        moments.append(
            replace(moment, score=scale * moment.score, mean=scale * moment.mean, interval=interval)
        )
    figure = figure_of(moments, None)
    means = trace(figure, "mean so far")
    assert means.hovertemplate == "%{customdata}"
    assert means.customdata[1] == mean
    assert "[" not in means.customdata[0]  # one fold has no interval
    assert list(trace(figure, "interval width").customdata) == [width]
    assert figure.layout.yaxis.tickformat == ticks


def test_the_frame_has_one_row_per_fold_with_the_documented_columns():
    frame = efold_frame(MOMENTS, stopped_at=3)
    assert list(frame.columns) == list(COLUMNS)
    assert frame["n"].tolist() == [1, 2, 3, 4]
    assert frame["fold"].tolist() == [2, 0, 1, 3]
    assert frame["width"].tolist()[1:] == pytest.approx([0.24, 0.10, 0.08])
    assert math.isnan(frame["width"][0])
    assert frame["used"].tolist() == [True, True, True, False]


def test_the_band_ends_where_the_score_cannot_be():
    history = replace(history_of(MOMENTS[:3], None), metric_range=(0.25, 0.4))
    figure = efold_figure(history)
    assert list(trace(figure, "95 % interval of the mean").y) == [0.25, 0.27]
    upper_edge = next(trace for trace in figure.data if trace.showlegend is False)
    assert list(upper_edge.y) == [0.4, 0.37]
    cut = "(0.2400 wide before it was cut at what the score can be)"
    assert f"confidence interval 0.2500 to 0.4000 {cut}" in alt_text(history.after(2))
    in_percent = replace(history, metric_range=(0, 0.1))  # whose ends are those of another scale
    assert in_percent.frame()["high"].tolist()[1:] == [0.44, 0.37]


def test_every_fold_counts_while_there_is_no_stop():
    assert efold_frame(MOMENTS, stopped_at=None)["used"].all()


def test_a_run_without_folds_gives_an_empty_frame_and_still_a_figure():
    frame = efold_frame([], None)
    assert frame.empty
    figure = figure_of([], None)
    assert figure.layout.xaxis.range == (0.5, 10.5)
    assert texts(figure) == ["no fold is finished yet"]


def test_the_second_fold_sets_the_score_axis_around_its_interval():
    low, high = score_range(efold_frame(MOMENTS[:2], None))
    assert (low + high) / 2 == pytest.approx(0.32)
    assert low < 0.2
    assert high > 0.44


def test_later_folds_that_fit_leave_the_axes_alone():
    ranges = {score_range(efold_frame(MOMENTS[:n], None)) for n in (2, 3, 4)}
    assert len(ranges) == 1


def moments_of(scores):
    """The interval reaches as far as the scores do, to either side of their mean."""
    moments = []
    for n, score in enumerate(scores, start=1):
        mean = sum(scores[:n]) / n
        spread = max(scores[:n]) - min(scores[:n])
        interval = Interval(low=mean - spread, high=mean + spread) if n > 1 else None
        moments.append(
            Moment(n=n, fold=n - 1, score=score, mean=mean, interval=interval, decision=GO_ON)
        )
    return moments


@settings(max_examples=25)
@given(st.lists(st.floats(0.0, 1.0), min_size=2, max_size=12))
def test_the_score_axis_only_grows_and_always_holds_every_fold(scores):
    moments = moments_of(scores)
    before = (math.inf, -math.inf)
    for n in range(2, len(moments) + 1):
        frame = efold_frame(moments[:n], None)
        low, high = score_range(frame)
        assert low <= before[0]
        assert high >= before[1]
        held = pd.concat([frame["score"], frame["low"], frame["high"]]).dropna()
        assert low - 1e-9 <= held.min()
        assert held.max() <= high + 1e-9
        before = (low, high)


def test_the_axis_is_usable_when_all_scores_are_equal():
    flat = [
        Moment(n=1, fold=0, score=0.0, mean=0.0, interval=None, decision=GO_ON),
        Moment(n=2, fold=1, score=0.0, mean=0.0, interval=Interval(low=0, high=0), decision=GO_ON),
    ]
    for n in (1, 2):
        low, high = score_range(efold_frame(flat[:n], None))
        assert low < 0 < high


def test_the_two_axes_have_the_same_length_per_unit():
    layout = figure_of(MOMENTS, None).layout
    left, right = layout.yaxis.range, layout.yaxis2.range
    assert right[0] == 0
    assert right[1] - right[0] == pytest.approx(left[1] - left[0])


def test_the_stop_is_a_dashed_line_with_its_fold_and_the_folds_saved():
    figure = figure_of(MOMENTS[:3], stopped_at=3)
    line = next(shape for shape in figure.layout.shapes if shape.type == "line")
    assert (line.x0, line.x1, line.line.dash) == (3, 3, "dash")
    assert line.y1 == pytest.approx(1 / 1.13)  # it ends where its words begin
    shade = next(shape for shape in figure.layout.shapes if shape.type == "rect")
    assert (shade.x0, shade.x1) == (3, 10.5)
    assert texts(figure) == ["<b>stop after 3</b>, 7 folds saved"]


def test_one_saved_fold_is_a_fold():
    assert texts(figure_of(MOMENTS[:3], stopped_at=3, k=4)) == ["<b>stop after 3</b>, 1 fold saved"]


def test_nothing_is_marked_while_there_is_no_stop_or_when_the_stop_is_the_last_fold():
    assert texts(figure_of(MOMENTS, None)) == []
    assert texts(figure_of(MOMENTS, stopped_at=4, k=4)) == []


def test_folds_run_to_check_are_open_circles_and_the_k_fold_mean_is_drawn_when_all_are_in():
    figure = figure_of(MOMENTS, stopped_at=3, k=4)
    checked = trace(figure, "folds run to check")
    assert list(checked.x) == [4]
    assert checked.marker.symbol == "circle-open"
    assert list(trace(figure, "mean so far").x) == [1, 2, 3]
    assert checked.showlegend
    assert texts(figure) == ["<b>stop after 3</b>, 1 fold run to check"]
    whole = trace(figure, "mean of all 4: 0.3300")
    assert list(whole.y) == [0.33, 0.33]


SCORE = st.floats(0.0, 1.0).map(lambda score: round(score, 9))  # a range has room for a mark


@settings(max_examples=15)
@given(st.lists(SCORE, min_size=3, max_size=12), st.integers(3, 11))
def test_what_is_said_about_the_stop_stands_above_every_mark(scores, stop):
    moments = moments_of(scores)
    stopped_at = min(stop, len(scores))
    frame = efold_frame(moments, stopped_at)
    figure = figure_of(moments, stopped_at, k=len(scores) + 1)
    low, top = figure.layout.yaxis.range
    (words,) = figure.layout.annotations
    beneath = low + (top - low) / 1.13
    assert words.y * (top - low) + low > beneath
    marks = pd.concat([frame["score"], frame["low"], frame["high"], frame["width"] + low])
    assert marks.dropna().max() <= beneath + 1e-9


@pytest.mark.parametrize(
    ("stopped_at", "side"), [(3, "left"), (4, "center"), (6, "center"), (7, "right"), (9, "right")]
)
def test_the_words_about_the_stop_stay_within_the_axis(stopped_at, side):
    (words,) = figure_of(moments_of([0.3] * stopped_at), stopped_at).layout.annotations
    assert (words.x, words.xanchor) == (stopped_at, side)


def test_traces_differ_in_more_than_colour():
    figure = figure_of(MOMENTS, None)
    marks = {
        (trace.marker.symbol, trace.line.dash, trace.mode)
        for trace in figure.data
        if trace.name in ("mean so far", "interval width", "score of one fold")
    }
    assert len(marks) == 3


def test_the_dark_figure_differs_in_colours_only():
    light, dark = (efold_figure(history_of(MOMENTS, 3), dark=dark) for dark in (False, True))
    assert trace(light, "mean so far").line.color != trace(dark, "mean so far").line.color
    assert list(trace(light, "mean so far").y) == list(trace(dark, "mean so far").y)


@pytest.mark.parametrize(
    ("count", "stopped_at", "k", "says"),
    [
        (0, None, 10, "no fold of 10 is finished yet."),
        (1, None, 10, "after 1 of 10 folds the mean nDCG@10 is 0.3000."),
        (
            2,
            None,
            10,
            "after 2 of 10 folds the mean nDCG@10 is 0.3200, confidence interval 0.2000 to 0.4400 "
            "(0.2400 wide).",
        ),
        (
            3,
            3,
            10,
            "after 3 of 10 folds the mean nDCG@10 is 0.3200, confidence interval 0.2700 to 0.3700 "
            "(0.1000 wide); the rule stopped here, 7 folds saved.",
        ),
        (
            4,
            3,
            4,
            "after 3 of 4 folds the mean nDCG@10 is 0.3200, confidence interval 0.2700 to 0.3700 "
            "(0.1000 wide); the rule stopped here, 1 fold run to check; the mean of all 4 folds is "
            "0.3300.",
        ),
    ],
)
def test_the_alt_text_says_the_numbers(count, stopped_at, k, says):
    assert alt_text(history_of(MOMENTS[:count], stopped_at, k)) == says
