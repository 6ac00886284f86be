"""The trade-off and the stops: what moves along alpha is exactly what the frames say."""

import pandas as pd
import pytest

from ecv_core.analysis.orders.outcomes import Outcome
from ecv_core.analysis.tradeoff.decision import Option
from ecv_core.figures.tradeoff import (
    BARS,
    MEAN,
    MOVING_POINT,
    stops_figure,
    stops_steps,
    tradeoff_figure,
    tradeoff_steps,
)

ROWS = [
    ("average", "", 1e-4, 40.0, 1.0),
    ("average", "", 1e-3, 30.0, 2.0),
    ("system", "a", 1e-4, 50.0, 0.5),
    ("system", "a", 1e-3, 30.0, 1.0),
    ("system", "b", 1e-4, 30.0, 1.5),
    ("system", "b", 1e-3, 30.0, 3.0),
    ("fixed e", "", 1.0, 10.0, 4.0),
    ("fixed e", "", 10.0, 100.0, 0.0),
    ("paper", "", float("nan"), 41.5, 1.81),
]
FRAME = pd.DataFrame(
    ROWS, columns=["kind", "system", "setting", "energy_percent", "difference_percent"]
)
STOPS = pd.DataFrame(
    [
        (1e-4, 1, 0.0),
        (1e-4, 2, 25.0),
        (1e-4, 3, 75.0),
        (1e-3, 1, 0.0),
        (1e-3, 2, 100.0),
        (1e-3, 3, 0.0),
    ],
    columns=["alpha", "n", "percent"],
)


def names(figure):
    return [trace.name for trace in figure.data if trace.showlegend is not False]


def test_the_moving_point_is_the_average_at_that_alpha():
    steps = tradeoff_steps(FRAME, [1e-4, 1e-3])
    first, second = (step.changes[MOVING_POINT] for step in steps)
    assert (first["x"], first["y"]) == ([40.0], [1.0])
    assert first["text"] == ["<b>e-fold<br>alpha 1e-4</b>"]
    assert (second["x"], second["y"]) == ([30.0], [2.0])
    assert "At alpha 1e-3: 30.0 % of the cost, difference 2.00 %." in steps[1].alt


def test_one_system_is_its_own_average_is_drawn_once_and_named_by_the_moving_point():
    alone = FRAME[FRAME["system"] != "b"]
    figure = tradeoff_figure(alone)
    assert names(figure) == []


def test_the_papers_average_and_the_baseline_are_named_where_they_stand():
    frame = FRAME.replace({"setting": {1.0: 2.0}})
    texts = [text for trace in tradeoff_figure(frame).data for text in trace.text or ()]
    assert "the paper's average" in texts
    assert "always 2 folds" in texts


def test_lines_of_runs_are_named_at_the_highest_and_each_rule_is_called_as_in_the_form():
    rules = [
        ("rule", rule, 0.03, 33.0, 0.9)
        for rule in ("e-fold-relative", "precision", "std-stagnation")
    ]
    others = pd.DataFrame(rules, columns=FRAME.columns)
    late = pd.DataFrame(
        [("system", "a", 1e-6, 70.0, 0.2), ("system", "b", 1e-6, 75.0, 0.4)], columns=FRAME.columns
    )
    figure = tradeoff_figure(pd.concat([FRAME, late, others]), cost="folds", dark=True)
    named = next(trace for trace in figure.data if list(trace.text or ()) == ["each run"])
    assert (*named.x, *named.y) == (75.0, 0.4)
    assert set(names(figure)) == {"e-fold, relative", "Precision", "Stagnating standard deviation"}
    assert figure.layout.xaxis.title.text == "folds used (% of all folds)"


def ring_at(difference_percent, cost_percent=35.0):
    """The mark of an answer that ends so far from the k-fold mean, at this cost."""
    outcome = Outcome(
        k=10,
        setting=0.0355,
        mean_stop=3.5,
        stop_distribution={},
        mean_difference_percent=difference_percent,
        difference_quantiles={},
        coverage=0.9,
        cost_percent=cost_percent,
    )
    answer = Option(
        rule="precision", outcome=outcome, systems_keeping_promise=1, sampled=False, checks=()
    )
    return tradeoff_figure(FRAME, answer=answer).data[-1]


def test_the_answer_is_ringed_at_what_it_costs_and_gives():
    ring = ring_at(0.8)
    assert (*ring.x, *ring.y, *ring.text) == (35.0, 0.8, "<b>answer</b>")
    assert ring.textposition == "bottom left"
    assert "Precision, tolerance 3.55 %" in ring.hovertemplate


def test_the_words_of_an_answer_at_an_edge_of_the_picture_stand_inside():
    assert ring_at(0.05).textposition == "top left"
    assert ring_at(0.8, cost_percent=15.0).textposition == "bottom right"


def test_the_axis_holds_the_papers_point_and_the_average():
    top = tradeoff_figure(FRAME).layout.yaxis.range[1]
    assert top > 2.0


def test_the_bars_are_the_distribution_and_the_mark_is_its_mean():
    first, second = (step.changes for step in stops_steps(STOPS, [1e-4, 1e-3]))
    assert first[BARS]["x"] == [1, 2, 3]
    assert first[BARS]["y"] == [0.0, 25.0, 75.0]
    assert first[BARS]["text"] == ["", "25%", "75%"]
    assert first[MEAN]["x"] == pytest.approx([2.75, 2.75])
    assert second[MEAN]["text"][1] == "<b>mean 2.0</b>"


def test_the_alt_text_says_the_mean_and_the_likeliest_stop():
    (step,) = stops_steps(STOPS, [1e-4])
    assert step.alt.endswith(
        "after 2.75 folds on average, most often after fold 3 (75 % of orders)."
    )


def test_the_axis_of_stops_holds_all_k_folds():
    assert stops_figure(STOPS).layout.xaxis.range == (0.4, 3.6)
