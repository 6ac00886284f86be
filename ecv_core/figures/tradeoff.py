"""Frames of curves -> energy against difference, and where the rule stops; both follow alpha."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from ecv_core.analysis.tradeoff.curves import PAPER_COST_PERCENT, PAPER_DIFFERENCE_PERCENT
from ecv_core.analysis.tradeoff.decision import Option
from ecv_core.analysis.tradeoff.frames import AVERAGE, FIXED, PAPER, RULE, SYSTEM
from ecv_core.figures.palette import (
    Looks,
    Palette,
    Step,
    base_layout,
    changed_by,
    fold_ticks,
    lay_out,
    palette,
    plain_axis,
)
from ecv_core.figures.words import alpha_text, setting_words, titled
from ecv_core.records.parameters import percent_text
from ecv_core.stopping import RULES

MOVING_POINT = 0
"""Number of the trace that moves; it is drawn in `zorder`, not in this order."""
_MANY_SETTINGS = 20
"""Settings of a rule from which on its line has no marks."""


def end_of_difference_axis(frame: pd.DataFrame) -> float:
    """End of the trade-off's upward axis: one wild system does not flatten all others.

    Args:
        frame: From `tradeoff.tradeoff_frame`.
    """
    difference = frame["difference_percent"]
    averages = difference[frame["kind"].isin([AVERAGE, PAPER])]
    systems = difference[frame["kind"] == SYSTEM]
    # The rule that always uses one fold is left out: it is so far off that the axis would show
    # little else.
    fixed = difference[(frame["kind"] == FIXED) & (frame["setting"] >= 2)]
    # The axis ends some way above the averages, above nearly all systems and above the fixed
    # numbers of folds. The few systems that are farther off are cut off.
    possible_ends = [1.35 * float(averages.max()), 1.1 * float(systems.quantile(0.97))]
    if len(fixed):
        possible_ends.append(1.1 * float(fixed.max()))
    return max(possible_ends)


def tradeoff_figure(
    frame: pd.DataFrame,
    *,
    cost: str = "energy",
    answer: Option | None = None,
    dark: bool = False,
) -> go.Figure:
    """What is spent against how far off it is, for every alpha.

    Args:
        frame: From `tradeoff.tradeoff_frame`.
        cost: What is counted: 'energy', or 'folds' where there is no energy.
        answer: The option that the page answers with, which is ringed; None for no ring.
        dark: Whether the page is dark.
    """
    colours = palette(dark)
    figure = go.Figure()
    _add_moving_point(figure, colours)
    systems = frame[frame["kind"] == SYSTEM]
    if systems["system"].nunique() > 1:
        _add_systems(figure, systems, colours)
    _add_fixed_folds(figure, frame[frame["kind"] == FIXED], colours)
    _add_other_rules(figure, frame[frame["kind"] == RULE], colours)
    _add_average(figure, frame[frame["kind"] == AVERAGE], colours)
    _add_paper(figure, frame[frame["kind"] == PAPER], colours)
    if answer is not None:
        _add_answer(figure, answer, end_of_difference_axis(frame), colours)
    return lay_out(
        figure,
        base_layout(colours, 500),
        margin={"l": 84, "r": 24, "t": 64, "b": 60},
        hovermode="closest",
        xaxis=_percent_axis(f"{cost} used (% of all folds)", 104, colours),
        yaxis=_percent_axis(
            "difference to k-fold mean (%)", end_of_difference_axis(frame), colours
        ),
        uirevision="tradeoff",
    )


def tradeoff_steps(frame: pd.DataFrame, alphas: Sequence[float]) -> list[Step]:
    """Where the moving point is at each alpha of a slider.

    Args:
        frame: From `tradeoff.tradeoff_frame`.
        alphas: Each one a setting of the frame.
    """
    average = frame[frame["kind"] == AVERAGE].set_index("setting")
    steps = []
    for alpha in alphas:
        cost = float(average["energy_percent"][alpha])
        difference = float(average["difference_percent"][alpha])
        text = f"alpha {alpha_text(alpha)}"
        point = {"x": [cost], "y": [difference], "text": [f"<b>e-fold<br>{text}</b>"]}
        alt = (
            f"Cost against difference to the k-fold mean, for every alpha. At {text}: "
            f"{percent_text(cost / 100, '.1f')} of the cost, difference "
            f"{percent_text(difference / 100, '.2f')}. The paper reports "
            f"{PAPER_COST_PERCENT} % and {PAPER_DIFFERENCE_PERCENT} %."
        )
        steps.append(Step(changes={MOVING_POINT: point}, alt=alt, note=text))
    return steps


def tradeoff_at(frame: pd.DataFrame, alpha: float, *, cost: str = "energy") -> go.Figure:
    """The trade-off at one alpha."""
    (step,) = tradeoff_steps(frame, [alpha])
    return changed_by(step, tradeoff_figure(frame, cost=cost))


def _add_rows(
    figure: go.Figure,
    rows: pd.DataFrame,
    **looks: Any,  # noqa: ANN401  any attribute of a trace
) -> None:
    """Rows of the frame as one trace, each at its cost and its difference."""
    figure.add_scatter(x=rows["energy_percent"], y=rows["difference_percent"], **looks)


def _add_moving_point(figure: go.Figure, colours: Palette) -> None:
    """The alpha that is picked; `tradeoff_steps` moves it."""
    figure.add_scatter(
        x=[],
        y=[],
        text=[],
        mode="markers+text",
        textposition="top right",
        textfont={"size": 19, "color": colours.stop},
        marker={"size": 20, "color": colours.stop, "line": {"width": 3, "color": colours.ink}},
        cliponaxis=False,
        zorder=9,
        showlegend=False,
        hovertemplate="%{x:.1f} % spent, difference %{y:.2f} %<extra>alpha picked</extra>",
    )


def _add_average(figure: go.Figure, rows: pd.DataFrame, colours: Palette) -> None:
    """The mean over the systems, a line over alphas; the moving point names it."""
    _add_rows(
        figure,
        rows,
        customdata=rows["setting"],
        mode="lines",
        line={"color": colours.mean, "width": 5},
        zorder=6,
        showlegend=False,
        hovertemplate="alpha %{customdata:.1e}: %{x:.1f} % spent, "
        "difference %{y:.2f} %<extra></extra>",
    )


def _add_systems(figure: go.Figure, systems: pd.DataFrame, colours: Palette) -> None:
    """A thin line over alphas for each system, named together where nothing is above them."""
    systems = systems.round({"energy_percent": 3, "difference_percent": 4})
    for name, rows in systems.groupby("system", sort=False):
        _add_rows(
            figure,
            rows,
            mode="lines",
            line={"color": colours.mean, "width": 1.5},
            opacity=0.4,
            zorder=1,
            showlegend=False,
            name=str(name),
            hovertemplate="%{x:.1f} % spent, difference %{y:.2f} %",
        )
    # The name of the lines stands at the right, above the highest line, where no other mark is.
    highest_point = systems[systems["energy_percent"] >= 60].nlargest(1, "difference_percent")
    _add_rows(
        figure,
        highest_point,
        text=["each run"] * len(highest_point),
        mode="text",
        textposition="top right",
        textfont={"size": 15, "color": colours.muted},
        showlegend=False,
        hoverinfo="skip",
    )


def _add_fixed_folds(figure: go.Figure, rows: pd.DataFrame, colours: Palette) -> None:
    """What always the same number of folds costs: the baseline of every rule."""
    texts = []
    sides = []
    for folds in rows["setting"]:
        # The first point in the figure has words that explain the bare numbers at the others.
        if folds == 2:
            texts.append("always 2 folds")
            sides.append("top right")
        else:
            texts.append(f"{folds:.0f}")
            sides.append("bottom left")
    _add_rows(
        figure,
        rows,
        text=texts,
        mode="lines+markers+text",
        textposition=sides,
        textfont={"size": 15, "color": colours.muted},
        line={"color": colours.muted, "width": 2, "dash": "dot"},
        marker={"size": 9, "symbol": "square", "color": colours.muted},
        zorder=3,
        showlegend=False,
        customdata=rows["setting"],
        hovertemplate="always %{customdata:.0f} folds: %{x:.1f} % spent, "
        "difference %{y:.2f} %<extra></extra>",
    )


def _add_other_rules(figure: go.Figure, rows: pd.DataFrame, colours: Palette) -> None:
    """The other rules: a dashed line of one that is worked out at many settings, else marks."""
    symbols = ("diamond", "cross", "triangle-up", "x", "pentagon")
    for number, (rule, settings) in enumerate(rows.groupby("system", sort=False)):
        if len(settings) > _MANY_SETTINGS:
            looks = {"mode": "lines", "opacity": 1, "zorder": 5}
            looks["line"] = {"color": colours.width, "width": 4, "dash": "dash"}
        else:
            looks = {"mode": "lines+markers", "opacity": 0.75, "zorder": 2}
            looks["line"] = {"color": colours.ink, "width": 1.5, "dash": "dashdot"}
        title = titled(str(rule))
        symbol = symbols[number % len(symbols)]
        _add_rows(
            figure,
            settings,
            text=[setting_words(str(rule), setting) for setting in settings["setting"]],
            marker={"size": 8, "symbol": symbol, "color": colours.ink},
            name=title,
            hovertemplate=f"{title}, %{{text}}: %{{x:.1f}} % spent, "
            "difference %{y:.2f} %<extra></extra>",
            **looks,
        )


def _add_paper(figure: go.Figure, rows: pd.DataFrame, colours: Palette) -> None:
    """The average that the paper reports, as a star."""
    star = {
        "size": 19,
        "symbol": "star",
        "color": colours.ground,
        "line": {"width": 2.5, "color": colours.ink},
    }
    _add_rows(
        figure,
        rows,
        text=["the paper's average"] * len(rows),
        mode="markers+text",
        textposition="top center",
        textfont={"size": 15, "color": colours.ink},
        showlegend=False,
        marker=star,
        zorder=7,
        hovertemplate="the paper: %{x:.1f} % of the energy, difference %{y:.2f} %<extra></extra>",
    )


def _add_answer(figure: go.Figure, answer: Option, axis_end: float, colours: Palette) -> None:
    """A ring around the cheapest option, wherever it is; its words stand below all lines.

    They stand above or right of it where they would be cut off, also on a phone, at an end of an
    axis; that of the difference goes from 0 to `axis_end`.
    """
    above_or_below = "bottom"
    if answer.outcome.mean_difference_percent < 0.1 * axis_end:
        above_or_below = "top"
    side = "left"
    if answer.outcome.cost_percent < 30:
        side = "right"
    words = titled(answer.rule)
    axis = RULES[answer.rule].axis
    setting = answer.outcome.setting
    if axis is not None and setting is not None:
        words += f", {axis.in_words(setting)}"
    figure.add_scatter(
        x=[answer.outcome.cost_percent],
        y=[answer.outcome.mean_difference_percent],
        text=["<b>answer</b>"],
        mode="markers+text",
        textposition=f"{above_or_below} {side}",
        textfont={"size": 16, "color": colours.ink},
        marker={
            "size": 24,
            "symbol": "circle-open",
            "color": colours.ink,
            "line": {"width": 3, "color": colours.ink},
        },
        zorder=8,
        showlegend=False,
        hovertemplate=f"{words}: %{{x:.1f}} % spent, difference %{{y:.2f}} %<extra></extra>",
    )


def _percent_axis(title: str, end: float, colours: Palette) -> Looks:
    """An axis from 0 % to this end."""
    looks = {
        "gridcolor": colours.grid,
        "linecolor": colours.muted,
        "automargin": False,
    }
    ticks = {"showline": True, "nticks": 7, "ticksuffix": " %"}
    return plain_axis(title, size=17, standoff=8, range=[0, end], **ticks, **looks)


# Where the rule stops, over all orders of the folds.


BARS = 0
"""Number of the trace of the shares."""
MEAN = 1
"""Number of the trace of the mean stop."""


def stops_figure(frame: pd.DataFrame, *, dark: bool = False) -> go.Figure:
    """Bars over the folds 1 .. k and a mark at the mean; `stops_steps` fills them in.

    Args:
        frame: From `tradeoff.stops_frame`.
        dark: Whether the page is dark.
    """
    colours = palette(dark)
    k = int(frame["n"].max())
    figure = go.Figure()
    # Both traces are empty here: each step of the slider fills them for its alpha.
    looks: Looks = {"x": [], "y": [], "text": [], "cliponaxis": False, "showlegend": False}
    figure.add_bar(
        textposition="outside",
        textfont={"size": 15, "color": colours.ink},
        marker={"color": colours.mean},
        name="orders that stop here",
        hovertemplate="%{y:.1f} % stop after fold %{x}<extra></extra>",
        **looks,
    )
    figure.add_scatter(
        mode="lines+text",
        textposition="top center",
        textfont={"size": 18, "color": colours.stop},
        line={"color": colours.stop, "width": 4, "dash": "dash"},
        name="mean stop",
        hoverinfo="skip",
        **looks,
    )
    # Plotly would draw an axis with automatic margins twice.
    axis_looks: Looks = {"size": 17, "linecolor": colours.muted, "automargin": False}
    folds = fold_ticks(k, 12) | {"range": [0.4, k + 0.6]}
    shares = [0, 25, 50, 75, 100]
    percents: Looks = {
        "range": [0, 112],
        "tickvals": shares,
        "ticktext": [f"{share} %" for share in shares],
        "gridcolor": colours.grid,
    }
    return lay_out(
        figure,
        base_layout(colours, 500),
        margin={"l": 90, "r": 12, "t": 56, "b": 60},
        bargap=0.18,
        hovermode="closest",
        xaxis=plain_axis("stops after fold", **axis_looks, **folds),
        yaxis=plain_axis("share of all orders", standoff=8, **axis_looks, **percents),
        uirevision="stops",
    )


def stops_steps(frame: pd.DataFrame, alphas: Sequence[float]) -> list[Step]:
    """The bars at each alpha of a slider.

    Args:
        frame: From `tradeoff.stops_frame`.
        alphas: Each one of the frame's.
    """
    percents = frame.pivot(index="alpha", columns="n", values="percent")
    folds = [int(n) for n in percents.columns]
    steps = []
    for alpha in alphas:
        shares = [float(share) for share in percents.loc[alpha].to_numpy()]
        highest = max(shares)
        heights = [round(share, 3) for share in shares]
        bars = {"x": folds, "y": heights, "text": [_share_text(share) for share in shares]}
        # Each fold counts in the mean stop with its share of the orders, in percent.
        mean = float(np.dot(shares, folds)) / 100
        # The axis ends at 112 %, which leaves room for the words above the line.
        line_top = 104
        # The line begins above the number on the highest bar.
        line_bottom = min(highest + 14, line_top)
        mean_line = {
            "x": [mean, mean],
            "y": [line_bottom, line_top],
            "text": ["", f"<b>mean {mean:.1f}</b>"],
        }
        likeliest = folds[shares.index(highest)]
        text = f"alpha {alpha_text(alpha)}"
        alt = (
            f"Where the rule stops over all orders at {text}: after {mean:.2f} folds on "
            f"average, most often after fold {likeliest} ({percent_text(highest / 100, '.0f')} of "
            "orders)."
        )
        steps.append(Step(changes={BARS: bars, MEAN: mean_line}, alt=alt, note=text))
    return steps


def _share_text(percent: float) -> str:
    """The share on a bar; none where there is no room."""
    if percent < 1:
        return ""
    return f"{percent:.0f}%"


def stops_at(frame: pd.DataFrame, alpha: float) -> go.Figure:
    """The bars at one alpha."""
    (step,) = stops_steps(frame, [alpha])
    return changed_by(step, stops_figure(frame))
