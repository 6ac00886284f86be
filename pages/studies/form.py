"""The form that starts a study: datasets x algorithms, all queued at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import streamlit as st

import ecv_core.dataset as datasets
from ecv_core.jobs.plans.study import planned
from ecv_core.jobs.rights.actor import Action
from ecv_core.models import ALGORITHMS
from ecv_core.records.errors import EcvError
from ecv_core.records.run import Run
from ecv_core.splits import SPLITS, exchangeable
from ecv_core.stopping import NEVER_STOPS, RULES
from pages.run.algorithm_picker import ALGORITHM_LABELS
from pages.run.score_settings import metric_select
from pages.run.stop_settings import rule_params
from pages.shared.live.acting import why_not
from pages.shared.live.state import sentence, sentences
from pages.shared.widgets.setting_widgets import about, setting_widget
from pages.shared.widgets.words import dataset_title, titles_of
from pages.studies.choice import STUDIES
from pages.studies.live import begin_study, work_words

_FIRST = ("popular", "item-knn", "ease")
_NOTHING = "Pick at least one dataset and one algorithm."


def start_form(recorded: Sequence[Run]) -> None:
    """Draw the form; on Start, queue what is not known yet and open the study."""
    if why := why_not(Action.START_MANY):
        st.markdown(f":material/lock: {why}")
        return
    ready = [name for name, entry in datasets.catalogue().items() if datasets.available(entry)]
    names = st.pills(
        "Datasets",
        ready,
        format_func=titles_of(ready, dataset_title).__getitem__,
        selection_mode="multi",
        default=ready[:1],
        key="new_datasets",
        persist_state="session",
        help="Those on this machine. Download others on the Run page.",
    )
    algorithms = st.pills(
        "Algorithms",
        list(ALGORITHMS),
        format_func=ALGORITHM_LABELS.__getitem__,
        selection_mode="multi",
        default=list(_FIRST),
        key="new_algorithms",
        persist_state="session",
        help="With their default parameters.\n\n"
        + "\n".join(
            f"- **{known.title}** (`{name}`): {known.summary}" for name, known in ALGORITHMS.items()
        ),
    )
    settings = study_settings()
    full = st.toggle(
        "Go on to the last fold, so that every order and every alpha can be looked at",
        value=True,
        key="new_full",
        persist_state="session",
        help="Without it each run ends at its stop and saves energy, but the figures above need "
        "all folds.",
    )
    anew = st.toggle(
        "Recompute all runs",
        key="new_anew",
        persist_state="session",
        help="Otherwise a run that is finished already, as one of yours or recorded, is not "
        "computed again.",
    )
    try:
        cells = planned(
            [name for name in ready if name in names],
            [algorithm for algorithm in ALGORITHMS if algorithm in algorithms],
            [settings.pop("split")],
            full=full,
            **settings,
        )
    except EcvError as error:
        st.error(sentence(error), icon=":material/error:")
        cells = []
    with st.container(horizontal=True, vertical_alignment="center"):
        pressed = st.button(
            "Start the study",
            type="primary",
            icon=":material/play_arrow:",
            key="start-study",
            disabled=not cells,
        )
        st.markdown(work_words(cells, recorded, anew=anew) if cells else _NOTHING)
    if pressed:
        with sentences():
            STUDIES.show(begin_study(cells, anew=anew))
            st.rerun()


def study_settings() -> dict[str, Any]:
    """Folds, score and rule, as arguments of `make_spec`."""
    split, metric, top = st.columns([2, 1.5, 1])
    several = [name for name, known in SPLITS.items() if not known.single]
    listed = "\n".join(f"- **{name}**: {SPLITS[name].help}" for name in several)
    picked: dict[str, Any] = {
        "split": split.selectbox(
            options=several,
            format_func=lambda name: f"{name}: {SPLITS[name].title.lower()}",
            **_about(
                "split",
                help=f"With its default parameters; those that make several folds.\n\n{listed}",
            ),
        ),
        "metric": metric_select(metric, **_about("metric")),
        "n": setting_widget("n", top, **_about("n")),
    }
    seed, folds, which, level = st.columns(4)
    picked["seed"] = setting_widget(
        "seed",
        seed,
        **_about(
            "seed",
            help="Fixes the folds and every random choice; all algorithms get the same folds.",
        ),
    )
    picked["k"] = setting_widget("k", folds, **_about("k"))
    rule = which.selectbox(
        options=[
            name
            for name in RULES
            if name == NEVER_STOPS or (RULES[name].looks and exchangeable(picked["split"]))
        ],  # a fixed number is no setting here; folds in an order are not stopped early
        format_func=lambda name: RULES[name].title,
        **_about(
            "rule",
            help="What is shown as the stop while the study runs. Once all folds are in, every "
            "rule and alpha can be looked at.",
        ),
    )
    picked["rule"] = rule
    picked["rule_params"] = rule_params(RULES[rule], level, prefix="new_", bind=None)
    return picked


def _about(name: str, **changed: Any) -> dict[str, Any]:  # noqa: ANN401 - arguments of a widget
    """As on the Run page, but under a key of its own, and not in the address."""
    return about(name, key=f"new_{name}", bind=None, **changed)
