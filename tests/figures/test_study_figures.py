"""Heatmaps of a study: the right number in the right cell, at every step of the slider."""

import math

import pandas as pd
import pytest

from ecv_core.figures.heatmap import (
    KEPT,
    RANKS,
    heatmap_figure,
    heatmap_steps,
    ranks_figure,
    ranks_steps,
    scores_figure,
    scores_words,
    table_at_alpha,
)
from ecv_core.figures.palette import CellScale, difference_scale, stop_scale

SCALE = CellScale(best=0, worst=300, best_words="nothing", worst_words="three hundred")
ALPHAS = [1e-5, 1e-3]
NAN = float("nan")


@pytest.fixture
def cells():
    """'two' has no 'b'; values are alpha's place, dataset's and algorithm's as digits."""
    return pd.DataFrame(
        [
            (alpha, dataset, algorithm, 100 * (place + 1) + value)
            for place, alpha in enumerate(ALPHAS)
            for dataset, algorithm, value in [("one", "a", 11), ("one", "b", 12), ("two", "a", 21)]
        ],
        columns=["alpha", "dataset", "algorithm", "value"],
    )


@pytest.fixture
def ranks():
    rows = [("one", "a", 1, 1.25), ("one", "b", 2, 1.75), ("two", "a", 1.5, 1.5)]
    return pd.DataFrame(
        [(alpha, *row) for alpha in ALPHAS for row in rows],
        columns=["alpha", "dataset", "algorithm", "rank_k_fold", "rank_e_fold"],
    )


@pytest.fixture
def stability():
    return pd.DataFrame(
        [(1e-5, "one", 99.6, 100.0), (1e-3, "one", 75.0, 80.0), (1e-5, "two", 50.0, 60.0),
         (1e-3, "two", 40.0, 45.0)],
        columns=["alpha", "dataset", "same_order_percent", "same_winner_percent"],
    )  # fmt: skip


def test_tables_have_rows_and_columns_as_they_come_and_gaps(cells):
    first, second = (table_at_alpha(cells, "value", alpha) for alpha in ALPHAS)
    assert (list(second.index), list(second.columns)) == (["one", "two"], ["a", "b"])
    assert first.loc["one"].tolist() == [111, 112]
    assert second.loc["two", "a"] == 221
    assert math.isnan(second.loc["two", "b"])


def test_the_steps_carry_the_numbers_and_a_sentence(cells):
    steps = heatmap_steps(cells, ALPHAS, value="value", digits=0, title="Value")
    first, last = (step.changes for step in steps)
    assert first[0] == {"z": [[111, 112], [121, None]], "text": [["111", "112"], ["121", ""]]}
    assert last[0]["z"] == [[211, 212], [221, None]]
    assert [step.note for step in steps] == ["alpha 1e-5", "alpha 1e-3"]
    assert steps[1].alt == (
        "Value at alpha 1e-3, 3 cells: from 211 (a on one) to 221 (a on two), mean 215."
    )


def test_a_missing_cell_shows_a_dash_and_colours_mean_the_same_at_every_alpha(cells):
    figure = heatmap_figure(cells, value="value", scale=SCALE, hover="%{text}")
    heat, gaps = figure.data
    assert (heat.zmin, heat.zmax) == (0, 300)
    assert list(gaps.x) == ["b"]
    assert list(gaps.y) == ["two"]
    assert list(gaps.text) == ["-"]


@pytest.mark.parametrize("dark", [False, True])
def test_numbers_stand_out_from_every_colour_of_the_scale(cells, dark):
    heat = heatmap_figure(cells, value="value", scale=SCALE, hover="", dark=dark).data[0]
    for _, colour in heat.colorscale:
        assert _contrast(heat.textfont.color, colour) >= 4.5  # WCAG AA


def test_ranks_stand_beside_those_of_k_folds_and_what_is_kept(ranks, stability):
    step = ranks_steps(ranks, stability, ALPHAS)[1]
    patch = step.changes
    assert patch[RANKS]["text"] == [["<b>1.2</b> (1)", "<b>1.8</b> (2)"], ["<b>1.5</b> (1.5)", ""]]
    assert patch[KEPT]["text"] == [["75 %", "80 %"], ["40 %", "45 %"]]
    assert patch[KEPT]["z"] == [[75, 80], [40, 45]]
    assert "one order 75 %, winner 80 %; two order 40 %, winner 45 %" in step.alt


@pytest.mark.parametrize("dark", [False, True])
def test_a_strong_colour_is_worse_in_every_figure_and_a_legend_says_so(
    cells, ranks, stability, dark
):
    """Figure 2, 3: large is worse; figure 4: a high rank is worse, and few orders that keep it."""
    (two, *_) = heatmap_figure(cells, value="value", scale=SCALE, hover="", dark=dark).data
    four, kept, *_ = ranks_figure(ranks, stability, dark=dark).data
    assert [bool(one.reversescale) for one in (two, four, kept)] == [False, False, True]
    assert (four.zmin, four.zmax) == (1, 2)
    assert (kept.zmin, kept.zmax) == (0, 100)
    for one in (two, four):
        best, worst = one.colorbar.ticktext
        assert (best[:8], worst[:7]) == ("better: ", "worse: ")
        assert one.colorbar.tickvals[0] < one.colorbar.tickvals[1]
    assert two.colorbar.ticktext == ("better: nothing", "worse: three hundred")
    assert not kept.showscale


def test_what_is_kept_stands_beside_the_ranks(ranks, stability):
    figure = ranks_figure(ranks, stability)
    assert figure.data[KEPT].xaxis == "x2"
    assert figure.layout.xaxis.domain[1] < figure.layout.xaxis2.domain[0]


def test_one_wild_cell_does_not_flatten_the_others():
    cells = pd.DataFrame({"difference_percent": [1.0] * 199 + [50.0]})
    scale = difference_scale(cells)
    assert (scale.best, scale.worst, scale.worst_words) == (0, 1, "1 % or more")
    assert stop_scale(10).worst_words == "all 10 folds"


def _contrast(one, other):
    """WCAG 2.1 contrast ratio of two hex colours."""

    def luminance(colour):
        parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
        linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    bright, dim = sorted((luminance(one), luminance(other)), reverse=True)
    return (bright + 0.05) / (dim + 0.05)


def test_a_cell_without_a_number_has_a_dash(cells, ranks, stability):
    figure = heatmap_figure(cells, value="value", scale=SCALE, hover="")
    (gaps,) = [trace for trace in figure.data if trace.type == "scatter"]
    assert (gaps.x, gaps.y) == (("b",), ("two",))
    assert gaps.text == ("-",)
    figure = ranks_figure(ranks[ranks["algorithm"] == "a"], stability)
    assert not [trace for trace in figure.data if trace.type == "scatter" and trace.text]


@pytest.fixture
def scores():
    rows = [
        ("one", "a", 0.25, NAN, NAN, 10, 50.0),
        ("one", "b", 0.5, NAN, NAN, 10, 100.0),
        ("two", "a", 0.0625, 0.06, 0.065, 3, 100.0),
    ]
    columns = ["dataset", "algorithm", "score", "low", "high", "folds", "of_best_percent"]
    more = {"metric": "nDCG@10", "k": 10, "rule": "precision, within 5.0 %", "confidence": 0.95}
    return pd.DataFrame(rows, columns=columns).assign(**more)


def test_scores_are_in_their_cells_the_best_bold_and_those_that_ended_early_marked(scores):
    figure = scores_figure(scores)
    heat, gaps = figure.data
    assert [list(row) for row in heat.text] == [["0.2500", "<b>0.5000</b>"], ["<b>0.0625†</b>", ""]]
    assert [list(row) for row in heat.z] == [[50, 0], [0, None]]  # percent behind the best
    assert heat.customdata[0][0] == "nDCG@10 0.2500, all 10 folds"
    assert heat.customdata[1][0] == (
        "nDCG@10 0.0625, ended by its rule (precision, within 5.0 %) after 3 of 10 folds;<br>"
        "the mean of all 10 is between 0.0600 and 0.0650 with 95 % confidence"
    )
    assert (gaps.x, gaps.y) == (("b",), ("two",))


def test_the_sentence_names_who_is_best_where(scores):
    assert scores_words(scores) == "Best of 2 algorithms by nDCG@10: b on one; a on two."
    assert scores_words(scores[scores["algorithm"] == "a"]) == ""  # nobody to be better than
    more = scores.assign(dataset=["one", "one", "two"], algorithm=["a", "b", "b"])
    assert scores_words(more) == "Best of 2 algorithms by nDCG@10: b on one, two."


@pytest.mark.parametrize("draw", ["values", "ranks"])
def test_twenty_four_datasets_are_seen_on_one_screen(draw, ranks, stability):
    cells, kept = (
        pd.concat([frame[frame["dataset"] == "one"].assign(dataset=f"data {n}") for n in range(24)])
        for frame in (ranks, stability)
    )
    if draw == "values":
        figure = heatmap_figure(cells, value="rank_e_fold", scale=SCALE, hover="%{text}")
    else:
        figure = ranks_figure(cells, kept)
    assert figure.layout.height < 800
