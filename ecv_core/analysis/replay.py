"""Finished folds in a chosen order -> the moments of figure 1, the stop, a sentence for each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ecv_core.records.errors import InputError
from ecv_core.records.parameters import percent_text, score_text
from ecv_core.records.run import Energy, FoldResult, Moment
from ecv_core.records.spec import RunSpec
from ecv_core.stopping import (
    PAPERS_RULE,
    cheap_model_ids,
    difference_percent,
    moments,
    rule,
    rule_for,
    stop_of,
)


@dataclass(frozen=True, kw_only=True)
class Replay:
    """A run played again, fold by fold."""

    folds: tuple[FoldResult, ...]
    """In the order in which they are played."""
    moments: tuple[Moment, ...]
    """One per fold."""
    stopped_at: int | None
    """Folds used; None where the folds that ran never make the rule stop."""
    k: int
    """Folds that were planned; those that ran may be fewer."""


def replay(spec: RunSpec, folds: Sequence[FoldResult], seed: int = 0) -> Replay:
    """Play the folds once more under the spec's rule, by the code that decides live.

    Args:
        spec: The spec of the run; give it another alpha to see what that would have decided.
        folds: Those that ran, in their order; with per-user scores where the rule needs them.
        seed: 0 for the order in which they ran, else of a shuffle.

    Raises:
        InputError: If no fold ran, or for a setting that the rule cannot work with.
    """
    if seed < 0:
        raise InputError(f"the seed of an order must be 0 or more, but is {seed}")
    if not folds:
        raise InputError(
            "no fold of this run is finished, so there is nothing to replay; choose another run"
        )
    if rule(spec.rule).needs_user_scores and any(fold.user_scores is None for fold in folds):
        raise InputError(
            f"the rule '{spec.rule}' needs every user's score, which this run does not have; "
            f"replay it with the rule '{PAPERS_RULE}'"
        )
    cheap_models = cheap_model_ids(spec)
    if cheap_models:
        raise InputError(
            f"the rule '{spec.rule}' was adjusted by {', '.join(cheap_models)}, which cannot be "
            f"replayed; replay it with the rule '{PAPERS_RULE}'"
        )
    folds_in_order = list(folds)
    if seed:
        order = np.random.default_rng(seed).permutation(len(folds))
        folds_in_order = [folds[index] for index in order]
    k = spec.max_folds
    played_moments = moments(rule_for(spec), folds_in_order, spec.confidence, spec.overlap)
    return Replay(
        folds=tuple(folds_in_order),
        moments=tuple(played_moments),
        stopped_at=stop_of(played_moments, k),
        k=k,
    )


def explanations(replayed_run: Replay) -> list[str]:
    """The sentence of each moment, from before the first fold (n = 0) to the last that ran."""
    sentences = [
        f"Before the first fold: no score is known yet, and up to {replayed_run.k} folds may run."
    ]
    for moment in replayed_run.moments:
        sentences.append(_explanation(replayed_run, moment))
    return sentences


def _explanation(replayed_run: Replay, moment: Moment) -> str:
    k = replayed_run.k
    n = moment.n
    if replayed_run.stopped_at is not None and n > replayed_run.stopped_at:
        return _explanation_after_stop(replayed_run.moments[replayed_run.stopped_at - 1], moment, k)
    reason = moment.decision.reason
    if moment.decision.stop or n < len(replayed_run.moments):
        return reason
    # The last fold that ran, after which the rule would go on.
    reason = reason.removesuffix(": go on.")
    if n == k:
        return f"{reason}. All {k} folds have run, and the rule never decided to stop."
    return f"{reason}. No more folds were recorded: this run has {n} of {k}."


def _explanation_after_stop(at_stop: Moment, moment: Moment, k: int) -> str:
    """How far the mean has moved since the stop, with folds that ran only to check it."""
    percent = percent_text(difference_percent(at_stop.mean, moment.mean) / 100, ".2f")
    difference = f"{percent} from the {score_text(at_stop.mean)} at the stop"
    if moment.n == k:
        return f"Checked: the mean of all {k} folds is {score_text(moment.mean)}, {difference}."
    return (
        f"After {moment.n} folds, the last run only to check: the mean is "
        f"{score_text(moment.mean)}, {difference}."
    )


def result_of(fold: int, score: float) -> FoldResult:
    """A fold of which nothing but the score is known."""
    return FoldResult(
        fold=fold,
        score=score,
        metrics={},
        users=0,
        fit_seconds=0.0,
        evaluate_seconds=0.0,
        total_seconds=0.0,
        energy=Energy.none(),
    )
