"""How work says where it is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol


class Progress(Protocol):
    """Told where some work is, as it goes on; it may raise `errors.Cancelled` to end the work."""

    def __call__(
        self, phase: str, step: int, steps: int, /, *, curve: Sequence[float] = ()
    ) -> None:
        """Note a step.

        Args:
            phase: what is being done: "fit".
            step: how far it is.
            steps: 0 where the total is not known.
            curve: of a fit so far, as `FoldResult.inner_curve`.
        """


def no_progress(phase: str, step: int, steps: int, /, *, curve: Sequence[float] = ()) -> None:
    """Report nothing."""
