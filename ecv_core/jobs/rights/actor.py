"""Who asks for a change and what a role allows; who has which role, as the environment says."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from hashlib import sha256

from ecv_core.models import ALGORITHMS
from ecv_core.records.errors import InputError, RightsError
from ecv_core.store.people import Quota
from ecv_core.untrusted.limits import whole_number


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
    CHANGE_DATASETS = "rename or delete datasets"
    DOWNLOAD = "download datasets"
    START_MANY = "start studies or selections"
    FORGET = "remove studies or selections from their lists"


@dataclass(frozen=True, slots=True, kw_only=True)
class Actor:
    """Somebody who asks for a change."""

    id: str
    """Of one person for good; empty for the owner, and kept with what they start."""
    role: PersonRole
    name: str = ""
    """As others read it; empty where nobody has one."""


OWNER = Actor(id="", role=PersonRole.OWNER)

_MAY: Mapping[PersonRole, frozenset[Action]] = {
    PersonRole.OWNER: frozenset(Action),
    PersonRole.VISITOR: frozenset({Action.START, Action.GO_ON, Action.CANCEL}),
    PersonRole.VIEWER: frozenset(),
    PersonRole.EDITOR: frozenset(Action),
    PersonRole.NOBODY: frozenset(),
}
_WHY: Mapping[PersonRole, str] = {
    PersonRole.VISITOR: "this dashboard is public, so visitors cannot {}",
    PersonRole.VIEWER: (
        "you are a viewer here and cannot {}; ask to be listed as an editor (ECV_EDITORS)"
    ),
    PersonRole.NOBODY: "who is not signed in cannot {}; sign in first",
}


def refusal(action: Action, actor: Actor, *belongs_to: str) -> str | None:
    """Why somebody may not do this, as one sentence; None where they may.

    Args:
        action: what is asked for.
        actor: by whom.
        belongs_to: the ids of those who started what it is done to; empty for what is nobody's,
            such as runs of a command line.
    """
    if action not in _MAY[actor.role]:
        return _WHY[actor.role].format(action.value)
    if actor.role is PersonRole.OWNER:
        return None
    free = {actor.id, ""} if actor.role is PersonRole.EDITOR else {actor.id}
    if actor.id and free.issuperset(belongs_to):
        return None
    return f"you can {action.value} only where they are yours: this belongs to somebody else"


def check(action: Action, actor: Actor, *belongs_to: str) -> None:
    """Refuse what `refusal` speaks against. Raises: RightsError."""
    if why := refusal(action, actor, *belongs_to):
        raise RightsError(why)


# What the environment says.


QUICK = ("popular", "item-knn", "user-knn", "ease", "implicit-mf", "rp3beta", "bias")
"""What visitors run unless ECV_PUBLIC_ALGORITHMS says otherwise: seconds a fold on MovieLens 1M."""
EVERYBODY = "*"
_ADDRESS = re.compile(r"[!-?A-~]+@[!-?A-~]+")
"""In ASCII with one at-sign: of other letters lower() makes those of somebody else's address."""
_MOST = 1_000_000
SIGNED_IN_SECONDS = 3600
"""After signing in one is let in for so long: who was removed at the provider is out by then."""


class Mode(StrEnum):
    """Who uses a dashboard."""

    PRIVATE = ""
    """One person, who may do everything."""
    PUBLIC = "public"
    TEAM = "team"


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What visitors of a public dashboard may run."""

    algorithms: tuple[str, ...] = QUICK
    datasets: tuple[str, ...] = ()
    """Ids; empty for all that are on this machine."""
    seconds: int = 60
    """That a run may take, all its folds together."""
    quota: Quota = field(default_factory=lambda: Quota(runs_per_hour=10, waiting=10))


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What the environment says."""

    mode: Mode = Mode.PRIVATE
    limits: Limits = field(default_factory=Limits)
    editors: frozenset[str] = frozenset()
    """Email addresses in lower case, `@domain`, subjects of the provider, or EVERYBODY."""
    viewers: frozenset[str] = frozenset()

    @property
    def seconds_per_run(self) -> int | None:
        """After which a run is ended; None without such a limit."""
        return self.limits.seconds if self.mode is Mode.PUBLIC else None


def settings() -> Settings:
    """As the environment has them now.

    Raises: InputError for a value that means nothing, in one sentence: nobody is let in then.
    """
    asked = os.environ.get("ECV_MODE", "").strip()
    if asked not in [mode.value for mode in Mode]:
        raise InputError(
            f"ECV_MODE must be 'public' or 'team', or not set for one person, but is '{asked[:40]}'"
        )
    mode = Mode(asked)
    for name in ("ECV_EDITORS", "ECV_VIEWERS"):
        if mode is not Mode.TEAM and os.environ.get(name, "").strip():
            raise InputError(
                f"{name} says who of a team may do what, but ECV_MODE is not 'team', so nobody "
                f"would have to sign in; set ECV_MODE=team, or do not set {name}"
            )
    if mode is Mode.PUBLIC:
        return Settings(mode=mode, limits=_limits())
    if mode is Mode.TEAM:
        editors = _listed("ECV_EDITORS")
        if not editors:
            raise InputError(
                "ECV_MODE=team needs ECV_EDITORS, who may run and change things: email addresses "
                f"or @domains with commas, or {EVERYBODY} for everybody who signs in"
            )
        viewers = _listed("ECV_VIEWERS") or frozenset({EVERYBODY})
        return Settings(mode=mode, editors=editors, viewers=viewers)
    return Settings()


def visitor(secret: str) -> Actor:
    """A visitor of a public dashboard.

    Args:
        secret: what only this visitor's browser holds; a hash of it is kept, and not the secret.
    """
    mark = sha256(f"e-fold visitor {secret}".encode()).hexdigest()[:24]
    return Actor(id=f"visitor:{mark}", role=PersonRole.VISITOR)


def member(claims: Mapping[str, object], known: Settings, now: float) -> Actor:
    """Who a provider of OpenID Connect says that somebody is.

    Issuer and subject name a person for good. A subject may be any text that the provider lets
    somebody choose, so one with an at-sign counts only together with its issuer, and never as an
    email address or a domain. An address counts where the provider has verified that it is theirs.

    Args:
        claims: of the identity token; empty for somebody who is not signed in.
        known: who has which role.
        now: Unix seconds; who signed in longer ago than `SIGNED_IN_SECONDS` is nobody.
    """
    issuer, subject = str(claims.get("iss") or ""), str(claims.get("sub") or "")
    if not (issuer and subject) or signed_in_until(claims) <= now:
        return Actor(id="", role=PersonRole.NOBODY)
    names = {EVERYBODY, f"{issuer}#{subject}", *([] if "@" in subject else [subject])}
    email = str(claims.get("email") or "").strip()
    if claims.get("email_verified") in (True, "true") and _ADDRESS.fullmatch(email):
        names |= {email.lower(), f"@{email.lower().partition('@')[2]}"}
    role = next(
        (
            role
            for role, listed in (
                (PersonRole.EDITOR, known.editors),
                (PersonRole.VIEWER, known.viewers),
            )
            if listed & names
        ),
        PersonRole.NOBODY,
    )
    name = str(claims.get("name") or email or subject)
    return Actor(id=f"{issuer}#{subject}", role=role, name=name[:80])


def signed_in_until(claims: Mapping[str, object]) -> float:
    """The time, in Unix seconds, at which one has to sign in again; 0 where no token says when."""
    issued = claims.get("iat")
    return issued + SIGNED_IN_SECONDS if isinstance(issued, int | float) else 0.0


def _limits() -> Limits:
    usual = Limits()
    algorithms = _names("ECV_PUBLIC_ALGORITHMS") or usual.algorithms
    if unknown := [name for name in algorithms if name not in ALGORITHMS]:
        raise InputError(
            f"ECV_PUBLIC_ALGORITHMS names '{unknown[0][:40]}', which is no algorithm; choose from: "
            f"{', '.join(ALGORITHMS)}"
        )
    return Limits(
        algorithms=algorithms,
        datasets=_names("ECV_PUBLIC_DATASETS"),
        seconds=whole_number("ECV_PUBLIC_SECONDS", usual.seconds, "seconds", 1, _MOST),
        quota=Quota(
            runs_per_hour=whole_number(
                "ECV_PUBLIC_RUNS_PER_HOUR", usual.quota.runs_per_hour, "runs", 1, _MOST
            ),
            waiting=whole_number("ECV_PUBLIC_QUEUE", usual.quota.waiting, "runs", 1, _MOST),
        ),
    )


def _names(name: str) -> tuple[str, ...]:
    parts = os.environ.get(name, "").split(",")
    return tuple(dict.fromkeys(part.strip() for part in parts if part.strip()))


def _listed(name: str) -> frozenset[str]:
    """Email addresses do not tell capital letters apart; subjects do, so both spellings count."""
    names = _names(name)
    return frozenset(names) | {one.lower() for one in names if "@" in one}
