"""A selection of one's own: where it is, what it computes now, cancel and resume."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from statistics import fmean

import streamlit as st

from ecv_core.access.roles import Action
from ecv_core.figures.words import counted, duration, metric_label
from ecv_core.jobs.plans.select import SelectPlan, Standing, missing, results_of
from ecv_core.records.run import RunRecord, RunState
from ecv_core.records.spec import RunSpec
from ecv_core.selection.contenders import contender_title
from ecv_core.store.plans import SELECTION, PlanRecord, stored_plan
from ecv_core.store.results import Results
from pages.best.choice import FIRST, open_selection
from pages.best.show import Shown, show
from pages.folds.choice import OWN
from pages.shared.address.navigation import go
from pages.shared.live.acting import acting
from pages.shared.live.events import ALL, STEPS
from pages.shared.live.runs import act_and_rerun
from pages.shared.live.state import escaped, manager, results, sentence, sentences, store
from pages.shared.live.watch import follow, watch
from pages.shared.widgets.words import run_label

_Runs = list[tuple[int, RunRecord]]
_Where = list[tuple[int, RunState, int]]

_SECONDS_TO_GO_ON = 15.0
"""After a fold the next one is queued within this time, or by hand."""


def live(selection_id: str) -> None:
    """Where it is now; follows it while it goes on.

    Raises: InputError if it is gone, or its contenders cannot be compared.
    """
    manager()  # marks what an earlier dashboard left behind as interrupted
    record = stored_plan(store(), SELECTION, selection_id)
    where = _where(_runs(selection_id))  # first, so that what comes after it is seen to be newer
    plan, scores = _plan_and_scores(selection_id)
    now = plan.standing(scores)
    titles = [contender_title(one.name) for one in now.contenders]
    if not now.decided:
        follow(
            _follow,
            selection_id,
            titles,
            where,
            watch().now().moment,
            key="selection",
            of=[ALL],
            often=[STEPS],
        )
    if now.played is None:
        st.markdown(f"**{escaped(now.sentence(titles))}**")
    else:
        used = [run for _, spec in now.named for run in scores.runs(spec)]
        played = replace(now.played, joules_of_all_folds=now.joules_expected)
        shown = Shown(
            contenders=now.contenders,
            terms=now.terms,
            played=played,
            version=(selection_id, len(played.rounds)),
            specs=[spec for _, spec in now.named],
            runs=used,
            computed=frozenset(
                (place, fold.fold)
                for place, run in _runs(selection_id)
                for fold in run.folds
                if not fold.reused
            ),
        )
        show(shown, then=lambda: _how_many(shown.specs, used))
    _below(record, now)


def _how_many(specs: Sequence[RunSpec], runs: Sequence[RunRecord]) -> None:
    """The next question, of exactly these contenders; folds that they lack are computed first."""
    if any(spec.tracked for spec in specs) or acting().start_refusal(specs):
        return
    whole = {run.spec.score_key: run for run in runs if run.whole}
    left = [spec for spec in specs if spec.score_key not in whole]
    seconds, missing_folds = 0.0, 0
    for spec in left:
        folds = results().folds(spec, own=True).values()
        missing_folds += spec.k - len(folds)
        seconds += (spec.k - len(folds)) * fmean(fold.seconds_alone for fold in folds)
    first = f" ({counted(missing_folds, 'fold')} first, about {duration(seconds)})" if left else ""
    label = f"How many folds, at what risk?{first}"
    if st.button(label, icon=":material/tune:", key="how-many"):
        with sentences():
            started = store().group(acting().start(left)) if left else []
            every = whole | {run.spec.score_key: run for run in started}
            labels = [run_label(every[spec.score_key]) for spec in specs]
            go("folds/folds.py", {"source": OWN, "runs": labels})


def _follow(selection_id: str, titles: Sequence[str], before: _Where, drawn: float) -> None:
    """What is computed now, with Cancel; or why nothing is, with Resume."""
    with sentences():
        runs = _runs(selection_id)
        if watch().now().moment > drawn and _where(runs) != before:
            st.rerun()  # not while the page is drawn: where folds are quicker it would never be
        if trouble := manager().trouble:
            st.warning(escaped(trouble), icon=":material/warning:")
        active = [(place, run) for place, run in runs if run.state.active]
        with st.container(horizontal=True, vertical_alignment="center"):
            if active:
                # Of those that share their work, one tells of it.
                place, run = min(active, key=lambda one: one[1].progress is None)
                st.badge("live", icon=":material/sensors:", color="blue")
                others = f", with {counted(len(active) - 1, 'other')} that share its work"
                said = _doing(titles[place], run) + others * (len(active) > 1)
                st.markdown(said, width="content")
                if acting().may(Action.CANCEL, run.started_by) and st.button(
                    "Cancel", icon=":material/stop:", key="cancel-selection"
                ):
                    act_and_rerun(lambda: _cancel([run for _, run in active]))
            elif _goes_on(runs):
                st.markdown("Looking which fold comes next.", width="content")
            else:
                _stopped(selection_id, titles, runs)


def _doing(title: str, run: RunRecord) -> str:
    fold = run.spec.only_folds[-1] + 1 if run.spec.only_folds else len(run.folds) + 1
    what = f"**{escaped(title)}**, fold {fold} of {run.spec.k}"
    if run.queue_position:
        return f"{what}, waits for {counted(run.queue_position, 'run')} before it"
    if run.progress is None:
        return f"{what} is queued" if run.state is RunState.QUEUED else what
    part = f" {run.progress.step}/{run.progress.steps}" if run.progress.steps else ""
    return f"{what}: {escaped(run.progress.phase)}{part}"


@st.cache_resource(show_spinner=False, max_entries=2)
def _plan_and_scores(selection_id: str) -> tuple[SelectPlan, Results]:
    """Both keep what they have read and compared: after a fold only what is new of it is."""
    record = stored_plan(store(), SELECTION, selection_id)
    return SelectPlan.of(record), results_of(store(), record)


def _stopped(selection_id: str, titles: Sequence[str], runs: _Runs) -> None:
    """Why nothing is computed, and how it goes on."""
    said = "Nothing has been computed yet."
    if runs:
        place, run = max(runs, key=lambda one: one[1].finished_at or one[1].created_at)
        said = f"Stopped at **{escaped(titles[place])}**, whose run is {run.state.value}"
        said += f": {escaped(run.error)}" if run.error else ". Finished folds are kept."
    st.markdown(said, width="content")
    record = stored_plan(store(), SELECTION, selection_id)
    plan, scores = _plan_and_scores(selection_id)
    now = plan.standing(scores)
    if now.needed is not None and now.named[now.needed[0]][1].tracked:
        name, spec = now.named[now.needed[0]]
        said = sentence(missing(name, spec, now.needed[1], scores.folds(spec)))
        st.info(f"{said} It is used as soon as it is there.", icon=":material/terminal:")
    elif acting().may(Action.START_MANY, record.started_by) and st.button(
        "Resume", icon=":material/resume:", type="primary", key="resume-selection"
    ):
        act_and_rerun(lambda: acting().go_on_with_selection(selection_id))


def _cancel(runs: Sequence[RunRecord]) -> None:
    for run in runs:
        acting().cancel(run.run_id)


def _below(record: PlanRecord, now: Standing) -> None:
    """What was asked, and the way out of the list."""
    terms, spec = now.terms, now.named[0][1]
    until = "the winner is known" if terms.until == "winner" else "the whole order is known"
    sure = f"confidence {100 * terms.confidence:g} %, indifference {100 * terms.indifference:g} %"
    if not terms.certain:
        loss = terms.expected_loss
        until = f"the expected loss is at most {100 * loss:g} %" if loss else "the budget is spent"
        sure = f"within {terms.budget.text}" if terms.budget else "which to use is asked"
    with st.container(horizontal=True, vertical_alignment="center"):
        st.caption(
            f"Goes on until {until}; {escaped(metric_label(spec))}, {terms.k} folds, {sure}.",
            width="content",
        )
        going = any(run.state.active for _, run in _runs(record.plan_id))
        mine = acting().may(Action.FORGET, record.started_by) and not going
        if mine and st.button(
            "Remove from the list",
            icon=":material/playlist_remove:",
            key="forget-selection",
            type="tertiary",
            help="Its runs stay on the page Runs.",
        ):
            act_and_rerun(lambda: _forget(record.plan_id))


def _forget(selection_id: str) -> None:
    acting().forget_plan(SELECTION, selection_id)
    open_selection(FIRST)


def _runs(selection_id: str) -> _Runs:
    """The runs that compute for it, each with the place of its contender."""
    places = {
        run.spec.score_key: place
        for place, run in enumerate(stored_plan(store(), SELECTION, selection_id).content.runs)
    }
    return [(places[run.spec.score_key], run) for run in store().group(selection_id)]


def _goes_on(runs: _Runs) -> bool:
    """Whether a fold is queued or computed, or the next one is about to be queued."""
    if any(run.state.active for _, run in runs):
        return True
    ended = [run for _, run in runs if run.finished_at is not None]
    if not ended:
        return False
    last = max(ended, key=lambda run: run.finished_at or run.created_at)
    since = datetime.now(UTC) - (last.finished_at or last.created_at)
    return last.state is RunState.FINISHED and since.total_seconds() < _SECONDS_TO_GO_ON


def _where(runs: _Runs) -> _Where:
    """What the rest of the page depends on, and the buttons."""
    return [(place, run.state, len(run.folds)) for place, run in runs]
