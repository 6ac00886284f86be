"""Energy used and saved per dataset -> stacked bars that follow alpha."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
import plotly.graph_objects as go

from ecv_core.figures.lecture import TEXT, axis, bar_label, lecture_layout
from ecv_core.figures.palette import lay_out, palette
from ecv_core.figures.steps import Steps

USED, SAVED = 0, 1


def savings_figure(datasets: Sequence[str], *, dark: bool = False, height: int = 420) -> go.Figure:
    """One bar per dataset in percent of its k-fold energy; `savings_steps` fills them in.

    Args:
        datasets: from top to bottom.
        dark: colours for a dark page.
        height: in pixels.
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
    layout = lecture_layout(colours, height)
    lay_out(
        figure,
        layout
        | {
            "legend": layout["legend"] | {"traceorder": "normal", "y": 1.03},
            "barmode": "stack",
            "bargap": 0.55,
            "xaxis": axis("share of the energy", colours, range=[0, 100.5], ticksuffix=" %"),
            "yaxis": axis("", colours, showticklabels=False, showgrid=False)
            | {"categoryorder": "array", "categoryarray": list(reversed(datasets))},
            "uirevision": "savings",
        },
    )
    return figure


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
