"""A selection as plain JSON values, and as the sentences that people read."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

from ecv_core.records.errors import InputError
from ecv_core.records.parameters import counted, is_or_are, listed, percent_text, score_text
from ecv_core.records.run import Scores
from ecv_core.selection.replay import (
    ResultsOverOrders,
    SelectionResult,
    finite_or_none,
    folds_of,
    mean_so_far,
)
from ecv_core.selection.rounds import Gap, Round, Terms, Verdict
from ecv_core.stopping.new_data import NewDataInterval, new_data_interval

if TYPE_CHECKING:
    import pandas as pd


_MOST_NAMES = 3
"""More contenders of whom no difference is shown are counted, not named."""
_WORTH_SAYING = 0.0005
"""A smaller share of the winner's score is not said to be luck."""


def selection_document(
    contenders: Sequence[Scores], terms: Terms, metric: str | None, result: SelectionResult
) -> dict[str, Any]:
    """What `select --json` writes of one selection; see the command line's contract.

    `difference` is that of a contender to the leader, contender minus leader, on the folds that
    both have run; an end of its interval is null where it cannot be known yet.
    """
    names = [contender.name for contender in contenders]
    verdict = result.verdict
    mean = result.winner_mean
    tied: list[Any] = _names_at(verdict.tied, names)
    as_good: list[Any] = _names_at(verdict.as_good, names)
    if terms.until == "order":
        tied = _named_pairs(verdict.ties, names)
        as_good = _named_pairs(verdict.equivalent, names)
    question = "certain"
    expected_loss = None
    if not terms.winner_must_be_certain:
        question = "expected_loss"
        expected_loss = _expected_loss(result.rounds[-1], terms)
    budget = None
    if terms.budget is not None:
        budget = asdict(terms.budget)
    new_data = None
    interval = winner_new_data(contenders, terms, result)
    if interval is not None:
        new_data = [interval.low, interval.high]
    rounds = []
    for selection_round in result.rounds:
        rounds.append(_round_document(selection_round, names, terms))
    return {
        "contenders": names,
        "k": terms.k,
        "metric": metric,
        "confidence": terms.confidence,
        "indifference": terms.indifference,
        "until": terms.until,
        "asked": question,
        "expected_loss": expected_loss,
        "expected_loss_asked": terms.expected_loss,
        "withheld": withheld_sentence(terms) or None,
        "budget": budget,
        "spent": result.spent,
        "winner": names[verdict.winner],
        "winner_mean": mean,
        "winner_mean_corrected": mean - terms.sign * verdict.optimism,
        "winner_mean_corrected_for": f"the mean of all {terms.k} folds",
        "winner_new_data": new_data,
        "shown_worse": {names[loser]: loser in verdict.worse for loser in verdict.losers},
        "tied": tied,
        "as_good": as_good,
        "order": _names_at(verdict.order, names),
        "folds_used": dict(zip(names, result.folds_used, strict=True)),
        "rounds": rounds,
        "joules": result.joules,
        "joules_of_all_folds": result.joules_of_all_folds,
        "methods": methods_sentence(names, terms, result),
    }


def _round_document(selection_round: Round, names: Sequence[str], terms: Terms) -> dict[str, Any]:
    differences = {}
    for contender, gap in selection_round.gaps.items():
        # A gap says how far behind a contender is; a difference is contender minus leader.
        ends = sorted([-terms.sign * gap.low, -terms.sign * gap.high])
        differences[names[contender]] = {
            "difference": -terms.sign * gap.behind,
            "interval": [finite_or_none(end) for end in ends],
        }
    return {
        "fold": selection_round.fold,
        "leader": names[selection_round.leader],
        "differences": differences,
        "dropped": _names_at(selection_round.dropped, names),
        "ran": [[names[turn.contender], turn.fold] for turn in selection_round.turns],
        "expected_loss": _expected_loss(selection_round, terms),
    }


def _expected_loss(selection_round: Round, terms: Terms) -> float | None:
    """What a round may say of the expected loss; None where nothing can be said of it."""
    if not terms.has_worst_score:
        return None
    return finite_or_none(selection_round.expected_loss)


def withheld_sentence(terms: Terms) -> str:
    """Why less is said than was asked for; empty where nothing is withheld."""
    if terms.has_worst_score:
        return ""
    reason = (
        "This score has no bound: a single sample can change it by any amount, and folds "
        "without such a sample cannot show this"
    )
    if terms.winner_must_be_certain:
        return f"{reason}, so nothing is certain before all {terms.k} folds have run."
    return f"{reason}, so how much may be lost in the folds that did not run is not known."


def orders_document(over: ResultsOverOrders) -> dict[str, Any]:
    """What `select --orders --json` writes instead of one selection's rounds."""
    return {
        "orders": over.orders,
        "folds_share": over.folds_share,
        "joules_share": over.joules_share,
        "right": over.right_share,
        "mean_loss_percent": over.mean_loss_percent,
        "p95_loss_percent": over.p95_loss_percent,
    }


def winner_new_data(
    contenders: Sequence[Scores], terms: Terms, result: SelectionResult
) -> NewDataInterval | None:
    """Where the mean of the winner for new users is, by the folds that it ran.

    The highest of several means is too high, so the interval reaches further to the worse side: the
    error of that side is divided by the number of contenders, any of which may have been picked
    (Bonferroni). The other side needs nothing, for being picked moves a mean away from it.

    Args:
        contenders: All that it was picked from.
        terms: The terms of the selection.
        result: As far as it has come.

    Returns:
        No end of it is outside the range of the metric. None where its users' scores are not known,
        or tell nothing of others.
    """
    winner = contenders[result.verdict.winner]
    if winner.users is None:
        return None
    user_scores = winner.users[folds_of(result.rounds, result.verdict.winner)]
    error = 1 - terms.confidence
    try:
        uncorrected = new_data_interval(user_scores, terms.confidence, k=terms.k)
        # Any of the contenders may be the one that looks best by chance (Bonferroni).
        corrected = new_data_interval(user_scores, 1 - error / len(contenders), k=terms.k)
    except InputError:  # There is a single user, or a fold without anybody.
        return None
    # Chance has made the best look too good, so only the worse side reaches further.
    interval = NewDataInterval(low=uncorrected.low, high=corrected.high)
    if terms.higher_is_better:
        interval = NewDataInterval(low=corrected.low, high=uncorrected.high)
    return interval.within(*winner.metric_range)


def _named_pairs(pairs: Iterable[tuple[int, int]], names: Sequence[str]) -> list[list[str]]:
    """What the contenders of each pair are called."""
    return [_names_at(pair, names) for pair in pairs]


def _names_at(places: Iterable[int], names: Sequence[str]) -> list[str]:
    """What the contenders at these places are called."""
    return [names[place] for place in places]


# A selection -> the sentence of a paper.


def methods_sentence(names: Sequence[str], terms: Terms, result: SelectionResult) -> str:
    """What a paper may say of a selection: which question was asked, what was found, what not.

    Args:
        names: The names of the contenders, as people read them.
        terms: The terms of the selection.
        result: To its end.
    """
    verdict = result.verdict
    question = "which contender to use"
    if terms.winner_must_be_certain:
        question = "which contender is best"
    within_budget = ""
    if terms.budget is not None:
        within_budget = f", within a budget of {terms.budget.text}"
    sentence = (
        f"To find out {question}, we evaluated {len(names)} contenders on the same folds, each "
        f"until {_end_words(terms)}{within_budget} ({sum(result.folds_used)} of "
        f"{terms.k * len(names)} folds). We chose {names[verdict.winner]}."
    )
    if verdict.as_good:
        as_good = _names_at(verdict.as_good, names)
        listing = listed(as_good)
        margin = percent_text(terms.indifference)
        sentence += f" {listing} {is_or_are(len(as_good))} as good: within {margin} of its mean"
        sentence += f" over all {terms.k} folds, in either direction."
    claims = _claims(names, verdict)
    if claims.worse:
        sentence += f" On new data, {listed(claims.worse)} {is_or_are(len(claims.worse))} worse."
    if claims.not_shown_worse:
        sentence += (
            f" We make no claim about the difference between {names[verdict.winner]} and "
            f"{listed(claims.not_shown_worse)} on new data."
        )
    return f"{sentence} {withheld_sentence(terms)}".rstrip()


class _Claims(NamedTuple):
    """What a verdict claims for new data, best contender first; the winner is in neither list."""

    worse: list[str]
    """Contenders that are shown to be worse than the winner."""
    not_shown_worse: list[str]
    """All others."""


def _claims(names: Sequence[str], verdict: Verdict) -> _Claims:
    claims = _Claims(worse=[], not_shown_worse=[])
    for loser in verdict.losers:
        if loser in verdict.worse:
            claims.worse.append(names[loser])
        else:
            claims.not_shown_worse.append(names[loser])
    return claims


def _end_words(terms: Terms) -> str:
    """What had to be known for a selection to end."""
    if terms.expected_loss is not None:
        return (
            "the loss expected by taking the leader was at most "
            f"{percent_text(terms.expected_loss)} of its {terms.k}-fold mean (opportunity cost, "
            "Chick and Inoue 2001)"
        )
    if terms.budget is not None:
        return "the expected loss was as small as possible"
    confidence_words = (
        f"with {percent_text(terms.confidence)} confidence for all interim looks together"
    )
    if terms.until == "order":
        text = (
            f"the place of every contender by the mean of all {terms.k} folds was known "
            f"{confidence_words}"
        )
        if terms.indifference:
            text += f", or it differed by at most {percent_text(terms.indifference)} of the mean"
        return text
    if terms.indifference:
        return (
            f"no other contender could be ahead of the chosen one by more than "
            f"{percent_text(terms.indifference)} of its mean of all {terms.k} folds, "
            f"{confidence_words}"
        )
    return f"no other contender could have the best mean of all {terms.k} folds, {confidence_words}"


# A selection -> its verdict in a sentence or two.


def verdict_sentence(
    names: Sequence[str],
    terms: Terms,
    result: SelectionResult,
    *,
    dataset: str = "",
    brief: bool = False,
) -> str:
    """What a selection found, in a sentence or two.

    Args:
        names: The names of the contenders, as people read them.
        terms: The terms of the selection.
        result: As far as it has come, at least one round.
        dataset: Its title, such as 'ML-100K'; may be empty.
        brief: Whether to leave out who is shown to be worse, and how lucky the winner was.
    """
    on_dataset = ""
    if dataset:
        on_dataset = f" on {dataset}"
    last_round = result.rounds[-1]
    verdict = result.verdict
    winner = names[verdict.winner]
    if not last_round.decided:
        return _undecided_sentence(names, terms, result.rounds, on_dataset)
    if verdict.tied and terms.winner_must_be_certain:
        # With folds left to run, contenders are tied only because they are within the indifference.
        if any(result.folds_used[contender] < terms.k for contender in verdict.tied):
            return _indifferent_sentence(names, terms, result, on_dataset)
        return _tied_sentence(names, terms, result, on_dataset, brief=brief)
    facts = f"{_cost_words(terms, result)}.{_runner_up_sentence(names, result)}"
    if not brief:
        facts += _worse_sentence(names, verdict) + _luck_sentence(terms, result)
    if terms.winner_must_be_certain:
        return f"{winner} is best{on_dataset}: decided {facts} {withheld_sentence(terms)}".rstrip()
    return f"Use {winner}{on_dataset}: {_loss_words(names, terms, last_round)} Decided {facts}"


def _undecided_sentence(
    names: Sequence[str], terms: Terms, rounds: Sequence[Round], on_dataset: str
) -> str:
    """Who leads, and how many are still in."""
    last_round = rounds[-1]
    folds = counted(last_round.n, "fold")
    if terms.until == "order":
        best = best_with_place(terms, rounds)
        leader = last_round.leader
        if best is not None:
            leader = best
        places = f"the places of {len(last_round.still_in)} contenders are not certain yet"
        return f"{names[leader]} leads{on_dataset} after {folds}; {places}."
    leader_name = names[last_round.leader]
    return f"{leader_name} leads{on_dataset} after {folds}; {_others_words(terms, last_round)}."


def _others_words(terms: Terms, selection_round: Round) -> str:
    """'2 others can still win', until 'winner'; of a loss '2 others are still evaluated'."""
    count = len(selection_round.still_in) - 1
    others = counted(count, "other")
    if terms.winner_must_be_certain:
        return f"{others} can still win"
    # Those that are clearly behind are evaluated too, until the expected loss is low enough.
    return f"{others} {is_or_are(count)} still evaluated"


def _indifferent_sentence(
    names: Sequence[str], terms: Terms, result: SelectionResult, on_dataset: str
) -> str:
    """What is shown of the winner and of those that may be ahead, before all folds are used.

    Nobody is ahead of the winner by more than the indifference; some may also be shown not to be
    behind it by more, and only these are called as good.
    """
    verdict = result.verdict
    winner = names[verdict.winner]
    margin = percent_text(terms.indifference)
    as_good = _names_at(verdict.as_good, names)
    undecided = []
    for contender in verdict.tied:
        if contender not in verdict.as_good:
            undecided.append(names[contender])
    # At least one contender is tied, so `as_good` and `undecided` are not both empty.
    folds = counted(result.rounds[-1].n, "fold")
    loss = f"Using {winner} loses at most {margin} of its mean over all {terms.k} folds"
    # `on_dataset` is empty, or such as ' on ML-100K'.
    if as_good:
        listing = listed(as_good)
        sentences = [
            f"{winner}, with {listing} as good{on_dataset}: decided after {folds}.",
            f"{listing} {is_or_are(len(as_good))} within {margin} of the mean of {winner} over all "
            f"{terms.k} folds, in either direction.",
        ]
        if undecided:
            sentences.append(f"{loss}.")
    else:
        sentences = [f"{loss}{on_dataset}: decided after {folds}."]
    if undecided:
        are = is_or_are(len(undecided))
        sentences.append(f"These folds do not show whether {listed(undecided)} {are} as good.")
    return " ".join(sentences)


def _tied_sentence(
    names: Sequence[str], terms: Terms, result: SelectionResult, on_dataset: str, *, brief: bool
) -> str:
    """That all folds do not tell the winner from others, and who is shown to be worse."""
    verdict = result.verdict
    winner = names[verdict.winner]
    tied_names = listed([winner, *_names_at(verdict.tied, names)])
    last_round = result.rounds[-1]
    best = _best_mean_words(names[last_round.leader], names, last_round)
    sentence = (
        f"No difference found between {tied_names}{on_dataset}: all {terms.k} folds have run, and "
        f"{best}."
    )
    # The losers that are left are named as worse, or as not shown to be worse. The winner stays the
    # first in the order.
    winner_and_losers_left = tuple(
        contender for contender in verdict.order if contender not in verdict.tied
    )
    if len(winner_and_losers_left) > 1 and not brief:
        sentence += _worse_sentence(names, replace(verdict, order=winner_and_losers_left))
    return sentence


def _best_mean_words(subject: str, names: Sequence[str], last_round: Round) -> str:
    """'A has the best mean', or 'A and B share the best mean'; the subject is A or 'it'.

    Until 'order' whoever is shown to be better than most others wins. One that is tied with it may
    have a better mean all the same: the best is the leader's.
    """
    with_best_mean = [names[last_round.leader]]
    for contender, gap in last_round.gaps.items():
        if gap.behind == 0 and gap.folds == last_round.n:
            with_best_mean.append(names[contender])
    if len(with_best_mean) > 1:
        return f"{listed(with_best_mean)} share the best mean"
    return f"{subject} has the best mean"


def _loss_words(names: Sequence[str], terms: Terms, last_round: Round) -> str:
    """What is promised of the contender to use: how much may be lost by taking it."""
    within_budget = ""
    if terms.budget is not None:
        within_budget = f" within {terms.budget.text}"
    if not terms.has_worst_score:
        return f"it has the best mean so far{within_budget}. {withheld_sentence(terms)}"
    if not math.isfinite(last_round.expected_loss):
        return (
            f"it has the best mean so far{within_budget}. How much it may lose is not known, "
            "because not all contenders could be compared."
        )
    if last_round.n == terms.k and last_round.expected_loss == 0:
        best = _best_mean_words("it", names, last_round)
        return f"{best} of all {terms.k} folds."
    limit = ""
    if terms.expected_loss is not None:
        limit = f" (allowed: {percent_text(terms.expected_loss)})"
    return (
        f"it has the best mean so far{within_budget}. Compared with whichever is best over all "
        f"{terms.k} folds, it is expected to lose at most {_loss(last_round.expected_loss)} of its "
        f"score{limit}."
    )


def _cost_words(terms: Terms, result: SelectionResult) -> str:
    """'after 2 folds, with 37.5 % of all folds': those of the leader, and what all took."""
    counts = result.folds_used
    after_folds = f"after {counted(result.rounds[-1].n, 'fold')}"
    if len(set(counts)) == 1:
        after_folds += " each"
    if result.energy_share is not None:
        return f"{after_folds}, with {percent_text(result.energy_share)} of the energy"
    return f"{after_folds}, with {percent_text(sum(counts) / len(counts) / terms.k)} of all folds"


def _runner_up_sentence(names: Sequence[str], result: SelectionResult) -> str:
    """Who is second, with its last interval to the winner; empty where that is not known."""
    verdict = result.verdict
    second = verdict.losers[0]
    # The newest gap to the winner counts. Once a contender is out, rounds have no gap of it.
    gap = None
    for selection_round in result.rounds:
        if selection_round.leader == verdict.winner and second in selection_round.gaps:
            gap = selection_round.gaps[second]
    mean = abs(result.winner_mean)
    if gap is None or not mean:
        return ""
    if not math.isfinite(gap.high):
        return f" {names[second]} is second."
    distance = _distance_range(100 * gap.low / mean, 100 * gap.high / mean)
    return f" {names[second]}, the second, is {distance}."


def _worse_sentence(names: Sequence[str], verdict: Verdict) -> str:
    """Of whom it may be claimed that they are worse on new data, and of whom not."""
    worse, not_shown_worse = _claims(names, verdict)
    if not not_shown_worse:
        subject = "all others are"
        if len(worse) == 1:
            subject = f"{worse[0]} is"
        return f" On new data, too, {subject} shown to be worse."
    unclear = listed(not_shown_worse)
    if len(not_shown_worse) > _MOST_NAMES:
        unclear = f"{len(not_shown_worse)} others"
    sentence = f" The folds that ran do not show whether {unclear} would also be behind on new data"
    if len(worse) == 1:
        sentence += f"; {worse[0]} would be"
    elif worse:
        sentence += "; the others would be"
    return f"{sentence}."


def _luck_sentence(terms: Terms, result: SelectionResult) -> str:
    """The winner's curse, where it is worth a word."""
    mean = result.winner_mean
    if not mean:
        return ""
    # The winner was picked as the best, so its mean is expected to be too good: by the optimism.
    optimism = result.verdict.optimism
    share = optimism / abs(mean)
    if share < _WORTH_SAYING:
        return ""
    # Luck made a score too high, or too low where lower is better.
    corrected = mean - terms.sign * optimism
    return (
        f" Its score so far, {score_text(mean)}, is probably {percent_text(share)} too good, "
        "because it was picked for being the best so far: its expected mean over all folds is "
        f"{score_text(corrected)}. This holds for these folds, not for new data."
    )


def _distance_words(percent: float) -> str:
    """'3.1 % behind', or '0.4 % ahead' for a negative number."""
    if percent >= 0:
        return f"{_size_text(percent)} % behind"
    return f"{_size_text(percent)} % ahead"


def _size_text(percent: float) -> str:
    """A distance without its sign, to one place, or to one digit where that would be zero."""
    size = abs(percent)
    if 0 < size < 0.1:
        return f"{size:.1g}"
    return f"{size:.1f}"


def _distance_range(low: float, high: float) -> str:
    """'8.8 to 21.5 % behind', or 'from 1.1 % ahead to 8.1 % behind' where the sides differ."""
    if low == high:
        return _distance_words(low)
    if (low < 0) != (high < 0):
        return f"from {_distance_words(low)} to {_distance_words(high)}"
    # Both ends are on the same side, so 'behind' or 'ahead' is written once, after the second.
    return f"{_size_text(low)} to {_distance_words(high)}"


def _loss(share: float) -> str:
    """An expected loss in percent; a tiny one is not said to be nothing."""
    if not math.isfinite(share):
        return "not known yet"
    if 0 < share < 5e-6:  # it is more than nothing, but more digits would say nothing
        return "0.001 %"
    return f"{100 * share:.2g} %"


# A selection -> what a page tells of it: a row per round and contender, a sentence per round.


def step_sentences(titles: Sequence[str], terms: Terms, rounds: Sequence[Round]) -> list[str]:
    """What happened in each round, from step 0 on.

    Args:
        titles: The titles of the contenders.
        terms: The terms of the selection.
        rounds: So far.
    """
    sentences = [
        f"{len(titles)} contenders with up to {terms.k} folds each: all run the first fold."
    ]
    in_before = set(range(len(titles)))
    for index, selection_round in enumerate(rounds):
        earlier_rounds = rounds[:index]
        leader = titles[selection_round.leader]
        leads = leads_words(terms, earlier_rounds)
        text = f"After {counted(selection_round.n, 'fold')}, {leader} {leads}"
        in_now = set(selection_round.still_in)
        titles_out = _names_at(sorted(in_before - in_now), titles)
        if titles_out and terms.until == "order":
            text += f"; the place of {listed(titles_out)} is known"
        elif titles_out:
            text += f"; {listed(titles_out)} {is_or_are(len(titles_out))} not evaluated further"
        titles_back = []
        for contender in selection_round.still_in:
            if contender not in in_before:
                titles_back.append(titles[contender])
        if titles_back:
            text += (
                f"; {listed(titles_back)} can win again, because folds differ more than the "
                "earlier ones showed"
            )
        sentences.append(f"{text}. {_outlook_sentence(terms, selection_round)}")
        in_before = in_now
    return sentences


def best_with_place(terms: Terms, rounds: Sequence[Round]) -> int | None:
    """Until 'order' the contender that led when its place became known; None as long as none has.

    It runs no more folds. From then on the best of those that run on leads a round.
    """
    if terms.until == "order":
        for selection_round in rounds:
            if not selection_round.decided and selection_round.leader in selection_round.dropped:
                return selection_round.leader
    return None


def leads_words(terms: Terms, rounds_before: Sequence[Round]) -> str:
    """What the leader of a round does: 'leads', or whom, where the best has its place already."""
    if best_with_place(terms, rounds_before) is None:
        return "leads"
    return "leads those whose places are not known"


def _outlook_sentence(terms: Terms, selection_round: Round) -> str:
    """Whether a round decides, or how many are still in."""
    if selection_round.decided:
        if selection_round.n == terms.k:
            return "All folds have run."
        return "This decides it."
    if terms.until == "order":
        return f"The places of {len(selection_round.still_in)} contenders are not certain yet."
    sentence = f"{_others_words(terms, selection_round)}."
    if not terms.winner_must_be_certain and terms.has_worst_score:
        sentence += f" Expected loss: {_loss(selection_round.expected_loss)}."
    return sentence


def is_best(terms: Terms, verdict: Verdict) -> bool:
    """Whether the winner may be called best; not where others may be better by a little.

    Args:
        terms: The terms of the selection.
        verdict: Once it is decided.
    """
    others_may_be_better = terms.indifference > 0 and len(verdict.tied) > 0
    return terms.winner_must_be_certain and not others_may_be_better


STATES = ("waiting", "leader", "in", "tied", "behind", "close", "out", "worse", "placed")
"""Not run yet; the best so far; still evaluated; no difference to the winner was found; all folds
are used and it is behind; may be better, but by too little; cannot win here; shown to be worse on
new data too; its place in the ranking is known."""
_DROPPED = ("close", "out")
"""States of contenders that do not run any more, although their places are not known."""


@dataclass(frozen=True, kw_only=True)
class _Lane:
    """A contender's row, its lane, in the chart of a selection at one step; see `lanes`."""

    state: str = "waiting"
    folds: int = 0
    behind: float = math.nan
    low: float = math.nan
    high: float = math.nan
    says: str = "has not run yet"


def lanes(
    contenders: Sequence[Scores],
    titles: Sequence[str],
    terms: Terms,
    rounds: Sequence[Round],
    verdict: Verdict | None = None,
) -> pd.DataFrame:
    """One row per step and contender: how far behind the leader it is, and why it is out.

    Args:
        contenders: With at least the folds of the rounds.
        titles: The titles of the contenders, as people read them.
        terms: The terms of the selection.
        rounds: So far, in their order; step n is after the n-th, step 0 before the first.
        verdict: Once it is decided.

    Returns:
        Step, contender (title), state (one of STATES), folds (that it has run), behind, low
        and high (percent of the leader's mean: difference and interval; NaN where there is none
        and infinite where an end is not known), says (a few words). Whoever is out keeps its last
        interval; until 'order' all keep theirs once the best has its place. Lanes come best first:
        in the order of the last step, or of the verdict where that is of all places.
    """
    import pandas as pd

    lanes_of_steps = [[_Lane() for _ in contenders]]
    for index, selection_round in enumerate(rounds):
        decision = None
        if selection_round.decided:
            decision = verdict
        leader_mean = mean_so_far(contenders, rounds[: index + 1], selection_round.leader)
        earlier_rounds = rounds[:index]
        step = _Step(
            selection_round=selection_round,
            verdict=decision,
            titles=titles,
            terms=terms,
            leader_mean=abs(leader_mean),
            best=best_with_place(terms, earlier_rounds),
        )
        lanes_before = lanes_of_steps[-1]
        lanes_of_steps.append([step.lane(place, lane) for place, lane in enumerate(lanes_before)])
    best_first = _best_first(lanes_of_steps[-1])
    if terms.until == "order" and verdict is not None and rounds[-1].decided:
        # The distances to the best were measured on the folds that the best ran. Others ran on, and
        # may have changed places since.
        best_first = list(verdict.order)
    rows = []
    for step_number, lanes_of_step in enumerate(lanes_of_steps):
        for contender in best_first:
            lane = asdict(lanes_of_step[contender])
            rows.append({"step": step_number, "contender": titles[contender], **lane})
    return pd.DataFrame(rows)


def _best_first(last_lanes: Sequence[_Lane]) -> list[int]:
    """The contenders by how far from the lead they are in the end: the leader comes first."""

    def distance(contender: int) -> tuple[bool, float]:
        lane = last_lanes[contender]
        behind = lane.behind
        if math.isnan(behind):
            behind = math.inf
        return lane.state != "leader", behind

    return sorted(range(len(last_lanes)), key=distance)


@dataclass(frozen=True, kw_only=True)
class _Step:
    """A round of a selection, as its lanes show it."""

    selection_round: Round
    verdict: Verdict | None
    """Where this round decided it."""
    titles: Sequence[str]
    terms: Terms
    leader_mean: float
    """Its size, of which differences are percent."""
    best: int | None
    """Who had its place before the round as the best of all; see `best_with_place`."""

    def lane(self, contender: int, lane_before: _Lane) -> _Lane:
        """A contender's lane after the round; the earlier one where it was not compared."""
        if self.best is not None:
            return self._lane_beside_best(contender, lane_before)
        if contender == self.selection_round.leader:
            return self._leader_lane()
        lane = self._lane_of_other(contender, lane_before)
        if self.verdict is None:
            return lane
        if contender == self.verdict.winner:
            return replace(lane, state="leader", says=self._winner_words(self.verdict))
        if lane.state not in _DROPPED:
            return lane
        # The verdict also says of those that were dropped whether they are worse on new data.
        if contender in self.verdict.worse:
            return replace(lane, state="worse", says=f"{lane.says}; worse on new data too")
        return replace(lane, says=f"{lane.says}; not shown for new data")

    def _lane_beside_best(self, contender: int, lane_before: _Lane) -> _Lane:
        """A contender's lane once the best has its place."""
        # When all are ranked, the best is the contender that led when its place, the first, became
        # known. It runs no more folds, so every lane keeps its distance to it. The leader of this
        # round is only the best of those that run on: distances to the leader could not be compared
        # with those. The winner is named by the verdict at the end.
        selection_round = self.selection_round
        lane = lane_before
        if contender in (selection_round.leader, *selection_round.gaps):
            lane = replace(lane_before, folds=selection_round.n)
        if self.verdict is not None:
            return self._lane_by_verdict(self.verdict, contender, lane)
        if contender in selection_round.still_in:
            folds_words = counted(lane.folds, "fold")
            return replace(lane, state="in", says=f"its place is not known after {folds_words}")
        if contender == self.best:
            return replace(_with_known_place(lane), state="leader")
        return _with_known_place(lane)

    def _lane_of_other(self, contender: int, lane_before: _Lane) -> _Lane:
        """The lane of a contender that does not lead, but for what a decision says of it."""
        # A contender that is out keeps the lane with which it left, unless this round took it back.
        gap = self.selection_round.gaps.get(contender)
        was_out = lane_before.state in (*_DROPPED, "placed")
        stays_out = was_out and contender not in self.selection_round.still_in
        if gap is not None and not stays_out:
            return self._lane_behind_leader(contender, gap)
        return lane_before

    def _leader_lane(self) -> _Lane:
        leader = self.selection_round.leader
        lane = _Lane(
            state="leader",
            folds=self.selection_round.n,
            behind=0.0,
            low=0.0,
            high=0.0,
            says="leads",
        )
        if self.verdict is None:
            return lane
        # If the whole order is asked for, the leader is the best of the contenders that ran to the
        # end. Another contender may win.
        return self._lane_by_verdict(self.verdict, leader, lane)

    def _lane_by_verdict(self, verdict: Verdict, contender: int, lane: _Lane) -> _Lane:
        """The last lane of a contender that was not dropped."""
        if contender == verdict.winner:
            return replace(lane, state="leader", says=self._winner_words(verdict))
        if contender in verdict.tied:
            return self._tied_lane(verdict, contender, lane)
        return _with_known_place(lane)

    def _winner_words(self, verdict: Verdict) -> str:
        if is_best(self.terms, verdict):
            return "is best"
        return "the contender to use"

    def _lane_behind_leader(self, contender: int, gap: Gap) -> _Lane:
        """The lane of a contender with this gap to the leader."""
        lane = _Lane(
            folds=gap.folds,
            behind=self._percent_of_mean(gap.behind),
            low=self._percent_of_mean(gap.low),
            high=self._percent_of_mean(gap.high),
        )
        if self.verdict is not None:
            if contender in self.verdict.tied:
                return self._tied_lane(self.verdict, contender, lane)
            if lane.folds == self.terms.k:
                says = f"{_distance_words(lane.behind)}, all folds used"
                return replace(lane, state="behind", says=says)
        if self.terms.until == "order" and contender in self.selection_round.dropped:
            return _with_known_place(lane)
        if contender not in self.selection_round.still_in:
            return self._dropped_lane(lane)
        says = _distance_range(lane.low, lane.high)
        if math.isinf(lane.high):
            says = f"{_distance_words(lane.behind)} so far; the next fold shows how certain this is"
        return replace(lane, state="in", says=says)

    def _dropped_lane(self, lane: _Lane) -> _Lane:
        """The lane of a contender that does not run any more."""
        folds_words = counted(lane.folds, "fold")
        distance = _distance_range(lane.low, lane.high)
        if lane.low <= 0:
            return replace(lane, state="close", says=f"close after {folds_words}: {distance}")
        if self.terms.winner_must_be_certain:
            distance = f"at least {_distance_words(lane.low)}"
        return replace(lane, state="out", says=f"dropped after {folds_words}: {distance}")

    def _tied_lane(self, verdict: Verdict, contender: int, lane: _Lane) -> _Lane:
        """The row in the chart of a contender that the verdict ties with the winner."""
        winner = self.titles[verdict.winner]
        margin = percent_text(self.terms.indifference)
        if lane.folds == self.terms.k:
            # All folds have run, and they do not show that the contender is worse.
            says = f"no difference from {winner} found over all folds"
        elif contender in verdict.as_good:
            # Some folds are enough to show that both differ by the margin at most, either way.
            says = f"as good as {winner}: within {margin} of its mean"
        else:
            # Some folds are enough to show that the contender is not ahead by more than the margin,
            # so that none further are run. It may be behind by more.
            says = f"at most {margin} ahead of {winner}; not shown to be as good"
        return replace(lane, state="tied", says=says)

    def _percent_of_mean(self, difference: float) -> float:
        if not self.leader_mean:
            return math.nan
        return 100 * difference / self.leader_mean


def _with_known_place(lane: _Lane) -> _Lane:
    """The lane of a contender whose place is known, so that it runs no more."""
    says = f"its place is known after {counted(lane.folds, 'fold')}"
    return replace(lane, state="placed", says=says)
