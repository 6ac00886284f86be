"""What is played: the run, its rule and alpha, and the order of its folds."""

from __future__ import annotations

from dataclasses import dataclass, replace

import streamlit as st

from ecv_core.analysis.replay import Replay
from ecv_core.analysis.replay import replay as replayed
from ecv_core.records import Run, RunSpec
from ecv_core.stopping import rule
from pages.components.run.stop_settings import ALPHAS
from pages.components.shared.glossary import explained
from pages.components.shared.run_choice import choose_run
from pages.components.shared.state import user_scores
from pages.components.shared.step_link import step_from_link
from pages.components.shared.words import alpha_text, rule_words

ALPHA, ORDER, RULE = "replay_alpha", "order", "replay_rule"
_SHOWN = "replay-shown"
_FIRST = ("ml-100k", "item-knn")
"""Dataset and algorithm to begin with: quick to grasp, and it stops in the middle."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Chosen:
    """A run, and how it is to be told."""

    run: Run
    spec: RunSpec
    """Its spec with the rule and alpha of the telling."""
    seed: int
    """Of the order; 0 is as it ran."""
    played: Replay


def settings() -> Chosen | None:
    """Widgets for all of it; None, with a sentence on the page, if there is nothing to play.

    Raises: EcvError for a run or setting that cannot be played.
    """
    left, middle, right = st.columns([1.7, 1.5, 1.5], gap="small")
    with left:
        run = choose_run(_first, picked=_as_it_ran)
    if run is None:
        return None
    _begin_as_it_ran(run)
    with middle:
        spec = _rule(run.spec)
    with right:
        seed = _order()
    return Chosen(run=run, spec=spec, seed=seed, played=_played(run, spec, seed))


def from_address() -> Chosen | None:
    """The same without widgets, for the presentation."""
    with st.container(key="replay-settings"):  # hidden: the widgets read the address
        return settings()


def _first(runs: list[Run]) -> Run:
    wanted = [run for run in runs if (run.spec.dataset, run.spec.algorithm) == _FIRST]
    return (wanted or runs)[0]


def _as_it_ran(run: Run) -> None:
    st.session_state[_SHOWN] = run.run_id
    st.session_state[ALPHA] = run.spec.alpha
    st.session_state[ORDER] = 0
    st.session_state.pop(RULE, None)


def _begin_as_it_ran(run: Run) -> None:
    """A run that a link opens begins with its own settings, unless the link says otherwise."""
    if st.session_state.get(_SHOWN) == run.run_id:
        return
    kept = {key: st.session_state.get(key) for key in (ALPHA, ORDER) if key in st.query_params}
    _as_it_ran(run)
    for key, value in kept.items():
        if value is not None:
            st.session_state[key] = value


def _rule(spec: RunSpec) -> RunSpec:
    steps = sorted({*ALPHAS, spec.alpha})
    step_from_link(ALPHA, steps, alpha_text)
    if spec.rule != "e-fold":
        chosen = st.segmented_control(
            "Rule",
            [spec.rule, "e-fold"],
            default=spec.rule,
            required=True,
            key=RULE,
            bind="query-params",
            format_func=lambda name: f"{name}, as it ran" if name == spec.rule else name,
        )
        if chosen != "e-fold":
            return spec
    if st.session_state.get(ALPHA) not in steps:
        st.session_state[ALPHA] = spec.alpha
    alpha = st.select_slider(
        "alpha",
        steps,
        value=spec.alpha,  # the default, so that the address says only what is not as it ran
        format_func=alpha_text,
        key=ALPHA,
        bind="query-params",
        persist_state="session",
        help=explained(
            "Another alpha, and the same folds stop elsewhere. The code that decides here is the "
            f"one that decides live. The run itself used {rule_words(spec)}.",
            "alpha",
            "stopping-rule",
        ),
    )
    least = rule("e-fold").least_folds
    first = spec.min_folds if spec.rule == "e-fold" else least
    return replace(spec, rule="e-fold", alpha=float(alpha), min_folds=max(first, least))


def _order() -> int:
    def shuffle() -> None:
        st.session_state[ORDER] = int(st.session_state.get(ORDER, 0)) + 1

    with st.container(horizontal=True, vertical_alignment="bottom"):
        seed = _seed()
        st.button("Shuffle", icon=":material/shuffle:", key="shuffle", on_click=shuffle)
    return seed


def _seed() -> int:
    seed = st.number_input(
        "Order (seed)",
        value=0,
        min_value=0,
        max_value=999_999,
        step=1,
        key=ORDER,
        bind="query-params",
        persist_state="session",
        help=explained(
            "0 is the order in which they ran; any other number is the seed of a shuffle, the "
            "same each time.",
            "order",
            "seed",
        ),
        width=130,
    )
    return int(seed)


def _played(run: Run, spec: RunSpec, seed: int) -> Replay:
    folds = list(run.folds)
    if rule(spec.rule).needs_user_scores:
        users = user_scores(run.run_id)
        folds = [replace(fold, user_scores=users.get(fold.fold)) for fold in folds]
    return replayed(spec, folds, seed)
