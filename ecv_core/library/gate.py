"""Whether a candidate may take a baseline's place, in a notebook or a test of one's own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from numpy.typing import ArrayLike

from ecv_core.analysis.gate import Gate
from ecv_core.analysis.gate import gate as gate_scores
from ecv_core.records.errors import InputError

if TYPE_CHECKING:
    from ecv_core.analysis.gate_sides import GateSide
    from ecv_core.library.run import Run


def gate(
    baseline: Run | str | ArrayLike,
    candidate: Run | str | ArrayLike,
    *,
    margin: float | str | None = None,
    confidence: float = 0.95,
    higher_is_better: bool = True,
) -> Gate:
    """Say whether a candidate is not worse than a baseline on new data, by more than a margin.

    Args:
        baseline: A run, the id of one, or scores: of each fold, or of each user in each fold (folds
            x users, NaN where a user has nothing held out).
        candidate: Likewise, on the same folds.
        margin: In the unit of the score, or a share of the baseline's mean such as '2%'; by default
            1 % of it.
        confidence: The confidence of each of the two statements.
        higher_is_better: Whether a higher score is better; a run knows it.

    Returns:
        `verdict` ('passes', 'fails' or 'unknown'), `sentence`, and what they rest on.

    Raises:
        InputError: Where the two cannot be compared.

    >>> import ecv_core as ecv
    >>> ecv.gate([0.50, 0.52, 0.48, 0.50], [0.30, 0.33, 0.29, 0.30]).verdict.value
    'fails'
    """
    from ecv_core.analysis.gate_sides import gate_sides

    baseline_run = _side_of_run(baseline)
    candidate_run = _side_of_run(candidate)
    if (baseline_run is None) != (candidate_run is None):
        raise InputError("give two runs, or two arrays of scores: one of each cannot be paired")
    if baseline_run is not None and candidate_run is not None:
        return gate_sides(baseline_run, candidate_run, margin=margin, confidence=confidence)
    # As they are, since tables of pandas are paired by their labels.
    baseline_scores: Any = baseline
    candidate_scores: Any = candidate
    return gate_scores(
        baseline_scores,
        candidate_scores,
        margin=margin,
        confidence=confidence,
        higher_is_better=higher_is_better,
    )


def _side_of_run(run_or_scores: Run | str | ArrayLike) -> GateSide | None:
    """A run as a side of the gate; None for scores. Raises: InputError for an unknown id."""
    from ecv_core.analysis.gate_sides import side_of_run
    from ecv_core.library.run import Run
    from ecv_core.store.lookup import find_run

    if isinstance(run_or_scores, str):
        run_or_scores = Run(find_run(run_or_scores))
    if isinstance(run_or_scores, Run):
        return side_of_run(run_or_scores._with_user_scores(), run_or_scores.run_id)
    return None
