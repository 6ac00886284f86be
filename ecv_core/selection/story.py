"""A selection -> what is told of it: a row per round and contender, a sentence per round."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ecv_core.records import Scores
from ecv_core.selection.document import folds_text, listed, side_of
from ecv_core.selection.rounds import Round, Terms, Verdict

if TYPE_CHECKING:
    import pandas as pd

STATES = ("waiting", "leader", "in", "tied", "behind", "out", "placed")
"""Not run yet; the best so far; can still win; no difference to the winner was found; all folds are
used and it is behind; cannot win any more; its place in the ranking is known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """What a selection has taken after some rounds, and what all folds would."""

    folds: int
    all_folds: int
    joules: float | None
    all_joules: float | None

    @property
    def share(self) -> float:
        """Of the energy; of the folds where it is not known."""
        if self.joules is None or not self.all_joules:
            return self.folds / self.all_folds
        return self.joules / self.all_joules


def lanes(
    contenders: Sequence[Scores],
    titles: Sequence[str],
    terms: Terms,
    rounds: Sequence[Round],
    verdict: Verdict | None = None,
) -> pd.DataFrame:
    """One row per step and contender: how far behind the leader it is, and why it is out.

    Args:
        contenders: with at least the folds of the rounds.
        titles: of the contenders, as people read them.
        terms: of the selection.
        rounds: so far, in their order; step n is after the n-th, step 0 before the first.
        verdict: once it is decided.
    Returns: step, contender (title), state (one of STATES), folds (that it has run), behind, low
        and high (percent of the leader's mean: difference and interval; NaN where there is none
        and infinite where an end is not known), says (a few words). Whoever is out keeps its last
        interval. Lanes come in the order of the last step, best first.
    """
    import pandas as pd

    now = [_Lane() for _ in contenders]
    rows: list[tuple[int, int, _Lane]] = [(0, place, lane) for place, lane in enumerate(now)]
    for step in range(1, len(rounds) + 1):
        known = verdict if rounds[step - 1].decided else None
        now = _after(now, contenders, titles, terms, rounds[:step], known)
        rows += [(step, place, lane) for place, lane in enumerate(now)]
    order = sorted(range(len(contenders)), key=lambda place: _rank(now[place], place))
    at = {place: rank for rank, place in enumerate(order)}
    rows.sort(key=lambda row: (row[0], at[row[1]]))
    return pd.DataFrame(
        {
            "step": [step for step, _, _ in rows],
            "contender": [titles[place] for _, place, _ in rows],
            "state": [lane.state for _, _, lane in rows],
            "folds": [lane.folds for _, _, lane in rows],
            "behind": [lane.behind for _, _, lane in rows],
            "low": [lane.low for _, _, lane in rows],
            "high": [lane.high for _, _, lane in rows],
            "says": [lane.says for _, _, lane in rows],
        }
    )


def costs(
    contenders: Sequence[Scores], rounds: Sequence[Round], all_joules: float | None
) -> list[Cost]:
    """What each step has taken, from step 0 on.

    Args:
        contenders: with at least the folds of the rounds.
        rounds: so far.
        all_joules: of all folds of all contenders; None where it is not known.
    """
    k = contenders[0].k
    folds, joules = 0, 0.0
    found = [(folds, joules)]
    for one in rounds:
        ran = [one.leader, *one.gaps]
        folds += len(ran)
        joules += sum(float(contenders[place].fold_joules[one.fold]) for place in ran)
        found.append((folds, joules))
    known = all_joules is not None and not math.isnan(found[-1][1])
    return [
        Cost(
            folds=folds,
            all_folds=k * len(contenders),
            joules=joules if known else None,
            all_joules=all_joules if known else None,
        )
        for folds, joules in found
    ]


def step_sentences(titles: Sequence[str], terms: Terms, rounds: Sequence[Round]) -> list[str]:
    """What happened in each round, from step 0 on.

    Args:
        titles: of the contenders.
        terms: of the selection.
        rounds: so far.
    """
    said = [f"{len(titles)} contenders, {terms.k} folds: everybody runs the first fold."]
    before = set(range(len(titles)))
    for one in rounds:
        gone = [titles[place] for place in sorted(before - set(one.left))]
        text = f"After {folds_text(one.n)}, {titles[one.leader]} leads"
        if gone and terms.until == "winner":
            text += f"; {listed(gone)} {'is' if len(gone) == 1 else 'are'} out"
        elif gone:
            text += f"; the place of {listed(gone)} is known"
        rest = len([place for place in one.left if place != one.leader])
        if one.decided:
            text += ". All folds are used." if one.n == terms.k else ". That decides it."
        elif terms.until == "winner":
            text += f". {rest} other{'s' if rest != 1 else ''} can still win."
        else:
            text += f". {len(one.left)} still have to be told apart."
        said.append(text)
        before = set(one.left)
    return said


@dataclass(frozen=True, slots=True, kw_only=True)
class _Lane:
    state: str = "waiting"
    folds: int = 0
    behind: float = math.nan
    low: float = math.nan
    high: float = math.nan
    says: str = "has not run yet"


def _after(
    before: Sequence[_Lane],
    contenders: Sequence[Scores],
    titles: Sequence[str],
    terms: Terms,
    rounds: Sequence[Round],
    verdict: Verdict | None,
) -> list[_Lane]:
    """The lanes after the last of these rounds; `verdict` if it decided the selection."""
    one = rounds[-1]
    leader = titles[one.leader]
    mean = abs(float(contenders[one.leader].folds[[each.fold for each in rounds]].mean()))
    found = []
    for place, lane in enumerate(before):
        if place == one.leader:
            says = "leads" if verdict is None else "is best"
            found.append(
                _Lane(state="leader", folds=one.n, behind=0.0, low=0.0, high=0.0, says=says)
            )
        elif place in one.gaps:
            gap = one.gaps[place]
            behind, low, high = (
                100 * part / mean if mean else math.nan for part in (gap.behind, gap.low, gap.high)
            )
            new = _Lane(folds=one.n, behind=behind, low=low, high=high)
            state, says = _state(place, new, one, terms, verdict, leader)
            found.append(replace(new, state=state, says=says))
        elif lane.state in ("out", "placed", "leader"):
            found.append(lane)
        else:  # spared the fold: what others have shown in it is enough
            says = f"out before its fold {one.n}: cannot catch {leader} any more"
            found.append(replace(lane, state="out", says=says))
    return found


def _state(
    place: int, lane: _Lane, one: Round, terms: Terms, verdict: Verdict | None, leader: str
) -> tuple[str, str]:
    after = folds_text(one.n)
    if verdict is not None and any({place, verdict.winner} == set(pair) for pair in verdict.ties):
        found = f"no difference to {leader} found over all folds"
        if one.n < terms.k:
            found = f"within the indifference of {leader}"
        return "tied", found
    if verdict is not None and one.n == terms.k:
        return "behind", f"{side_of(lane.behind)}, all folds used"
    if place in one.dropped and terms.until == "order":
        return "placed", f"its place is known after {after}"
    if place in one.dropped:
        return "out", f"out after {after}: at least {side_of(lane.low)}"
    if math.isinf(lane.high):
        return "in", f"{side_of(lane.behind)} so far; how sure, the next fold says"
    return "in", f"{side_of(lane.low)} to {side_of(lane.high)}"


def _rank(lane: _Lane, place: int) -> tuple[int, float, int]:
    """Best first, by how far behind each was last."""
    if lane.state == "leader":
        return (0, 0.0, place)
    return (1, math.inf if math.isnan(lane.behind) else lane.behind, place)
