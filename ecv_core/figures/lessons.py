"""What Learn tells -> one figure each, in type for the last row of a lecture hall."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
import plotly.graph_objects as go

from ecv_core.figures.palette import (
    LABEL,
    TEXT,
    Steps,
    axis,
    bar_label,
    fold_axis,
    lay_out,
    lecture_layout,
    note,
    palette,
)


def misses_figure(frame: pd.DataFrame, *, k: int, dark: bool = False) -> go.Figure:
    """How often the interval misses, by folds used: looking each time against a fixed plan.

    Args:
        frame: from `lessons.stops.misses_frame`.
        k: folds of a whole cross-validation.
    """
    colours = palette(dark)
    rule, plan = frame[frame["kind"] == "rule"], frame[frame["kind"] == "plan"]
    figure = go.Figure()
    for place, (name, rows) in enumerate(rule[rule["system"] != ""].groupby("system", sort=False)):
        figure.add_scatter(
            x=rows["folds"],
            y=rows["misses_percent"],
            mode="lines",
            line={"color": colours.stop, "width": 1.5},
            opacity=0.3,
            name="each run",
            legendgroup="systems",
            showlegend=place == 0,
            hovertemplate=f"{name}<br>%{{x:.1f}} folds: %{{y:.1f}} % miss<extra></extra>",
        )
    average = rule[rule["system"] == ""]
    figure.add_scatter(
        x=average["folds"],
        y=average["misses_percent"],
        mode="lines",
        line={"color": colours.stop, "width": 6},
        name="look after every fold",
        hovertemplate="%{x:.1f} folds: %{y:.1f} % miss<extra>look after every fold</extra>",
    )
    figure.add_scatter(
        x=plan["folds"],
        y=plan["misses_percent"],
        mode="lines+markers",
        line={"color": colours.mean, "width": 4, "dash": "dot"},
        marker={"size": 12, "symbol": "square"},
        name="number of folds fixed before",
        hovertemplate="%{x:.0f} folds: %{y:.1f} % miss<extra>fixed before</extra>",
    )
    figure.add_hline(y=5, line={"color": colours.ink, "width": 2, "dash": "dash"})
    figure.add_annotation(
        note(
            "5 % is what the interval promises",
            LABEL,
            colours.ink,
            x=1,
            xref="paper",
            xanchor="right",
            y=5,
            yanchor="bottom",
        )
    )
    top = float(rule["misses_percent"].max()) * 1.05
    return lay_out(
        figure,
        lecture_layout(colours, 390),
        xaxis=fold_axis("folds used, on average", k, colours) | {"range": [1.8, k + 0.2]},
        yaxis=axis("intervals that miss", colours, range=[0, top], ticksuffix=" %"),
    )


GRADES_COLUMNS = {
    "model": "as shown",
    "seen": "mean nDCG@10 with the training interactions as the right answers",
    "held_out": "mean nDCG@10 with the held-out interactions as the right answers",
}
"""The columns of the frame of grades."""


def grades_figure(frame: pd.DataFrame, *, held_out: bool, dark: bool = False) -> go.Figure:
    """Horizontal bars, the best on top.

    Args:
        frame: with the GRADES_COLUMNS.
        held_out: which of the two grades to show.
    """
    colours = palette(dark)
    column = "held_out" if held_out else "seen"
    rows = frame.sort_values(column)  # Plotly draws the first row at the bottom
    best = rows["model"].iloc[-1]
    figure = go.Figure()
    figure.add_bar(
        orientation="h",
        x=rows[column],
        y=rows["model"],
        marker={
            "color": [colours.mean if model == best else colours.muted for model in rows["model"]],
            "pattern": {"shape": ["" if model == best else "/" for model in rows["model"]]},
        },
        showlegend=False,
        hovertemplate="%{y}: %{x:.4f}<extra></extra>",
    )
    for model, value in zip(rows["model"], rows[column], strict=True):
        words = f"<b>{value:.2f}</b>  {model}" + (", <b>best</b>" if model == best else "")
        figure.add_annotation(**bar_label(model, words, colours))
    return lay_out(
        figure,
        lecture_layout(colours, 330),
        margin={"l": 12, "r": 12, "t": 30, "b": 12},
        bargap=0.55,
        xaxis=axis("nDCG@10: 0 useless, 1 perfect", colours, range=[0, 1.02])
        | {"tickvals": [0, 0.25, 0.5, 0.75, 1]},
        yaxis=axis("", colours, showticklabels=False, showgrid=False),
    )


def wander_figure(frame: pd.DataFrame, *, metric: str, dark: bool = False) -> go.Figure:
    """The newest draw bold, with its fold scores; all earlier ones thin.

    Args:
        frame: from `lessons.folds.draws_frame`.
        metric: the score's name as shown.
    """
    colours = palette(dark)
    k, newest = int(frame["n"].max()), int(frame["draw"].max())
    low, high = float(frame["score"].min()), float(frame["score"].max())
    room = (high - low) * 0.08 or 0.01
    earlier, last = frame[frame["draw"] < newest], frame[frame["draw"] == newest]
    figure = go.Figure()
    # One trace with gaps: a hundred lines cost as much as one.
    x: list[float | None] = []
    y: list[float | None] = []
    for _, rows in earlier.groupby("draw"):
        x += [*rows["n"].tolist(), None]
        y += [*rows["mean"].tolist(), None]
    figure.add_scatter(
        x=x,
        y=y,
        mode="lines",
        line={"color": colours.muted, "width": 1.5},
        opacity=0.55,
        name="earlier draws",
        showlegend=not earlier.empty,
        hoverinfo="skip",
    )
    figure.add_scatter(
        x=last["n"],
        y=last["score"],
        mode="markers",
        marker={"size": 13, "color": colours.muted, "symbol": "circle-open", "line": {"width": 3}},
        name="score of one fold",
        hovertemplate="fold %{x}: %{y:.4f}<extra></extra>",
    )
    figure.add_scatter(
        x=last["n"],
        y=last["mean"],
        mode="lines+markers",
        line={"color": colours.mean, "width": 5},
        marker={"size": 14, "symbol": "diamond"},
        name="mean so far",
        hovertemplate="mean of %{x}: %{y:.4f}<extra></extra>",
    )
    figure.add_hline(y=float(last["mean"].iloc[-1]), line={"color": colours.ink, "width": 2})
    figure.add_annotation(
        note(
            f"mean of all {k}",
            LABEL,
            colours.ink,
            x=1,
            xref="paper",
            xanchor="right",
            y=float(last["mean"].iloc[-1]),
            yanchor="top",
            yshift=-6,
        )
    )
    return lay_out(
        figure,
        lecture_layout(colours, 400),
        xaxis=fold_axis("folds drawn (n)", k, colours),
        yaxis=axis(metric, colours, range=[low - room, high + room], nticks=6),
        uirevision="wander",
    )


USED, SAVED = 0, 1


def savings_figure(datasets: Sequence[str], *, dark: bool = False) -> go.Figure:
    """One bar per dataset in percent of its k-fold energy; `savings_steps` fills them in.

    Args:
        datasets: from top to bottom.
    """
    colours = palette(dark)
    figure = go.Figure()
    for name, colour, fill, ink in (
        ("energy used", colours.mean, colours.mean, colours.ground),
        ("energy saved", colours.width, colours.saved, colours.ink),
    ):
        figure.add_bar(
            orientation="h",
            x=[],
            y=[],
            text=[],
            textposition="inside",
            insidetextanchor="middle",
            textangle=0,
            constraintext="none",  # else the text shrinks with the bars
            textfont={"size": TEXT, "color": ink},
            marker={
                "color": fill,
                "line": {"color": colour, "width": 3},
            },
            name=name,
            hovertemplate="%{y}: %{x:.1f} %<extra>" + name + "</extra>",
        )
    for name in datasets:
        figure.add_annotation(**bar_label(name, name, colours, TEXT - 1))
    layout = lecture_layout(colours, 430)
    return lay_out(
        figure,
        layout,
        legend=layout["legend"] | {"traceorder": "normal", "y": 1.03},
        barmode="stack",
        bargap=0.55,
        xaxis=axis("share of the energy", colours, range=[0, 100.5], ticksuffix=" %"),
        yaxis=axis("", colours, showticklabels=False, showgrid=False)
        | {"categoryorder": "array", "categoryarray": list(reversed(datasets))},
        uirevision="savings",
    )


def savings_steps(
    frame: pd.DataFrame, datasets: Sequence[str], alphas: Sequence[float], texts: Sequence[str]
) -> Steps:
    """The bars at each alpha.

    Args:
        frame: with the columns alpha, dataset, used_joules and saved_joules.
        datasets: as for `savings_figure`.
        alphas: each one of the frame's.
        texts: each alpha as shown.
    """
    sums = frame.groupby(["alpha", "dataset"])[["used_joules", "saved_joules"]].sum()
    share = 100 * sums.div(sums.sum(axis=1), axis=0)
    patches, alts = [], []
    for alpha, text in zip(alphas, texts, strict=True):
        rows = share.loc[alpha].reindex(list(datasets))
        patches.append(
            {
                trace: {
                    "x": rows[column].round(2).tolist(),
                    "y": list(datasets),
                    "text": [f"{value:.0f} %" if value >= 6 else "" for value in rows[column]],
                }
                for trace, column in ((USED, "used_joules"), (SAVED, "saved_joules"))
            }
        )
        said = ", ".join(f"{name} {value:.0f} %" for name, value in rows["saved_joules"].items())
        alts.append(f"Energy saved per dataset at alpha {text}: {said}.")
    return Steps(patches=patches, alts=alts, notes=[f"alpha {text}" for text in texts])
