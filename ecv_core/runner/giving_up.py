"""A command does not wait for ever for a disk that is full."""

from __future__ import annotations

from collections.abc import Callable

from ecv_core.errors import RunError

SAVE_ATTEMPTS = 5
"""So many, where nobody is there to free the disk while the program waits."""
WAITS = ". A result is waiting in memory to be saved; it is tried again."


class GivesUp:
    """For a command: says once that a fold cannot be saved, and gives up in the end."""

    def __init__(self, say: Callable[[str], None], attempts: int = SAVE_ATTEMPTS) -> None:
        self._say = say
        self._attempts = attempts
        self._failed = 0
        self.error: RunError | None = None
        """What was raised; None while all is well."""

    def __call__(self, sentence: str | None) -> None:
        """As `execute` calls its `on_trouble`.

        Raises: RunError after so many attempts in a row.
        """
        self._failed = self._failed + 1 if sentence else 0
        if sentence and self._failed == 1:
            self._say(sentence)
        if sentence and self.error is None and self._failed >= self._attempts:
            why = sentence.removesuffix(WAITS)
            self.error = RunError(f"gave up saving after {self._failed} attempts: {why}")
        if sentence and self.error is not None:
            raise self.error
