"""A selection as plain JSON values, and as the sentence that people read."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ecv_core.records import Scores
from ecv_core.selection.replay import OverOrders, Played
from ecv_core.selection.rounds import Gap, Round, Terms, Verdict


def selection_document(
    contenders: Sequence[Scores], terms: Terms, metric: str | None, played: Played
) -> dict[str, Any]:
    """What `select --json` writes of one selection; see the command line's contract.

    `difference` is that of a contender to the leader, contender minus leader, on the folds that
    both have run; an end of its interval is null where it cannot be known yet.
    """
    names = [one.name for one in contenders]
    verdict = played.verdict
    pairs = [[names[one], names[other]] for one, other in verdict.ties]
    return {
        "contenders": names,
        "k": terms.k,
        "metric": metric,
        "confidence": terms.confidence,
        "indifference": terms.indifference,
        "until": terms.until,
        "winner": names[verdict.winner],
        "tied": [names[one] for one in verdict.tied] if terms.until == "winner" else pairs,
        "order": [names[one] for one in verdict.order],
        "folds_used": dict(zip(names, played.folds_used, strict=True)),
        "rounds": [_round(one, names, terms) for one in played.rounds],
        "joules": played.joules,
        "joules_of_all_folds": played.joules_of_all_folds,
    }


def orders_document(over: OverOrders) -> dict[str, Any]:
    """What `select --orders --json` writes instead of one selection's rounds."""
    return {
        "orders": over.orders,
        "folds_share": over.folds_share,
        "joules_share": over.joules_share,
        "right": over.right,
        "mean_loss_percent": over.mean_loss_percent,
        "p95_loss_percent": over.p95_loss_percent,
    }


def _round(one: Round, names: Sequence[str], terms: Terms) -> dict[str, Any]:
    sign = -1.0 if terms.higher_is_better else 1.0

    def ends(gap: Gap) -> list[float | None]:
        low, high = sorted((sign * gap.low, sign * gap.high))
        return [end if math.isfinite(end) else None for end in (low, high)]

    return {
        "fold": one.fold,
        "leader": names[one.leader],
        "differences": {
            names[place]: {"difference": sign * gap.behind, "interval": ends(gap)}
            for place, gap in one.gaps.items()
        },
        "dropped": [names[place] for place in one.dropped],
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
    """
    winner, where = names[verdict.winner], f" on {on}" if on else ""
    last = rounds[-1]
    if not last.decided:
        rest = len(last.left) - 1
        return (
            f"{names[last.leader]} leads{where} after {folds_text(last.n)}; "
            f"{rest} other{'s' if rest != 1 else ''} can still win.{_nearest(names, last, mean)}"
        )
    if verdict.tied:
        others = listed([names[one] for one in verdict.tied])
        if last.n == terms.k:
            return (
                f"No difference found between {winner} and {others}{where}: all {terms.k} folds "
                f"are used; {winner} has the best mean."
            )
        return (
            f"{winner}, or as good as it {others}{where}: decided after {folds_text(last.n)}; "
            f"whichever is taken, at most {_percent(terms.indifference)} of the mean is lost."
        )
    cost = f"{_percent(sum(folds_used) / len(folds_used) / terms.k)} of all folds"
    if energy is not None:
        cost = f"{_percent(energy)} of the energy"
    text = (
        f"{winner} is best{where}: decided after {folds_text(last.n)}"
        f"{' each' if len(set(folds_used)) == 1 else ''}, {cost}"
    )
    if (behind := _next(rounds, verdict)) is None or not mean:
        return text + "."
    place, gap = behind
    low, high = (100 * max(end, 0.0) / abs(mean) for end in (gap.low, gap.high))
    return (
        f"{text}; {names[place]}, the next, is {low:.1f} to {high:.1f} % behind."
        if math.isfinite(high)
        else f"{text}; {names[place]} is next."
    )


def _nearest(names: Sequence[str], last: Round, mean: float) -> str:
    """Who can come nearest to the leader, with its interval; empty where none is known."""
    gaps = [(gap, place) for place, gap in last.gaps.items() if place in last.left]
    if not gaps or not mean:
        return ""
    gap, place = min(gaps, key=lambda one: (one[0].low, one[1]))
    if not math.isfinite(gap.low):
        return ""
    low, high = (100 * end / abs(mean) for end in (gap.low, gap.high))
    return f" {names[place]} may be {side_of(low)} to {side_of(high)}."


def side_of(percent: float) -> str:
    """'3.1 % behind', or '0.4 % ahead' for a negative number."""
    size = abs(percent)
    text = f"{size:.1f}" if size >= 0.1 or not size else f"{size:.1g}"
    return f"{text} % {'behind' if percent >= 0 else 'ahead'}"


def _next(rounds: Sequence[Round], verdict: Verdict) -> tuple[int, Gap] | None:
    """Who is second, with its last gap to the winner."""
    place = next(one for one in verdict.order if one != verdict.winner)
    for one in reversed(rounds):
        if one.leader == verdict.winner and place in one.gaps:
            return place, one.gaps[place]
    return None


def folds_text(n: int) -> str:
    """'1 fold', '2 folds'."""
    return f"{n} fold{'s' if n != 1 else ''}"


def _percent(share: float) -> str:
    return f"{100 * share:.3g} %"


def listed(names: Sequence[str]) -> str:
    """'A', 'A and B', 'A, B and C'."""
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
