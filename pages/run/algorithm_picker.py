"""Pick one or several algorithms and set their parameters."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from ecv_core.models import ALGORITHMS
from ecv_core.records.parameters import ParamValue
from ecv_core.records.spec import Task
from pages.shared.address.link import label_from_link
from pages.shared.live.state import KEPT
from pages.shared.widgets.setting_widgets import parameter_widgets

DEFAULT = "item-knn"

ALGORITHM_LABELS = {
    name: f"{known.title} (ratings)" if known.task is Task.RATINGS else known.title
    for name, known in ALGORITHMS.items()
}
"""Algorithm id -> how it is picked: with what it is for, where it does not rank items."""
_TASKS = (
    "Those marked **(ratings)** predict ratings: with them the metric is RMSE or MAE and the folds "
    "are random tenths of all ratings. All others rank items. One run is one or the other."
)

Chosen = dict[str, dict[str, ParamValue]]
"""Algorithm id -> its parameters."""


def algorithm_picker(
    tasks: Sequence[Task] = Task.TOP_N.together,
    key: str = "algorithm",
    default: Sequence[str] = (DEFAULT,),
    what: str = "Each one is a run of its own; several run one after another and show together.",
) -> list[str]:
    """Ids of the picked algorithms, in the registry's order; may be empty.

    Args:
        tasks: what they are to do.
        key: of the widget, and in the address.
        default: what is picked at first; the first of all where none of it does that.
        what: becomes of several, for the help.
    """
    label_from_link(key, ALGORITHM_LABELS)
    names = [name for name, known in ALGORITHMS.items() if known.task in tasks]
    default = [name for name in default if name in names] or names[:1]
    before = st.session_state.get(key)
    if before and not set(before) <= set(names):  # of another dataset, for another task
        st.session_state[key] = [name for name in before if name in names] or list(default)
    picked = st.pills(
        "Algorithms",
        names,
        format_func=ALGORITHM_LABELS.__getitem__,
        selection_mode="multi",
        default=list(default),
        key=key,
        **KEPT,
        help=f"{what}\n\n"
        + "\n".join(
            f"- **{ALGORITHMS[name].title}** (`{name}`): {ALGORITHMS[name].summary}"
            for name in names
        ),
    )
    if len(tasks) > 1:
        st.caption(_TASKS)
    for name in picked:
        st.caption(f"**{ALGORITHMS[name].title}.** {ALGORITHMS[name].summary}")
    return [name for name in ALGORITHMS if name in picked]


def parameter_settings(names: list[str]) -> Chosen:
    """Widgets for the parameters of these algorithms, in an expander."""
    chosen: Chosen = {name: {} for name in names}
    if not any(ALGORITHMS[name].parameters for name in names):
        return chosen
    with st.expander("Model parameters", icon=":material/tune:"):
        for name in names:
            algorithm = ALGORITHMS[name]
            if algorithm.parameters:
                st.markdown(f"**{algorithm.title}** · {algorithm.paper}")
                if paper := algorithm.paper_default:
                    words = ", ".join(f"{name} {value}" for name, value in dict(paper).items())
                    st.caption(f"In the paper: {words.replace('_', ' ')}.")
                with st.container(horizontal=True):
                    chosen[name] = parameter_widgets(name, algorithm.parameters)
    return chosen
