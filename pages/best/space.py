"""A selection among configurations of one algorithm: what its parameters have to do with it."""

from __future__ import annotations

import streamlit as st

from ecv_core.analysis.selection.configurations import configurations_frame, varied
from ecv_core.figures.tuning import by_parameter_figure, value_text
from pages.best.show import Shown
from pages.shared.charts.plot import plot

_PICKED = "space-parameter"


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
    shown = ", ".join(f"{name.replace('_', ' ')} {value_text(best[name])}" for name in names)
    st.caption(
        f"{len(params)} configurations, {spent:,} of {most:,} folds. Scores are means of the folds "
        f"that each has run; the best so far is that of {shown}."
    )
    picked = names[0]
    if len(names) > 1:
        if st.session_state.get(_PICKED, picked) not in names:  # of another search space
            del st.session_state[_PICKED]
        picked = st.selectbox(
            "Score by",
            names,
            format_func=lambda name: name.replace("_", " "),
            key=_PICKED,
            width=220,
        )
    plot(
        lambda dark: by_parameter_figure(frame, picked, metric, dark=dark),
        version=(*version, picked),
        key="space-parameter-figure",
        alt=f"{metric} of each configuration with its 95 % interval, by {picked}.",
        table=lambda: frame,
    )
