"""The chosen configuration meets what was put aside, once: its score there, and before."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from ecv_core.splits.holdouts import NESTED_K_FOLD


@dataclass(frozen=True, slots=True, kw_only=True)
class Aside:
    """Two scores of the chosen configuration."""

    run_id: str
    """Of the run on the part put aside."""
    score: float
    """On the part put aside, learnt from all that comes before it."""
    cross_validated: float
    """Mean of the folds by which it was chosen."""
    configurations_met: int
    """Configurations that have met this part by now, in this database; 1 is as it should be."""

    @property
    def flattered_percent(self) -> float:
        """How far what was promised is above what was found, in percent of that; NaN for 0."""
        return 100 * (self.cross_validated - self.score) / abs(self.score) if self.score else np.nan


def nested_settings(above: float | None) -> dict[str, Any]:
    """The split of the protocol, as `make_tuning` takes it.

    Args:
        above: only held-out items rated above it are relevant; None takes all.
    """
    return {"split": NESTED_K_FOLD, "split_params": {} if above is None else {"above": above}}


def aside_sentence(found: Aside, metric: str) -> str:
    """What was found on the part put aside; the metric is as people read it."""
    word = "above" if found.flattered_percent >= 0 else "below"
    text = (
        f"On the part put aside {metric} is {found.score:.4f}; the folds by which it was chosen "
        f"gave {found.cross_validated:.4f}, {abs(found.flattered_percent):.3g} % {word} that: "
        "later interactions are other ones, and all that comes before them is learnt from."
    )
    if (met := found.configurations_met) > 1:
        text += (
            f" It is configuration {met} to meet this part in this database: whoever picks "
            "among them by it has chosen by it, and it is no longer put aside."
        )
    return text


def aside_document(found: Aside) -> dict[str, Any]:
    """What `tune --json` writes of it."""
    return asdict(found) | {"flattered_percent": found.flattered_percent}
