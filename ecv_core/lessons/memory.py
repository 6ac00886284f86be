"""The same models, graded on what they have seen and on what was held out."""

from __future__ import annotations

import json
from dataclasses import dataclass

from ecv_core.records.errors import InputError
from ecv_core.records.places import SHIPPED

RECORDED = SHIPPED / "lessons" / "seen-and-held-out.json"
"""Of the first of ten folds of the made-up dataset; the tests work it out again."""
MEMORISER = "memoriser"
"""Knows who took what, and nothing else: the worst way to be perfect on the training data."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Grades:
    """One model's mean nDCG@10 over all users, both ways; in [0, 1]."""

    algorithm: str
    seen: float
    """Ranking all items, with the training interactions as the right answers."""
    held_out: float
    """As everywhere else: ranking what is not in training, held-out ones are the answers."""


def grades() -> list[Grades]:
    """The recorded grades, of the memoriser and three models.

    Raises: InputError if the file is missing or damaged.
    """
    try:
        rows = json.loads(RECORDED.read_text(encoding="utf-8"))["grades"]
        return [Grades(**row) for row in rows]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(
            f"the recorded grades {RECORDED.name} cannot be read ({type(error).__name__}: "
            f"{error}); restore the file from the project"
        ) from error
