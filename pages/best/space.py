"""A selection among configurations of one algorithm: what its parameters have to do with it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import streamlit as st

from ecv_core.analysis.selection.contenders import configurations_frame, varied
from ecv_core.figures.tuning import by_parameter_figure, value_text
from ecv_core.figures.words import joined
from ecv_core.records.parameters import ParamValue
from pages.best.show import Shown
from pages.shared.charts.plot import plot
from pages.shared.widgets.choices import pick_one


def space(chosen: Shown) -> None:
    """Score and folds by parameter; nothing where contenders are no search space.

    Args:
        chosen: as far as it has come.
    """
    metric = chosen.metric
    params = varied([one.name for one in chosen.contenders])
    if params is None:
        return
    names = list(params[0])
    frame = configurations_frame(chosen.contenders, params, chosen.played.folds_used)
    version = (repr(chosen.version), repr(chosen.terms), metric)
    st.header("Parameters", anchor=False)
    spent, most = sum(chosen.played.folds_used), chosen.terms.k * len(params)
    higher = chosen.terms.higher_is_better
    best = params[int(frame["score"].argmax() if higher else frame["score"].argmin())]
    shown = ", ".join(f"{_words(name)} {value_text(best[name])}" for name in names)
    st.caption(
        f"{len(params)} configurations, {spent:,} of {most:,} folds. Scores are means of the folds "
        f"that each has run; the best so far is that of {shown}.{edge_words(params, best)}"
    )
    picked = names[0]
    if len(names) > 1:
        picked = pick_one("Score by", names, "space-parameter", words=_words)
    plot(
        lambda dark: by_parameter_figure(frame, picked, metric, dark=dark),
        version=(*version, picked),
        key="space-parameter-figure",
        alt=f"{metric} of each configuration with its 95 % interval, by {picked}.",
        table=lambda: frame,
    )


def edge_words(params: Sequence[Mapping[str, ParamValue]], best: Mapping[str, ParamValue]) -> str:
    """Where the best is at an end of what was tried, so that better may lie beyond; or nothing."""
    ends = []
    for name, value in best.items():
        tried = {one[name] for one in params}
        numbers = [one for one in tried if isinstance(one, int | float)]
        if len(tried) > 1 and len(numbers) == len(tried) and value in (min(numbers), max(numbers)):
            side = "smaller" if value == min(numbers) else "larger"
            ends.append(f"{side} values of {_words(name)}")
    return f" It is at the edge of the grid: try {joined(ends)} too." if ends else ""


def _words(name: str) -> str:
    return name.replace("_", " ")
