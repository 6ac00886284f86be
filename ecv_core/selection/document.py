"""A selection as plain JSON values, and as the sentence that people read."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

from ecv_core.records.parameters import listed, percent_text
from ecv_core.records.run import Scores
from ecv_core.selection.replay import OverOrders, Played
from ecv_core.selection.rounds import Gap, Round, Terms, Verdict

if TYPE_CHECKING:
    import pandas as pd


_NAMED = 3
"""More contenders of whom no difference is shown are counted, not named."""
_WORTH_SAYING = 0.0005
"""A smaller share of the winner's score is not said to be luck."""


def selection_document(
    contenders: Sequence[Scores], terms: Terms, metric: str | None, played: Played
) -> dict[str, Any]:
    """What `select --json` writes of one selection; see the command line's contract.

    `difference` is that of a contender to the leader, contender minus leader, on the folds that
    both have run; an end of its interval is null where it cannot be known yet.
    """
    names = [one.name for one in contenders]
    verdict, last = played.verdict, played.rounds[-1]
    mean = winner_mean(contenders[verdict.winner], played.rounds, verdict.winner)
    pairs = [[names[one], names[other]] for one, other in verdict.ties]
    return {
        "contenders": names,
        "k": terms.k,
        "metric": metric,
        "confidence": terms.confidence,
        "indifference": terms.indifference,
        "until": terms.until,
        "asked": "certain" if terms.certain else "expected_loss",
        "expected_loss": None if terms.certain else _finite(last.expected_loss),
        "expected_loss_asked": terms.expected_loss,
        "budget": terms.budget and {"amount": terms.budget.amount, "unit": terms.budget.unit},
        "spent": played.spent,
        "winner": names[verdict.winner],
        "winner_mean": mean,
        "winner_mean_corrected": mean - verdict.optimism * (1 if terms.higher_is_better else -1),
        "shown_worse": {
            names[one]: one in verdict.worse for one in verdict.order if one != verdict.winner
        },
        "tied": [names[one] for one in verdict.tied] if terms.until == "winner" else pairs,
        "order": [names[one] for one in verdict.order],
        "folds_used": dict(zip(names, played.folds_used, strict=True)),
        "rounds": [_round(one, names, terms) for one in played.rounds],
        "joules": played.joules,
        "joules_of_all_folds": played.joules_of_all_folds,
        "methods": methods_sentence(names, terms, played),
    }


def methods_sentence(names: Sequence[str], terms: Terms, played: Played) -> str:
    """What a paper may say of a selection: which question was asked, what was found, what not.

    Args:
        names: of the contenders, as people read them.
        terms: of the selection.
        played: to its end.
    """
    verdict, k = played.verdict, terms.k
    sure = f"with {percent_text(terms.confidence)} confidence for all looks together"
    if terms.until == "order":
        asked = f"the place of every contender by the mean of all {k} folds was known {sure}"
    elif terms.certain:
        asked = f"no other contender could have the best mean of all {k} folds, {sure}"
        if terms.indifference:
            asked += f", or differed by at most {percent_text(terms.indifference)} of it"
    elif terms.expected_loss is not None:
        asked = (
            "the loss expected by taking the leader was at most "
            f"{percent_text(terms.expected_loss)} of its {k}-fold mean (opportunity cost, "
            "Chick and Inoue 2001)"
        )
    else:
        asked = "the expected loss was to be lowest"
    within = f", within a budget of {terms.budget.text}" if terms.budget else ""
    worse = [names[one] for one in verdict.order if one in verdict.worse]
    alike = [names[one] for one in verdict.order if one not in (*verdict.worse, verdict.winner)]
    claim = (
        f"On new data {listed(worse)} {'is' if len(worse) == 1 else 'are'} worse. " if worse else ""
    )
    if alike:
        claim += f"No difference on new data is claimed to {listed(alike)}. "
    question = "which contender is best" if terms.certain else "which contender to use"
    return (
        f"We asked {question}: {len(names)} contenders were evaluated on the same folds, each "
        f"until {asked}{within} ({sum(played.folds_used)} of {k * len(names)} folds). "
        f"{names[verdict.winner]} was chosen. {claim}".strip()
    )


def winner_mean(winner: Scores, rounds: Sequence[Round], place: int) -> float:
    """The mean of the folds that a contender ran; rounds are those of the selection."""
    return float(
        winner.folds[[fold for one in rounds for who, fold in one.ran if who == place]].mean()
    )


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def orders_document(over: OverOrders) -> dict[str, Any]:
    """What `select --orders --json` writes instead of one selection's rounds."""
    told = ("orders", "folds_share", "joules_share", "right", "mean_loss_percent")
    return {name: getattr(over, name) for name in (*told, "p95_loss_percent")}


def _round(one: Round, names: Sequence[str], terms: Terms) -> dict[str, Any]:
    sign = -1.0 if terms.higher_is_better else 1.0

    def ends(gap: Gap) -> list[float | None]:
        low, high = sorted((sign * gap.low, sign * gap.high))
        return [_finite(end) for end in (low, high)]

    return {
        "fold": one.fold,
        "leader": names[one.leader],
        "differences": {
            names[place]: {"difference": sign * gap.behind, "interval": ends(gap)}
            for place, gap in one.gaps.items()
        },
        "dropped": [names[place] for place in one.dropped],
        "ran": [[names[place], fold] for place, fold in one.ran],
        "expected_loss": _finite(one.expected_loss),
    }


def verdict_sentence(
    names: Sequence[str],
    terms: Terms,
    verdict: Verdict,
    rounds: Sequence[Round],
    folds_used: Sequence[int],
    *,
    mean: float,
    on: str = "",
    energy: float | None = None,
    brief: bool = False,
) -> str:
    """What a selection found, in a sentence or two.

    Args:
        names: of the contenders, as people read them.
        terms: of the selection.
        verdict: what it found.
        rounds: all of them, at least one.
        folds_used: by each contender.
        mean: of the winner, over the folds of the last round.
        on: where, such as 'ML-100K'; may be empty.
        energy: share of what all folds would take, where it is known.
        brief: whether to leave out who is shown to be worse, and how lucky the winner was.
    """
    winner, where = names[verdict.winner], f" on {on}" if on else ""
    last = rounds[-1]
    if not last.decided:
        count = len(last.left) - 1
        others = f"{count} other{'s' if count != 1 else ''}"
        still = f"{others} can still win" if terms.certain else f"{others} may be better"
        return f"{names[last.leader]} leads{where} after {folds_text(last.n)}; {still}."
    cost = f"{percent_text(sum(folds_used) / len(folds_used) / terms.k)} of all folds"
    if energy is not None:
        cost = f"{percent_text(energy)} of the energy"
    after = f"after {folds_text(last.n)}{' each' if len(set(folds_used)) == 1 else ''}, {cost}"
    rest = _behind(names, rounds, verdict, mean)
    if not brief:
        rest += _shown(names, verdict) + _lucky(verdict, mean)
    if not terms.certain:
        within = f" within {terms.budget.text}" if terms.budget else ""
        asked = f" ({percent_text(terms.expected_loss)} was asked)" if terms.expected_loss else ""
        return (
            f"Use {winner}{where}: the best that is found{within}. By taking it at most "
            f"{_loss(last.expected_loss)} of its score is expected to be lost{asked}. "
            f"Decided {after}{rest}"
            if math.isfinite(last.expected_loss)
            else f"Use {winner}{where}: the best that is found{within}; what may be lost by it is "
            f"not known, for not everybody could be compared. Decided {after}{rest}"
        )
    if verdict.tied:
        others = listed([names[one] for one in verdict.tied])
        if last.n == terms.k:
            level = listed([names[one] for one in (verdict.winner, *verdict.tied)])
            apart = tuple(one for one in verdict.order if one not in verdict.tied)
            out = _shown(names, replace(verdict, order=apart)) if apart[1:] and not brief else ""
            return (
                f"No difference found between {level}{where}: all {terms.k} folds are used; "
                f"{winner} has the best mean.{out}"
            )
        return (
            f"{winner}, or as good as it {others}{where}: decided after {folds_text(last.n)}; "
            f"whichever is taken, at most {percent_text(terms.indifference)} of the mean is lost."
        )
    return f"{winner} is best{where}: decided {after}{rest}"


def _behind(names: Sequence[str], rounds: Sequence[Round], verdict: Verdict, mean: float) -> str:
    """Who is second, with its last interval to the winner, and the full stop."""
    place = next(one for one in verdict.order if one != verdict.winner)
    gaps = [one.gaps[place] for one in rounds if one.leader == verdict.winner and place in one.gaps]
    if not gaps or not mean:
        return "."
    low, high = (100 * end / abs(mean) for end in (gaps[-1].low, gaps[-1].high))
    if not math.isfinite(high):
        return f"; {names[place]} is next."
    return f"; {names[place]}, the next, is {_sides(low, high)}."


def _shown(names: Sequence[str], verdict: Verdict) -> str:
    """Of whom it may be claimed that they are worse, and of whom not."""
    others = [one for one in verdict.order if one != verdict.winner]
    alike = [names[one] for one in others if one not in verdict.worse]
    if not alike:
        worse = "all others are" if others[1:] else f"{names[others[0]]} is"
        return f" It is shown on new data too that {worse} worse."
    rest = [names[one] for one in others if one in verdict.worse]
    who = f"{rest[0]} is" if len(rest) == 1 else "the others are"
    too = f"; {who} worse there too" if rest else ""
    some = listed(alike) if len(alike) <= _NAMED else f"{len(alike)} others"
    return f" No difference on new data is shown to {some}{too}."


def _lucky(verdict: Verdict, mean: float) -> str:
    """The winner's curse, where it is worth a word."""
    share = verdict.optimism / abs(mean) if mean else 0.0
    if share < _WORTH_SAYING:
        return ""
    corrected = mean - math.copysign(verdict.optimism, mean)
    return (
        f" Its score so far, {mean:.4f}, is expected to be {corrected:.4f} over all folds: "
        f"picked for being best, it was also lucky ({percent_text(share)})."
    )


def side_of(percent: float) -> str:
    """'3.1 % behind', or '0.4 % ahead' for a negative number."""
    size = abs(percent)
    text = f"{size:.1f}" if size >= 0.1 or not size else f"{size:.1g}"
    return f"{text} % {'behind' if percent >= 0 else 'ahead'}"


def _sides(low: float, high: float) -> str:
    """'8.8 to 21.5 % behind'; '1.1 % ahead to 8.1 % behind' where they differ."""
    first = side_of(low)
    if low == high:
        return first
    return f"{first if low < 0 <= high else first.split()[0]} to {side_of(high)}"


def folds_text(n: int) -> str:
    """'1 fold', '2 folds'."""
    return f"{n} fold{'s' if n != 1 else ''}"


def _loss(share: float) -> str:
    if not math.isfinite(share):
        return "not known yet"
    return f"{100 * share:.2g} %" if share >= 5e-6 or not share else "0.001 %"


# A selection -> what is told of it: a row per round and contender, a sentence per round.


STATES = ("waiting", "leader", "in", "tied", "behind", "out", "worse", "placed")
"""Not run yet; the best so far; can still win; no difference to the winner was found; all folds are
used and it is behind; cannot win here, or not by enough; shown to be worse on new data too; its
place in the ranking is known."""


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
    rows = [(0, place, lane) for place, lane in enumerate(now)]
    for step, one in enumerate(rounds, start=1):
        known = verdict if one.decided else None
        ran = [each.fold for each in rounds[:step]]
        mean = abs(float(contenders[one.leader].folds[ran].mean()))
        now = [
            _lane(lane, place, titles, terms, one, known, mean) for place, lane in enumerate(now)
        ]
        rows += [(step, place, lane) for place, lane in enumerate(now)]
    # Best first: the leader, then by how far behind each was last.
    far = [math.inf if math.isnan(lane.behind) else lane.behind for lane in now]
    rows.sort(key=lambda row: (row[0], now[row[1]].state != "leader", far[row[1]], row[1]))
    return pd.DataFrame(
        [{"step": step, "contender": titles[place], **asdict(lane)} for step, place, lane in rows]
    )


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
        back = [titles[place] for place in one.left if place not in before]
        if gone and terms.until == "winner":
            text += f"; {listed(gone)} {'is' if len(gone) == 1 else 'are'} out"
        elif gone:
            text += f"; the place of {listed(gone)} is known"
        if back:
            text += f"; {listed(back)} may win again, for folds differ more than it seemed"
        rest = len([place for place in one.left if place != one.leader])
        if one.decided:
            text += ". All folds are used." if one.n == terms.k else ". That decides it."
        elif terms.until == "winner":
            text += f". {rest} other{'s' if rest != 1 else ''} can still win."
            if not terms.certain:
                text += f" Expected loss: {_loss(one.expected_loss)}."
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


def _lane(
    before: _Lane,
    place: int,
    titles: Sequence[str],
    terms: Terms,
    one: Round,
    verdict: Verdict | None,
    mean: float,
) -> _Lane:
    """A contender's lane after a round; `mean` is the leader's, `verdict` if that decided it."""
    if place == one.leader:
        says = "leads" if verdict is None else f"is {'best' if terms.certain else 'the one to use'}"
        return _Lane(state="leader", folds=one.n, behind=0.0, low=0.0, high=0.0, says=says)
    lane = before
    if place in one.gaps and (place in one.left or before.state not in ("out", "placed")):
        gap = one.gaps[place]
        behind, low, high = (
            100 * part / mean if mean else math.nan for part in (gap.behind, gap.low, gap.high)
        )
        lane = _Lane(folds=gap.folds, behind=behind, low=low, high=high)
        state, says = _state(place, lane, one, terms, verdict, titles[one.leader])
        lane = replace(lane, state=state, says=says)
    if verdict is None or lane.state != "out":
        return lane
    if place in verdict.worse:
        return replace(lane, state="worse", says=f"{lane.says}; worse on new data too")
    return replace(lane, says=f"{lane.says}; no difference shown on new data")


def _state(
    place: int, lane: _Lane, one: Round, terms: Terms, verdict: Verdict | None, leader: str
) -> tuple[str, str]:
    after = folds_text(lane.folds)
    if verdict is not None and any({place, verdict.winner} == set(pair) for pair in verdict.ties):
        found = f"no difference to {leader} found over all folds"
        if one.n < terms.k:
            found = f"within the indifference of {leader}"
        return "tied", found
    if verdict is not None and lane.folds == terms.k:
        return "behind", f"{side_of(lane.behind)}, all folds used"
    if place in one.dropped and terms.until == "order":
        return "placed", f"its place is known after {after}"
    if place not in one.left:
        if terms.certain:
            return "out", f"out after {after}: at least {side_of(lane.low)}"
        return "out", f"passed over after {after}: {_sides(lane.low, lane.high)}"
    if math.isinf(lane.high):
        return "in", f"{side_of(lane.behind)} so far; how sure, the next fold says"
    return "in", _sides(lane.low, lane.high)
