"""Studies of one's own: which is shown, every run as it goes on, and how one begins."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

import pandas as pd
import streamlit as st
from streamlit.errors import StreamlitAPIException

from ecv_core import dataset as datasets
from ecv_core.access.roles import Action
from ecv_core.analysis.rank_swaps import split_label
from ecv_core.figures.words import (
    algorithm_title,
    counted,
    dataset_title,
    duration,
    metric_label,
    titled,
    titles_of,
)
from ecv_core.jobs.plans import study
from ecv_core.jobs.plans.study import Cell, n_splits, reusable, with_obstacles
from ecv_core.models import ALGORITHMS
from ecv_core.records.errors import InputError
from ecv_core.records.run import RunRecord, RunState
from ecv_core.records.spec import RunSpec
from ecv_core.records.tasks import Task
from ecv_core.splits import SPLITS, serving
from ecv_core.store.plans import STUDY, PlanRecord, stored_plan, stored_plans
from pages.run.expectation import expectation
from pages.run.settings import metric_select
from pages.shared.address.link import label_from_link
from pages.shared.live.acting import acting, why_not
from pages.shared.live.events import ALL, STEPS
from pages.shared.live.runs import act_and_rerun, remaining_seconds
from pages.shared.live.state import escaped, manager, sentences, store
from pages.shared.live.watch import follow, watch
from pages.shared.widgets.choices import pick_one
from pages.shared.widgets.dataset_picker import INTERACTIONS
from pages.shared.widgets.place import place_picker
from pages.shared.widgets.setting_widgets import about, setting_widget, split_titles
from pages.shared.widgets.tables import number, table
from pages.shared.widgets.words import plan_label

RECORDED = "recorded"
_CHOICE = "study"
"""Key of the choice, and in the address."""
_BEGUN = "study-begun"
"""In the session: the study to show next."""


def pick_study() -> str:
    """RECORDED, or the id of the study that is picked; a widget only where there are own ones."""
    own = stored_plans(store(), STUDY)
    labels = {RECORDED: "Recorded with e-fold"} | {one.plan_id: _label(one) for one in own}
    if begun := st.session_state.pop(_BEGUN, ""):
        st.session_state[_CHOICE] = begun
        with suppress(StreamlitAPIException):  # where there is a choice already, it says so itself
            st.query_params[_CHOICE] = labels[begun]
    label_from_link(_CHOICE, labels, strict=_CHOICE not in st.session_state)
    if not own and _CHOICE not in st.query_params:
        return RECORDED
    return pick_one(
        "Study",
        list(labels),
        _CHOICE,
        words=labels.__getitem__,
        width=560,
        label_visibility="collapsed",
    )


def _label(one: PlanRecord) -> str:
    specs = [run.spec for run in one.content.runs]
    parts = [
        counted(len({spec.dataset for spec in specs}), "dataset"),
        counted(len({spec.algorithm for spec in specs}), "algorithm"),
    ]
    if n_splits(one) > 1:
        parts.append(counted(n_splits(one), "split"))
    return plan_label(one, " x ".join(parts))


def cells_of(study_id: str) -> list[Cell]:
    """The study's cells as they are now. Raises: InputError if it is gone."""
    return study.look(store(), study_id)


def compares_splits(study_id: str) -> bool:
    """Whether it is one of splits x algorithms. Raises: InputError if it is gone."""
    return n_splits(stored_plan(store(), STUDY, study_id)) > 1


def show_progress(study_id: str, cells: Sequence[Cell]) -> None:
    """A row for each run, and buttons; it follows the study while any run is active."""
    drawn = watch().now().moment
    follow(_follow, study_id, _stage(cells), drawn, key="study", of=[ALL], often=[STEPS])


def _follow(study_id: str, before: object, drawn: float) -> None:
    with sentences():
        try:
            cells = cells_of(study_id)
        except InputError:
            st.rerun()  # removed meanwhile
        if watch().now().moment > drawn and _stage(cells) != before:
            st.rerun()  # the figures below have changed too
        if trouble := manager().trouble:
            st.warning(escaped(trouble), icon=":material/warning:")
        with st.container(
            horizontal=True, vertical_alignment="center", horizontal_alignment="distribute"
        ):
            st.markdown(progress_words(cells), width="content")
            with st.container(horizontal=True, width="content"):
                _actions(study_id, cells)
        table(
            runs_frame(cells),
            {
                "done": st.column_config.ProgressColumn("folds done", format="percent"),
                "score": number("score", "%.4f"),
            },
            key="study-runs",
            alt="Every run of the study: its state, its folds, its score.",
        )


def _stage(cells: Sequence[Cell]) -> list[tuple[str, bool, bool]]:
    """What the rest of the page depends on: who is active, and who is complete."""
    return [
        (cell.run.run_id if cell.run else "", cell.active, cell.run is not None and cell.run.whole)
        for cell in cells
    ]


def progress_words(cells: Sequence[Cell]) -> str:
    """How far the whole study is, in a sentence."""
    done = sum(len(cell.run.folds) for cell in cells if cell.run)
    folds = sum((cell.run or cell).spec.max_folds for cell in cells)
    finished = sum(cell.run is not None and cell.run.state is RunState.FINISHED for cell in cells)
    runs = counted(len(cells), "run")
    words = [f"**{finished} of {runs}** finished", f"{done} of {folds} folds"]
    borrowed = sum(cell.borrowed for cell in cells)
    if borrowed:
        words.append(f"{borrowed} reused from earlier runs")
    active = [cell.run for cell in cells if cell.run and cell.run.state.active]
    left = [remaining_seconds(run) for run in active]
    known = [seconds for seconds in left if seconds is not None]
    if known:
        least = "at least " if len(known) < len(active) else "about "
        words.append(f"{least}{duration(sum(known))} left")
    return " · ".join(words)


def runs_frame(cells: Sequence[Cell]) -> pd.DataFrame:
    """A row for each run, as it is now."""
    return pd.DataFrame([_row(cell) for cell in cells])


def _row(cell: Cell) -> dict[str, object]:
    run, spec = cell.run, cell.spec
    row: dict[str, object] = {
        "dataset": dataset_title(spec.dataset),
        "algorithm": algorithm_title(spec.algorithm),
        "split": titled(split_label(spec)),
    }
    if run is None:
        return row | {"state": "deleted", "note": "Resume computes it again"}
    step = run.progress
    inside = min(step.step / step.steps, 1.0) if step is not None and step.steps else 0.0
    notes = []
    if run.state is RunState.RUNNING and step is not None:
        notes.append(step.phase)
    if run.state.active and (left := remaining_seconds(run)) is not None:
        notes.append(f"at most {duration(left)} left")
    if run.state is RunState.FAILED and run.error:
        notes.append(run.error)
    if cell.borrowed and run.state is RunState.FINISHED:
        notes.append("reused")
    return row | {
        "state": run.state.value,
        "done": min((len(run.folds) + inside) / run.k, 1.0),
        "folds": f"{len(run.folds)} of {run.k}",
        "metric": metric_label(run.spec),
        "score": run.at_stop.mean if run.at_stop else None,
        "note": ", ".join(notes),
    }


def _actions(study_id: str, cells: Sequence[Cell]) -> None:
    """Buttons for what may be done now."""
    person = acting()
    theirs = stored_plan(store(), STUDY, study_id).started_by
    mine = [cell for cell in cells if cell.run and person.may(Action.CANCEL, cell.run.started_by)]
    if any(cell.active for cell in mine) and st.button(
        "Cancel all", icon=":material/cancel:", key="cancel-study"
    ):
        act_and_rerun(lambda: acting().cancel_study(cells))
    for label, left, said in (
        (
            "Resume",
            [cell for cell in cells if cell.to_do],
            "Each run goes on at its next missing fold.",
        ),
        (
            "Run the remaining folds",
            [cell for cell in cells if cell.early],
            "Of the runs that ended at their stop: the figures need all folds.",
        ),
    ):
        # What was cut off and is somebody else's can only be gone on with by them.
        may_go_on = left and all(cell in mine for cell in left if cell.run)
        if (
            may_go_on
            and person.may(Action.START_MANY, theirs)
            and st.button(label, icon=":material/resume:", help=said)
        ):
            full = any(cell.early for cell in left)
            act_and_rerun(partial(person.go_on_with_study, study_id, full=full))
    if not any(cell.active for cell in cells) and person.may(Action.FORGET, theirs):
        st.button(
            "Remove from the list",
            icon=":material/playlist_remove:",
            key="forget-study",
            type="tertiary",
            help="Its runs stay on the page Runs.",
            on_click=_forget,
            args=(study_id,),
        )


def _forget(study_id: str) -> None:
    with sentences():
        acting().forget_plan(STUDY, study_id)
        st.session_state[_CHOICE] = RECORDED


_USUAL = ("popular", "item-knn", "ease")
_USUAL_SPLITS = ("user-k-fold", "random-holdout", "leave-last-item", "temporal-global")
_PARAMETERS = "With their default parameters."


def start_form(recorded: Sequence[RunRecord], *, several: bool = False) -> None:
    """Draw the form; on Start, queue what is not known yet and open the study.

    Args:
        recorded: runs that need not be computed again.
        several: whether splits are compared.
    """
    if why := why_not(Action.START_MANY):
        st.markdown(f":material/lock: {why}")
        return
    task = Task.TOP_N if several else _task()
    of = f"_{task}" * task.of_table  # other choices, so other widgets
    known = datasets.catalogue().values()
    here = [one.id for one in known if task in one.tasks and datasets.available(one)]
    ready = titles_of(here, dataset_title)
    where = "Those on this machine. Download others on the Run page."
    names = _some("Datasets", ready, list(ready)[:1], f"new_datasets{of}", where)
    tasks = (task,) if several else task.together
    titles = titles_of(
        [name for name, one in ALGORITHMS.items() if one.task in tasks], algorithm_title
    )
    usual = list(titles)[:3] if of else _USUAL
    algorithms = _some("Algorithms", titles, usual, f"new_algorithms{of}", _PARAMETERS)
    least, settings = 1, {}
    if several:
        least = 2
        splits = _some(
            "Splits",
            {one: SPLITS[one].title for one in serving(task)},
            _USUAL_SPLITS,
            "new_splits",
            _PARAMETERS,
        )
    else:
        settings = _settings(task, of)
        splits = [settings.pop("split")]
    cells: list[Cell] = []
    specs: list[RunSpec] = []
    said = "Pick at least one dataset and one algorithm."
    if several:
        said = "Pick at least one dataset, two algorithms and two splits."
    if names and len(algorithms) >= least and len(splits) >= least:
        with sentences():
            said = ""
            cells = study.planned(names, algorithms, splits, full=True, **settings)
            said, specs = _work(cells, recorded)
    place = place_picker()
    with st.container(horizontal=True, vertical_alignment="center"):
        pressed = st.button(
            "Start the study",
            type="primary",
            icon=":material/play_arrow:",
            key="start-study",
            disabled=not cells,
        )
        st.markdown(said)
    expectation(specs)
    if pressed:
        _begin(cells, place)


_TASKS = {
    Task.TOP_N: INTERACTIONS,
    Task.CLASSES: "Classify, from tables",
    Task.NUMBERS: "Predict numbers, from tables",
}
"""What studies can be begun for, as the form calls it."""


def _task() -> Task:
    return st.segmented_control(
        "Task",
        list(_TASKS),
        default=Task.TOP_N,
        required=True,
        format_func=_TASKS.__getitem__,
        key="new_task",
        persist_state="session",
    )


def _settings(task: Task, of: str) -> dict[str, Any]:
    """Folds and score, as arguments of `make_spec`."""
    split, metric, top, seed, folds = st.columns([2, 1.5, 1, 1, 1])
    length = {} if of else {"n": setting_widget("n", top, **_about("n"))}
    return length | {
        "split": split.selectbox(
            options=[name for name in serving(task) if not SPLITS[name].single],
            format_func=split_titles().__getitem__,
            **_about(
                "split", of, help="With its default parameters; those that make several folds."
            ),
        ),
        "metric": metric_select(metric, task.together, **_about("metric", of)),
        "seed": setting_widget("seed", seed, **_about("seed")),
        "k": setting_widget("k", folds, **_about("k")),
    }


def _about(
    name: str,
    of: str = "",
    **changed: Any,  # noqa: ANN401 - arguments of a widget
) -> dict[str, Any]:
    """As on the Run page, but under a key of its own, and not in the address."""
    return about(name, key=f"new_{name}{of}", bind=None, **changed)


def _some(
    label: str, titles: Mapping[str, str], usual: Sequence[str], key: str, help_text: str
) -> list[str]:
    """Pills that stay for the session and are not in the address; gives those picked, in order."""
    picked = st.pills(
        label,
        list(titles),
        format_func=titles.__getitem__,
        selection_mode="multi",
        default=list(usual),
        key=key,
        persist_state="session",
        help=help_text,
    )
    return [name for name in titles if name in picked]


def _begin(cells: Sequence[Cell], place: str) -> None:
    """Queue what is not known yet and show the study, or say why the data cannot be split so."""
    with sentences():
        with st.spinner("Looking whether the data can be split so ..."):
            for _, why in with_obstacles(cells):
                if why is not None:
                    raise InputError(why)
        st.session_state[_BEGUN] = acting().begin_study(cells, place=place)
        st.rerun()


def _work(cells: Sequence[Cell], recorded: Sequence[RunRecord]) -> tuple[str, list[RunSpec]]:
    """How much work a study is, in words, and what of it is to be computed."""
    known = [one for one in cells if reusable(one.spec, recorded)]
    specs = list(dict.fromkeys(one.spec for one in cells if one not in known))
    words = [f"**{counted(len(cells), 'run')}**"]
    if known:
        words.append(f"{len(known)} of them recorded already")
    if specs:
        words.append(f"{counted(sum(spec.k for spec in specs), 'fold')} to compute")
    return f"{', '.join(words)}.", specs
