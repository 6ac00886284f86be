"""Studies of one's own: which is shown, every run as it goes on, and how one begins."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, NamedTuple

import pandas as pd
import streamlit as st
from streamlit.errors import StreamlitAPIException

from ecv_core import dataset as datasets
from ecv_core.access.roles import Action
from ecv_core.analysis.rank_swaps.blocks import split_label
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
from ecv_core.jobs.plans.study import Cell, first_run_that_answers, n_splits, with_obstacles
from ecv_core.models import ALGORITHMS
from ecv_core.records.errors import InputError
from ecv_core.records.run import RunRecord, RunState
from ecv_core.records.spec import RunSpec
from ecv_core.records.tasks import Task
from ecv_core.splits import SPLITS, serving
from ecv_core.store.plans import STUDY, PlanRecord, stored_plan, stored_plans
from pages.run.expectation import show_expected_cost
from pages.run.settings import pick_metric
from pages.shared.address.link import translate_address
from pages.shared.base.rows import spread_row
from pages.shared.live.events import ALL, STEPS
from pages.shared.live.person import run_actions, why_not
from pages.shared.live.runs import (
    act_and_rerun,
    offer_to_forget,
    remaining_seconds,
    share_done,
)
from pages.shared.live.state import errors_as_sentences, show_trouble, store
from pages.shared.live.watch import draw_live, redraw_page_if_changed, watch
from pages.shared.widgets.choices import pick_one, start_button
from pages.shared.widgets.dataset_picker import INTERACTIONS
from pages.shared.widgets.place import pick_where_to_compute
from pages.shared.widgets.setting_widgets import pick_setting, widget_arguments
from pages.shared.widgets.tables import number, table
from pages.shared.widgets.words import plan_label

RECORDED = "recorded"
_CHOICE = "study"
"""Key of the choice, and in the address."""
_BEGUN = "study-begun"
"""In the session: the study to show next."""


def _choose_begun_study(labels: Mapping[str, str]) -> None:
    """Pick the study that was begun just now, if any."""
    begun_study = st.session_state.pop(_BEGUN, "")
    if begun_study:
        st.session_state[_CHOICE] = begun_study
        # If the widget is drawn already, Streamlit lets only the widget itself write its address.
        with suppress(StreamlitAPIException):
            st.query_params[_CHOICE] = labels[begun_study]


def pick_study() -> str:
    """RECORDED, or the id of the study that is picked; a widget only where there are own ones."""
    own_studies = stored_plans(store(), STUDY)
    labels = {RECORDED: "Recorded with e-fold"}
    for plan in own_studies:
        labels[plan.plan_id] = _label(plan)
    _choose_begun_study(labels)
    # The link is warned of only before anything is picked: later, a picked study may have been
    # removed.
    translate_address(_CHOICE, labels, warns_of_unknown=_CHOICE not in st.session_state)
    if not own_studies and _CHOICE not in st.query_params:
        return RECORDED
    return pick_one(
        "Study",
        list(labels),
        _CHOICE,
        words=labels.__getitem__,
        width=560,
        label_visibility="collapsed",
    )


def _label(plan: PlanRecord) -> str:
    """'2026-01-31 12:00 · 2 datasets x 3 algorithms · 1a2b3c4d5e6f'."""
    dataset_ids = {run.spec.dataset for run in plan.content.runs}
    algorithms = {run.spec.algorithm for run in plan.content.runs}
    contents = f"{counted(len(dataset_ids), 'dataset')} x {counted(len(algorithms), 'algorithm')}"
    splits = n_splits(plan)
    if splits > 1:
        contents += f" x {counted(splits, 'split')}"
    return plan_label(plan, contents)


def cells_of(study_id: str) -> list[Cell]:
    """The study's cells as they are now. Raises: InputError if it is gone."""
    return study.cells_of_study(store(), study_id)


def compares_splits(study_id: str) -> bool:
    """Whether it is one of splits x algorithms. Raises: InputError if it is gone."""
    return n_splits(stored_plan(store(), STUDY, study_id)) > 1


def show_progress(study_id: str, cells: Sequence[Cell]) -> None:
    """A row for each run, and buttons; it follows the study while any run is active."""
    # This part is drawn anew when a run changes, and with every step while the tab is looked at.
    drawn_at = watch().drawn_activity().moment
    draw_live(
        _show_runs_now,
        study_id,
        _states_in_figures(cells),
        drawn_at,
        key="study",
        topics=[ALL],
        foreground_topics=[STEPS],
    )


def _show_runs_now(study_id: str, drawn_states: object, drawn_at: float) -> None:
    """The runs as they are now, with buttons; the page is drawn anew where its figures change.

    Args:
        study_id: The study.
        drawn_states: The states of its cells when the page was drawn.
        drawn_at: The moment of that.
    """
    with errors_as_sentences():
        try:
            cells = cells_of(study_id)
        except InputError:
            st.rerun()  # the study has been removed meanwhile
        redraw_page_if_changed(_states_in_figures(cells), drawn_states, drawn_at)
        show_trouble()
        with spread_row():
            st.markdown(progress_words(cells), width="content")
            with st.container(horizontal=True, width="content"):
                _draw_actions(study_id, cells)
        table(
            runs_frame(cells),
            {
                "done": st.column_config.ProgressColumn("folds done", format="percent"),
                "score": number("score", "%.4f"),
            },
            key="study-runs",
            alt="Every run of the study: its state, its folds, its score.",
        )


def _states_in_figures(cells: Sequence[Cell]) -> list[tuple[str, bool, bool] | None]:
    """What the rest of the page depends on: the run of every cell, if it is active, if whole."""
    states: list[tuple[str, bool, bool] | None] = []
    for cell in cells:
        if cell.run is None:
            states.append(None)
        else:
            states.append((cell.run.run_id, cell.active, cell.run.whole))
    return states


def progress_words(cells: Sequence[Cell]) -> str:
    """How far the whole study is, in a sentence."""
    finished_runs = 0
    done_folds = 0
    all_folds = 0
    active = []
    for cell in cells:
        run = cell.run
        if run is None:
            all_folds += cell.spec.max_folds
            continue
        all_folds += run.spec.max_folds
        done_folds += len(run.folds)
        if run.state is RunState.FINISHED:
            finished_runs += 1
        if run.state.active:
            active.append(run)
    words = (
        f"**{finished_runs} of {counted(len(cells), 'run')}** finished · "
        f"{done_folds} of {all_folds} folds"
    )
    reused_runs = sum(cell.is_reused for cell in cells)
    if reused_runs:
        words += f" · {reused_runs} reused from earlier runs"
    return words + _time_left(active)


def _time_left(active: Sequence[RunRecord]) -> str:
    """How long these runs still take together; empty where it is known of none."""
    seconds_left = []
    for run in active:
        seconds = remaining_seconds(run)
        if seconds is not None:
            seconds_left.append(seconds)
    if not seconds_left:
        return ""
    about_or_at_least = "about"
    if len(seconds_left) < len(active):
        about_or_at_least = "at least"
    return f" · {about_or_at_least} {duration(sum(seconds_left))} left"


def runs_frame(cells: Sequence[Cell]) -> pd.DataFrame:
    """A row for each run, as it is now."""
    return pd.DataFrame(map(_row, cells))


def _row(cell: Cell) -> dict[str, object]:
    """What the table of runs shows of a cell; of a deleted run only what was asked for."""
    row: dict[str, object] = {
        "dataset": dataset_title(cell.spec.dataset),
        "algorithm": algorithm_title(cell.spec.algorithm),
        "split": titled(split_label(cell.spec)),
    }
    run = cell.run
    if run is None:
        return row | {"state": "deleted", "note": "Resume computes it again"}
    score = None
    if run.at_stop is not None:
        score = run.at_stop.mean
    return row | {
        "state": run.state.value,
        "done": share_done(run),
        "folds": f"{len(run.folds)} of {run.k}",
        "metric": metric_label(run.spec),
        "score": score,
        "note": _note(run, is_reused=cell.is_reused),
    }


def _note(run: RunRecord, *, is_reused: bool) -> str:
    """What a run does now and how long it takes, why it failed, or that it is another's."""
    notes = []
    if run.state is RunState.RUNNING and run.progress is not None:
        notes.append(run.progress.phase)
    seconds = None
    if run.state.active:
        seconds = remaining_seconds(run)
    if seconds is not None:
        notes.append(f"at most about {duration(seconds)} left")
    if run.state is RunState.FAILED and run.error:
        notes.append(run.error)
    if run.state is RunState.FINISHED and is_reused:
        notes.append("reused")
    return ", ".join(notes)


def _draw_actions(study_id: str, cells: Sequence[Cell]) -> None:
    """Buttons for what may be done now."""
    person = run_actions()
    starter = stored_plan(store(), STUDY, study_id).started_by
    active = [cell for cell in cells if cell.active]
    _offer_to_cancel(active)
    if person.may(Action.START_MANY, starter):
        unfinished = [cell for cell in cells if cell.is_unfinished]
        _offer_to_go_on(
            "Resume", study_id, unfinished, help="Each run goes on at its next missing fold."
        )
        ended_early = [cell for cell in cells if cell.ended_early]
        _offer_to_go_on(
            "Run the remaining folds",
            study_id,
            ended_early,
            help="Of the runs that ended at their stop: the figures need all folds.",
        )
    if not active and person.may(Action.FORGET, starter):
        offer_to_forget(STUDY, study_id, _pick_recorded)


def _offer_to_cancel(active: Sequence[Cell]) -> None:
    """The button that cancels these cells, if one of them is this person's."""
    may_cancel = any(_may_cancel(cell) for cell in active)
    if may_cancel and st.button("Cancel all", icon=":material/cancel:", key="cancel-study"):
        act_and_rerun(partial(run_actions().cancel_study, active))


def _offer_to_go_on(label: str, study_id: str, cells: Sequence[Cell], *, help: str) -> None:
    """The button that goes on with these cells; none where one of them is somebody else's."""
    if not cells:
        return
    for cell in cells:
        # Whoever may not cancel a run did not start it, and may not go on with it either.
        if cell.run is not None and not _may_cancel(cell):
            return
    if st.button(label, icon=":material/resume:", help=help):
        # A cell that ended at its stop goes on with all its folds.
        full = any(cell.ended_early for cell in cells)
        act_and_rerun(partial(run_actions().go_on_with_study, study_id, full=full))


def _may_cancel(cell: Cell) -> bool:
    """Whether this person may cancel the cell's run."""
    return cell.run is not None and run_actions().may(Action.CANCEL, cell.run.started_by)


def _pick_recorded() -> None:
    st.session_state[_CHOICE] = RECORDED


class PickedStudy(NamedTuple):
    """What is picked in the form of a new study."""

    datasets: list[str]
    algorithms: list[str]
    splits: list[str]
    settings: dict[str, Any]
    """Folds and score, as arguments of `make_spec`."""
    missing_sentence: str
    """Says what still has to be picked; empty where enough is."""


_USUAL = ("popular", "item-knn", "ease")
_USUAL_SPLITS = ("user-k-fold", "random-holdout", "leave-last-item", "temporal-global")
_PARAMETERS_HELP = "With their default parameters."


def draw_start_form(recorded: Sequence[RunRecord], *, compare_splits: bool = False) -> None:
    """Draw the form; on Start, queue what is not known yet and open the study.

    Args:
        recorded: Runs that need not be computed again.
        compare_splits: Whether it has several splits, and not one.
    """
    refusal = why_not(Action.START_MANY)
    if refusal:
        st.markdown(f":material/lock: {refusal}")
        return
    if compare_splits:
        picked = _pick_several_splits()
    else:
        picked = _pick_one_split()
    cells = _planned_cells(picked)
    specs_to_compute = _specs_to_compute(cells, recorded)
    sentence_beside_button = picked.missing_sentence
    if cells:
        sentence_beside_button = _work_words(len(cells), specs_to_compute)
    compute_on = pick_where_to_compute()
    pressed = start_button(
        "Start the study", sentence_beside_button, key="start-study", disabled=not cells
    )
    show_expected_cost(specs_to_compute)
    if pressed:
        _begin(cells, compute_on)


def _planned_cells(picked: PickedStudy) -> list[Cell]:
    """The runs of the study; none, and the page says why, where a setting cannot be.

    There are none either where something still has to be picked.
    """
    if picked.missing_sentence:
        return []
    cells = []  # there are none where an error is shown instead
    with errors_as_sentences():
        cells = study.planned_cells(
            picked.datasets, picked.algorithms, picked.splits, full=True, **picked.settings
        )
    return cells


def _specs_to_compute(cells: Sequence[Cell], recorded: Sequence[RunRecord]) -> list[RunSpec]:
    """The different specs of these cells for which none of the recorded runs answers."""
    specs: list[RunSpec] = []
    for cell in cells:
        if cell.spec in specs:
            continue
        if first_run_that_answers(cell.spec, recorded) is None:
            specs.append(cell.spec)
    return specs


def _work_words(run_count: int, specs: Sequence[RunSpec]) -> str:
    """How much work a study is.

    Args:
        run_count: How many it has.
        specs: Those of the runs that are to be computed.
    """
    words = f"**{counted(run_count, 'run')}**"
    if len(specs) < run_count:
        words += f", {run_count - len(specs)} of them recorded already"
    if specs:
        words += f", {counted(sum(spec.k for spec in specs), 'fold')} to compute"
    return f"{words}."


def _pick_several_splits() -> PickedStudy:
    """The widgets of a study that compares splits."""
    task = Task.TOP_N
    dataset_ids = _pick_datasets(task, "new_datasets")
    algorithms = _pick_algorithms((task,), _USUAL, "new_algorithms")
    titles = {split: SPLITS[split].title for split in serving(task)}
    splits = _pick_pills("Splits", titles, _USUAL_SPLITS, "new_splits", _PARAMETERS_HELP)
    missing_sentence = ""
    if not dataset_ids or len(algorithms) < 2 or len(splits) < 2:
        missing_sentence = "Pick at least one dataset, two algorithms and two splits."
    return PickedStudy(
        dataset_ids, algorithms, splits, settings={}, missing_sentence=missing_sentence
    )


def _pick_one_split() -> PickedStudy:
    """The widgets of a study of datasets and algorithms."""
    task = _pick_task()
    suffix = ""
    usual: Sequence[str] = _USUAL
    if task.of_table:  # tables have other choices, and so other widgets
        suffix = f"_{task}"
        usual = ()
    dataset_ids = _pick_datasets(task, f"new_datasets{suffix}")
    algorithms = _pick_algorithms(task.tasks_on_same_data, usual, f"new_algorithms{suffix}")
    settings = _pick_settings(task, suffix)
    split = settings.pop("split")
    missing_sentence = ""
    if not dataset_ids or not algorithms:
        missing_sentence = "Pick at least one dataset and one algorithm."
    return PickedStudy(dataset_ids, algorithms, [split], settings, missing_sentence)


def _pick_datasets(task: Task, key: str) -> list[str]:
    ids_on_this_machine = []
    for entry in datasets.catalogue().values():
        if task in entry.tasks and datasets.available(entry):
            ids_on_this_machine.append(entry.id)
    titles = titles_of(ids_on_this_machine, dataset_title)
    return _pick_pills(
        "Datasets",
        titles,
        list(titles)[:1],
        key,
        "Those on this machine. Download others on the Run page.",
    )


def _pick_algorithms(tasks: Sequence[Task], usual: Sequence[str], key: str) -> list[str]:
    """Widget of the algorithms for some tasks.

    Args:
        tasks: What they are for.
        usual: Those that are picked at first; by default the first three.
        key: The key of the widget.
    """
    names = [algorithm.id for algorithm in ALGORITHMS.values() if algorithm.task in tasks]
    titles = titles_of(names, algorithm_title)
    return _pick_pills("Algorithms", titles, usual or names[:3], key, _PARAMETERS_HELP)


def _pick_task() -> Task:
    return st.segmented_control(
        "Task",
        list(_TASKS),
        default=Task.TOP_N,
        required=True,
        format_func=_TASKS.__getitem__,
        key="new_task",
        persist_state="session",
    )


_TASKS = {
    Task.TOP_N: INTERACTIONS,
    Task.CLASSES: "Classify, from tables",
    Task.NUMBERS: "Predict numbers, from tables",
}
"""What studies can be begun for, as the form calls it."""


def _pick_settings(task: Task, suffix: str) -> dict[str, Any]:
    """Folds and score, as arguments of `make_spec`.

    Args:
        task: What is evaluated.
        suffix: The suffix of the keys of widgets that are others for other tasks.
    """
    split_column, metric_column, n_column, seed_column, k_column = st.columns([2, 1.5, 1, 1, 1])
    # Splits that make only one fold are left out, as there is nothing to stop early.
    splits_with_folds = [name for name in serving(task) if not SPLITS[name].single]
    split = split_column.selectbox(
        options=splits_with_folds,
        format_func=titled,
        **_arguments_in_form(
            "split", suffix, help="With its default parameters; those that make several folds."
        ),
    )
    settings = {
        "split": split,
        "metric": pick_metric(
            metric_column, task.tasks_on_same_data, **_arguments_in_form("metric", suffix)
        ),
        "seed": pick_setting("seed", seed_column, **_arguments_in_form("seed")),
        "k": pick_setting("k", k_column, **_arguments_in_form("k")),
    }
    if not task.of_table:
        settings["n"] = pick_setting("n", n_column, **_arguments_in_form("n"))
    return settings


def _arguments_in_form(
    name: str,
    suffix: str = "",
    **changed: Any,  # noqa: ANN401 - arguments of a widget
) -> dict[str, Any]:
    """As on the Run page, but under a key of this form's own, and not in the address."""
    return widget_arguments(name, key=f"new_{name}{suffix}", bind=None, **changed)


def _pick_pills(
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


def _begin(cells: Sequence[Cell], compute_on: str) -> None:
    """Queue what is not known yet and show the study, or say why the data cannot be split so."""
    with errors_as_sentences():
        with st.spinner("Checking whether the data can be split this way ..."):
            for _, obstacle in with_obstacles(cells):
                if obstacle is not None:
                    raise InputError(obstacle)
        st.session_state[_BEGUN] = run_actions().begin_study(cells, compute_on=compute_on)
        st.rerun()
