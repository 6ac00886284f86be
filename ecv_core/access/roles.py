"""Who asks for a change, and what their role allows them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from ecv_core.records.errors import RightsError


class PersonRole(StrEnum):
    """What somebody is to this installation."""

    OWNER = "owner"
    """The one person of a dashboard without a mode, or a command line: everything is allowed."""
    VISITOR = "visitor"
    """Of a public dashboard."""
    VIEWER = "viewer"
    """Of a team's: looks, replays, exports."""
    EDITOR = "editor"
    """Of a team's: changes what is theirs, and what is nobody's."""
    NOBODY = "nobody"
    """Not signed in, or not on the list."""


class Action(StrEnum):
    """What somebody may want to do, in words that follow 'cannot'."""

    START = "start runs"
    GO_ON = "go on with runs"
    CANCEL = "cancel runs"
    DELETE = "delete runs, or bring them back"
    ANNOTATE = "write names, tags and notes on runs"
    IMPORT = "import runs"
    UPLOAD = "upload files"
    CHANGE_DATASETS = "delete datasets"
    DOWNLOAD = "download datasets"
    START_MANY = "start studies or selections"
    FORGET = "remove studies or selections from their lists"


@dataclass(frozen=True, kw_only=True)
class Actor:
    """Somebody who asks for a change."""

    id: str
    """Of one person for good; empty for the owner, and kept with what they start."""
    role: PersonRole
    name: str = ""
    """As others read it; empty where nobody has one."""


OWNER = Actor(id="", role=PersonRole.OWNER)

_ALLOWED: Mapping[PersonRole, frozenset[Action]] = {
    PersonRole.OWNER: frozenset(Action),
    PersonRole.VISITOR: frozenset({Action.START, Action.GO_ON, Action.CANCEL}),
    PersonRole.VIEWER: frozenset(),
    PersonRole.EDITOR: frozenset(Action),
    PersonRole.NOBODY: frozenset(),
}
_REFUSALS: Mapping[PersonRole, str] = {
    PersonRole.VISITOR: "this dashboard is public, so visitors cannot {}",
    PersonRole.VIEWER: (
        "you are a viewer here and cannot {}; ask to be listed as an editor (ECV_EDITORS)"
    ),
    PersonRole.NOBODY: "you are not signed in, so you cannot {}; sign in first",
}


def refusal(action: Action, actor: Actor, *starters: str) -> str | None:
    """Why somebody may not do this, as one sentence; None where they may.

    Args:
        action: What is to be done.
        actor: Who is to do it.
        starters: The ids of those who started what it is done to; empty for what is nobody's, such
            as runs of a command line.
    """
    if action not in _ALLOWED[actor.role]:
        return _REFUSALS[actor.role].format(action.value)
    if actor.role is PersonRole.OWNER:
        return None
    allowed_starters = {actor.id}
    if actor.role is PersonRole.EDITOR:
        allowed_starters.add("")  # Editors may change what is nobody's.
    if actor.id and allowed_starters.issuperset(starters):
        return None
    return f"you can {action.value} only where they are your own; this belongs to somebody else"


def check(action: Action, actor: Actor, *starters: str) -> None:
    """Refuse what `refusal` speaks against. Raises: RightsError."""
    refuse_if(refusal(action, actor, *starters))


def refuse_if(reason: str | None) -> None:
    """Refuse what there is a reason against. Raises: RightsError with the reason."""
    if reason is not None:
        raise RightsError(reason)
