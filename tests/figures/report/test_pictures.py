"""Pictures for print: their size, type and fonts, and the numbers in them, worked out by hand."""

import math
import re
import subprocess
import sys
import zlib
from functools import partial
from xml.etree import ElementTree

import pandas as pd
import plotly.graph_objects as go
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ecv_core.analysis.tradeoff.frames import TRADEOFF_COLUMNS
from ecv_core.figures.compare import compare_figure
from ecv_core.figures.efold import FoldHistory
from ecv_core.figures.efold_plot import efold_figure
from ecv_core.figures.heatmap import heatmap_at, ranks_at
from ecv_core.figures.palette import CellScale
from ecv_core.figures.report.pictures import printed_figure
from ecv_core.figures.report.saving import FORMS, SMALL, figure_bytes, inline_svg, styled
from ecv_core.figures.tradeoff import stops_at, tradeoff_at
from ecv_core.records.run import Decision, Interval, Moment

SVG = "{http://www.w3.org/2000/svg}"
HOSTILE = r"\input{/etc/passwd} $x_1$ 50% & #~^ <script>"
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


def efold(scores, *, k=10, stopped_at=None, metric="nDCG@10"):
    history = FoldHistory(moments=moments(scores), k=k, metric=metric, stopped_at=stopped_at)
    return partial(printed_figure, partial(efold_figure, history))


def cells(algorithms=("x", "y")):
    table = pd.DataFrame(
        [(1e-4, d, a, 10 * row + place) for row, d in enumerate("ab") for place, a in
         enumerate(algorithms)],
        columns=["alpha", "dataset", "algorithm", "value"],
    )  # fmt: skip
    table.loc[table.index[-1], "value"] = math.nan
    scale = CellScale(best=0, worst=10, best_words="none", worst_words="ten", digits=1)
    return partial(printed_figure, partial(heatmap_at, table, 1e-4, value="value", scale=scale))


def ranks():
    table = pd.DataFrame(
        [
            ("one", "a", 1, 1.25),
            ("one", "b", 2, 1.75),
            ("two", "a", 1.5, 1.5),
            ("two", "b", 1.5, 1.5),
        ],
        columns=["dataset", "algorithm", "rank_k_fold", "rank_e_fold"],
    ).assign(alpha=1e-4)  # fmt: skip
    kept = pd.DataFrame(
        {"dataset": ["two", "one"], "same_order_percent": [40.0, 75.2],
         "same_winner_percent": [45.0, 80.0]}
    ).assign(alpha=1e-4)  # fmt: skip
    return partial(printed_figure, partial(ranks_at, table, kept, 1e-4))


def stops():
    frame = pd.DataFrame({"alpha": [1e-4] * 3 + [1e-3] * 3, "n": [1, 2, 3] * 2,
                          "percent": [0, 25, 75, 0, 100, 0]})  # fmt: skip
    return partial(printed_figure, partial(stops_at, frame, 1e-4))


def tradeoff():
    rows = [
        ("average", "", 1e-5, 80.0, 0.5), ("average", "", 1e-4, 40.0, 1.0),
        ("system", "p", 1e-5, 85.0, 0.2), ("system", "q", 1e-5, 75.0, 0.1),
        ("system", "p", 1e-4, 45.0, 1.5), ("system", "q", 1e-4, 35.0, 0.5),
        ("fixed e", "", 3, 30.0, 1.2), ("rule", "precision", 0.03, 50.0, 0.8),
        ("paper", "", math.nan, 41.5, 1.81),
    ]  # fmt: skip
    columns = ["kind", "system", "setting", "energy_percent", "difference_percent"]
    frame = pd.DataFrame(rows, columns=columns).reindex(columns=list(TRADEOFF_COLUMNS))
    return partial(printed_figure, partial(tradeoff_at, frame, 1e-4))


PICTURES = {
    "efold": efold([0.3, 0.31, 0.3, 0.32, 0.31], k=5, stopped_at=3),
    "cells": cells(),
    "many": cells([f"algorithm-{number}" for number in range(20)]),
    "ranks": ranks(),
    "stops": stops(),
    "tradeoff": tradeoff(),
}


def drawn(draw):
    with styled():
        figure = draw()
        figure.draw_without_rendering()
    return figure


def words(draw):
    svg = ElementTree.fromstring(inline_svg(draw, alt="alt"))
    return [one.text for one in svg.iter(f"{SVG}text")]


def decoded(pdf):
    """The file with its compressed streams opened."""
    parts = [pdf]
    for stream in re.findall(rb"stream\r?\n(.*?)endstream", pdf, re.DOTALL):
        try:
            parts.append(zlib.decompress(stream))
        except zlib.error:
            continue
    return b"\n".join(parts)


@pytest.mark.parametrize("draw", PICTURES.values(), ids=PICTURES)
def test_a_picture_is_a_columns_width_and_no_type_is_smaller_than_seven_points(draw):
    from matplotlib.text import Text

    figure = drawn(draw)
    assert figure.get_size_inches()[0] == 3.3
    sizes = [t.get_fontsize() for t in figure.findobj(Text) if t.get_text() and t.get_visible()]
    assert sizes
    assert min(sizes) >= SMALL >= 7


@pytest.mark.parametrize("draw", PICTURES.values(), ids=PICTURES)
def test_nothing_reaches_beyond_the_picture(draw):
    from matplotlib.text import Text

    figure = drawn(draw)
    width, height = figure.bbox.size
    for text in figure.findobj(Text):
        if text.get_text() and text.get_visible():
            box = text.get_window_extent()
            assert -1 <= box.x0 <= box.x1 <= width + 1, text.get_text()
            assert -1 <= box.y0 <= box.y1 <= height + 1, text.get_text()


@pytest.mark.parametrize("draw", [efold([0.3, 0.31]), ranks()])
def test_the_three_files_have_the_same_size_in_inches(draw):
    width, height = drawn(draw).get_size_inches()
    pdf = figure_bytes(draw, "pdf", title="a title")
    assert pdf.startswith(b"%PDF-")
    assert pdf.rstrip().endswith(b"%%EOF")
    box = re.search(rb"/MediaBox \[ ([\d. ]+) \]", pdf)[1].split()
    assert [float(one) for one in box] == pytest.approx([0, 0, 72 * width, 72 * height], abs=0.1)
    svg = ElementTree.fromstring(figure_bytes(draw, "svg", title="a title"))
    assert svg.get("width") == f"{72 * width:g}pt"
    pgf = figure_bytes(draw, "pgf", title="a title").decode()
    assert f"{{\\pgfqpoint{{{width:f}in}}{{{height:f}in}}}}" in pgf


@pytest.mark.parametrize("draw", [efold([0.3, 0.31]), ranks()])
def test_a_pdf_embeds_its_fonts_as_outlines_and_says_what_it_shows(draw):
    text = decoded(figure_bytes(draw, "pdf", title="item-knn on ml-100k, alpha 1e-4"))
    assert b"/FontFile2" in text
    assert b"/Subtype /CIDFontType2" in text or b"/Subtype /TrueType" in text
    assert b"/Type3" not in text
    assert b"item-knn on ml-100k, alpha 1e-4" in text


@pytest.mark.parametrize("form", FORMS)
def test_the_same_figure_gives_the_same_file(form):
    draw = PICTURES["efold"]
    assert figure_bytes(draw, form, title="t") == figure_bytes(draw, form, title="t")


def test_an_svg_needs_no_font_and_a_pgf_no_tex(monkeypatch):
    monkeypatch.setenv("PATH", "")
    assert b"<text" not in figure_bytes(PICTURES["efold"], "svg", title="t")
    pgf = figure_bytes(PICTURES["efold"], "pgf", title="t").decode()
    assert pgf.count(r"\begin{pgfscope}") == pgf.count(r"\end{pgfscope}")
    assert r"\sffamily\fontsize{8.000000}" in pgf
    assert "folds seen (n)" in pgf


def test_names_are_text_and_never_commands_or_markup():
    pgf = figure_bytes(efold([0.3, 0.31], metric=HOSTILE), "pgf", title=f"a\n{HOSTILE}").decode()
    lines = pgf.splitlines()
    assert lines[0].startswith("% a ")
    assert not [line for line in lines if r"\input{" in line and not line.startswith("%")]
    escaped = r"\textbackslash{}input\{/etc/passwd\} \$x\_1\$ 50\% \& \#"
    assert escaped in pgf
    assert HOSTILE in words(efold([0.3, 0.31], metric=HOSTILE))
    svg = ElementTree.fromstring(inline_svg(efold([0.3]), alt='"><script>alert(1)</script>'))
    assert svg.find(f"{SVG}title").text == '"><script>alert(1)</script>'
    assert not list(svg.iter(f"{SVG}script"))


def test_the_stop_and_what_it_saved_are_said_in_words():
    assert "stop after 3, 7 folds saved" in words(efold([0.3, 0.31, 0.3], stopped_at=3))
    checked = words(efold([0.3] * 3 + [0.32] * 2, k=5, stopped_at=3))
    assert {"stop after 3, 2 folds run to check", "mean of all 5: 0.3080"} <= set(checked)
    assert not [w for w in words(efold([0.3, 0.31], k=2, stopped_at=2)) if "stop" in w]


def test_the_words_about_the_stop_stay_within_the_axes():
    for stopped_at in (3, 4, 6, 7, 9):
        figure = drawn(efold([0.3] * 10, stopped_at=stopped_at))
        axes = figure.axes[0]
        (said,) = [text for text in axes.texts if "stop after" in text.get_text()]
        box, inside = said.get_window_extent(), axes.get_window_extent()
        assert inside.x0 <= box.x0
        assert box.x1 <= inside.x1
        assert max(line.get_window_extent().y1 for line in axes.lines) <= box.y0


@settings(max_examples=6)
@given(
    st.lists(st.floats(-5, 5).map(lambda x: round(x, 6)), min_size=1, max_size=25),
    st.integers(0, 25),
)
def test_any_run_gives_a_drawing_without_impossible_numbers(scores, stop):
    stopped_at = stop if 1 <= stop <= len(scores) else None
    text = inline_svg(efold(scores, k=25, stopped_at=stopped_at), alt="a")
    ElementTree.fromstring(text)
    assert not re.search(r"[\" ](nan|-?inf)", text)


def test_a_table_has_every_number_once_and_darker_is_worse():
    assert sorted(words(cells())) == sorted(
        ["a", "b", "x", "y", "0.0", "1.0", "10.0", "-", "better: none", "worse: ten"]
    )
    fills = [patch.get_facecolor() for patch in drawn(cells()).axes[0].patches]
    grey = [0.299 * r + 0.587 * g + 0.114 * b for r, g, b, _ in fills]
    # Row x: 0 and 10; row y: 1 and no run. Ten is far darker than nought, in grey too.
    assert grey[0] > grey[2] > grey[1]
    assert fills[3][3] == 0


def test_ranks_stand_beside_those_of_k_folds_and_above_what_is_kept():
    said = words(ranks())
    for expected in ("1.2 (1)", "1.8 (2)", "1.5 (1.5)", "75 %", "80 %", "40 %", "45 %"):
        assert expected in said
    assert said.index("75 %") < said.index("40 %")  # 'one' comes first


def test_the_bars_are_those_of_the_alpha_asked_for():
    figure = drawn(stops())
    assert [bar.get_height() for bar in figure.axes[0].patches] == [0, 25, 75]
    assert "mean 2.8" in words(stops())  # 0.25 * 2 + 0.75 * 3 = 2.75


def test_the_alpha_asked_for_is_marked_on_the_curve():
    figure = drawn(tradeoff())
    assert {"e-fold", "alpha 1e-4"} <= set(words(tradeoff()))
    points = [(list(line.get_xdata()), list(line.get_ydata())) for line in figure.axes[0].lines]
    assert ([40], [1]) in points
    lines = {line.get_label(): line for line in figure.axes[0].lines}
    assert list(lines["Precision"].get_xdata()) == [50]
    dashes = {(line.get_linestyle(), line.get_marker()) for line in lines.values()}
    assert len(dashes) >= 5  # told apart without colour


def test_nothing_of_matplotlib_or_jinja_is_loaded_before_it_is_used():
    code = (
        "import sys, ecv_core.figures.report, ecv_core.figures.report.pictures;"
        " import ecv_core.figures.report.pictures;"
        "print([name for name in ('matplotlib', 'jinja2') if name in sys.modules])"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"


def test_a_mean_has_its_interval_and_one_without_has_none():
    nan = float("nan")
    rows = {"name": ["A", "B"], "mean": [0.2, 0.4], "low": [0.1, nan], "high": [0.4, nan]}
    frame = pd.DataFrame(rows).assign(
        dataset="d", algorithm="a", metric="nDCG@10", best=False, interval=["95 %", ""],
        k_fold_mean=nan, folds_used=3, k=10,
    )  # fmt: skip
    axes = drawn(partial(printed_figure, partial(compare_figure, frame))).axes[0]
    lines = [one.tolist() for one in axes.collections[0].get_segments()]
    assert lines == [[[pytest.approx(0.1), 0], [pytest.approx(0.4), 0]], [[0.4, 1], [0.4, 1]]]
    assert [one.get_text() for one in axes.get_yticklabels()] == ["A", "B"]
    (title,) = [one for one in axes.texts if one.get_text() == "nDCG@10 of a on d"]
    assert title.get_window_extent().y0 >= axes.get_window_extent().y1 - 1  # above all marks


def test_a_line_across_the_whole_axis_is_drawn_at_its_height():
    figure = go.Figure(go.Scatter(x=[1, 10], y=[0.2, 0.4], mode="lines", line={"color": "#000"}))
    figure.add_hline(y=0.3, line={"color": "#000", "width": 2})
    figure.update_layout(height=400, xaxis={"range": [0, 11]})
    across = printed_figure(lambda: figure).axes[0].lines[-1]
    assert list(across.get_ydata()) == [0.3, 0.3]
    assert list(across.get_xdata()) == [0, 1]  # from one end to the other


def test_ticks_of_a_logarithmic_axis_are_numbers_not_tex():
    figure = go.Figure(go.Scatter(x=[1, 2], y=[1e-5, 1e-2], mode="lines", line={"color": "#000"}))
    figure.update_layout(height=400, yaxis={"type": "log", "range": [-6, -1]})
    axes = drawn(partial(printed_figure, lambda: figure)).axes[0]
    ticks = {tick.get_text() for tick in axes.get_yticklabels()}
    assert "0.0001" in ticks
    assert not [tick for tick in ticks if "$" in tick]
