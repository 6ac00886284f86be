"""A run as it goes on: the figure follows completed folds; the bar on top has the clock."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

import streamlit as st

from ecv_core import dataset as datasets
from ecv_core.access.roles import Action
from ecv_core.figures.efold import frame_of_run
from ecv_core.figures.efold_plot import run_alt_text, run_figure
from ecv_core.figures.report.describe import Description, describe_runs
from ecv_core.figures.report.pictures import printed_figure
from ecv_core.figures.words import (
    algorithm_title,
    counted,
    rule_words,
    run_name,
    run_title,
)
from ecv_core.models import computed_here
from ecv_core.records.errors import EcvError, InputError
from ecv_core.records.run import RunRecord, RunState
from ecv_core.store.made_with import imported_sentence
from ecv_core.store.ownership import leases
from pages.run.answer import run_answer
from pages.run.details import draw_fold_table, newest, offer_downloads, repeat_command
from pages.run.start_form import fill_form
from pages.shared.address.link import translate_address
from pages.shared.address.navigation import COMPARE, RACE, VIEW
from pages.shared.base.present import draw_present_button
from pages.shared.base.rows import row_container, spread_row
from pages.shared.charts.cite import draw_paper_panel, machine_and_versions
from pages.shared.charts.plot import draw_figure, figure_entries
from pages.shared.live.events import FOLDS, QUEUE, RUNS, STATES, STEPS, topic
from pages.shared.live.person import name_of_starter, run_actions
from pages.shared.live.runs import (
    COMPARED,
    act_and_rerun,
    ids_of,
    opened_runs,
    show_damaged_folds,
)
from pages.shared.live.state import escaped, results, sentence, store
from pages.shared.live.watch import draw_live, shared_entries, watch
from pages.shared.widgets.answer_card import answer_html, draw_card
from pages.shared.widgets.place import place_title
from pages.shared.widgets.tabs import draw_tabs
from pages.shared.widgets.words import ago, draw_state_badge, run_label

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure


def _draw_note_on_outside_folds(run: RunRecord) -> None:
    """Of a run that the dashboard does not compute: whose folds they are, and how it goes on."""
    name = run.spec.algorithm
    note = f"Its algorithm, '{name}', comes from a plug-in that is not installed here."
    if run.spec.tracked:
        note = f"Tracked: '{name}' is code outside e-fold, which reports the score of each fold."
        if run.state.active and not run.outside:
            note += " Cancel takes effect at its next report."
    st.caption(f":material/integration_instructions: {escaped(note)}")
    # The folds of a run that is `outside` are requested by other programs, which report the scores.
    if run.state.active and run.outside:
        _show_what_run_waits_for(run)
    elif not run.state.active and run.can_go_on(full=True):
        st.info(escaped(_way_to_go_on(run)), icon=":material/terminal:")


def _show_what_run_waits_for(run: RunRecord) -> None:
    """Of a run whose folds others compute: which they have asked for, and the next command."""
    requested = leases(store(), run.run_id)
    if requested:
        folds = []
        for lease in requested.values():
            folds.append(f"fold {lease.fold + 1} (requested {ago(lease.asked_at)})")
        waits = f"for the scores of {', '.join(folds)}. Commands count folds from 0"
        command = f"tell {run.run_id} {min(requested)} --scores FILE"
    else:
        waits = "for another program to request its next fold"
        command = f"ask {run.run_id}"
    st.info(escaped(f"It waits {waits}:"), icon=":material/terminal:")
    st.code(f"python -m ecv_core {command}", language="bash", wrap_lines=True)


def _way_to_go_on(run: RunRecord) -> str:
    """What to do where this installation cannot compute the folds that are missing."""
    # A run that is not tracked comes here only where the plug-in of its algorithm is missing.
    if not run.spec.tracked:
        return "It can go on once its package is installed."
    missing = counted(run.k - len(run.folds), "fold")
    if run.resumable:
        return f"To go on with the other {missing}, run its own program again."
    return (
        f"To check the stop with the other {missing}, track it again with full=True (--full), "
        "or have ecv.cross_validate run all folds with rule=ecv.Never()."
    )


FIGURE_HEIGHT = 440
"""In pixels."""
FOLLOW = "follow"
"""The choice of the run that is going, whichever that is."""


def show_live_run(runs: list[RunRecord]) -> None:
    """Everything about the opened runs; it follows them while any is active."""
    ids = ids_of(runs)
    if len(runs) > 1:
        titles = {FOLLOW: "Follow the queue"}
        for run in runs:
            titles[run.spec.algorithm] = algorithm_title(run.spec.algorithm)
        translate_address("show", titles)
        with row_container():
            st.segmented_control(
                "Show",
                list(titles),
                format_func=titles.__getitem__,
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
    draw_live(
        _draw_run, _any_active(runs), _OpenedRuns(runs), key="run", topics=[topic(STATES, ids)]
    )


def _any_active(runs: Iterable[RunRecord]) -> bool:
    return any(run.state.active for run in runs)


def shown_run(runs: list[RunRecord]) -> RunRecord:
    """The run whose algorithm is picked, else the one that is going, else the last."""
    picked_algorithm = st.session_state.get("show")
    for run in runs:
        if run.spec.algorithm == picked_algorithm:
            return run
    for state in (RunState.RUNNING, RunState.QUEUED):
        for run in runs:
            if run.state is state:
                return run
    return runs[-1]


class _OpenedRuns:
    """The runs that the address names, for a part of the page that is drawn again and again."""

    def __init__(self, runs: list[RunRecord]) -> None:
        """Take the runs as they were read with the page."""
        self._runs_for_first_drawing = runs

    def runs_to_draw(self) -> list[RunRecord]:
        """The runs as they were read with the page; from the second drawing on as they are now.

        Where they have been deleted, the whole page is drawn anew, with its sentence.
        """
        # The page has just read the runs, which serves the first drawing. Later ones read them
        # anew.
        runs = self._runs_for_first_drawing
        self._runs_for_first_drawing = []
        if not runs:
            with suppress(InputError):  # the runs have been deleted
                runs = opened_runs()
        if not runs:
            st.rerun()  # the page, drawn anew, says that the runs are gone
        return runs


def _draw_run(was_active: bool, opened: _OpenedRuns) -> None:
    """Draw the run that is shown.

    Only what is not another with every fold belongs here, and what follows the folds by itself.

    Args:
        was_active: Whether any of the runs was active when the page was drawn.
        opened: The runs that the address names.
    """
    runs = opened.runs_to_draw()
    if was_active != _any_active(runs):
        # A run has ended or was resumed, so that the bar on top of the page comes or goes.
        st.rerun()
    run = shown_run(runs)
    with spread_row():
        with row_container(width="content"):
            with st.container(key="presented-title", width="content"):
                st.title(escaped(run_title(run)), anchor=False, width="content")
            draw_state_badge(run.state)
            st.caption(f"seed {run.spec.seed}", width="content")
        with row_container(width="content", key="run-actions"):
            draw_other_actions(run, runs)
            draw_present_button()
    _draw_results(run, runs)
    _draw_details(run, runs)


def _draw_while_active(
    draw: Callable[[RunRecord], None],
    runs: list[RunRecord],
    *,
    key: str,
    topic_kind: str = FOLDS,
    foreground_topics: Sequence[str] = (),
) -> None:
    """Draw something of the run that `shown_run` picks, and again while any of the runs is active.

    Args:
        draw: Draws it.
        runs: Those that the address names.
        key: As of `draw_live`.
        topic_kind: The kind of topic of these runs that it shows, such as their folds.
        foreground_topics: More topics that it shows, of any kind; as of `draw_live`.
    """
    if not _any_active(runs):
        draw(shown_run(runs))
        return
    # The first drawing takes the runs as the page has read them. Each later one reads them anew.
    opened = _OpenedRuns(runs)

    def draw_shown_run() -> None:
        draw(shown_run(opened.runs_to_draw()))

    # It follows all runs: once the shown one has ended, `shown_run` may pick another.
    topics = [topic(topic_kind, ids_of(runs))]
    draw_live(draw_shown_run, key=key, topics=topics, foreground_topics=foreground_topics)


def _entries_shared_while_active(
    name: str, run: RunRecord, entries_of: Callable[[RunRecord], dict[str, object]]
) -> dict[str, object]:
    """Entries of a run for a component, which all who watch are told anew with each fold."""
    if not run.state.active:
        return entries_of(run)

    def newest_entries() -> dict[str, object] | None:
        for active_run in watch().active_runs():
            if active_run.run_id == run.run_id:
                return entries_of(active_run)
        return None

    topics = [topic(RUNS, [run.run_id]), QUEUE]
    last_entries = partial(entries_of, run)
    return shared_entries(
        f"{name} {run.run_id}", topics, newest_entries, make_last_entries=last_entries
    )


def _draw_results(run: RunRecord, runs: list[RunRecord]) -> None:
    show_damaged_folds([run])
    # All who watch an active run see the same card, which changes with each of its folds.
    card_entries = _entries_shared_while_active("answer", run, _card_entries)
    draw_card(card_entries, draw_next_step=partial(_draw_next_step, run, runs))
    if not computed_here(run.spec):
        # Other programs may request folds of this run at any time. The note says which they
        # requested, and is drawn anew with each step.
        _draw_while_active(
            _draw_note_on_outside_folds,
            runs,
            key="note",
            topic_kind=RUNS,
            foreground_topics=[STEPS],
        )
    _draw_origin(run)
    if run.folds or run.state.active:
        with st.container(key="presented-figure"):
            _draw_figure(run, runs)


def _card_entries(run: RunRecord) -> dict[str, object]:
    with_scores = results().with_user_scores(run)
    return {"html": answer_html(run_answer(with_scores))}


def _draw_next_step(run: RunRecord, runs: list[RunRecord]) -> None:
    """To go on with it, or to check its stop; else what its folds say about all its folds."""
    if run.state.active:
        st.space(40)  # keeps the room of the button, so that nothing moves when it comes
        return
    if computed_here(run.spec) and run.can_go_on(full=True):
        _draw_go_on_buttons(run)
    _draw_folds_link(runs)


def _draw_origin(run: RunRecord) -> None:
    """Who started it, where it was computed, and whether its data are still the same."""
    person = name_of_starter(run.started_by)
    if person:
        st.caption(f"Started by {escaped(person)}.")
    if len(run_actions().places) > 1:
        place = store().place_of(run.group)
        if place:
            st.caption(f"Computed on {escaped(place_title(place))}.")
    imported = imported_sentence(run.run_id, store())
    if imported:
        st.caption(escaped(imported))
    elif not run.spec.tracked:
        change = datasets.change_sentence(run.spec.dataset, run.spec.data_sha256)
        if change:
            st.warning(sentence(InputError(change)), icon=":material/database_off:")


def _figure_entries(run: RunRecord) -> dict[str, object]:
    return figure_entries(
        partial(run_figure, run, height=FIGURE_HEIGHT),
        cache_key=(run.run_id, len(run.folds), run.stopped_at, run.checked, run.spec.to_json()),
        key="figure-1",
        alt=run_alt_text(run),
    )


def _draw_figure(run: RunRecord, runs: list[RunRecord]) -> None:
    """Figure 1, whose open table follows the folds."""

    def numbers() -> pd.DataFrame:
        return frame_of_run(newest(run))

    def draw_rows_while_active(draw_rows: Callable[[], None]) -> None:
        def draw_rows_of(_run: RunRecord) -> None:
            draw_rows()

        _draw_while_active(draw_rows_of, runs, key="rows")

    draw_figure(
        _entries_shared_while_active("figure", run, _figure_entries),
        key="figure-1",
        page_version=run.run_id,
        name=f"{run_name(run)} figure 1",
        caption=f"{run_title(run)}, {rule_words(run.spec)}, run {run.run_id}",
        table=numbers,
        draw_open_table=draw_rows_while_active,
    )


def _draw_details(run: RunRecord, runs: list[RunRecord]) -> None:
    def draw_folds() -> None:
        _draw_while_active(draw_fold_table, runs, key="folds")

    parts: dict[str, Callable[[], None]] = {
        "Folds": draw_folds,
        "Repeat this run": partial(repeat_command, run),
        "Export": partial(offer_downloads, run),
    }
    draw_tabs(parts, key="details", in_address=True)

    def describe() -> Description:
        return describe_runs([results().with_user_scores(run)], machine_and_versions([run]))

    def print_figure_1() -> Figure:
        return printed_figure(partial(run_figure, newest(run)))

    if run.folds and not run.state.active:  # a run that goes on is not ready for a paper
        draw_paper_panel(
            describe,
            key="run",
            pictures={"Figure 1": print_figure_1},
            title=f"{run_title(run)}, {rule_words(run.spec)}",
            specs=[run.spec],
        )


# What can be done with a run; the bar cancels it.


def draw_other_actions(run: RunRecord, group: list[RunRecord]) -> None:
    """Other ways on than the next step."""
    _draw_replay_links(run)
    if run.spec.folds_sha256:
        # The form of a new run cannot name the file that these folds came from.
        return
    st.button(
        "New run",
        icon=":material/add:",
        key="new",
        help="Back to the form, with this run's settings filled in.",
        on_click=_fill_form_for_new_run,
        args=(run, [member.spec.algorithm for member in group]),
    )


def _draw_go_on_buttons(run: RunRecord) -> None:
    """Nothing where it is somebody else's run; disabled, with the reason, at a limit."""
    if not run_actions().may(Action.GO_ON, run.started_by):
        return
    refusal = run_actions().go_on_refusal(run)
    reason = None
    if refusal:
        reason = sentence(EcvError(refusal))
    if run.resumable and st.button(
        "Resume",
        icon=":material/resume:",
        type="primary",
        key="resume",
        disabled=reason is not None,
        help=reason,
    ):
        act_and_rerun(partial(run_actions().resume, run.run_id))
    if run.can_be_checked and st.button(
        "Run the remaining folds to check",
        icon=":material/fact_check:",
        key="check",
        disabled=reason is not None,
        help=reason,
    ):
        act_and_rerun(partial(run_actions().resume, run.run_id, full=True))


def _draw_replay_links(run: RunRecord) -> None:
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


def _draw_folds_link(group: list[RunRecord]) -> None:
    """Where all folds of any run of the batch are in: what stopping them early would have given."""
    labels = [run_label(run) for run in group if run.whole]
    if labels and not _any_active(group):
        st.page_link(
            "folds/folds.py",
            label="How many folds?",
            icon=":material/tune:",
            query_params={"source": "My runs", "runs": labels},
            help="How few of these folds would have been enough.",
        )


def _fill_form_for_new_run(run: RunRecord, algorithms: list[str]) -> None:
    st.query_params.pop("run", None)
    fill_form(run.spec, algorithms)
