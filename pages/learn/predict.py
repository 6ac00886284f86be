"""Chapter 9: folds of a hidden run arrive one by one; the audience votes, the rule decides."""

from __future__ import annotations

from dataclasses import dataclass
from secrets import randbelow

import streamlit as st

from ecv_core.figures.decisions import threshold_figure
from ecv_core.figures.efold import alt_text, efold_frame
from ecv_core.figures.efold_plot import efold_figure, larger
from ecv_core.figures.palette import FIGURE_1_SCALE
from ecv_core.figures.words import alpha_text, metric_label, run_title
from ecv_core.lessons.guide import CONFIDENCE, complete_runs
from ecv_core.lessons.rounds import FIRST_VOTE, MAX_ROUND, GameRound, round_of
from ecv_core.stopping.efold import least_alpha
from ecv_core.stopping.interval import difference_percent
from pages.learn.rule import products_frame, spec_of
from pages.shared.charts.plot import plot
from pages.shared.live.state import escaped

PARAMETER = "round"
_GAME = "learn-game"
_HEIGHT = 380


@dataclass(slots=True, kw_only=True)
class Game:
    """One visitor's game; it ends with the visit, the round's number is in the address."""

    number: int
    shown: int = FIRST_VOTE
    right: int = 0
    votes: int = 0
    rounds: int = 0
    last: str = ""
    """What became of the newest vote."""
    warning: str = ""


def show() -> None:
    """The picture so far, the vote, or the truth."""
    runs = complete_runs()
    game = _game()
    if game.warning:
        st.warning(game.warning, icon=":material/link_off:")
    now = round_of(runs, game.number)
    over = game.shown > now.stop
    with st.container(horizontal=True, vertical_alignment="center", key="learn-vote"):
        if over:
            st.button(
                "Next round",
                icon=":material/skip_next:",
                type="primary",
                key="learn-next-round",
                on_click=_next_round,
                shortcut="N",
            )
        else:
            for label, stops, icon, key in (
                ("It stops here", True, ":material/front_hand:", "S"),
                ("It goes on", False, ":material/double_arrow:", "G"),
            ):
                st.button(
                    label,
                    icon=icon,
                    type="primary",
                    key=f"learn-vote-{key}",
                    on_click=_vote,
                    args=(stops, game.shown, now),
                    shortcut=key,
                )
        st.markdown(_score(game))
    st.markdown(f"{game.last} {_truth(now)}" if over else _question(game, now))
    if over:
        _truth_picture(now)
    else:
        _picture(now, game.shown)
    st.caption(
        f"Round {now.number}: a recorded run, its folds in random order. Its name comes at the end."
    )


def _score(game: Game) -> str:
    if not game.votes:
        return "Show of hands, or alone. One point for every vote that is right."
    return f"**{game.right} of {game.votes}** votes right · round **{game.rounds + 1}**"


def _question(game: Game, now: GameRound) -> str:
    at, before = now.moments[game.shown - 1], now.moments[game.shown - 2]
    assert at.interval is not None
    assert before.interval is not None
    said = f"{game.last} " if game.last else ""
    return (
        f"{said}After fold **{at.n}** the interval is **{_two(at.interval.width)}** wide; its "
        f"change is {_two(abs(at.interval.width - before.interval.width))}. Is width x change at "
        f"most alpha, **{alpha_text(now.alpha)}**, so that the rule stops?"
    )


def _two(value: float) -> str:
    """Two significant digits, enough to multiply in the head: '0.018', '9e-5'."""
    return f"{float(f'{value:.1e}'):g}" if value >= 1e-4 else alpha_text(float(f"{value:.1e}"))


def _picture(now: GameRound, shown: int) -> None:
    """The products of the folds that were voted on, against alpha; the newest is the vote."""
    seen, text = now.moments[: shown - 1], alpha_text(now.alpha)
    plot(
        lambda dark: threshold_figure(
            seen,
            spec_of(now.run, now.alpha),
            dark=dark,
            height=_HEIGHT,
            # Around alpha, so that the axis gives nothing away of the folds to come.
            span=(now.alpha / 300, now.alpha * 300),
        ),
        version=(now.number, now.run.run_id, shown),
        key="learn-predict-vote",
        table=lambda: products_frame(seen),
        name=f"round {now.number}",
        alt=f"Interval width times its change after each fold before fold {shown}, on a "
        f"logarithmic scale, all above the line alpha {text}.",
    )


def _truth_picture(now: GameRound) -> None:
    k, metric = now.k, metric_label(now.run.spec)
    frame = efold_frame(now.moments, now.stop)
    plot(
        lambda dark: larger(
            efold_figure(
                frame,
                k=k,
                metric=metric,
                stopped_at=now.stop,
                confidence=CONFIDENCE,
                dark=dark,
                height=_HEIGHT,
            ),
            FIGURE_1_SCALE,
        ),
        version=(now.number, now.run.run_id),
        key="learn-predict",
        table=lambda: frame,
        name=f"round {now.number}",
        alt=alt_text(frame, k=k, metric=metric, stopped_at=now.stop, title="A hidden run"),
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
        f"{now.k}, is **{whole:.4f}**: a difference of **{difference_percent(at.mean, whole):.1f} "
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


def _vote(stops: bool, at: int, now: GameRound) -> None:
    """Count a vote on fold `at`; a second click on the same button comes too late."""
    game: Game = st.session_state[_GAME]
    if game.shown != at or game.number != now.number:
        return
    decided = at == now.stop
    game.votes += 1
    game.right += stops == decided
    game.warning = ""
    before, width = now.moments[at - 2].interval, now.moments[at - 1].interval
    assert before is not None
    assert width is not None
    product = alpha_text(float(f"{least_alpha(before.width, width.width):.1e}"))
    verdict = ":green[**Right.**]" if stops == decided else ":red[**Wrong.**]"
    if now.moments[at - 1].decision.stop:
        game.last = (
            f"{verdict} {product} is at most {alpha_text(now.alpha)}: the rule **stops after "
            f"fold {at}**."
        )
    else:
        game.last = (
            f"{verdict} {product} is above {alpha_text(now.alpha)}: the rule **goes on** after "
            f"fold {at}."
        )
    game.shown += 1
    if not decided and game.shown == now.k:
        # The last fold ends every run, so there is nothing left to vote on.
        game.last += f" Then all {now.k} folds are in, and that is the end."
        game.shown += 1


def _next_round() -> None:
    game: Game = st.session_state[_GAME]
    game.number = game.number % MAX_ROUND + 1
    game.shown, game.last, game.warning = FIRST_VOTE, "", ""
    game.rounds += 1
    st.query_params[PARAMETER] = str(game.number)
