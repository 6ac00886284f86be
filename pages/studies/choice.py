"""Which study of datasets and algorithms is shown and what of it, and the form that starts one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import streamlit as st

from ecv_core.figures.words import counted
from ecv_core.jobs.plans.study import (
    n_splits,
    of_the_paper,
)
from ecv_core.jobs.rights.actor import Action
from ecv_core.models import ALGORITHMS
from ecv_core.records.run import Run
from ecv_core.records.spec import Task
from ecv_core.splits import SPLITS, exchangeable, serving
from ecv_core.stopping import NEVER_STOPS, RULES
from ecv_core.store.plans import PlanRecord
from ecv_core.store.recorded import recorded_runs, recorded_stopped
from pages.run.algorithm_picker import ALGORITHM_LABELS
from pages.run.score_settings import metric_select
from pages.run.stop_settings import rule_params
from pages.shared.live.acting import why_not
from pages.shared.live.state import sentences
from pages.shared.widgets.choices import pick_runs, picked_line, runs_words
from pages.shared.widgets.setting_widgets import about, setting_widget
from pages.studies.live import (
    ON_THIS_MACHINE,
    RECORDED,
    USUAL_PARAMETERS,
    StudyPicker,
    cells_of,
    live_grid,
    on_this_machine,
    planned_cells,
    some_of,
    work_words,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ChosenRuns:
    """The runs to look at, in the order of rows and columns."""

    whole: list[Run]
    early: list[Run]
    """Those that ended at their stop, so that their k-fold mean is not known."""

    @property
    def papers(self) -> list[int]:
        """Numbers of the paper's own cells among the whole ones; empty where these are all."""
        found = [number for number, run in enumerate(self.whole) if of_the_paper(run.spec)]
        return found if len(found) < len(self.whole) else []


def _counts(study: PlanRecord) -> str:
    rows = {run.spec.dataset for run in study.content.runs}
    columns = {run.spec.algorithm for run in study.content.runs}
    return f"{counted(len(rows), 'dataset')} x {counted(len(columns), 'algorithm')}"


STUDIES = StudyPicker(
    parameter="study",
    title="Study",
    recorded="The recorded study",
    help="The recorded study comes with e-fold; your own are those started on this page.",
    shows=lambda study: n_splits(study) == 1,
    counts=_counts,
    elsewhere="this study compares splits; it is in the view Splits and ranks.",
    resets=("study_datasets", "study_algorithms"),  # every study starts with all its runs
)


def choose_runs(study_id: str, recorded: Sequence[Run]) -> ChosenRuns:
    """The study as it stands, and what of it to look at; empty while there is nothing.

    Args:
        study_id: RECORDED, or of one's own.
        recorded: whole ones, and those that ended at their stop.
    Raises: InputError if there is no such study.
    """
    if study_id == RECORDED:
        runs = list(recorded)
        specs = [run.spec for run in runs]
        if not runs:
            st.info("No recorded runs came with this copy; start a study of your own below.")
    else:
        cells = cells_of(study_id)
        live_grid(study_id, cells, STUDIES)
        runs = [cell.run for cell in cells if cell.run and (cell.run.whole or cell.early)]
        specs = [cell.spec for cell in cells]
        if not any(run.whole for run in runs):
            st.info("The figures come as soon as a run has all its folds.")
    if not runs:
        return ChosenRuns(whole=[], early=[])
    words, widgets = picked_line("Choose", key="picked-study")
    with widgets:
        chosen = pick_runs(runs, specs, prefix="study_")
    found = ChosenRuns(
        whole=[run for run in chosen if run.whole], early=[run for run in chosen if not run.whole]
    )
    early = f", {len(found.early)} of them ended early †" if found.early else ""
    words.markdown(runs_words(chosen) + early)
    if not found.whole and any(run.whole for run in runs):
        st.info("The figures need a run that has all its folds; pick more datasets or algorithms.")
    return found


def recorded_study() -> list[Run]:
    """The whole recorded runs, and of the other cells those that ended at their stop.

    A damaged file is a sentence, and the others still count.
    """
    whole: list[Run] = []
    with sentences():
        whole = [run for run in recorded_runs() if run.whole]
        return whole + recorded_stopped()
    return whole


_FIRST = ("popular", "item-knn", "ease")
_NOTHING = "Pick at least one dataset and one algorithm."
_TASKS = {
    Task.TOP_N: "Recommend, from interactions",
    Task.CLASSES: "Classify, from tables",
    Task.NUMBERS: "Predict numbers, from tables",
}


def _does(name: str, task: Task) -> bool:
    return ALGORITHMS[name].task in task.together


def start_form(recorded: Sequence[Run]) -> None:
    """Draw the form; on Start, queue what is not known yet and open the study."""
    if why := why_not(Action.START_MANY):
        st.markdown(f":material/lock: {why}")
        return
    task = st.segmented_control(
        "Task",
        list(_TASKS),
        default=Task.TOP_N,
        required=True,
        format_func=_TASKS.__getitem__,
        key="new_task",
        persist_state="session",
    )
    of = f"_{task}" * task.of_table  # other choices, so other widgets
    ready = on_this_machine(task)
    names = some_of("Datasets", ready, list(ready)[:1], f"new_datasets{of}", ON_THIS_MACHINE)
    labels = {name: text for name, text in ALGORITHM_LABELS.items() if _does(name, task)}
    algorithms = some_of(
        "Algorithms",
        labels,
        list(labels)[:3] if of else _FIRST,
        f"new_algorithms{of}",
        f"{USUAL_PARAMETERS}\n\n"
        + "\n".join(
            f"- **{ALGORITHMS[name].title}** (`{name}`): {ALGORITHMS[name].summary}"
            for name in labels
        ),
    )
    settings = study_settings(task)
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
    cells = planned_cells(names, algorithms, [settings.pop("split")], full=full, **settings)
    said = work_words(cells, recorded, anew=anew) if cells else _NOTHING
    STUDIES.start("Start the study", cells, said, key="start-study", anew=anew)


def study_settings(task: Task = Task.TOP_N) -> dict[str, Any]:
    """Folds, score and rule, as arguments of `make_spec`."""
    split, metric, top = st.columns([2, 1.5, 1])
    several = [name for name in serving(task) if not SPLITS[name].single]
    of = f"_{task}" * task.of_table
    listed = "\n".join(f"- **{name}**: {SPLITS[name].help}" for name in several)
    picked: dict[str, Any] = {
        "split": split.selectbox(
            options=several,
            format_func=lambda name: f"{name}: {SPLITS[name].title.lower()}",
            **_about(
                "split",
                of,
                help=f"With its default parameters; those that make several folds.\n\n{listed}",
            ),
        ),
        "metric": metric_select(metric, task.together, **_about("metric", of)),
    }
    if not of:
        picked["n"] = setting_widget("n", top, **_about("n"))
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


def _about(
    name: str,
    of: str = "",
    **changed: Any,  # noqa: ANN401 - arguments of a widget
) -> dict[str, Any]:
    """As on the Run page, but under a key of its own, and not in the address."""
    return about(name, key=f"new_{name}{of}", bind=None, **changed)
