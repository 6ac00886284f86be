"""How much of training lies after what it helps to predict: here, and under every strategy."""

from __future__ import annotations

import streamlit as st

from ecv_core.figures.splits import leakage_figure, leakage_height
from ecv_core.fold import prepared
from ecv_core.records.spec import RunSpec
from ecv_core.splits import Leakage
from pages.shared.charts.plot import plot
from pages.shared.live.state import KEPT, escaped
from pages.shared.widgets.glossary import explained
from pages.splits.computed import all_leakages, leakage_of

_AT_ONCE = 250_000
"""Interactions up to which all strategies are compared without being asked."""
_PER_SECOND = 100_000
"""Interactions that all strategies together get through in a second, roughly."""


def leakage_section(content: str, spec: RunSpec, fold: int) -> None:
    """The number with its sentence, beside the comparison of strategies."""
    st.header("Does the future leak into training?", anchor=False)
    found = leakage_of(content, spec, fold)
    if found is None:
        st.info(
            escaped(spec.dataset) + " has neither timestamps nor any other order, so it is not "
            "known what came later; pick a dataset with timestamps, such as synthetic or ml-1m.",
            icon=":material/schedule:",
        )
        return
    left, right = st.columns([2, 3], gap="large")
    with left:
        _numbers(found)
    with right:
        _comparison(content, spec)


def _numbers(found: Leakage) -> None:
    share, whose = (
        (found.anyone, "of any user")
        if found.anyone is not None
        else (found.own, "of the same user")
    )
    st.metric(
        f"Training that lies later ({whose})",
        _percent(share),
        help=explained(
            "A pair is a training interaction and a test interaction that it helps to predict; "
            "it leaks where the training interaction is strictly later.",
            "leakage",
            "interaction",
        ),
    )
    if not share:
        st.markdown(
            "**Nothing leaks**: no training interaction lies after what it helps to predict."
            if found.anyone is not None
            else "**No future of the same user leaks**: no training interaction of a user lies "
            "after what "
            "is tested of that user."
        )
    else:
        st.markdown(
            f"Of every 100 pairs of a training and a test interaction {whose}, "
            f"**{100 * share:.0f}** have the training interaction later: the model is told what "
            "it could not have known then."
        )
    rest = (
        ("of the same item", found.item, "the model knows of a hit before it becomes one"),
        ("of the same user", found.own, "the profile holds what the user did later"),
        ("test interactions with any leak", found.tests, ""),
    )
    lines = [
        f"- {name}: **{_percent(value)}**" + (f", {meaning}" if meaning and value else "")
        for name, value, meaning in rest
        if value is not None
    ]
    st.markdown("\n".join(lines))
    if found.anyone is None:
        st.caption(
            "Times do not compare between users here, so what others did later is not known."
        )


def _comparison(content: str, spec: RunSpec) -> None:
    size = len(prepared(spec.dataset))
    if size > _AT_ONCE and not st.toggle(
        f"Compare all strategies (about {max(size // _PER_SECOND, 1)} seconds)",
        key="compare_leakage",
        **KEPT,
    ):
        return
    frame = all_leakages(content, spec.dataset, spec.seed)
    by_name = frame.pivot_table(index="split", columns="helps", values="percent").max(axis=1)
    free = [name for name, percent in by_name.items() if percent == 0]
    alt = (
        f"Leakage of {len(by_name)} strategies on {spec.dataset}: up to {by_name.max():.0f} %; "
        f"none under {', '.join(map(str, free)) or 'no strategy'}."
    )
    plot(
        lambda dark: leakage_figure(frame, chosen=spec.split, dark=dark),
        version=(content, spec.dataset, spec.seed, spec.split),
        key="split-leakage",
        alt=alt,
        height=leakage_height(frame),
        name=f"leakage on {spec.dataset}",
        table=lambda: frame,
    )
    st.caption("Each with its usual parameters, fold 0. Left is better; zero is none.")


def _percent(share: float | None) -> str:
    return "unknown" if share is None else f"{100 * share:.1f}\u00a0%"
