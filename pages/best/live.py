"""A selection of one's own: where it is, what it computes now, cancel and resume."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from functools import partial
from statistics import fmean

import streamlit as st

from ecv_core.access.roles import Action
from ecv_core.figures.report.race import until_words
from ecv_core.figures.words import counted, duration, metric_label
from ecv_core.jobs.plans.select import SelectionState, SelectPlan, missing_fold_error, results_of
from ecv_core.records.parameters import percent_text
from ecv_core.records.run import RunRecord, RunState
from ecv_core.records.spec import RunSpec
from ecv_core.selection.contenders import contender_title
from ecv_core.selection.replay import SelectionResult
from ecv_core.selection.rounds import Terms
from ecv_core.store.plans import SELECTION, PlanRecord, stored_plan
from ecv_core.store.results import Results
from pages.best.choice import FIRST_RECORDED, open_selection
from pages.best.show import ShownSelection, show_selection
from pages.best.start import begin_selection
from pages.folds.choice import OWN
from pages.shared.address.navigation import open_page
from pages.shared.base.rows import row_container
from pages.shared.live.events import ALL, STEPS
from pages.shared.live.person import run_actions, why_not
from pages.shared.live.runs import act_and_rerun, offer_to_forget
from pages.shared.live.state import (
    errors_as_sentences,
    escaped,
    manager,
    results,
    sentence,
    show_trouble,
    store,
)
from pages.shared.live.watch import draw_live, redraw_page_if_changed, watch
from pages.shared.widgets.words import run_label

_RunStates = list[tuple[RunState, int]]
"""State and number of folds of every run: what the page depends on, and its buttons."""

_SECONDS_TO_GO_ON = 15.0
"""After a fold the next one is queued within this time, or by hand."""


def show_live(selection_id: str) -> None:
    """Show how far the selection is, and follow it while it goes on.

    Raises:
        InputError: If it is gone, or its contenders cannot be compared.
    """
    manager()  # the first call marks what an earlier dashboard left behind as interrupted
    record = stored_plan(store(), SELECTION, selection_id)
    # The states are read before the scores: a fold that ends in between then draws the page anew.
    run_states = _run_states(store().group(selection_id))
    plan, scores = _plan_and_scores(selection_id)
    state = plan.state_after(scores)
    if not state.decided:
        _follow(selection_id, run_states)
    if state.result is None:  # some contender has no fold yet
        titles = [contender_title(contender.name) for contender in state.contenders]
        st.markdown(f"**{escaped(state.sentence(titles))}**")
    else:
        selection = _shown_selection(record, state, state.result, scores)
        show_selection(selection, _offer_next_questions)
    _show_terms(record, state.terms)


def _follow(selection_id: str, drawn_states: _RunStates) -> None:
    """Show what goes on now, whenever any run changes; with every step while the tab is looked at.

    Args:
        selection_id: The selection.
        drawn_states: The states of its runs that the page shows.
    """
    drawn_at = watch().drawn_activity().moment
    draw_live(
        _show_what_goes_on,
        selection_id,
        drawn_states,
        drawn_at,
        key="selection",
        topics=[ALL],
        foreground_topics=[STEPS],
    )


def _shown_selection(
    record: PlanRecord, state: SelectionState, result: SelectionResult, scores: Results
) -> ShownSelection:
    """The selection so far, as the lanes show it.

    Args:
        record: The selection.
        state: Where it is now.
        result: Its rounds so far.
        scores: The folds that its contenders have.
    """
    specs = [contender.spec for contender in record.content.runs]
    runs = []
    for spec in specs:
        runs += scores.runs(spec)
    contender_of_key = {spec.score_key: number for number, spec in enumerate(specs)}
    computed = set()
    for run in store().group(record.plan_id):
        contender = contender_of_key[run.spec.score_key]
        for fold in run.folds:
            if not fold.reused:
                computed.add((contender, fold.fold))
    return ShownSelection(
        contenders=state.scores,
        terms=state.terms,
        result=result,
        data_version=(record.plan_id, len(result.rounds)),
        specs=specs,
        runs=runs,
        computed=frozenset(computed),
    )


def _offer_next_questions(selection: ShownSelection) -> None:
    """The next questions, of exactly these contenders; folds that they lack are computed first."""
    if any(spec.tracked for spec in selection.specs):  # another program computes their folds
        return
    if run_actions().start_refusal(selection.specs):
        return
    _offer_claim(selection)
    _offer_folds(selection)


def _offer_folds(selection: ShownSelection) -> None:
    """The way to the page How many folds?, with runs of these contenders that have all folds."""
    labels = _labels_by_score_key(run for run in selection.runs if run.whole)
    incomplete = [spec for spec in selection.specs if spec.score_key not in labels]
    question = "How many folds, at what risk?"
    if incomplete:
        question += f" ({_work_words(incomplete)})"
    if st.button(question, icon=":material/tune:", key="how-many"):
        with errors_as_sentences():
            if incomplete:
                group_id = run_actions().start(incomplete)
                labels |= _labels_by_score_key(store().group(group_id))
            runs = [labels[spec.score_key] for spec in selection.specs]
            open_page("folds/folds.py", {"source": OWN, "runs": runs})


def _offer_claim(selection: ShownSelection) -> None:
    """Another selection of the same contenders, with their folds, that ends in a claim."""
    if selection.terms.winner_must_be_certain or why_not(Action.START_MANY):
        return
    if st.button(
        "What may I claim?",
        icon=":material/verified:",
        key="claim",
        help="Starts a selection of the same contenders that ends once no other can be better. "
        "Their finished folds are used, and only missing ones are computed.",
    ):
        named = []
        for contender, spec in zip(selection.contenders, selection.specs, strict=True):
            named.append((contender.name, spec))
        with errors_as_sentences():
            open_selection(begin_selection(named, {}))
            st.rerun()


def _labels_by_score_key(runs: Iterable[RunRecord]) -> dict[str, str]:
    """Key of the scores of each run -> what the page How many folds? calls it."""
    return {run.spec.score_key: run_label(run) for run in runs}


def _work_words(specs: Sequence[RunSpec]) -> str:
    """How many folds these contenders lack, and about how long they take."""
    missing_folds = 0
    seconds = 0.0
    for spec in specs:
        # Each contender that is shown has a run here with at least one fold, computed or reused.
        folds = results().folds(spec, computed_here=True).values()
        missing_of_spec = spec.k - len(folds)
        missing_folds += missing_of_spec
        seconds += missing_of_spec * fmean(fold.seconds_if_computed_alone for fold in folds)
    return f"{counted(missing_folds, 'fold')} first, about {duration(seconds)}"


def _show_what_goes_on(selection_id: str, drawn_states: _RunStates, drawn_at: float) -> None:
    """What is computed now, with Cancel; or why nothing is, with Resume.

    Args:
        selection_id: The selection.
        drawn_states: The states of its runs when the page was drawn.
        drawn_at: The moment of that.
    """
    with errors_as_sentences():
        record = stored_plan(store(), SELECTION, selection_id)
        runs = store().group(selection_id)
        redraw_page_if_changed(_run_states(runs), drawn_states, drawn_at)
        show_trouble()
        active = [run for run in runs if run.state.active]
        with row_container():
            if active:
                _show_computing(record, active)
            elif _is_about_to_go_on(runs):
                st.markdown("Choosing the next fold ...", width="content")
            else:
                _show_stopped(record, runs)


def _show_computing(record: PlanRecord, active: Sequence[RunRecord]) -> None:
    """What is computed now, and the button that cancels it."""
    run = active[0]
    reporting = [run for run in active if run.progress is not None]
    if reporting:  # of runs that share their work, one reports it
        run = reporting[0]
    words = _fold_words(_titles(record)[run.spec.score_key], run)
    if len(active) > 1:
        words += f", with {counted(len(active) - 1, 'other run')} sharing its work"
    st.badge("live", icon=":material/sensors:")
    st.markdown(words, width="content")
    if not run_actions().may(Action.CANCEL, run.started_by):
        return
    if st.button("Cancel", icon=":material/stop:", key="cancel-selection"):
        act_and_rerun(partial(_cancel, active))


def _titles(record: PlanRecord) -> dict[str, str]:
    """Key of the scores of each contender -> its title, as Markdown."""
    return {
        contender.spec.score_key: escaped(contender_title(contender.name))
        for contender in record.content.runs
    }


def _fold_words(title: str, run: RunRecord) -> str:
    """Which fold of which contender a run computes or waits for, as Markdown."""
    fold = len(run.folds) + 1
    if run.spec.only_folds:  # the folds that its rounds have asked for, the newest last
        fold = run.spec.only_folds[-1] + 1
    words = f"**{title}**, fold {fold} of {run.spec.k}"
    if run.queue_position:
        return f"{words}, queued behind {counted(run.queue_position, 'run')}"
    if run.progress is not None:
        words += f": {escaped(run.progress.phase)}"
        if run.progress.steps:
            words += f" {run.progress.step}/{run.progress.steps}"
    elif run.state is RunState.QUEUED:
        words += " is queued"
    return words


@st.cache_resource(show_spinner=False, max_entries=2)
def _plan_and_scores(selection_id: str) -> tuple[SelectPlan, Results]:
    """Both keep what they have read and compared, so that after a fold only its news are read."""
    record = stored_plan(store(), SELECTION, selection_id)
    return SelectPlan.of(record), results_of(store(), record)


def _show_stopped(record: PlanRecord, runs: Sequence[RunRecord]) -> None:
    """Why nothing is computed, and how it goes on: by the fold of another program, or Resume."""
    st.markdown(_stop_words(record, runs), width="content")
    missing_fold = _sentence_about_missing_fold(record)
    if missing_fold:
        words = f"{missing_fold} It is used as soon as it arrives."
        st.info(words, icon=":material/terminal:")
        return
    if not run_actions().may(Action.START_MANY, record.started_by):
        return
    if st.button("Resume", icon=":material/resume:", type="primary", key="resume-selection"):
        act_and_rerun(partial(run_actions().go_on_with_selection, record.plan_id))


def _stop_words(record: PlanRecord, runs: Sequence[RunRecord]) -> str:
    """At which contender the selection stopped and why, as Markdown."""
    if not runs:
        return "Nothing has been computed yet."
    last_run = max(runs, key=_ended_at)
    title = _titles(record)[last_run.spec.score_key]
    words = f"Stopped at **{title}**, whose run is {last_run.state.value}"
    if last_run.error:
        return f"{words}: {escaped(last_run.error)}"
    return f"{words}. Finished folds are kept."


def _sentence_about_missing_fold(record: PlanRecord) -> str:
    """That the next fold is to come from the program of a tracked contender; else empty."""
    plan, scores = _plan_and_scores(record.plan_id)
    next_fold = plan.state_after(scores).missing_turn
    if next_fold is None:
        return ""
    contender = record.content.runs[next_fold.contender]
    if not contender.spec.tracked:
        return ""
    known_folds = scores.folds(contender.spec)
    return sentence(missing_fold_error(contender.name, contender.spec, next_fold.fold, known_folds))


def _cancel(runs: Sequence[RunRecord]) -> None:
    for run in runs:
        run_actions().cancel(run.run_id)


def _show_terms(record: PlanRecord, terms: Terms) -> None:
    """What was asked, and the way out of the list."""
    metric = escaped(metric_label(record.content.runs[0].spec))
    with row_container():
        st.caption(
            f"It runs until {until_words(terms)}, by {metric} and with up to "
            f"{counted(terms.k, 'fold')} each. {_certainty_sentence(terms)}",
            width="content",
        )
        if any(run.state.active for run in store().group(record.plan_id)):
            return
        if run_actions().may(Action.FORGET, record.started_by):
            offer_to_forget(SELECTION, record.plan_id, partial(open_selection, FIRST_RECORDED))


def _certainty_sentence(terms: Terms) -> str:
    """How sure its answer is, or what it may cost."""
    if terms.winner_must_be_certain:
        confidence = percent_text(terms.confidence, "g")
        indifference = percent_text(terms.indifference, "g")
        return f"Its confidence is {confidence}, its indifference {indifference} of the mean."
    if terms.budget is not None:
        return f"Its budget is {terms.budget.text}."
    return "Its question is which contender to use."


def _is_about_to_go_on(runs: Sequence[RunRecord]) -> bool:
    """Whether the next fold is about to be queued: the last run has finished a moment ago."""
    if not runs:
        return False
    # The driver queues the next fold soon after one has finished. Where none has come by then, the
    # selection has stopped: its dashboard was closed, for example.
    last_run = max(runs, key=_ended_at)
    time_since_end = datetime.now(UTC) - _ended_at(last_run)
    return (
        last_run.state is RunState.FINISHED and time_since_end.total_seconds() < _SECONDS_TO_GO_ON
    )


def _ended_at(run: RunRecord) -> datetime:
    """When a run ended; where that is not known, when it was started."""
    return run.finished_at or run.created_at


def _run_states(runs: Sequence[RunRecord]) -> _RunStates:
    return [(run.state, len(run.folds)) for run in runs]
