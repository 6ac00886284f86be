"""A fold -> what each interaction is for, with the fold-in part told from the rest of training."""

from __future__ import annotations

from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from ecv_core.records import Folds, Interactions, Part
from ecv_core.splits import Strategy


class Role(IntEnum):
    """What an interaction is for in one fold; `word` is what pages and files call it."""

    TRAIN = 0
    FOLD_IN = 1
    """Learnt from like training: the known part of the profile of a user who is tested."""
    VALIDATION = 2
    TEST = 3
    UNUSED = 4
    UNKNOWN = 5

    @property
    def word(self) -> str:
        """In figures and tables."""
        return _WORDS[self]


_WORDS = {
    Role.TRAIN: "training",
    Role.FOLD_IN: "fold-in",
    Role.VALIDATION: "validation",
    Role.TEST: "test",
    Role.UNUSED: "unused",
    Role.UNKNOWN: "unknown",
}
_OF_PART = np.array(
    [
        {
            Part.TRAIN: Role.TRAIN,
            Part.VALIDATION: Role.VALIDATION,
            Part.TEST: Role.TEST,
            Part.UNUSED: Role.UNUSED,
            Part.UNKNOWN: Role.UNKNOWN,
        }[part]
        for part in Part
    ],
    dtype=np.int8,
)


def roles(
    strategy: Strategy, interactions: Interactions, folds: Folds, index: int
) -> NDArray[np.int8]:
    """The Role of each interaction in fold `index`; shape (interactions,).

    Only strategies with a parameter 'fold_in' have a fold-in part.

    Raises: FoldsError if there is no such fold.
    """
    parts = folds.parts(index)
    found: NDArray[np.int8] = _OF_PART[parts]
    if any(parameter.name == "fold_in" for parameter in strategy.parameters):
        held = (parts == Part.TEST) | (parts == Part.VALIDATION)
        tested = np.bincount(interactions.users[held], minlength=interactions.n_users) > 0
        found[(found == Role.TRAIN) & tested[interactions.users]] = Role.FOLD_IN
    return found
