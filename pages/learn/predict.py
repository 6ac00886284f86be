"""Chapter 11: a hidden run's first folds; one bets on its stop and its mean, and is told."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from secrets import randbelow
from typing import NamedTuple

import streamlit as st

from ecv_core.figures.words import alpha_text, counted, run_title
from ecv_core.records.parameters import percent_text, score_text
from pages.learn.material.recorded_runs import (
    FIRST_STOP,
    MAX_ROUND,
    GameRound,
    complete_runs,
    round_of,
)
from pages.learn.parts import draw_figure_1
from pages.shared.live.classroom import Room
from pages.shared.live.phones import ask_phones, lecture, tell_phones
from pages.shared.live.state import escaped

PARAMETER = "round"
_GAME = "learn-game"
MOST_POINTS = 3
"""Points of a round: two for the fold of the stop, one for a fold beside it, one for the mean."""


_STOP_QUESTION = "The rule stops after fold"
_STOP_BET = "learn-bet-stop"
_DIFFERENCE_BET = "learn-bet-off"
"""Keys of the two bets."""
_BRACKETS = {"below 0.5 %": 0.5, "0.5 to 1 %": 1.0, "1 to 2 %": 2.0, "2 % or more": math.inf}
"""What one can bet on -> the percentage that the difference is below."""


class Bet(NamedTuple):
    """What one bets in a round."""

    stop: int
    """The fold after which the rule stops."""
    bracket: str
    """How far the mean is then from that of all folds; one of _BRACKETS."""


@dataclass(kw_only=True)
class Game:
    """One visitor's game; it ends with the visit, the round's number is in the address."""

    number: int
    points: int = 0
    rounds: int = 0
    """Those that are over."""
    outcome: str = ""
    """What became of this round's bet; empty before it."""
    warning: str = ""
    bet_of_phone: Mapping[int, Bet] = field(default_factory=dict)
    """Number of a phone that follows this lecture -> its bet, as it was at the lecturer's."""


def show() -> None:
    """The folds so far and the bet, or all of them and what became of it."""
    game = _open_game()
    if game.warning:
        st.warning(game.warning, icon=":material/link_off:")
    game_round = round_of(complete_runs(), game.number)
    if game.outcome:
        with st.container(horizontal=True, vertical_alignment="center"):
            st.button(
                "Next round",
                icon=":material/skip_next:",
                type="primary",
                key="learn-next-round",
                on_click=_begin_next_round,
                shortcut="N",
            )
            st.markdown(f"**{game.points} of {MOST_POINTS * game.rounds}** points")
        st.markdown(f"{game.outcome} {_truth_words(game_round)}")
        if game.bet_of_phone:
            _show_hall(game_round, game.bet_of_phone)
        _draw_picture(game_round, folds=game_round.k, stopped_at=game_round.stop)
    else:
        _ask_bets(game_round)
        _draw_picture(game_round, folds=FIRST_STOP, stopped_at=None)
    st.caption(
        f"Round {game_round.number}: a recorded run, its folds in random order. Its name comes at "
        f"the end. The rule stops with alpha {alpha_text(game_round.alpha)}."
    )


def _ask_bets(game_round: GameRound) -> None:
    """The two bets."""
    k = game_round.k
    with st.container(horizontal=True, vertical_alignment="bottom", key="learn-bet"):
        stop = st.segmented_control(_STOP_QUESTION, _stops(k), key=_STOP_BET)
        difference = st.segmented_control(
            _difference_question(k), list(_BRACKETS), key=_DIFFERENCE_BET, wrap=True
        )
        st.button(
            "Bet",
            type="primary",
            icon=":material/casino:",
            key="learn-bet-placed",
            on_click=_count_bet,
            args=(game_round,),
            disabled=stop is None or difference is None,
            shortcut="B",
        )
    if lecture() is not None:
        folds = list(map(str, _stops(k)))
        parts = [(_STOP_QUESTION, folds), (_difference_question(k), list(_BRACKETS))]
        ask_phones(game_round.number, parts)


def _stops(k: int) -> range:
    """The folds after which a round can stop."""
    return range(FIRST_STOP, k + 1)


def _difference_question(k: int) -> str:
    return f"Its mean then differs from that of all {k} by"


def _count_bet(game_round: GameRound) -> None:
    """Count a bet; a second click on the same button comes too late."""
    game: Game = st.session_state[_GAME]
    stop = st.session_state.get(_STOP_BET)
    bracket = st.session_state.get(_DIFFERENCE_BET)
    # A second click may come when the round has its outcome already, or when the next one is open.
    if game.outcome or game.number != game_round.number or stop is None or bracket is None:
        return
    bettor = "You"
    game.bet_of_phone = {}
    room = lecture()
    if room is not None:
        bettor = "The lecturer"
        game.bet_of_phone = _bets_of_phones(room, game_round.k)
    verdict = ":red[**wrong**]"
    if bracket == bracket_of(game_round.difference_percent):
        verdict = ":green[**right**]"
    points = points_of(Bet(stop, bracket), game_round)
    game.points += points
    game.rounds += 1
    game.warning = ""
    game.outcome = (
        f"{bettor} bet on fold **{stop}**, and the rule stopped after fold **{game_round.stop}**; "
        f"on {bracket}, which is {verdict}: **{points} of {MOST_POINTS} points**."
    )


def _bets_of_phones(room: Room, k: int) -> dict[int, Bet]:
    """Number of a phone -> its bet; phones say the place of an option in each question."""
    stops = _stops(k)
    brackets = list(_BRACKETS)
    bets = {}
    # A phone sends, for each of the two questions, the number of the answer that was picked.
    for phone, (stop_number, bracket_number) in room.bets.items():
        bets[phone] = Bet(stops[stop_number], brackets[bracket_number])
    return bets


def points_of(bet: Bet, game_round: GameRound) -> int:
    """Two for the fold of the stop, one for a fold beside it, one for the mean."""
    points = max(2 - abs(bet.stop - game_round.stop), 0)
    if bet.bracket == bracket_of(game_round.difference_percent):
        points += 1
    return points


def _show_hall(game_round: GameRound, bet_of_phone: Mapping[int, Bet]) -> None:
    """How the hall bet and who was nearest; each phone is told its own points.

    Args:
        game_round: The round.
        bet_of_phone: Number of a phone -> its bet; at least one.
    """
    bets_on_fold: Counter[int] = Counter()
    bets_on_bracket: Counter[str] = Counter()
    points_of_phone = {}
    outcomes = {}
    for phone, bet in bet_of_phone.items():
        bets_on_fold[bet.stop] += 1
        bets_on_bracket[bet.bracket] += 1
        points_of_phone[phone] = points_of(bet, game_round)
        outcomes[phone] = (
            f"You bet on fold {bet.stop} and {bet.bracket}: {points_of_phone[phone]} of "
            f"{MOST_POINTS} points. The rule stopped after fold {game_round.stop}, off by "
            f"{percent_text(game_round.difference_percent / 100, '.1f')}."
        )
    st.markdown(_nearest_words(points_of_phone))
    fold_words = [f"fold {stop}: **{bets_on_fold[stop]}**" for stop in sorted(bets_on_fold)]
    bracket_words = []
    for bracket in _BRACKETS:  # the brackets are listed from the smallest difference on
        if bracket in bets_on_bracket:
            bracket_words.append(f"{bracket}: **{bets_on_bracket[bracket]}**")
    st.markdown(f"Bets on {', '.join(fold_words)}; on {', '.join(bracket_words)}.")
    tell_phones(outcomes, f"The rule stopped after fold {game_round.stop}. You did not bet.")


def _nearest_words(points_of_phone: Mapping[int, int]) -> str:
    """Which phones have the most points, as Markdown.

    Args:
        points_of_phone: Number of a phone -> its points.
    """
    most = max(points_of_phone.values())
    nearest = []
    for phone in sorted(points_of_phone):
        if points_of_phone[phone] == most:
            nearest.append(str(phone))
    noun = "phone"
    if len(nearest) > 1:
        noun = "phones"
    return (
        f"**The hall** ({counted(len(points_of_phone), 'bet')}): nearest with {most} of "
        f"{MOST_POINTS} points {noun} **{', '.join(nearest)}**."
    )


def bracket_of(percent: float) -> str:
    """What one had to bet on for this difference."""
    return next(words for words, below in _BRACKETS.items() if percent < below)


def _draw_picture(game_round: GameRound, *, folds: int, stopped_at: int | None) -> None:
    """The first folds, with the stop where it is known."""
    alpha = alpha_text(game_round.alpha)
    sentence = f"After which fold does the rule stop with alpha {alpha}?"
    if stopped_at is not None:
        sentence = f"With alpha {alpha}, the rule stopped after fold {stopped_at}."
    draw_figure_1(
        game_round.moments[:folds],
        game_round.run,
        chapter="predict",
        sentence=sentence,
        stopped_at=stopped_at,
        title="A hidden run",
        cache_key=(game_round.number, game_round.run.run_id, folds),
        key="learn-predict",
        name=f"round {game_round.number}",
    )


def _truth_words(game_round: GameRound) -> str:
    """Which run it was, and how right its rule was."""
    k = game_round.k
    stop = game_round.stop
    name = f"It was **{run_title(game_round.run)}**."
    if stop == k:
        return f"{name} All {k} folds were used: nothing saved, and nothing lost."
    at_stop = game_round.at_stop
    k_fold_mean = game_round.k_fold_mean
    assert at_stop.interval is not None  # rounds stop after three folds at the earliest
    interval = "the interval **misses** it"
    if at_stop.interval.low <= k_fold_mean <= at_stop.interval.high:
        interval = "the interval holds it"
    return (
        f"{name} The rule said {score_text(at_stop.mean)} after {stop} folds; the truth, the mean "
        f"of all {k}, is **{score_text(k_fold_mean)}**: a difference of "
        f"**{percent_text(game_round.difference_percent / 100, '.1f')}**, and {interval}."
    )


def _open_game() -> Game:
    """The game that goes on, or a new one if there is none or the address asks for another."""
    asked_round = st.query_params.get(PARAMETER)
    game = st.session_state.get(_GAME)
    if not isinstance(game, Game) or asked_round not in (None, str(game.number)):
        game = _new_game(asked_round)
        st.session_state[_GAME] = game
    st.query_params[PARAMETER] = str(game.number)
    return game


def _new_game(asked_round: str | None) -> Game:
    """A game that begins with the round that the address asks for, else with any."""
    game = Game(number=randbelow(MAX_ROUND) + 1)
    if asked_round is None:
        return game
    if asked_round.isdecimal() and 1 <= int(asked_round) <= MAX_ROUND:
        return Game(number=int(asked_round))
    game.warning = (
        f"Rounds are numbered from 1 to {MAX_ROUND}, but the address asks for "
        f"'{escaped(asked_round)}'; this is round {game.number}."
    )
    return game


def _begin_next_round() -> None:
    game: Game = st.session_state[_GAME]
    game.number = game.number % MAX_ROUND + 1  # After the last round comes the first one.
    game.outcome = ""
    game.warning = ""
    game.bet_of_phone = {}
    st.session_state[_STOP_BET] = None
    st.session_state[_DIFFERENCE_BET] = None
    st.query_params[PARAMETER] = str(game.number)
