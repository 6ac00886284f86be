"""A selection among configurations of one algorithm: what its parameters have to do with it."""

from __future__ import annotations

from typing import Literal

import streamlit as st

from ecv_core.analysis.selection.configurations import configurations_frame, varied
from ecv_core.figures.tuning import (
    by_parameter_figure,
    pair_figure,
    parallel_figure,
    value_text,
)
from pages.best.show import Shown
from pages.shared.charts.plot import plot


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
    if len(names) > 1:
        plot(
            lambda dark: parallel_figure(frame, names, metric, dark=dark),
            version=version,
            key="space-parallel",
            alt=f"A line per configuration over {', '.join(names)}, folds and {metric}.",
            table=lambda: frame,
        )
    picked = _pick("Score by", names, names[0], "space-parameter")
    plot(
        lambda dark: by_parameter_figure(frame, picked, metric, dark=dark),
        version=(*version, picked),
        key="space-parameter-figure",
        alt=f"{metric} of each configuration with its 95 % interval, by {picked}.",
        table=lambda: frame,
    )
    if len(names) > 1:
        with st.container(horizontal=True):
            first = _pick("Map of", names, names[0], "space-first")
            rest = [name for name in names if name != first]
            second = _pick("and", rest, rest[0], "space-second")
        best_of: Literal["max", "min"] = "max" if higher else "min"
        plot(
            lambda dark: pair_figure(frame, first, second, metric, best=best_of, dark=dark),
            version=(*version, first, second),
            key="space-pair",
            alt=f"Best {metric} at each pair of values of {first} and {second}.",
            table=lambda: frame,
        )


def _pick(label: str, names: list[str], usual: str, key: str) -> str:
    if len(names) == 1:
        return names[0]
    if st.session_state.get(key, usual) not in names:
        del st.session_state[key]
    return str(
        st.selectbox(
            label, names, format_func=lambda name: name.replace("_", " "), key=key, width=220
        )
    )
