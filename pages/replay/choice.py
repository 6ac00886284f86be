"""What is played: the run, its rule and alpha, and the order of its folds."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from typing import NamedTuple

import streamlit as st

from ecv_core.analysis.replay import Replay
from ecv_core.analysis.replay import replay as replayed
from ecv_core.figures.words import alpha_text, rule_words
from ecv_core.records.errors import EcvError, InputError
from ecv_core.records.run import RunRecord
from ecv_core.records.spec import RunSpec
from ecv_core.stopping import PAPERS_RULE, axis_of, rule
from ecv_core.store.recorded import recorded_run, recorded_runs, recorded_stopped_runs
from pages.shared.address.link import step_from_link
from pages.shared.base.glossary import explained
from pages.shared.live.runs import ChoosableRun, with_folds
from pages.shared.live.state import (
    KEPT_IN_ADDRESS,
    errors_as_sentences,
    results,
    run_list,
    sentence,
    store,
)
from pages.shared.widgets.words import choice_label

ALPHA = "replay_alpha"
ORDER = "order"
RULE = "replay_rule"
RUN_BOX = "run-choice"
"""Keys of the widgets; all but the last are names in the address too."""
_ALPHA_AXIS = axis_of(PAPERS_RULE)
_SHOWN = "replay-shown"
"""In the session: the run that the widgets of rule and order were set for."""
_FIRST = ("ml-100k", "item-knn")
"""Dataset and algorithm to begin with: quick to grasp, and it stops in the middle."""


class ChosenReplay(NamedTuple):
    """A run, and how it is to be told."""

    run: RunRecord
    spec: RunSpec
    """Its spec with the rule and alpha of the telling."""
    seed: int
    """Of the order; 0 is as it ran."""
    replayed_run: Replay


def pick_replay() -> ChosenReplay | None:
    """Widgets for all of it; None, with a sentence on the page, if there is nothing to play.

    Raises:
        EcvError: If the run or a setting cannot be played.
    """
    left_column, middle_column, right_column = st.columns([1.7, 1.5, 1.5])
    with left_column:
        run = choose_run(on_pick=_set_widgets_as_it_ran)
    if run is None:
        return None
    # A run that was not picked here was opened by a link, or by a visit to the page.
    if st.session_state.get(_SHOWN) != run.run_id:
        _set_widgets_as_linked(run)
    with middle_column:
        spec = _pick_rule(run.spec)
    with right_column:
        seed = _pick_order()
    return ChosenReplay(run, spec, seed, _replay_of(run, spec, seed))


def _set_widgets_as_it_ran(run: ChoosableRun) -> None:
    """Set the widgets to the run's own alpha, rule and order."""
    st.session_state[_SHOWN] = run.run_id
    st.session_state[ALPHA] = alpha_of(run.spec)
    st.session_state[ORDER] = 0
    st.session_state.pop(RULE, None)


def _set_widgets_as_linked(run: RunRecord) -> None:
    """Begin with the run's own settings, but for those that the address names."""
    # Streamlit has put the settings of the address into the session. Setting the widgets to those
    # of the run overwrites them, so they are put back afterwards.
    settings_in_link = {}
    for key in (ALPHA, ORDER):
        value = st.session_state.get(key)
        if key in st.query_params and value is not None:
            settings_in_link[key] = value
    _set_widgets_as_it_ran(run)
    st.session_state.update(settings_in_link)


def _pick_rule(spec: RunSpec) -> RunSpec:
    """The spec of a run with the rule and the alpha that are picked."""
    # A run under another rule is replayed under that rule, or under the paper's with any alpha.
    if spec.rule != PAPERS_RULE:
        titles = {spec.rule: f"{spec.rule}, as it ran", PAPERS_RULE: PAPERS_RULE}
        chosen = st.segmented_control(
            "Rule",
            list(titles),
            default=spec.rule,
            required=True,
            key=RULE,
            bind="query-params",
            format_func=titles.__getitem__,
        )
        if chosen != PAPERS_RULE:
            return spec
    alpha = _pick_alpha(spec)
    min_folds = rule(PAPERS_RULE).least_folds
    # The minimum of folds of another rule does not apply to this one.
    if spec.rule == PAPERS_RULE:
        min_folds = max(spec.min_folds, min_folds)
    return replace(
        spec, rule=PAPERS_RULE, rule_params=((_ALPHA_AXIS.name, alpha),), min_folds=min_folds
    )


def _pick_alpha(spec: RunSpec) -> float:
    """The slider of alpha, which begins with the one of the run."""
    alpha_of_run = alpha_of(spec)
    steps = sorted({*_ALPHA_AXIS.steps, alpha_of_run})
    step_from_link(ALPHA, steps, alpha_text)
    if st.session_state.get(ALPHA) not in steps:
        st.session_state[ALPHA] = alpha_of_run
    alpha = st.select_slider(
        "alpha",
        steps,
        value=alpha_of_run,  # the address holds only an alpha that differs from this default
        format_func=alpha_text,
        key=ALPHA,
        **KEPT_IN_ADDRESS,
        help=explained(
            "Another alpha, and the same folds stop elsewhere. The code that decides here is the "
            f"one that decides live. The run itself was set to {rule_words(spec)}.",
            "alpha",
            "stopping-rule",
        ),
    )
    return float(alpha)


def alpha_of(spec: RunSpec) -> float:
    """Alpha of a run by the paper's rule; of any other the usual one."""
    return float(dict(spec.rule_params).get(_ALPHA_AXIS.name, _ALPHA_AXIS.default))


def _pick_order() -> int:
    """The widgets of the order of the folds; gives its seed."""
    with st.container(horizontal=True, vertical_alignment="bottom"):
        seed = st.number_input(
            "Order (seed)",
            value=0,
            min_value=0,
            max_value=999_999,
            step=1,
            key=ORDER,
            **KEPT_IN_ADDRESS,
            help=explained(
                "0 is the order in which they ran; any other number is the seed of a shuffle, the "
                "same each time.",
                "order",
                "seed",
            ),
            width=130,
        )
        st.button("Shuffle", icon=":material/shuffle:", key="shuffle", on_click=_shuffle)
    return int(seed)


def _shuffle() -> None:
    st.session_state[ORDER] = int(st.session_state.get(ORDER, 0)) + 1


def _replay_of(run: RunRecord, spec: RunSpec, seed: int) -> Replay:
    folds = list(run.folds)
    if rule(spec.rule).needs_user_scores:
        users = results().user_scores(run)
        folds = [replace(fold, user_scores=users.get(fold.fold)) for fold in folds]
    return replayed(spec, folds, seed)


def choose_run(on_pick: Callable[[ChoosableRun], None] | None = None) -> RunRecord | None:
    """The run that the address names or that is picked; None, with a sentence, if there is none.

    Args:
        on_pick: Called when another run is picked, before the page is drawn anew.

    Raises:
        StoreError: If the database cannot be read.
    """
    recordings: list[ChoosableRun] = []
    with errors_as_sentences():  # own runs are shown even if a recorded file is damaged
        recordings = [*recorded_runs(), *recorded_stopped_runs()]
    own_runs = [row for row in run_list().rows() if row.scores and not row.state.active]
    runs: dict[str, ChoosableRun] = {run.run_id: run for run in [*own_runs, *recordings]}
    if not runs:
        st.info("There is no finished run yet; every run you start can be played here later.")
        st.page_link("run/run.py", label="Start a run", icon=":material/play_circle:")
        return None
    _choose_run_of_address(runs)
    if st.session_state.get(RUN_BOX) not in runs:
        st.session_state[RUN_BOX] = _usual_run([*recordings, *own_runs]).run_id

    def open_picked_run() -> None:
        run = runs[st.session_state[RUN_BOX]]
        st.query_params["run"] = run.run_id
        st.query_params.pop("fold", None)  # the step of the run before does not apply to this one
        if on_pick is not None:
            on_pick(run)

    picked_id = st.selectbox(
        "Run",
        list(runs),
        format_func=lambda run_id: choice_label(runs[run_id]),
        key=RUN_BOX,
        on_change=open_picked_run,
        help="Your own runs, newest first, then those recorded for this page.",
    )
    return with_folds(runs[picked_id])


def _choose_run_of_address(runs: Collection[str]) -> None:
    """Choose the run that the address names; say why where it cannot be chosen."""
    run_id = st.query_params.get("run")
    if run_id:
        recorded = recorded_run(run_id)  # Compare names recorded runs so: ml-100k--item-knn
        if recorded is not None:
            run_id = recorded.run_id
    if run_id in runs:
        st.session_state[RUN_BOX] = run_id
    elif run_id:
        st.warning(sentence(_why_another_is_shown(run_id)), icon=":material/link_off:")


def _usual_run(runs: Sequence[ChoosableRun]) -> ChoosableRun:
    """The one to begin with."""
    for run in runs:
        if (run.spec.dataset, run.spec.algorithm) == _FIRST:
            return run
    return runs[0]


def _why_another_is_shown(run_id: str) -> EcvError:
    """Why this run cannot be chosen."""
    try:
        run = store().run(run_id)
    except InputError:
        return InputError(
            f"there is no run '{run_id}' here; it may have been deleted, so another one is shown"
        )
    if run.state.active:
        return InputError(
            f"run '{run_id}' is still going; come back when it is finished, or watch it on Run"
        )
    return InputError(
        f"run '{run_id}' has no finished fold, so there is nothing to play; another one is shown"
    )
