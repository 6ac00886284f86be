"""Studies of one's own: which is shown, every run as it goes on, and how one begins."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

import streamlit as st

import ecv_core.dataset as datasets
from ecv_core.analysis.rank_swaps.swaps import split_label
from ecv_core.figures.words import counted, dataset_title, duration, metric_label, titles_of
from ecv_core.jobs.plans import study
from ecv_core.jobs.plans.study import Cell, reusable, with_obstacles
from ecv_core.jobs.rights.actor import Action
from ecv_core.records.errors import InputError
from ecv_core.records.run import Run, RunState
from ecv_core.records.spec import RunSpec, Task
from ecv_core.store.plans import STUDY, PlanRecord, stored_plan, stored_plans
from pages.shared.live.acting import acting
from pages.shared.live.events import ALL, STEPS
from pages.shared.live.runs import act_and_rerun, remaining_seconds
from pages.shared.live.state import escaped, manager, sentence, sentences, store
from pages.shared.live.watch import follow
from pages.shared.widgets.place import place_picker

_SIGNS = {
    RunState.QUEUED: "…",
    RunState.RUNNING: "▶",
    RunState.FINISHED: "✓",
    RunState.CANCELLED: "■",
    RunState.FAILED: "✗",
    RunState.INTERRUPTED: "⏻",
}
_STYLE = """
<style>
.ecv-grid { overflow-x: auto; }
.ecv-grid table { border-collapse: separate; border-spacing: 4px; min-width: 30rem; }
.ecv-grid th { text-align: left; font-weight: 600; padding: 0.2rem 0.4rem; }
.ecv-grid td {
  border: 1px solid light-dark(#D9DCD5, #323D48); border-radius: 0.5rem;
  padding: 0.35rem 0.6rem; min-width: 9rem; max-width: 11rem; vertical-align: top;
}
.ecv-grid td.running { border: 2px solid light-dark(#0B6A9E, #63B8EA); }
.ecv-grid td.failed { border: 2px solid light-dark(#C23B22, #F0836B); }
.ecv-grid b { font-size: 1.05rem; font-variant-numeric: tabular-nums; }
.ecv-grid small { display: block; font-size: 0.88rem; opacity: 0.85; }
.ecv-grid progress { width: 100%; height: 0.5rem; accent-color: light-dark(#0B6A9E, #63B8EA); }
</style>
"""


def cells_of(study_id: str) -> list[Cell]:
    """The study's cells as they are now.

    Raises: InputError if it is gone.
    """
    return study.look(store(), study_id)


def live_grid(study_id: str, cells: Sequence[Cell], studies: StudyPicker) -> None:
    """The grid with its buttons; it follows the study while any run is active."""
    follow(
        _follow,
        study_id,
        _stage(cells),
        studies,
        key="study",
        of=[ALL],
        often=[STEPS],
    )


def progress_words(cells: Sequence[Cell]) -> str:
    """How far the whole study is, in a sentence."""
    done = sum(len(cell.run.folds) for cell in cells if cell.run)
    folds = sum((cell.run or cell).spec.max_folds for cell in cells)
    finished = sum(cell.run is not None and cell.run.state is RunState.FINISHED for cell in cells)
    words = [f"**{finished} of {len(cells)}** runs are finished", f"{done} of {folds} folds"]
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


def grid_html(cells: Sequence[Cell]) -> str:
    """The runs as a table: datasets, each under its splits, down; algorithms across."""
    rows = list(dict.fromkeys(_row(cell.spec) for cell in cells))
    columns = list(dict.fromkeys(cell.spec.algorithm for cell in cells))
    at = {(_row(cell.spec), cell.spec.algorithm): cell for cell in cells}
    head = "".join(f'<th scope="col">{escape(name)}</th>' for name in columns)
    body = "".join(
        f'<tr><th scope="row">{escape(row)}</th>'
        + "".join(_cell_html(at.get((row, name))) for name in columns)
        + "</tr>"
        for row in rows
    )
    return (
        '<div class="ecv-grid" tabindex="0" role="region" aria-label="Runs">'
        f"<table><tr><td hidden></td><th></th>{head}</tr>{body}</table></div>"
    )


def _row(spec: RunSpec) -> str:
    """'ml-100k', and 'ml-100k · random-holdout' where the split is not the usual one."""
    if spec.split == spec.task.usual_split:
        return spec.dataset
    return f"{spec.dataset} · {split_label(spec)}"


def _cell_html(cell: Cell | None) -> str:
    if cell is None:
        return "<td></td>"
    run = cell.run
    if run is None:
        return "<td><b>✗ deleted</b><small>Resume computes it again</small></td>"
    k, done = run.k, len(run.folds)
    part = _part(run)
    lines = [f"{done} of {k} folds"]
    if run.at_stop:
        lines.append(f"{metric_label(run.spec)} {run.at_stop.mean:.4f}")
    left = remaining_seconds(run) if run.state.active else None
    if run.state is RunState.RUNNING and run.progress:
        lines.append(escape(run.progress.phase))
    if left is not None:
        lines.append(f"at most {duration(left)} left")
    if run.state is RunState.FAILED and run.error:
        lines.append(escape(run.error))
    if cell.borrowed and run.state is RunState.FINISHED:
        lines.append("reused")
    small = "".join(f"<small>{line}</small>" for line in lines)
    return (
        f'<td class="{run.state.value}"><b>{_SIGNS[run.state]} {run.state.value}</b>'
        f'<progress max="1" value="{part:.3f}"></progress>{small}</td>'
    )


def _part(run: Run) -> float:
    """How much of all folds is done, in [0, 1]."""
    step = run.progress
    inside = min(step.step / step.steps, 1.0) if step is not None and step.steps else 0.0
    return min((len(run.folds) + inside) / run.k, 1.0)


def _follow(study_id: str, before: object, studies: StudyPicker) -> None:
    with sentences():
        try:
            cells = cells_of(study_id)
        except InputError:
            st.rerun()  # removed meanwhile: the page says so
        if _stage(cells) != before:
            st.rerun()  # the figures below have changed too
        if trouble := manager().trouble:
            st.warning(escaped(trouble), icon=":material/warning:")
        with st.container(
            horizontal=True, vertical_alignment="center", horizontal_alignment="distribute"
        ):
            st.markdown(progress_words(cells), width="content")
            with st.container(horizontal=True, width="content"):
                _actions(study_id, cells, studies)
        st.html(_STYLE + grid_html(cells))


def _actions(study_id: str, cells: Sequence[Cell], studies: StudyPicker) -> None:
    person = acting()
    theirs = stored_plan(store(), STUDY, study_id).started_by
    mine = [cell for cell in cells if cell.run and person.may(Action.CANCEL, cell.run.started_by)]
    if any(cell.active for cell in mine) and st.button(
        "Cancel all", icon=":material/cancel:", key="cancel-study"
    ):
        act_and_rerun(lambda: acting().cancel_study(cells))
    # What was cut off and is somebody else's can only be gone on with by them.
    may_go_on = person.may(Action.START_MANY, theirs) and not any(
        cell.run and cell not in mine for cell in cells if cell.to_do
    )
    if (
        may_go_on
        and any(cell.to_do for cell in cells)
        and st.button(
            "Resume",
            icon=":material/resume:",
            type="primary",
            key="resume-study",
            help="Each run goes on at its next missing fold.",
        )
    ):
        act_and_rerun(lambda: acting().go_on_with_study(study_id))
    early = [cell for cell in cells if cell.early]
    if (
        may_go_on
        and early
        and all(cell in mine for cell in early)
        and st.button(
            "Run the remaining folds",
            icon=":material/fact_check:",
            key="complete-study",
            help="Of the runs that ended at their stop: the figures need all folds.",
        )
    ):
        act_and_rerun(lambda: acting().go_on_with_study(study_id, full=True))
    over = not any(cell.active for cell in cells)
    if (
        over
        and person.may(Action.FORGET, theirs)
        and st.button(
            "Remove from the list",
            icon=":material/playlist_remove:",
            key="forget-study",
            type="tertiary",
            help="Its runs stay on the page Runs.",
        )
    ):
        act_and_rerun(lambda: _forget(study_id, studies))


def _forget(study_id: str, studies: StudyPicker) -> None:
    acting().forget_plan(STUDY, study_id)
    studies.show(RECORDED)


def _stage(cells: Sequence[Cell]) -> list[tuple[str, bool, bool]]:
    """What the rest of the page depends on: who is active, and who is complete."""
    return [
        (
            cell.run.run_id if cell.run else "",
            cell.active,
            cell.run is not None and cell.run.whole,
        )
        for cell in cells
    ]


RECORDED = "recorded"


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyPicker:
    """One page's choice among the studies that it can show."""

    parameter: str
    """Its name in the address."""
    title: str
    recorded: str
    """What the recorded study is called."""
    help: str
    shows: Callable[[PlanRecord], bool]
    counts: Callable[[PlanRecord], str]
    """What a study holds, as '2 datasets x 3 algorithms'."""
    elsewhere: str
    """Said of a study that this page does not show."""
    resets: tuple[str, ...] = ()
    """Keys of widgets, in the address too, that begin anew with another study."""

    def pick(self) -> str:
        """RECORDED or the id of the study that the address names; a widget where there are own."""
        own = [study for study in stored_plans(store(), STUDY) if self.shows(study)]
        labels = {RECORDED: self.recorded} | {one.plan_id: self._label(one) for one in own}
        asked = st.query_params.get(self.parameter)
        wanted = asked or str(st.session_state.get(self._last, RECORDED))
        if wanted not in labels:
            if asked:
                self._unknown(asked)
            wanted = RECORDED
        st.session_state[self._choice] = wanted
        self.show(wanted)
        if own:
            st.selectbox(
                self.title,
                list(labels),
                format_func=labels.__getitem__,
                key=self._choice,
                on_change=lambda: self.show(st.session_state[self._choice]),
                help=self.help,
            )
        return wanted

    def show(self, study_id: str) -> None:
        """Make the address name this study; call it in a callback, or before a rerun."""
        if st.session_state.get(self._last, study_id) != study_id:
            for key in self.resets:
                st.session_state.pop(key, None)
                st.query_params.pop(key, None)
        st.session_state[self._last] = study_id
        if study_id == RECORDED:
            st.query_params.pop(self.parameter, None)
        else:
            st.query_params[self.parameter] = study_id

    def start(
        self, label: str, cells: Sequence[Cell], said: str, *, key: str, anew: bool = False
    ) -> None:
        """The button that queues what is not known yet and shows the study; `said` is beside it."""
        place = place_picker()
        with st.container(horizontal=True, vertical_alignment="center"):
            pressed = st.button(
                label, type="primary", icon=":material/play_arrow:", key=key, disabled=not cells
            )
            st.markdown(said)
        if pressed:
            with sentences():
                self.show(begin_study(cells, anew=anew, place=place))
                st.rerun()

    @property
    def _choice(self) -> str:
        return f"{self.parameter}-choice"

    @property
    def _last(self) -> str:
        return f"{self.parameter}-last"

    def _label(self, one: PlanRecord) -> str:
        """Never changes and is never another study's: Streamlit knows a choice by its label."""
        return f"{one.created_at:%Y-%m-%d %H:%M} · {self.counts(one)} · {one.plan_id}"

    def _unknown(self, study_id: str) -> None:
        try:
            stored_plan(store(), STUDY, study_id)
            said = self.elsewhere
        except InputError as error:
            said = sentence(error)
        st.warning(
            f"From the link: {said} The recorded ones are shown.", icon=":material/link_off:"
        )


ON_THIS_MACHINE = "Those on this machine. Download others on the Run page."
USUAL_PARAMETERS = "With their default parameters."


def on_this_machine(task: Task = Task.TOP_N) -> dict[str, str]:
    """The datasets that a study of a task can be of -> their titles."""
    known = datasets.catalogue().items()
    ready = [name for name, one in known if task in one.tasks and datasets.available(one)]
    return titles_of(ready, dataset_title)


def some_of(
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


def planned_cells(
    names: Sequence[str],
    algorithms: Sequence[str],
    splits: Sequence[str],
    **settings: Any,  # noqa: ANN401  as `planned` takes them
) -> list[Cell]:
    """As `study.planned`; empty, with a sentence on the page, for what cannot be."""
    with sentences():
        return study.planned(names, algorithms, splits, **settings)
    return []


def begin_study(cells: Sequence[Cell], *, anew: bool = False, place: str = "") -> str:
    """Queue what is not known yet; gives the study's id.

    Args: as for `study.begin`.
    Raises: InputError if a dataset cannot be split in one of the ways, or lacks what an algorithm
        learns from, with the reason.
    """
    with st.spinner("Looking whether the data can be split so ..."):
        for _, why in with_obstacles(cells):
            if why is not None:
                raise InputError(why)
    return acting().begin_study(cells, anew=anew, place=place)


def work_words(cells: Sequence[Cell], recorded: Sequence[Run], *, anew: bool = False) -> str:
    """How much work a study is, as far as the recorded runs tell."""
    known = [] if anew else [one for one in cells if reusable(one.spec, recorded)]
    specs = {one.spec for one in cells} - {one.spec for one in known}
    words = [f"**{counted(len(cells), 'run')}**"]
    if known:
        words.append(f"{len(known)} of them recorded already")
    if specs:
        words.append(f"{counted(sum(spec.k for spec in specs), 'fold')} to compute")
    took = {spec: _fold_seconds(spec, recorded) for spec in specs}
    told = sum(spec.k * seconds for spec, seconds in took.items() if seconds is not None)
    if told:
        long = duration(told)
        about = f"{long} and more" if None in took.values() else f"about {long}"
        words.append(f"{about}, judged by the recorded runs")
    return ", ".join(words) + "."


def _fold_seconds(spec: RunSpec, recorded: Sequence[Run]) -> float | None:
    """How long a fold takes, if as long as under other splits; None where that is not known."""
    seconds = [
        fold.total_seconds
        for run in recorded
        if (run.spec.dataset, run.spec.algorithm) == (spec.dataset, spec.algorithm)
        for fold in run.folds
    ]
    return sum(seconds) / len(seconds) if seconds else None
