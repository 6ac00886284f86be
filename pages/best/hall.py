"""The hall bets by phone on who wins a race of contenders, before it is seen."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from enum import Enum

import streamlit as st

from ecv_core.figures.report.race import ContenderRace
from ecv_core.figures.words import counted
from pages.shared.live.phones import ask_phones, lecture, tell_phones
from pages.shared.live.state import escaped

_BETS = "race-bets"
"""In the session: the bets of its lecture on the race that it shows."""


class Stage(Enum):
    """How far the bets on a race are."""

    OPEN = "phones bet, and nothing of the race is seen"
    RACING = "bets are closed, and the race is seen without its answer"
    TOLD = "phones know whether they were right"


@dataclass(kw_only=True)
class RaceBets:
    """The bets of one lecture on one race; they end with the lecturer's visit."""

    lecture_and_race: Hashable
    question_number: int = 1
    """How many times the race was put to the phones: each time is a new question to them."""
    stage: Stage = Stage.OPEN
    contender_of_phone: Mapping[int, str] = field(default_factory=dict)
    """Number of a phone -> the title of the contender it bet on; empty until bets are closed."""


def bets_on(race: ContenderRace) -> RaceBets | None:
    """The bets of this lecture on a race; None where phones do not follow, or nobody is to bet."""
    room = lecture()
    if room is None:
        return None
    lecture_and_race = (room.code, *race.titles)
    bets: RaceBets | None = st.session_state.get(_BETS)
    if bets is None or bets.lecture_and_race != lecture_and_race:
        bets = RaceBets(lecture_and_race=lecture_and_race)
        st.session_state[_BETS] = bets
    return bets


def options_of(race: ContenderRace) -> list[str]:
    """What one may bet on: the contenders by the alphabet, as their order gives nothing away."""
    return sorted(race.titles, key=str.casefold)


def draw_bets(race: ContenderRace, bets: RaceBets) -> None:
    """The question, then what the hall has bet, at last how many were right; with the next step."""
    with st.container(key="presented-bets"):
        match bets.stage:
            case Stage.OPEN:
                _draw_question(race, bets)
            case Stage.RACING:
                _draw_closed(race, bets)
            case Stage.TOLD:
                _draw_outcome(race, bets)


def _draw_question(race: ContenderRace, bets: RaceBets) -> None:
    question = "Who wins?"
    if race.title_of_dataset:
        question = f"Who wins on {race.title_of_dataset}?"
    ask_phones(bets.question_number, [(question, options_of(race))])
    st.markdown(
        f"**Who wins?** Bet by phone on one of {counted(len(race.titles), 'contender')}: "
        f"{escaped(', '.join(options_of(race)))}."
    )
    st.button(
        "Close the bets and race",
        icon=":material/flag:",
        type="primary",
        key="bets-close",
        on_click=_close_bets,
        args=(race, bets),
        shortcut="B",
    )


def _draw_closed(race: ContenderRace, bets: RaceBets) -> None:
    words = {}
    for phone, contender in bets.contender_of_phone.items():
        words[phone] = f"You bet on {contender}. The race is on."
    tell_phones(words, "The bets are closed. The race is on.")
    st.markdown(hall_words(bets))
    st.button(
        "Show who was right",
        icon=":material/how_to_reg:",
        type="primary",
        key="bets-tell",
        on_click=_tell_outcome,
        args=(bets,),
        disabled=not race.decided,
        shortcut="B",
    )


def _draw_outcome(race: ContenderRace, bets: RaceBets) -> None:
    winner = race.titles[race.leader]
    words = {}
    for phone, contender in bets.contender_of_phone.items():
        verdict = "not this time"
        if contender == winner:
            verdict = "right"
        words[phone] = f"You bet on {contender}: {verdict}. {winner} wins."
    tell_phones(words, f"{winner} wins. You did not bet.")
    st.markdown(f"{hall_words(bets)} {escaped(right_bets_words(race, bets))}")
    st.button("Bet again", key="bets-again", type="tertiary", on_click=_begin_anew, args=(bets,))


def hall_words(bets: RaceBets) -> str:
    """How many phones have bet on each contender, the favourite first, as Markdown."""
    contenders = Counter(bets.contender_of_phone.values())
    if not contenders:
        return "**The hall** did not bet."
    parts = []
    for contender, count in contenders.most_common():
        parts.append(f"{escaped(contender)} **{count}**")
    return f"**The hall** ({counted(contenders.total(), 'bet')}): {', '.join(parts)}."


def right_bets_words(race: ContenderRace, bets: RaceBets) -> str:
    """How many bets were right; empty where nobody has bet."""
    contenders = list(bets.contender_of_phone.values())
    if not contenders:
        return ""
    winner = race.titles[race.leader]
    right = contenders.count(winner)
    return f"{winner} wins: {right} of {counted(len(contenders), 'bet')} right."


def _close_bets(race: ContenderRace, bets: RaceBets) -> None:
    """Take the bets as they are; the race is then seen from its start."""
    room = lecture()
    options = options_of(race)
    contender_of_phone = {}
    if room is not None:
        for phone, (option,) in room.bets.items():  # the question has one part: who will win
            contender_of_phone[phone] = options[option]
    bets.contender_of_phone = contender_of_phone
    bets.stage = Stage.RACING
    st.query_params.pop("fold", None)  # so that the race begins at its first round


def _tell_outcome(bets: RaceBets) -> None:
    bets.stage = Stage.TOLD


def _begin_anew(bets: RaceBets) -> None:
    bets.question_number += 1
    bets.stage = Stage.OPEN
    bets.contender_of_phone = {}
