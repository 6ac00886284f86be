"""What a split or a model may need of a dataset beside who interacted with what."""

from __future__ import annotations

from enum import StrEnum

from ecv_core.records.interactions import Interactions


class Need(StrEnum):
    """What a dataset must have."""

    NOTHING = "nothing"
    HISTORY = "history"
    """The order of each user's interactions: timestamps, baskets, or rows in order."""
    BASKETS = "baskets"
    TIMESTAMPS = "timestamps"
    """Times that compare between users."""

    def met(self, interactions: Interactions) -> bool:
        """Whether the dataset has it."""
        if self is Need.HISTORY:
            return interactions.history is not None
        if self is Need.BASKETS:
            return interactions.baskets is not None
        return self is Need.NOTHING or interactions.timestamps is not None


LACKS = {
    Need.HISTORY: "no timestamps and no known order of a user's interactions",
    Need.BASKETS: "no baskets (a column 'basket')",
    Need.TIMESTAMPS: "no timestamps",
}
"""What a dataset has that does not meet a need, for messages."""
