"""The chosen configuration meets what was put aside, once: its score there, and before."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ecv_core.splits.holdouts import NESTED_K_FOLD


@dataclass(frozen=True, slots=True, kw_only=True)
class Aside:
    """Two scores of the chosen configuration."""

    run_id: str
    """Of the run on the part put aside."""
    score: float
    """On the part put aside, learnt from all that comes before it."""
    promised: float
    """Mean of the folds by which it was chosen."""
    by_choice: float | None
    """How much of `promised` is due to choosing by these very folds; None where not all ran."""
    met: int
    """Configurations that have met this part by now, in this database; 1 is as it should be."""

    @property
    def flattered_percent(self) -> float:
        """How far what was promised is above what was found, in percent of that; NaN for 0."""
        return 100 * (self.promised - self.score) / abs(self.score) if self.score else np.nan


def nested_settings(above: float | None) -> dict[str, Any]:
    """The split of the protocol, as `make_tuning` takes it.

    Args:
        above: only held-out items rated above it are relevant; None takes all.
    """
    return {"split": NESTED_K_FOLD, "split_params": {} if above is None else {"above": above}}


def optimism(scores: NDArray[np.float64]) -> float:
    """How much the best mean of all folds owes to being chosen by them.

    For each fold the best by the others is taken, and its score in that fold, which had no part in
    the choice; the mean of these is what the best mean is above.

    Args:
        scores: more is better; shape (configurations, folds), at least two of each.
    Source: Tibshirani, Tibshirani (2009), A bias correction for the minimum error rate in
        cross-validation.
    """
    folds = scores.shape[1]
    others = (scores.sum(axis=1, keepdims=True) - scores) / (folds - 1)
    chosen = others.argmax(axis=0)
    return float(scores.mean(axis=1).max() - scores[chosen, np.arange(folds)].mean())


def aside_sentence(found: Aside, metric: str, configurations: int) -> str:
    """What was found on the part put aside, in a sentence or three.

    Args:
        found: both scores.
        metric: as people read it.
        configurations: that were chosen from.
    """
    word = "above" if found.flattered_percent >= 0 else "below"
    text = (
        f"On the part put aside {metric} is {found.score:.4f}; the folds by which it was chosen "
        f"gave {found.promised:.4f}, {abs(found.flattered_percent):.3g} % {word} that."
    )
    if found.by_choice is not None:
        share = 100 * found.by_choice / abs(found.promised) if found.promised else 0.0
        text += (
            f" Choosing the best of {configurations} by these folds explains {share:.2g} % of the "
            "score; the rest of the difference is that later interactions are other ones, and that "
            "all that comes before them is learnt from."
        )
    if found.met > 1:
        text += (
            f" It is configuration {found.met} to meet this part in this database: whoever picks "
            "among them by it has chosen by it, and it is no longer put aside."
        )
    return text


def aside_document(found: Aside) -> dict[str, Any]:
    """What `tune --json` writes of it."""
    return {
        "run_id": found.run_id,
        "score": found.score,
        "cross_validated": found.promised,
        "flattered_percent": found.flattered_percent,
        "by_choice": found.by_choice,
        "configurations_met": found.met,
    }
