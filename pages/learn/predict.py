"""Chapter 11: a hidden run's first folds; one bets on its stop and its mean, and is told."""

from __future__ import annotations

import math
from dataclasses import dataclass
from secrets import randbelow

import streamlit as st

from ecv_core.figures.efold import alt_text, efold_frame
from ecv_core.figures.efold_plot import efold_figure, larger
from ecv_core.figures.palette import FIGURE_1_SCALE
from ecv_core.figures.words import alpha_text, metric_label, run_title
from ecv_core.stopping.interval import difference_percent
from pages.learn.material.recorded_runs import (
    CONFIDENCE,
    FIRST_VOTE,
    MAX_ROUND,
    GameRound,
    complete_runs,
    round_of,
)
from pages.shared.charts.plot import plot
from pages.shared.live.state import escaped

PARAMETER = "round"
_GAME = "learn-game"
_HEIGHT = 380
MOST = 3
"""Points of a round: two for the fold of the stop, one for a fold beside it, one for the mean."""


_STOP, _OFF = "learn-bet-stop", "learn-bet-off"
_BRACKETS = {"below 0.5 %": 0.5, "0.5 to 1 %": 1.0, "1 to 2 %": 2.0, "2 % or more": math.inf}
"""What one can bet on -> the percentage that the difference is below."""


@dataclass(slots=True, kw_only=True)
class Game:
    """One visitor's game; it ends with the visit, the round's number is in the address."""

    number: int
    points: int = 0
    rounds: int = 0
    """Those that are over."""
    told: str = ""
    """What became of this round's bet; empty before it."""
    warning: str = ""


def show() -> None:
    """The folds so far and the bet, or all of them and what became of it."""
    game = _game()
    if game.warning:
        st.warning(game.warning, icon=":material/link_off:")
    now = round_of(complete_runs(), game.number)
    if game.told:
        with st.container(horizontal=True, vertical_alignment="center"):
            st.button(
                "Next round",
                icon=":material/skip_next:",
                type="primary",
                key="learn-next-round",
                on_click=_next_round,
                shortcut="N",
            )
            st.markdown(f"**{game.points} of {MOST * game.rounds}** points")
        st.markdown(f"{game.told} {_truth(now)}")
    else:
        _ask(now)
    _picture(now, now.k if game.told else FIRST_VOTE)
    st.caption(
        f"Round {now.number}: a recorded run, its folds in random order. Its name comes at the "
        f"end. The rule stops with alpha {alpha_text(now.alpha)}."
    )


def _ask(now: GameRound) -> None:
    with st.container(horizontal=True, vertical_alignment="bottom", key="learn-bet"):
        stop = st.segmented_control(
            "Its interval is narrow and still after fold", range(FIRST_VOTE, now.k + 1), key=_STOP
        )
        off = st.segmented_control(
            f"Its mean is then off that of all {now.k} by", list(_BRACKETS), key=_OFF, wrap=True
        )
        st.button(
            "Bet",
            type="primary",
            icon=":material/casino:",
            key="learn-bet-placed",
            on_click=_bet,
            args=(now,),
            disabled=stop is None or off is None,
            shortcut="B",
        )


def _bet(now: GameRound) -> None:
    """Count a bet; a second click on the same button comes too late."""
    game: Game = st.session_state[_GAME]
    stop, off = st.session_state.get(_STOP), st.session_state.get(_OFF)
    if game.told or game.number != now.number or stop is None or off is None:
        return
    right_off = off == bracket_of(_difference(now))
    points = max(2 - abs(stop - now.stop), 0) + right_off
    game.points += points
    game.rounds += 1
    game.warning = ""
    game.told = (
        f"You bet on fold **{stop}**, and the rule stopped after fold **{now.stop}**; on {off}, "
        f"which is {':green[**right**]' if right_off else ':red[**wrong**]'}: **{points} of "
        f"{MOST} points**."
    )


def bracket_of(percent: float) -> str:
    """What one had to bet on for this difference."""
    return next(words for words, below in _BRACKETS.items() if percent < below)


def _difference(now: GameRound) -> float:
    """Between the mean at the stop and that of all folds, in percent."""
    return difference_percent(now.moments[now.stop - 1].mean, now.moments[-1].mean)


def _picture(now: GameRound, shown: int) -> None:
    """The folds that have arrived; the stop once all have."""
    k, metric = now.k, metric_label(now.run.spec)
    stop = now.stop if shown == k else None
    frame = efold_frame(now.moments[:shown], stop)
    plot(
        lambda dark: larger(
            efold_figure(
                frame,
                k=k,
                metric=metric,
                stopped_at=stop,
                confidence=CONFIDENCE,
                dark=dark,
                height=_HEIGHT,
            ),
            FIGURE_1_SCALE,
        ),
        version=(now.number, now.run.run_id, shown),
        key="learn-predict",
        name=f"round {now.number}",
        alt=alt_text(frame, k=k, metric=metric, stopped_at=stop, title="A hidden run"),
    )


def _truth(now: GameRound) -> str:
    at, whole = now.moments[now.stop - 1], now.moments[-1].mean
    name = f"It was **{run_title(now.run)}**."
    if now.stop == now.k:
        return f"{name} All {now.k} folds were used: nothing saved, and nothing lost."
    assert at.interval is not None
    holds = at.interval.low <= whole <= at.interval.high
    return (
        f"{name} The rule said {at.mean:.4f} after {now.stop} folds; the truth, the mean of all "
        f"{now.k}, is **{whole:.4f}**: a difference of **{_difference(now):.1f} "
        f"%**, and the interval {'holds' if holds else '**misses**'} it."
    )


def _game() -> Game:
    """The game that goes on, or a new one if there is none or the address asks for another."""
    asked = st.query_params.get(PARAMETER)
    game = st.session_state.get(_GAME)
    if isinstance(game, Game) and asked in (None, str(game.number)):
        st.query_params[PARAMETER] = str(game.number)
        return game
    number, warning = _round_number(asked)
    new = Game(number=number, warning=warning)
    st.session_state[_GAME] = new
    st.query_params[PARAMETER] = str(number)
    return new


def _round_number(asked: str | None) -> tuple[int, str]:
    """The round that the address asks for, else any; and what was wrong with the address."""
    if asked is not None and asked.isdecimal() and 1 <= int(asked) <= MAX_ROUND:
        return int(asked), ""
    anyone = randbelow(MAX_ROUND) + 1
    if asked is None:
        return anyone, ""
    return anyone, (
        f"Rounds are numbered from 1 to {MAX_ROUND}, but the address asks for "
        f"'{escaped(asked)}'; this is round {anyone}."
    )


def _next_round() -> None:
    game: Game = st.session_state[_GAME]
    game.number = game.number % MAX_ROUND + 1
    game.told, game.warning = "", ""
    st.session_state[_STOP] = st.session_state[_OFF] = None
    st.query_params[PARAMETER] = str(game.number)
