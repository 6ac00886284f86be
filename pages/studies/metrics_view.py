"""Metrics and parameters: which metric tells settings apart, which parameter dominates."""

from __future__ import annotations

from functools import partial

import streamlit as st

from ecv_core import dataset as datasets
from ecv_core.evaluation import column_title
from ecv_core.figures.p_values import p_values_figure
from ecv_core.models import ALGORITHMS
from ecv_core.records.errors import InputError
from ecv_core.selection.tuning.metrics_study import (
    MetricsStudy,
    curves_frame,
    dominance_frame,
    find_tuning,
    folds_of_own_tunings,
    powers_frame,
    study_metrics,
)
from ecv_core.selection.tuning.power import DRAWN
from ecv_core.store.configurations import TUNINGS, configuration_names, recorded_tuning
from pages.shared.charts.plot import plot
from pages.shared.live.state import store
from pages.shared.widgets.choices import pick_one
from pages.shared.widgets.tables import number, table
from pages.shared.widgets.words import show_large

_CHOICE = "tuning"
"""In the address."""
_FIRST = "ml-100k--item-knn"
_OWN_PREFIX = "own--"
"""Begins the name of a tuning in the database."""
_METHOD = f"""
For every pair of settings and every fold a **paired t test over users** says how likely a
difference as large would be if the two were equally good. Sorted by size, largest first, and
averaged over the folds, these p values are the metric's **curve**; their sum is its
**discriminative power (DP)**. Less is better: the metric finds more differences. **DP + sd** adds
to each p value its standard deviation over the folds: what the metric may lose on a bad fold.

The paper draws {DRAWN} pairs. Curves and DP here are the exact expectation over all such draws, so
that no draw disturbs them. **Dominant** is the parameter with the least DP at one of its values:
the pairs then share that value and differ in the other parameters.

The tests are not corrected for their number, as in the paper: p values here compare metrics, and
are no verdict on single pairs.

After Anelli, Di Noia, Di Sciascio, Pomo and Ragone (2019), *On the discriminative power of
hyper-parameters in cross-validation and how to choose them*. Our protocol is another one: all
interactions count, and ten folds per user.
"""


def show_metrics() -> None:
    """Everything below the title.

    Raises:
        InputError: For a damaged file, or where nothing is recorded.
    """
    st.markdown(
        "Some metrics hardly change when a parameter does. "
        "Tune by one that can tell settings apart."
    )
    name = _pick_tuning()
    study = _study_of_tuning(name)
    show_large(study.sentence())
    _show_curves(study, name)
    _show_powers(study)
    # `dominant` is empty where there is a single parameter, which has no other to dominate.
    if study.dominant:
        _show_dominance(study)
    with st.expander("How this is worked out", icon=":material/calculate:"):
        st.markdown(_METHOD)


def _show_curves(study: MetricsStudy, name: str) -> None:
    """Figure 1 of the paper."""
    st.header("p values of pairs of settings", anchor=False)
    st.caption("The lower a metric's line, the more pairs of settings it tells apart.")
    frame = curves_frame(study)
    best = column_title(study.ranked[0])
    worst = column_title(study.ranked[-1])
    # One's own tuning may get new runs under the same name. Its best discriminative power then
    # changes, so that is part of the key by which the figure is kept.
    plot(
        partial(p_values_figure, frame),
        cache_key=(name, study.curves[study.ranked[0]].dp),
        key="p-values",
        alt=f"p-value curves of {len(study.curves)} metrics: {best} is lowest, {worst} highest.",
        name=f"{name} p values",
        table=frame.copy,
    )


def _show_powers(study: MetricsStudy) -> None:
    """Tables 3 and 4 of the paper."""
    st.header("Discriminative power", anchor=False)
    columns = {
        "dp": number("DP", "%.2f", "Less is better."),
        "dp_plus_sd": number("DP + sd", "%.2f"),
        "told_apart_percent": number(
            "p below 0.05 in", "%.0f %%", "Of the pairs of settings, mean of the folds."
        ),
        "dp_corrected": number(
            "DP, Holm", "%.2f", "Of p corrected for the number of pairs of a fold."
        ),
        "told_apart_corrected_percent": number("p, Holm, below 0.05 in", "%.0f %%"),
    }
    table(
        powers_frame(study),
        columns,
        width="content",
        key="powers",
        alt="Discriminative power of each metric, best first.",
    )


def _show_dominance(study: MetricsStudy) -> None:
    """Table 5 of the paper."""
    st.header("Which parameter dominates", anchor=False)
    st.caption(
        f"DP of {column_title(study.metric)} over pairs of settings that share one value and "
        "differ in the other parameters. The parameter with the least is dominant."
    )
    table(
        dominance_frame(study),
        {"value": st.column_config.Column(width=110), "dp": number("DP", "%.2f")},
        width="content",
        key="dominance",
        alt="Discriminative power with each parameter set to each of its values.",
    )


def _pick_tuning() -> str:
    """The name of the tuning that is picked: of a recorded one, or of one's own after _OWN_PREFIX.

    Raises:
        InputError: If there is none.
    """
    names = configuration_names(TUNINGS)
    for name in folds_of_own_tunings(store()):
        names.append(f"{_OWN_PREFIX}{name}")
    if not names:
        raise InputError(
            "no tuning came with this copy; compute one: tune ml-100k item-knn --all-folds"
        )
    return pick_one(
        "Settings of",
        names,
        _CHOICE,
        usual=_FIRST,
        words=_label,
        width=420,
        help="Recorded, or your own: what `tune --all-folds`, or other runs that differ in "
        "parameters only, have left in the database with all folds.",
    )


def _label(name: str) -> str:
    """'ItemKNN on MovieLens 100K', and whether it is one's own."""
    # A name is 'DATASET--ALGORITHM'; that of one's own tuning begins with the prefix.
    dataset, algorithm = name.removeprefix(_OWN_PREFIX).split("--")
    title = f"{ALGORITHMS[algorithm].title} on {datasets.entry(dataset).title}"
    if name.startswith(_OWN_PREFIX):
        return f"Your own: {title}"
    return title


def _study_of_tuning(name: str) -> MetricsStudy:
    """What is known of a tuning, read again once it has more folds."""
    if not name.startswith(_OWN_PREFIX):
        return _recorded_study(name)
    own_name = name.removeprefix(_OWN_PREFIX)
    finished_folds = folds_of_own_tunings(store())[own_name]
    return _own_study(own_name, finished_folds, store().url)


@st.cache_resource(show_spinner="Reading the folds ...", max_entries=8)
def _recorded_study(name: str) -> MetricsStudy:
    return study_metrics(recorded_tuning(name))


@st.cache_resource(show_spinner="Reading the folds ...", max_entries=8)
def _own_study(name: str, finished_folds: int, database_url: str) -> MetricsStudy:
    """The study of one's own tuning; its arguments are the key by which Streamlit keeps it."""
    # With more finished folds, or in another database, the tuning of this name is another study.
    dataset, algorithm = name.split("--")
    return study_metrics(find_tuning(store(), dataset, algorithm, own=True))
