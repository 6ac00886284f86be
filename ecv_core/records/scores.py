"""The fold scores of one run, or of anything else that was evaluated in folds."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha256
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ecv_core.records.fold import FoldResult


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Scores:
    """What is known of k folds: a score each, what they cost, and every user's score."""

    folds: NDArray[np.float64]
    """Mean of each fold, by fold index; shape (k,); NaN where it has not been run."""
    joules: NDArray[np.float64] | None = None
    """Of each fold; shape (k,); NaN where it is not known. None where none is."""
    users: NDArray[np.floating] | None = None
    """The score of every user in every fold; shape (k, users); NaN where a user has nothing held
    out, or the fold has not been run. None where a fold that was run came without."""
    user_ids: NDArray[np.integer] | None = None
    """Whose they are: sorted codes into the prepared data; shape (users,). None where `users` is,
    or where its columns have no names."""
    results: tuple[FoldResult, ...] | None = None
    """All that is known of the folds that were run, by fold index. None where there is nothing but
    the scores."""
    aids: Any = None
    """Cheap models on the same users (stopping.adjustment.Aids) that correct the precision rule's
    mean; None: the plain one."""
    random: bool = True
    """Whether the model draws random numbers in training; True where that is not known."""
    higher_is_better: bool = True
    name: str = ""
    """What it is called among others."""
    dataset: str = ""
    """What it was evaluated on: scores of one dataset are left out together."""
    algorithm: str = ""
    """What was evaluated; empty where only the name is known."""
    metric: str = ""
    """The score's name, as in RunSpec.metric_name or as shown."""
    run_id: str | None = None
    """Of the run whose folds these all are; None for no run, or several."""
    source: str = "none"
    """How the joules are known, as in Energy; 'none' where some are not, so that folds count."""
    other_work: bool = False
    """Whether the joules hold other work of the machine too: then they are in no sum of joules."""

    @property
    def k(self) -> int:
        """Number of folds."""
        return len(self.folds)

    @property
    def content(self) -> str:
        """A hash of all that a curve depends on."""
        costs = b"" if self.costs is None else self.costs.tobytes()
        head = f"{self.name}\0{self.dataset}\0{self.metric}\0{self.source}\0{self.run_id}\0"
        return sha256(head.encode() + self.folds.tobytes() + costs).hexdigest()

    @property
    def fold_joules(self) -> NDArray[np.float64]:
        """The joules, NaN where they are not known; shape (k,)."""
        return np.full(self.k, np.nan) if self.joules is None else self.joules

    @property
    def costs(self) -> NDArray[np.float64] | None:
        """The joules, where every fold has some; None where folds are to be counted instead."""
        return self.joules if self.joules is not None and (self.joules > 0).all() else None
