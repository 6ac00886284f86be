"""Figure 1 after each fold: axes that never move, and a stop that nobody sees too early."""

import pytest

from ecv_core.figures import efold_plot
from ecv_core.figures.efold import FoldHistory, alt_text, efold_frame, score_range
from ecv_core.figures.efold_plot import efold_figure, efold_figures, efold_steps
from ecv_core.records.run import Decision, Interval, Moment

GO_ON = Decision(stop=False, reason="go on")
MOMENTS = [
    Moment(n=1, fold=0, score=0.30, mean=0.30, interval=None, decision=GO_ON),
    Moment(
        n=2, fold=1, score=0.34, mean=0.32, interval=Interval(low=0.2, high=0.44), decision=GO_ON
    ),
    Moment(
        n=3, fold=2, score=0.32, mean=0.32, interval=Interval(low=0.27, high=0.37), decision=GO_ON
    ),
    Moment(
        n=4, fold=3, score=0.90, mean=0.46, interval=Interval(low=0.1, high=0.9), decision=GO_ON
    ),
]


def history_of(moments, stopped_at, k=4):
    return FoldHistory(moments=moments, k=k, metric="nDCG@10", stopped_at=stopped_at, title="a run")


def figures(stopped_at=3, **more):
    return efold_figures(history_of(MOMENTS, stopped_at), **more)


def texts(figure):
    return [note.text for note in figure.layout.annotations]


def test_there_is_a_figure_before_the_first_fold_and_one_after_each():
    shown = figures()
    assert len(shown) == 5
    means = [next(t for t in one.data if t.name == "mean so far") for one in shown]
    assert [len(mean.x) for mean in means] == [0, 1, 2, 3, 3]
    assert texts(shown[0]) == ["press play"]


def test_the_axes_are_those_of_the_whole_run_at_every_step():
    low, high = score_range(efold_frame(MOMENTS, 3))
    whole = (low, pytest.approx(high + 0.13 * (high - low)))
    for figure in figures():
        assert figure.layout.yaxis.range == whole
        assert figure.layout.xaxis.range == (0.5, 4.5)
        assert figure.layout.yaxis2.range == (0, pytest.approx(1.13 * (high - low)))


def test_the_stop_is_drawn_from_its_fold_on_and_not_before():
    shown = figures()
    said = ["<b>stop after 3</b>, 1 fold saved", "<b>stop after 3</b>, 1 fold run to check"]
    assert [texts(one) for one in shown] == [["press play"], [], [], *([one] for one in said)]
    assert "mean of all 4: 0.4600" in [one.name for one in shown[4].data]


def test_the_first_interval_is_drawn_though_it_is_the_only_one():
    interval = MOMENTS[1].interval
    band = figures()[2].data[:2]  # after two folds; n = 1 has no interval
    assert [list(edge.y) for edge in band] == [[interval.high] * 2, [interval.low] * 2]
    assert [list(edge.x) for edge in band] == [[1.9, 2.1]] * 2
    assert list(figures()[3].data[0].x) == [2, 3]


def test_without_a_stop_none_is_drawn():
    assert not any("stop" in text for one in figures(stopped_at=None) for text in texts(one))


def test_the_type_grows_for_a_lecture_hall():
    usual, large = figures(), figures(type_scale=1.5)
    assert large[3].layout.font.size == pytest.approx(1.5 * usual[3].layout.font.size)
    assert large[3].layout.annotations[0].font.size == pytest.approx(
        1.5 * usual[3].layout.annotations[0].font.size
    )


def many_moments(folds):
    """A run whose mean wanders; intervals from the second fold on."""
    moments = []
    for n in range(1, folds + 1):
        score = 0.3 + 0.01 * (n * 7 % 11)
        interval = None
        if n > 1:
            interval = Interval(low=score - 0.1 / n, high=score + 0.1 / n)
        moments.append(
            Moment(n=n, fold=n - 1, score=score, mean=score, interval=interval, decision=GO_ON)
        )
    return moments


def as_seen(figure, end):
    """What a browser draws of a figure up to an x: as many points as there are x."""
    seen = figure.to_plotly_json()
    for trace in seen["data"]:
        trace["x"] = [x for x in trace["x"] if x <= end]
        for name in ("y", "customdata"):
            if name in trace:
                trace[name] = [*map(repr, list(trace[name])[: len(trace["x"])])]
    return seen


@pytest.mark.parametrize(
    ("folds", "stopped_at"), [(20, None), (20, 1), (20, 2), (20, 10), (20, 19), (18, 10), (18, 18)]
)
def test_what_is_cut_out_of_a_later_figure_is_what_was_drawn_after_that_fold(
    folds, stopped_at, monkeypatch
):
    """Of a whole run and of one that lacks folds, wherever it stops."""
    monkeypatch.setattr(efold_plot, "_MOST_FOLDS_ALL_DRAWN", 15)  # of as many as have a figure each
    moments = many_moments(folds)
    shown = efold_figures(history_of(moments, stopped_at, k=20))
    steps = efold_steps(history_of(moments, stopped_at, k=20))
    assert len(shown) < folds
    span = score_range(efold_frame(moments, stopped_at))
    for n in range(1, folds + 1):
        stop = stopped_at if stopped_at is not None and n >= stopped_at else None
        history = history_of(moments[:n], stop, k=20)
        drawn = efold_figure(history, span=span)
        seen = as_seen(shown[steps[n].figure], steps[n].largest_x)
        assert seen == as_seen(drawn, 1000), n
        assert steps[n].alt == alt_text(history)


def test_of_a_thousand_folds_few_figures_are_drawn():
    """All of them would be a hundred megabytes, which took a minute to make."""
    moments = many_moments(1000)
    shown = efold_figures(history_of(moments, 500, k=1000))
    assert len(shown) < 20
    assert sum(len(figure.to_json()) for figure in shown) < 3_000_000


def test_each_step_shows_its_figure_and_says_what_it_shows():
    steps = efold_steps(history_of(MOMENTS, 3))
    assert [step.figure for step in steps] == [0, 1, 2, 3, 4]
    assert steps[0].alt == "a run: no fold of 4 is finished yet."
    assert "the rule stopped" not in steps[2].alt
    assert "the rule stopped here, 1 fold saved" in steps[3].alt
