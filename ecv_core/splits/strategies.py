"""What a split strategy is to this project, and whether a dataset can serve one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from ecv_core.errors import FoldsError
from ecv_core.parameters import Parameter, Params, resolve
from ecv_core.records import LACKS, Folds, Interactions, Need, ParamValue
from ecv_core.splits.k_fold import MAX_K

Settings = Mapping[str, ParamValue]
"""Every parameter of a strategy by name, checked and with defaults filled in."""

Assignment = NDArray[np.int16]
"""As of `Folds.assignment`."""
Draw = Callable[[int], NDArray[np.int8]]
"""As of `Folds.draw`."""
Make = Callable[[Interactions, int, int, Settings], Assignment | Draw]
"""(interactions, k, seed, settings) -> what `Folds` are made of. Raises: FoldsError if the data
cannot be split so."""


class Past(StrEnum):
    """For whom training promises to lie before what is held out."""

    NOBODY = "nobody"
    USER = "user"
    """Within each user's own history; others' later interactions are learnt from."""
    EVERYBODY = "everybody"


@dataclass(frozen=True, slots=True, kw_only=True)
class Strategy:
    """A way to split, as users know it."""

    id: str
    title: str
    help: str
    source: str
    ecv: str
    """How e-fold cross-validation applies, or why it does not."""
    make: Make
    parameters: tuple[Parameter, ...] = ()
    needs: Need = Need.NOTHING
    least_k: int = 1
    most_k: int = MAX_K
    default_k: int = 10
    fold_word: str = "fold"
    """What one of the k is: 'fold', 'repetition', 'window' or 'step back'."""
    past: Past = Past.NOBODY
    in_order: bool = False
    """True where the folds are steps in time, so that another order of them means nothing."""

    @property
    def exchangeable(self) -> bool:
        """True where folds could have come in any other order, so that some stand for all.

        What stops early, and what looks at orders of the folds, rests on it.
        """
        return not self.in_order

    @property
    def single(self) -> bool:
        """True where it makes exactly one split, so that there is nothing to stop early."""
        return self.most_k == 1

    def folds(
        self, interactions: Interactions, k: int, seed: int, settings: Mapping[str, ParamValue]
    ) -> Folds:
        """The interactions split so, by checked settings. Raises: FoldsError as `make`."""
        made = self.make(interactions, k, seed, settings)
        return Folds(
            strategy=self.id,
            k=k,
            seed=seed,
            params=tuple(sorted(settings.items())),
            assignment=made if isinstance(made, np.ndarray) else None,
            draw=None if isinstance(made, np.ndarray) else made,
        )

    def resolve(self, given: Mapping[str, ParamValue]) -> Params:
        """Every parameter with its value. Raises: InputError for an unknown name or bad value."""
        return resolve(self.parameters, given, of=f"the split {self.id}")

    def check_k(self, k: int) -> None:
        """Refuse a number of folds that this strategy never makes. Raises: FoldsError."""
        if self.single and k != 1:
            raise FoldsError(
                f"the split '{self.id}' makes one split, so k must be 1, but is {k}; "
                "use 'temporal-windows' for several test periods"
            )
        if k < self.least_k:
            why = ": one fold has nothing to train on" if self.least_k == 2 else ""
            raise FoldsError(f"k must be at least {self.least_k}, but is {k}{why}")
        if k > self.most_k:
            raise FoldsError(f"k must be at most {self.most_k:,}, but is {k:,}")


def check_need(strategy: Strategy, interactions: Interactions, known: Iterable[Strategy]) -> None:
    """Refuse a dataset without what the strategy needs, naming strategies that would work.

    Args:
        strategy: what is asked for.
        interactions: the dataset.
        known: the strategies that may be proposed instead.
    Raises: FoldsError.
    """
    if strategy.needs.met(interactions):
        return
    instead = [other.id for other in known if other.needs.met(interactions)]
    raise FoldsError(
        f"{interactions.dataset} has {LACKS[strategy.needs]}, which the split '{strategy.id}' "
        f"needs; it can be split by {', '.join(instead)}"
    )
