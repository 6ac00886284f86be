"""A run as it goes on: the figure follows completed folds; the bar on top has the clock."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import streamlit as st

from ecv_core import dataset as datasets
from ecv_core.access.rights import Action
from ecv_core.figures.efold import alt_text
from ecv_core.figures.efold_plot import run_figure
from ecv_core.figures.report.describe import describe_runs
from ecv_core.figures.words import (
    algorithm_title,
    arithmetic,
    counted,
    metric_label,
    rule_words,
    run_name,
    run_title,
    verdict,
)
from ecv_core.models import computed_here
from ecv_core.records.errors import EcvError, InputError
from ecv_core.records.run import RunRecord, RunState
from ecv_core.store.ownership import leases
from pages.run.details import downloads, figure_1, fold_table, newest, repeat_command, so_far
from pages.run.facts import box, energy_may_come, facts, show
from pages.run.start_form import fill_form
from pages.shared.address.link import label_from_link
from pages.shared.address.navigation import COMPARE, RACE, VIEW
from pages.shared.address.present import present_button
from pages.shared.charts.plot import draw, drawing
from pages.shared.live.acting import acting, starter
from pages.shared.live.events import FOLDS, QUEUE, RUNS, STATES, STEPS, topic
from pages.shared.live.runs import (
    COMPARED,
    act_and_rerun,
    damaged_folds,
    imported_sentence,
    opened_runs,
)
from pages.shared.live.state import escaped, sentence, store
from pages.shared.live.watch import follow, shared, watch
from pages.shared.widgets.cite import for_paper, made_with
from pages.shared.widgets.place import place_title
from pages.shared.widgets.words import ago, run_label, state_badge


def elsewhere_note(run: RunRecord) -> None:
    """Of a run that the dashboard does not compute: whose folds they are, and how it goes on."""
    name, left = run.spec.algorithm, counted(run.k - len(run.folds), "fold")
    if run.spec.tracked:
        whose = f"Tracked: '{name}' is code outside e-fold, which reports the score of each fold."
        if run.state.active and not run.outside:
            whose += " Cancel takes effect when it reports."
        on = f"To go on with the other {left}, run its own program again."
        if not run.resumable:
            on = (
                f"To check the stop with the other {left}, track it again with full=True (--full), "
                "or have ecv.cross_validate run all folds with rule=ecv.Never()."
            )
    else:
        whose = f"Its algorithm, '{name}', is of a plug-in that is not installed here."
        on = "Install its package, and it can go on."
    st.caption(f":material/integration_instructions: {escaped(whose)}")
    if run.state.active and run.outside:
        asked = leases(store(), run.run_id)
        folds = [f"fold {one.fold} (asked for {ago(one.asked_at)})" for one in asked.values()]
        waits = f"for {', '.join(folds)}" if folds else "to be asked for its next fold"
        command = f"tell {run.run_id} {min(asked)} --scores FILE" if asked else f"ask {run.run_id}"
        st.info(escaped(f"It waits {waits}:"), icon=":material/terminal:")
        st.code(f"python -m ecv_core {command}", language="bash", wrap_lines=True)
    elif not run.state.active and (run.resumable or run.can_be_checked):
        st.info(escaped(on), icon=":material/terminal:")


FIGURE_HEIGHT = 440
FOLLOW = "follow"


def live_run(runs: list[RunRecord]) -> None:
    """Everything about the opened runs; it follows them while any is active."""
    active = any(run.state.active for run in runs)
    names = [run.spec.algorithm for run in runs]
    ids = [run.run_id for run in runs]
    if len(runs) > 1:
        shown = {name: algorithm_title(name) for name in names} | {FOLLOW: "Follow the queue"}
        label_from_link("show", shown)
        with st.container(horizontal=True, vertical_alignment="center"):
            st.segmented_control(
                "Show",
                [FOLLOW, *names],
                format_func=shown.__getitem__,
                default=FOLLOW,
                required=True,
                key="show",
                bind="query-params",
                label_visibility="collapsed",
            )
            st.page_link(
                "runs/runs.py",
                label="Compare them",
                icon=":material/balance:",
                query_params={VIEW: COMPARE, COMPARED: ",".join(ids)},
            )
    follow(_run, active, [runs], key="run", of=[topic(STATES, ids)])


def shown_run(runs: list[RunRecord]) -> RunRecord:
    """The run whose algorithm is picked, else the one that is going, else the last."""
    picked = st.session_state.get("show")
    chosen = [run for run in runs if run.spec.algorithm == picked]
    going = [run for run in runs if run.state is RunState.RUNNING]
    waiting = [run for run in runs if run.state is RunState.QUEUED]
    return (chosen or going or waiting or runs[-1:])[0]


def headline(run: RunRecord) -> tuple[str, str]:
    """What explains this moment: its kind ('info', 'success', 'warning', 'error') and sentence."""
    stop = f" {verdict(run)}" if run.stopped_early else ""
    kept = f"{len(run.folds)} of {run.k} folds finished and kept.{stop}"
    match run.state:
        case RunState.QUEUED:
            before = run.queue_position or 0
            runs = "1 run is" if before == 1 else f"{before} runs are"
            return "info", f"Queued: {runs} before this one." if before else "About to start."
        case RunState.FAILED:
            return "error", f"Failed: {run.error or 'for an unknown reason'}. {kept}"
        case RunState.CANCELLED:
            why = f"{run.error}. " if run.error else ""
            return "warning", f"Cancelled: {why}{kept}"
        case RunState.INTERRUPTED:
            return "warning", f"Interrupted: {run.error or 'the program ended'}. {kept}"
        case RunState.FINISHED if run.damaged:
            return "warning", f"{len(run.folds)} of {run.k} folds can be read; resume it."
    if not run.folds:
        return "info", "The first fold is running; the first interval comes with the second."
    said = verdict(run)
    if run.checked and run.state is RunState.RUNNING:
        said += " The other folds are running to check it."
    return ("warning" if run.doubt else "success" if run.stopped_early else "info"), said


def verdict_html(run: RunRecord) -> str:
    """The verdict in words, and below it in small type the arithmetic of the rule."""
    kind, text = headline(run)
    small = arithmetic(run) if kind in ("info", "success") or run.doubt else ""
    return box(kind, [text, small] if small else [text])


def _still_there() -> list[RunRecord]:
    """The opened runs; the whole page is drawn anew, with its sentence, if they were deleted."""
    try:
        runs = opened_runs()
    except InputError:
        runs = []
    if not runs:
        st.rerun()
    return runs


def _run(following: bool, read: list[list[RunRecord]]) -> None:
    """Draw it; the first time as the runs were read for the page.

    Only what is not another with every fold belongs here, and what follows the folds by itself.
    """
    runs = read.pop() if read else _still_there()
    if following != any(run.state.active for run in runs):
        st.rerun()  # it has ended, or someone has resumed it: the bar comes or goes
    run = shown_run(runs)
    with st.container(
        horizontal=True, vertical_alignment="center", horizontal_alignment="distribute"
    ):
        with st.container(horizontal=True, vertical_alignment="center", width="content"):
            with st.container(key="presented-title", width="content"):
                st.title(run_title(run), anchor=False, width="content")
            state_badge(run.state)
            st.caption(f"seed {run.spec.seed}", width="content")
        with st.container(
            horizontal=True, vertical_alignment="center", width="content", key="run-actions"
        ):
            run_actions(run, runs)
            present_button()
    _results(run, runs)
    _details(run, runs)


def _followed(
    draw: Callable[[RunRecord, list[RunRecord]], None],
    runs: list[RunRecord],
    *,
    key: str,
    kind: str = FOLDS,
    often: Sequence[str] = (),
) -> None:
    """Draw what every fold changes, and for as long as folds come now and then anew."""
    if not any(run.state.active for run in runs):
        draw(shown_run(runs), runs)
        return
    read = [runs]

    def newest_runs() -> None:
        runs = read.pop() if read else _still_there()
        draw(shown_run(runs), runs)

    follow(newest_runs, key=key, of=[topic(kind, [run.run_id for run in runs])], often=often)


def _told(
    name: str, run: RunRecord, show: Callable[[RunRecord], dict[str, object]]
) -> dict[str, object]:
    """What is shown of a run, which all who watch are told anew with each of its folds."""
    if not run.state.active:
        return show(run)
    run_id = run.run_id

    def newest() -> dict[str, object] | None:
        return next((show(run) for run in watch().active() if run.run_id == run_id), None)

    return shared(f"{name} {run_id}", [topic(RUNS, [run_id]), QUEUE], newest)


def _results(run: RunRecord, runs: list[RunRecord]) -> None:
    damaged_folds([run])
    told = _told("verdict", run, lambda run: {"html": verdict_html(run)})
    with st.container(key="presented-verdict"):
        show(told, key="said", room="verdict")
    if not computed_here(run.spec):
        _followed(lambda run, _: elsewhere_note(run), runs, key="note", kind=RUNS, often=[STEPS])
    if person := starter(run.started_by):
        st.caption(f"Started by {escaped(person)}.")
    if len(acting().places) > 1 and (place := store().place_of(run.group)):
        st.caption(f"Computed on {escaped(place_title(place))}.")
    if note := imported_sentence(run.run_id):
        st.caption(escaped(note))
    elif not run.spec.tracked and (
        said := datasets.changed(run.spec.dataset, run.spec.data_sha256)
    ):
        st.warning(sentence(InputError(said)), icon=":material/database_off:")
    left, right = st.columns([3, 1.2], gap="medium")
    with left, st.container(key="presented-figure"):
        _figure(run, runs)
    with right:
        room = "facts" if energy_may_come(run) else None
        show(_told("facts", run, lambda run: {"html": facts(run)}), key="numbers", room=room)


def _figure_1(run: RunRecord) -> dict[str, object]:
    frame, metric = so_far(run), metric_label(run.spec)
    alt = alt_text(frame, k=run.k, metric=metric, stopped_at=run.stopped_at, title=run_title(run))
    version = (run.run_id, len(frame), run.stopped_at, run.checked, run.spec.to_json())
    return drawing(
        lambda dark: run_figure(run, dark=dark, height=FIGURE_HEIGHT),
        version=version,
        key="figure-1",
        alt=alt,
    )


def _figure(run: RunRecord, runs: list[RunRecord]) -> None:
    draw(
        _told("figure", run, _figure_1),
        key="figure-1",
        top=run.run_id,
        name=f"{run_name(run)} figure 1",
        caption=f"{run_title(run)}, {rule_words(run.spec)}, run {run.run_id}",
        table=lambda: so_far(newest(run)),
        rows=lambda part: _followed(lambda *_: part(), runs, key="rows"),
    )


def _details(run: RunRecord, runs: list[RunRecord]) -> None:
    folds, again, export = st.tabs(
        ["Folds", "Repeat this run", "Export"],
        key="details",
        bind="query-params",
        on_change="rerun",
    )
    with folds:
        _followed(lambda run, _: fold_table(run), runs, key="folds")
    with again:
        repeat_command(run)
    with export:
        downloads(run)
    if run.folds and not run.state.active:
        for_paper(
            lambda: describe_runs([run], made_with([run])),
            key="run",
            pictures={"Figure 1": figure_1(run)},
            title=f"{run_title(run)}, {rule_words(run.spec)}",
            specs=[run.spec],
        )


# What can be done with a run; the bar cancels it.


def run_actions(run: RunRecord, group: list[RunRecord]) -> None:
    """The buttons that make sense now; a press acts and draws the page anew."""
    if computed_here(run.spec) and (run.resumable or run.can_be_checked):
        _go_on(run)
    _look_back(run)
    _how_many_folds(group or [run])
    if run.spec.folds_sha256:
        return  # folds of a file, which no form can name
    st.button(
        "New run",
        icon=":material/add:",
        key="new",
        help="Back to the form, with this run's settings filled in.",
        on_click=_new_run,
        args=(run, [one.spec.algorithm for one in group]),
    )


def _go_on(run: RunRecord) -> None:
    """Nothing where it is somebody else's run; disabled, with the reason, at a limit."""
    if not acting().may(Action.GO_ON, run.started_by):
        return
    why_not = acting().go_on_refusal(run)
    said = why_not and sentence(EcvError(why_not))
    if run.resumable and st.button(
        "Resume",
        icon=":material/resume:",
        type="primary",
        key="resume",
        disabled=bool(said),
        help=said,
    ):
        act_and_rerun(lambda: acting().resume(run.run_id))
    if run.can_be_checked and st.button(
        "Run the remaining folds to check",
        icon=":material/fact_check:",
        key="check",
        disabled=bool(said),
        help=said,
    ):
        act_and_rerun(lambda: acting().resume(run.run_id, full=True))


def _look_back(run: RunRecord) -> None:
    """Ways to see a run that is over told again, or raced against k-fold."""
    if not run.folds or run.state.active:
        return
    st.page_link(
        "replay/replay.py",
        label="Replay",
        icon=":material/replay:",
        query_params={"run": run.run_id},
    )
    if run.spec.full:
        st.page_link(
            "replay/replay.py",
            label="Race",
            icon=":material/flag:",
            query_params={VIEW: RACE, "run": run.run_id},
        )


def _how_many_folds(group: list[RunRecord]) -> None:
    """Where all folds of any run of the batch are in: what stopping them early would have given."""
    done = [run for run in group if run.whole]
    if done and not any(run.state.active for run in group):
        st.page_link(
            "folds/folds.py",
            label="How many folds?",
            icon=":material/tune:",
            query_params=[("source", "My runs"), *(("runs", run_label(run)) for run in done)],
            help="How few of these folds would have been enough.",
        )


def _new_run(run: RunRecord, algorithms: list[str]) -> None:
    st.query_params.pop("run", None)
    fill_form(run.spec, algorithms)
