"""Runs with a score and an energy -> their scores, as shares of the best, against their energy."""

from __future__ import annotations

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from ecv_core.figures.palette import axis, base_layout, lay_out, palette
from ecv_core.figures.study_summary import percent_of_best
from ecv_core.records.parameters import score_text

_HEIGHT = 260
"""Pixels of a picture of one group, without a legend."""
_LINE_HEIGHT = 18
"""Pixels of a group in the legend, where each takes a line, as on a phone."""
_MOST_NAMED = 5
"""Groups that are named, where two or more others are left; a single one is named too."""
_LONGEST_NAME = 40
"""Letters of a group in the legend, of which a longer one would take the room of the picture."""
_LETTERS_OF_DATASET = 24
"""Of those, the letters at its beginning."""
_OTHERS = "others"


def spent_frame(frame: pd.DataFrame) -> pd.DataFrame:
    """Each run with a score and metered energy; shares compare where scores themselves do not.

    Args:
        frame: Columns name, group (dataset and metric, within which scores compare), score, higher
            (whether a higher one is better), mwh and picked.

    Returns:
        Those rows, with share: percent of the best score of its group, which has 100.
    """
    metered = frame[(frame["score"] > 0) & (frame["mwh"] > 0)]
    higher_is_better = metered["higher"].astype(bool)
    return metered.assign(share=percent_of_best(metered, "group", higher_is_better))


def spent_figure(frame: pd.DataFrame, *, dark: bool = False) -> go.Figure:
    """A point per run, in the colour of its dataset and metric; picked ones are filled and ringed.

    Args:
        frame: From `spent_frame`, at least one row.
        dark: Whether the page is dark.
    """
    colours = palette(dark)
    figure = go.Figure()
    # If runs are picked, the others are faint.
    faint_opacity = 1.0
    if frame["picked"].any():
        faint_opacity = 0.3
    entries = _legend_entries(frame["group"])
    is_other = entries == _OTHERS
    named_first = pd.concat([frame[~is_other], frame[is_other]])
    for number, (entry, runs) in enumerate(named_first.groupby(entries, sort=False)):
        colour = colours.series_colour(number)
        if entry == _OTHERS:
            colour = colours.muted
        marker = {
            "size": 12,
            "color": colour,
            "opacity": np.where(runs["picked"], 1.0, faint_opacity).tolist(),
            "line": {"width": np.where(runs["picked"], 2, 0), "color": colours.ink},
        }
        figure.add_scatter(
            x=runs["mwh"],
            y=runs["share"],
            mode="markers",
            name=_legend_name(str(entry)),
            text=runs["name"],
            customdata=runs["score"].map(score_text),
            marker=marker,
            hovertemplate="%{text}: %{customdata}, %{y:.1f} %, %{x:.2g} mWh<extra></extra>",
        )
    top = 48
    if entries.nunique() == 1:
        top = 8  # The margin has so many pixels where there is no legend.
    return lay_out(
        figure,
        base_layout(colours, spent_height(frame)),
        hovermode="closest",
        margin={"t": top},
        xaxis=axis("energy of all its folds, mWh", colours, type="log", tickvals=_log_ticks()),
        yaxis=axis("score, % of the best", colours, ticksuffix=" %"),
    )


def spent_height(frame: pd.DataFrame) -> int:
    """Pixels of the figure of this frame."""
    return _HEIGHT + _LINE_HEIGHT * (_legend_entries(frame["group"]).nunique() - 1)


def _legend_entries(groups: pd.Series[str]) -> pd.Series[str]:
    """What stands in the legend for each run: its group, or "others" if that has few runs."""
    sizes = groups.groupby(groups, sort=False).size().sort_values(ascending=False, kind="stable")
    if len(sizes) <= _MOST_NAMED + 1:
        return groups
    return groups.where(groups.isin(sizes.index[:_MOST_NAMED]), _OTHERS)


def _legend_name(group: str) -> str:
    """The group, without the middle of a long name: dataset and metric are to be seen."""
    if len(group) <= _LONGEST_NAME:
        return group
    return f"{group[:_LETTERS_OF_DATASET]}\u2026{group[_LETTERS_OF_DATASET - _LONGEST_NAME :]}"


def _log_ticks() -> list[float]:
    """1, 2 and 5 of each power of ten: by itself, Plotly writes 5 where it means 50."""
    ticks = []
    for power in range(-3, 9):
        for step in (1, 2, 5):
            ticks.append(step * 10.0**power)
    return ticks
