"""Who has signed out of this dashboard: their other tabs, and copies of their cookie, end with it.

A cookie that says who somebody is stays valid until it runs out, wherever it was copied to. So the
server keeps, in memory, which sign-ins it has seen of a person, and which are over.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from ecv_core.access.settings import issued_at, person_of

_NEVER = -math.inf
"""Before every time, in Unix seconds."""


class SignOuts:
    """The sign-ins of each person that this process has seen, by the time of their tokens."""

    def __init__(self) -> None:
        """Nobody has signed out."""
        self._newest_token_issued_at: dict[str, float] = {}
        """Person -> Unix time at which the newest token seen here was issued."""
        self._void_until: dict[str, float] = {}
        """Person -> Unix time; tokens that were issued up to then are void."""

    def note(self, claims: Mapping[str, object]) -> None:
        """Note a token that is shown here, so that signing out ends this sign-in too.

        Args:
            claims: The claims of the identity token.
        """
        person = person_of(claims)
        newest = self._newest_token_issued_at.get(person, _NEVER)
        self._newest_token_issued_at[person] = max(issued_at(claims), newest)

    def is_over(self, claims: Mapping[str, object]) -> bool:
        """Whether the person of this token has signed out since it was issued.

        Args:
            claims: The claims of the identity token.
        """
        return issued_at(claims) <= self._void_until.get(person_of(claims), _NEVER)

    def sign_out(self, claims: Mapping[str, object]) -> None:
        """End every sign-in of this person that was seen so far.

        Args:
            claims: The claims of the identity token of the tab where somebody signs out.
        """
        self.note(claims)
        person = person_of(claims)
        self._void_until[person] = self._newest_token_issued_at[person]
