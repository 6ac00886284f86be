"""Figure 1 for any order of the folds: shuffle it, step through it, watch alpha move the stop."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go
import streamlit as st

from ecv_core.analysis.replay import order_of, replayed, stops_at
from ecv_core.figures.efold import alt_text, efold_frame
from ecv_core.figures.efold_plot import efold_figure
from ecv_core.figures.steps import Steps
from ecv_core.records.run import Moment, Scores
from ecv_core.stopping import difference_percent
from pages.folds.curves import Explored
from pages.shared.address.given import give, keep_given
from pages.shared.address.link import label_from_link, link_warning
from pages.shared.charts.plot import plot
from pages.shared.live.state import KEPT, escaped
from pages.shared.widgets.glossary import explained
from pages.shared.widgets.sliders import SLIDER, numbers
from pages.shared.widgets.words import algorithm_title, dataset_title

CONFIDENCE = 0.95
_HEIGHT = 440
_SECONDS_PER_FOLD = 0.9
_SYSTEM, _SEED, _SHOWN, _PLAYING = "order-system", "order-seed", "order-shown", "order-playing"
_MOST_ORDERS = 999_999


def one_order(explored: Explored) -> None:
    """Pick a system, then play with the order of its folds."""
    st.header("One order, fold by fold", anchor=False)
    systems = {system.name: system for system in explored.tradeoff.systems}
    name = _system(list(systems))
    playing = bool(st.session_state.get(_PLAYING))
    tick = _SECONDS_PER_FOLD if playing else None
    st.fragment(_order, run_every=tick)(systems[name], explored)


def _system(names: list[str]) -> str:
    asked = st.query_params.get(_SYSTEM)
    if asked and asked not in names:  # a link of another version has ids
        algorithm, _, dataset = asked.partition(" on ")
        title = f"{algorithm_title(algorithm)} on {dataset_title(dataset)}"
        label_from_link(_SYSTEM, {asked: title} if title in names else {})
    if st.session_state.get(_SYSTEM, names[0]) not in names:
        st.session_state[_SYSTEM] = names[0]  # said, or the box would keep the old one's name
    elif asked is not None and asked not in names:
        link_warning(f"no system {escaped(asked)} is among those chosen; this is the first.")
    return st.selectbox("System", names, key=_SYSTEM, **KEPT, width=420) or names[0]


def order_steps(
    played: Sequence[Moment], shown: int, alphas: list[float], system: Scores
) -> tuple[list[int | None], Steps, list[str]]:
    """Which stops the slider can lead to while `shown` folds are on the screen.

    Returns: the stop of each variant of the figure (None: none yet), the steps that choose among
        them, and a sentence per step.
    """
    k = len(played)
    ends = stops_at(played, np.array(alphas))
    seen = [int(end) if end <= shown else None for end in ends]
    stops: list[int | None] = list(dict.fromkeys(seen))
    frames = {stop: efold_frame(played[:shown], stop) for stop in stops}
    alts = [
        alt_text(frames[stop], k=k, metric=system.metric, stopped_at=stop, title=system.name)
        for stop in stops
    ]
    whole = played[-1].mean
    sentences = []
    for stop in seen:
        if stop is None:
            sentences.append(f"After fold {shown} of {k}: the rule says go on.")
        elif stop == k:
            sentences.append(f"The rule never says stop here: all {k} folds are used.")
        else:
            off = difference_percent(played[stop - 1].mean, whole)
            sentences.append(
                f"The rule stops after fold {stop} and saves {k - stop} of {k}; "
                f"its score is {off:.2f} % from the {k}-fold mean."
            )
    variants = [stops.index(stop) for stop in seen]
    return stops, Steps(variants=variants, alts=[alts[one] for one in variants]), sentences


def _order(system: Scores, explored: Explored) -> None:
    k = system.k
    keep_given()
    _controls(k)
    seed, shown = _where(k)
    version = (system.content, seed, shown, explored.version)
    order = order_of(k, seed)
    played, (stops, steps, sentences) = _stepped(version, system, explored.alphas)

    def make(dark: bool) -> list[go.Figure]:
        return [
            efold_figure(
                efold_frame(played[:shown], stop),
                k=k,
                metric=system.metric,
                stopped_at=stop,
                confidence=CONFIDENCE,
                dark=dark,
                height=_HEIGHT,
            )
            for stop in stops
        ]

    numbers(SLIDER, key="order-numbers", sentences=sentences)
    plot(
        make,
        version=version,
        key="order-figure",
        alt=steps.alts[0],
        slider=SLIDER,
        steps=lambda: steps,
        name=f"{system.name} order {seed}",
        table=lambda: efold_frame(played, None).drop(columns="used"),
    )
    names = " ".join(map(str, order))
    st.caption(f"Order of the folds: {names}" + (" (as recorded)." if seed == 0 else "."))


_Version = tuple[str, int, int, str]


@st.cache_resource(show_spinner=False, max_entries=64)
def _stepped(
    version: _Version, _system: Scores, _alphas: list[float]
) -> tuple[list[Moment], tuple[list[int | None], Steps, list[str]]]:
    """The moments of an order and what the slider does to them, worked out once."""
    _, seed, shown, _ = version
    played = replayed(_system.folds, order_of(_system.k, seed), CONFIDENCE)
    return played, order_steps(played, shown, _alphas, _system)


def _controls(k: int) -> None:
    state = st.session_state
    if state.get(_PLAYING) and _advance(k) == k:
        state[_PLAYING] = False
        st.rerun()  # stop the clock
    playing = bool(state.get(_PLAYING))
    with st.container(horizontal=True):
        st.button("Shuffle", icon=":material/shuffle:", key="shuffle", on_click=_shuffle)
        if st.button(
            "Pause" if playing else "Play",
            icon=":material/pause:" if playing else ":material/play_arrow:",
            key="play",
            on_click=_play,
            args=(k,),
        ):
            st.rerun()  # the whole page, which sets the clock
        st.button("Next fold", icon=":material/skip_next:", key="next", on_click=_next, args=(k,))
        st.button("All folds", icon=":material/last_page:", key="all", on_click=_all, args=(k,))
        if state.get(_SEED, 0):
            st.button("As recorded", icon=":material/undo:", key="unshuffle", on_click=_unshuffle)


def _where(k: int) -> tuple[int, int]:
    """Seed of the order and how many folds are shown; both in the address, except in passing."""
    if not 0 <= int(st.session_state.get(_SHOWN, k)) <= k:
        st.session_state[_SHOWN] = k  # another system's
    if st.session_state.get(_PLAYING):
        return int(st.session_state.get(_SEED, 0)), int(st.session_state.get(_SHOWN, k))
    left, right = st.columns([1, 3], vertical_alignment="bottom")
    seed = left.number_input(
        "Order (seed)",
        min_value=0,
        max_value=_MOST_ORDERS,
        value=0,
        key=_SEED,
        **KEPT,
        help=explained("0 is the order as recorded; every other number is another one.", "order"),
    )
    shown = right.slider("Folds shown", 0, k, value=k, key=_SHOWN, **KEPT)
    return int(seed), int(shown)


def _advance(k: int) -> int:
    state = st.session_state
    state[_SHOWN] = min(int(state.get(_SHOWN, k)) + 1, k)
    return int(state[_SHOWN])


def _shuffle() -> None:
    keep_given()
    seed = int(st.session_state.get(_SEED, 0)) + 1
    give({_SEED: seed % (_MOST_ORDERS + 1)}, by="shuffle")


def _unshuffle() -> None:
    give({_SEED: 0}, by="unshuffle")


def _all(k: int) -> None:
    give({_SHOWN: k}, by="all")
    st.session_state[_PLAYING] = False


def _next(k: int) -> None:
    keep_given()
    shown = int(st.session_state.get(_SHOWN, k))
    give({_SHOWN: 1 if shown >= k else shown + 1}, by="next")
    st.session_state[_PLAYING] = False


def _play(k: int) -> None:
    state = st.session_state
    state[_PLAYING] = not state.get(_PLAYING)
    if state[_PLAYING] and int(state.get(_SHOWN, k)) >= k:
        state[_SHOWN] = 0
