"""A study of one's own as it goes on: every run with its state, folds, score and time left."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

import streamlit as st

from ecv_core.analysis.rank_swaps.swaps import split_label
from ecv_core.jobs.plans import study
from ecv_core.jobs.plans.study import USUAL_SPLIT, Cell
from ecv_core.jobs.rights.actor import Action
from ecv_core.records.errors import InputError
from ecv_core.records.run import Run, RunState
from ecv_core.records.spec import RunSpec
from ecv_core.store.plans import STUDY, stored_plan
from pages.shared.live.acting import acting
from pages.shared.live.events import ALL, STEPS
from pages.shared.live.runs import act_and_rerun, remaining_seconds
from pages.shared.live.state import escaped, manager, sentences, store
from pages.shared.live.watch import follow
from pages.shared.widgets.words import duration, metric_label
from pages.studies.picker import RECORDED, StudyPicker

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
    if spec.split == USUAL_SPLIT:
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
