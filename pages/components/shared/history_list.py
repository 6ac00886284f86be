"""The list of runs: filter, one row each, with what can be done with it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import streamlit as st

from ecv_core.energy.savings import energy_facts
from ecv_core.records import Run, RunState
from ecv_core.runs.document import moments_of
from ecv_core.store import origins
from pages.components.compare.choice import address_of
from pages.components.run.run_actions import RESUMABLE, confirm_delete
from pages.components.shared.glossary import glossary_link
from pages.components.shared.state import manager, sentences, store
from pages.components.shared.words import (
    ago,
    metric_label,
    rule_words,
    run_title,
    state_badge,
    watt_hours,
)

ROWS = 20
SECONDS_BETWEEN_LOOKS = 2.0

Where = list[tuple[str, RunState, int]]
"""Of each run its state and how many folds it has."""


def filtered(runs: list[Run]) -> list[Run]:
    """The runs that match what is picked above the list."""
    left, middle, right = st.columns([1.5, 1, 1])
    text = left.text_input(
        "Find",
        key="find",
        bind="query-params",
        placeholder="dataset, algorithm or id",
        icon=":material/search:",
    )
    states = middle.multiselect(
        "State",
        list(RunState),
        format_func=lambda state: state.value,
        key="state",
        bind="query-params",
    )
    datasets = right.multiselect(
        "Dataset",
        sorted({r.spec.dataset for r in runs}),
        key="of_dataset",
        bind="query-params",
    )
    words = text.lower().split()
    return [
        run
        for run in runs
        if (not states or run.state in states)
        and (not datasets or run.spec.dataset in datasets)
        and all(word in f"{run_title(run)} {run.run_id}".lower() for word in words)
    ]


def history_list(runs: list[Run]) -> None:
    """One row per run, newest first, a page of them at a time."""
    if not runs:
        st.info("No run matches; clear the filter to see them all.", icon=":material/search_off:")
        return
    shown = int(st.session_state.get("rows", ROWS))
    _compare_button(runs[:shown])
    elsewhere = origins(store())
    for run in runs[:shown]:
        with st.container(border=True):
            _row(run, imported=run.run_id in elsewhere)
    if len(runs) > shown and st.button(f"Show more ({len(runs) - shown} left)", key="more"):
        st.session_state["rows"] = shown + ROWS
        st.rerun()


def follow(look: Callable[[], Sequence[Run]]) -> None:
    """Draw the page anew when an active run goes on; nothing is asked while none is active.

    Args:
        look: the runs on the page, as they are now.
    """
    runs = look()
    if any(run.state.active for run in runs):
        st.fragment(_look_again, run_every=SECONDS_BETWEEN_LOOKS)(look, _where(runs))


def _look_again(look: Callable[[], Sequence[Run]], before: Where) -> None:
    with sentences():
        if _where(look()) != before:
            st.rerun()


def _where(runs: Sequence[Run]) -> Where:
    return [(run.run_id, run.state, len(run.folds)) for run in runs]


def _row(run: Run, *, imported: bool) -> None:
    name, facts, actions = st.columns([2.2, 3.6, 1.7], vertical_alignment="center")
    with name, st.container(horizontal=True, vertical_alignment="center", gap="small", wrap=False):
        st.checkbox(f"Compare {run_title(run)}", key=_pick_key(run), label_visibility="collapsed")
        with st.container(horizontal=True, vertical_alignment="center", gap="xsmall"):
            st.markdown(f"**{run_title(run)}**", width="content")
            state_badge(run.state)
            if imported:
                st.badge("imported", icon=":material/upload_file:", color="violet")
    facts.markdown(_facts(run))
    with (
        actions,
        st.container(horizontal=True, horizontal_alignment="right", vertical_alignment="center"),
    ):
        _actions(run)


def _facts(run: Run) -> str:
    k, stopped_at = len(run.spec.fold_order), run.stopped_at
    moments = moments_of(run)
    if stopped_at and stopped_at < k:
        folds = f"stop **{stopped_at}** of {k}"
    else:
        folds = f"**{len(run.folds)}** of {k} folds"
    words = [rule_words(run.spec), folds]
    if moments:
        at = moments[min(stopped_at or len(moments), len(moments)) - 1]
        words += [f"{metric_label(run.spec)} **{at.mean:.4f}**", _energy(run)]
    return " · ".join([*words, ago(run.created_at)])


def _energy(run: Run) -> str:
    """'40 mWh, saved **60 mWh** (60 %)', or what checking the stop has cost."""
    facts = energy_facts(run.folds, len(run.spec.fold_order), run.stopped_at)
    if facts.source == "none":
        return "energy not measured"
    words = watt_hours(facts.joules)
    if facts.saved_joules and facts.saved_percent is not None:
        saving = f"**{watt_hours(facts.saved_joules)}** ({facts.saved_percent:.0f} %)"
        checked = run.stopped_at is not None and len(run.folds) > run.stopped_at
        words += f", {saving} given up to check" if checked else f", saved {saving}"
    return words


def _pick_key(run: Run) -> str:
    return f"pick-{run.run_id}"


def _compare_button(runs: Sequence[Run]) -> None:
    """Opens what is ticked side by side; in sight however far the list is scrolled."""
    ticked = [run.run_id for run in runs if st.session_state.get(_pick_key(run))]
    if len(ticked) < 2:
        st.caption(f"Tick two or more {glossary_link('run', 'runs')} to compare them.")
        return
    with st.bottom:
        if st.button(
            f"Compare {len(ticked)} runs",
            key="compare-ticked",
            icon=":material/balance:",
            type="primary",
        ):
            st.switch_page("pages/compare.py", query_params=address_of(ticked))


def _actions(run: Run) -> None:
    st.page_link(
        "pages/run.py",
        label="Open",
        icon=":material/open_in_full:",
        query_params={"run": run.run_id},
    )
    if run.state in RESUMABLE and st.button(
        "Resume", key=f"resume-{run.run_id}", icon=":material/resume:", type="tertiary"
    ):
        with sentences():
            manager().resume(run.run_id)
            st.switch_page("pages/run.py", query_params={"run": run.run_id})
    if not run.state.active and st.button(
        "Delete", key=f"delete-{run.run_id}", icon=":material/delete:", type="tertiary"
    ):
        confirm_delete(run)
