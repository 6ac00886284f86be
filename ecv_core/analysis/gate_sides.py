"""A run, or a contender of a file of scores -> one side of a gate, paired with the other."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ecv_core.analysis.comparison.fairness import why_unfair
from ecv_core.analysis.gate import Gate, gate
from ecv_core.analysis.score_files import ScoreFile, check_no_percentages, read_contenders
from ecv_core.evaluation import metric_of
from ecv_core.evaluation.directions import may_be_same_metric
from ecv_core.records.arrays import Floats
from ecv_core.records.errors import InputError
from ecv_core.records.run import RunRecord, user_table
from ecv_core.store.new_data import usual_units_of_new_data

_FOLD_NUMBER = re.compile(r"\D*(?P<number>\d+)(\.0)?")


class UserTable(NamedTuple):
    """The score of each user in each fold."""

    numbers: NDArray[np.integer]
    """Of the users, ascending; shape (users,)."""
    scores: NDArray[np.floating]
    """Shape (folds, users); NaN where a user has none in a fold."""


@dataclass(frozen=True, kw_only=True, eq=False)
class GateSide:
    """The scores of a baseline or a candidate."""

    name: str
    fold_means: Mapping[str, float]
    """The score of each fold, by the fold's name."""
    users: UserTable | None
    """In the order of the folds of `fold_means`; None where these scores are not known."""
    user_source: str
    """Within which users have the same numbers: a dataset, or a file."""
    planned_folds: int
    """How many run when none is saved."""
    k: float
    """Into how many parts the data are split."""
    higher_is_better: bool
    scored_unit: str = "users"
    """What has a score of its own: 'users', 'rows' or 'clusters'."""
    run: RunRecord | None = None
    file: ScoreFile | None = None


def side_of_run(run: RunRecord, name: str) -> GateSide:
    """A run as a side; its folds carry their users' scores where there are some.

    Raises:
        InputError: Where its folds come in the order of time.
    """
    if run.spec.in_time:
        raise InputError(
            f"the folds of {name} are in order of time, and later rows may differ from earlier "
            "ones, so they say nothing about new data; run both with folds drawn at random"
        )
    fold_means = {str(fold.fold): fold.score for fold in run.folds}
    users = None
    scores_of_folds = list(run.user_scores.values())
    if scores_of_folds and len(scores_of_folds) == len(run.folds):
        users = UserTable(*user_table(scores_of_folds, run.spec.metric_name))
    return GateSide(
        name=name,
        fold_means=fold_means,
        users=users,
        user_source=run.spec.dataset,
        planned_folds=run.k,
        k=run.spec.folds_of_a_partition,
        higher_is_better=metric_of(run.spec).higher_is_better,
        scored_unit=usual_units_of_new_data(run.spec),
        run=run,
    )


def side_of_file(
    path: Path, contender: str, metric: str | None, *, higher_is_better: bool | None = None
) -> GateSide:
    """One contender of a file of scores.

    Args:
        path: As of `read_contenders`.
        contender: Its name in the file; empty where the file has only one.
        metric: As of `read_contenders`.
        higher_is_better: The direction that the user asks for; None for the file's own.

    Raises:
        InputError: Where it is not clear which contender is meant, and as of `read_contenders`.
    """
    file = read_contenders(path, metric).directed(higher_is_better)
    names = [scores.name for scores in file.contenders]
    if not contender and len(names) > 1:
        raise InputError(
            f"{path} has {len(names)} contenders; name one of them, such as {path}#{names[0]}"
        )
    chosen = contender or names[0]
    if chosen not in names:
        raise InputError(
            f"{path} has no contender '{chosen}'; choose one of: {', '.join(names[:8])}"
        )
    scores = file.contenders[names.index(chosen)]
    users = None
    if scores.users is not None:
        users = UserTable(np.arange(scores.users.shape[1]), scores.users)
    return GateSide(
        name=chosen,
        fold_means=dict(zip(file.folds, scores.folds.tolist(), strict=True)),
        users=users,
        user_source=str(path.resolve()),
        planned_folds=len(file.folds),
        k=len(file.folds),
        higher_is_better=scores.higher_is_better,
        file=file,
    )


def _paired_scores(baseline: GateSide, candidate: GateSide) -> tuple[Floats, Floats]:
    """The scores of baseline and candidate in the folds that both have, in the same order.

    Returns:
        Two arrays of one shape: (folds, users) where both sides tell the scores of users of one
        dataset or file, NaN for a user without a score in a fold; otherwise (folds,).

    Raises:
        InputError: Where a comparison would not be fair, or they share no fold.
    """
    _check_fair(baseline, candidate)
    folds = [fold for fold in baseline.fold_means if fold in candidate.fold_means]
    if not folds:
        raise InputError(
            f"{baseline.name} and {candidate.name} have no fold in common; run both with the "
            "same folds"
        )
    # Only within one dataset or file does a number stand for the same user on both sides.
    if baseline.users and candidate.users and baseline.user_source == candidate.user_source:
        # Both tables get a column for each user of either side, so that their columns are pairs.
        numbers = np.union1d(baseline.users.numbers, candidate.users.numbers)
        baseline_users = _scores_of_users(baseline, baseline.users, folds, numbers)
        candidate_users = _scores_of_users(candidate, candidate.users, folds, numbers)
        # A user may have scores only in folds that the other side lacks.
        has_baseline_score = np.isfinite(baseline_users).any(axis=0)
        has_candidate_score = np.isfinite(candidate_users).any(axis=0)
        has_score = has_baseline_score | has_candidate_score
        return baseline_users[:, has_score], candidate_users[:, has_score]
    baseline_means = np.array([baseline.fold_means[fold] for fold in folds])
    candidate_means = np.array([candidate.fold_means[fold] for fold in folds])
    return baseline_means, candidate_means


def _check_fair(baseline: GateSide, candidate: GateSide) -> None:
    """Refuse two sides of which nobody knows that they are alike. Raises: InputError."""
    if baseline.run is not None and candidate.run is not None:
        reason = why_unfair(baseline.run.spec, candidate.run.spec)
        if reason:
            raise InputError(
                f"the two cannot be compared: {reason}; run both with the same settings"
            )
    if (baseline.run is None) != (candidate.run is None):
        raise InputError(
            f"{baseline.name} and {candidate.name} are a run and a file of scores, and whether "
            "their folds are the same is not known; give two runs, or two files"
        )
    if baseline.higher_is_better != candidate.higher_is_better:
        raise InputError(
            "higher is better for one of the two, and lower is better for the other; choose the "
            "metric with --metric"
        )
    if baseline.file is not None and candidate.file is not None:
        _check_same_metric(baseline.file.own_metric, candidate.file.own_metric)
        _check_same_dataset(baseline.file.dataset, candidate.file.dataset)
        _check_same_numbering(list(baseline.fold_means), list(candidate.fold_means))
        if baseline.file.direction.may_be_of_shares:
            sides = (baseline, candidate)
            scores = [np.array(list(side.fold_means.values())) for side in sides]
            check_no_percentages(["the baseline", "the candidate"], scores)


def _check_same_metric(first: str, second: str) -> None:
    """Refuse two files with different metrics. Raises: InputError.

    Args:
        first: As the file of the baseline calls its scores.
        second: Likewise of the candidate.
    """
    if not may_be_same_metric(first, second):
        raise InputError(
            f"the scores of the baseline are {first} and those of the candidate {second}; give "
            "those of one metric, or choose it with --metric"
        )


def _check_same_dataset(first: str, second: str) -> None:
    """Refuse files that say they are of different datasets. Raises: InputError."""
    if first and second and first != second:
        raise InputError(
            f"the scores of the baseline are of the dataset {first} and those of the candidate of "
            f"{second}; give scores on the same data"
        )


def _check_same_numbering(folds: Sequence[str], other_folds: Sequence[str]) -> None:
    """Refuse folds that one file may count from 0 and the other from 1. Raises: InputError.

    Folds 1 to 3 beside 0 to 4 may be the first three, or all but the first and the last.

    Args:
        folds: The names of the folds of the baseline.
        other_folds: Likewise of the candidate.
    """
    first = _least_number(folds)
    other_first = _least_number(other_folds)
    if {first, other_first} == {0, 1}:
        raise InputError(
            f"the folds of the baseline are numbered from {first}, and those of the candidate from "
            f"{other_first}, so which are the same is not known; number them alike, and leave fold "
            "0 out of both where one of them lacks it"
        )


def _least_number(folds: Sequence[str]) -> int | None:
    """The least number in names such as '0', 'fold 1' and '2.0'; None where one has none."""
    numbers = []
    for fold in folds:
        match = _FOLD_NUMBER.fullmatch(fold)
        if match is None:
            return None
        numbers.append(int(match["number"]))
    return min(numbers)


def _scores_of_users(
    side: GateSide, users: UserTable, folds: list[str], numbers: NDArray[np.integer]
) -> Floats:
    """Scores of users in folds, NaN where there is none; shape (folds, users).

    Args:
        side: Whose scores these are.
        users: The users of the side.
        folds: Names of some of its folds.
        numbers: The numbers of users, ascending; all of the side's are among these.
    """
    fold_names = list(side.fold_means)
    rows = [fold_names.index(fold) for fold in folds]
    # Each of the side's users is found, as all of them are among the numbers.
    columns = np.searchsorted(numbers, users.numbers)
    table = np.full((len(folds), len(numbers)), np.nan)
    table[:, columns] = users.scores[rows]
    return table


def gate_sides(
    baseline: GateSide, candidate: GateSide, *, margin: float | str | None, confidence: float
) -> Gate:
    """Decide as `gate` does.

    Args:
        baseline: What may be replaced.
        candidate: What may take its place.
        margin: As of `gate`.
        confidence: The confidence of each of the two statements.

    Raises:
        InputError: Where the two cannot be compared, and as of `gate`.
    """
    baseline_scores, candidate_scores = _paired_scores(baseline, candidate)
    return gate(
        baseline_scores,
        candidate_scores,
        margin=margin,
        k=baseline.k,
        planned_folds=baseline.planned_folds,
        confidence=confidence,
        higher_is_better=baseline.higher_is_better,
        scored_unit=baseline.scored_unit,
    )
