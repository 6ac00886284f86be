"""What the environment says of access: modes, limits and lists of people, and who somebody is."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from hashlib import sha256
from ipaddress import ip_network

from ecv_core.access.roles import Actor, PersonRole
from ecv_core.models import ALGORITHMS
from ecv_core.records.errors import InputError
from ecv_core.store.quota import Quota
from ecv_core.untrusted.limits import whole_number

QUICK = ("popular", "item-knn", "user-knn", "ease", "implicit-mf", "rp3beta", "bias")
"""What visitors run unless ECV_PUBLIC_ALGORITHMS says otherwise: seconds a fold on MovieLens 1M."""
EVERYBODY = "*"
"""On a list of people: whoever signs in."""
SIGNED_IN_SECONDS = 3600
"""After signing in, a person is let in for this long. Somebody whom the provider has removed since
is out by then."""
_ADDRESS = re.compile(r"[!-?A-~]+@[!-?A-~]+")
"""An email address in ASCII with a single at-sign. Of some other letters `lower()` makes the
letters of somebody else's address."""
_MOST = 1_000_000
"""Of a limit that is a number."""
_PROXIES = "FORWARDED_ALLOW_IPS"
"""Uvicorn's variable; without it the proxies of this machine are believed."""


class Mode(StrEnum):
    """Who uses a dashboard."""

    PRIVATE = ""
    """One person, who may do everything."""
    PUBLIC = "public"
    TEAM = "team"


@dataclass(frozen=True, kw_only=True)
class Limits:
    """What visitors of a public dashboard may run."""

    algorithms: tuple[str, ...] = QUICK
    datasets: tuple[str, ...] = ()
    """Ids; empty for all that are on this machine."""
    seconds: int = 60
    """That a run may take, all its folds together."""
    quota: Quota = field(default_factory=lambda: Quota(runs_per_hour=10, waiting=10))


@dataclass(frozen=True, kw_only=True)
class AccessSettings:
    """What the environment says."""

    mode: Mode = Mode.PRIVATE
    limits: Limits = field(default_factory=Limits)
    editors: frozenset[str] = frozenset()
    """Email addresses in lower case, `@domain`, subjects of the provider, or EVERYBODY."""
    viewers: frozenset[str] = frozenset()

    @property
    def seconds_per_run(self) -> int | None:
        """The seconds after which a run is ended; None without such a limit."""
        if self.mode is Mode.PUBLIC:
            return self.limits.seconds
        return None


def settings() -> AccessSettings:
    """The settings as the environment has them now.

    Raises:
        InputError: For a value that means nothing, in one sentence: nobody is let in then.
    """
    mode = _mode()
    if mode is not Mode.PRIVATE:
        _check_proxies()
    if mode is Mode.TEAM:
        return _team_settings()
    for name in ("ECV_EDITORS", "ECV_VIEWERS"):
        if _names_of_variable(name):
            raise InputError(
                f"{name} says who of a team may do what, but ECV_MODE is not 'team', so nobody "
                f"would have to sign in; set ECV_MODE=team, or do not set {name}"
            )
    if mode is Mode.PUBLIC:
        return AccessSettings(mode=mode, limits=_public_limits())
    return AccessSettings()


def visitor(secret: str) -> Actor:
    """A visitor of a public dashboard.

    Args:
        secret: What only this visitor's browser holds. A hash of it is kept, not the secret.
    """
    mark = sha256(f"e-fold visitor {secret}".encode()).hexdigest()[:24]
    return Actor(id=f"visitor:{mark}", role=PersonRole.VISITOR)


def member(claims: Mapping[str, object], access: AccessSettings, now: float) -> Actor:
    """Who a provider of OpenID Connect says that somebody is.

    Issuer and subject name a person for good.

    Args:
        claims: The claims of the identity token; empty for somebody who is not signed in.
        access: Whose lists say what members may do.
        now: Unix seconds; who signed in longer ago than `SIGNED_IN_SECONDS` is nobody.
    """
    subject = _text(claims, "sub")
    if not _text(claims, "iss") or not subject or signed_in_until(claims) <= now:
        return Actor(id="", role=PersonRole.NOBODY)
    names_in_lists = _names_in_lists(claims)
    role = PersonRole.NOBODY
    if access.editors & names_in_lists:
        role = PersonRole.EDITOR
    elif access.viewers & names_in_lists:
        role = PersonRole.VIEWER
    shown_name = _text(claims, "name") or _text(claims, "email").strip() or subject
    return Actor(id=person_of(claims), role=role, name=shown_name[:80])


def person_of(claims: Mapping[str, object]) -> str:
    """The issuer and the subject, who name a person for good."""
    return f"{_text(claims, 'iss')}#{_text(claims, 'sub')}"


def signed_in_until(claims: Mapping[str, object]) -> float:
    """When one has to sign in again, in Unix seconds; minus infinity where no token says when."""
    return issued_at(claims) + SIGNED_IN_SECONDS


def issued_at(claims: Mapping[str, object]) -> float:
    """When an identity token was issued, in Unix seconds; minus infinity where it does not say."""
    seconds = claims.get("iat")
    if isinstance(seconds, int | float):
        return float(seconds)
    return -math.inf


def _names_in_lists(claims: Mapping[str, object]) -> set[str]:
    """The names by which a list of people may mean the person of these claims.

    A provider may let people choose their subject, so that one with an at-sign could be somebody
    else's address: alone, without its issuer, it does not count. An address counts where the
    provider has verified it.
    """
    names = {EVERYBODY, person_of(claims)}
    subject = _text(claims, "sub")
    if "@" not in subject:
        # A subject with an at-sign could be chosen to look like the address of somebody else.
        names.add(subject)
    email = _text(claims, "email").strip()
    is_verified = claims.get("email_verified") in (True, "true")
    if is_verified and _ADDRESS.fullmatch(email):
        address = email.lower()
        domain = address.partition("@")[2]
        names |= {address, f"@{domain}"}
    return names


def _text(claims: Mapping[str, object], name: str) -> str:
    """A claim as text; empty where there is none."""
    return str(claims.get(name) or "")


def _mode() -> Mode:
    """The mode that ECV_MODE names. Raises: InputError."""
    word = os.environ.get("ECV_MODE", "").strip()
    try:
        return Mode(word)
    except ValueError:
        raise InputError(
            f"ECV_MODE must be 'public' or 'team', or not set for one person, but is '{word[:40]}'"
        ) from None


def _check_proxies() -> None:
    """Refuse proxies that are not named one by one.

    The server believes what they say of the address that somebody comes from, and by it counts the
    tabs of strangers. Raises: InputError.
    """
    for name in _names_of_variable(_PROXIES):
        try:
            network = ip_network(name)
        except ValueError:
            network = None
        if network is None or network.prefixlen == 0:
            raise InputError(
                f"{_PROXIES} names the proxies that are believed, by their addresses, such as "
                f"127.0.0.1 or 10.0.0.0/8, but has '{name[:40]}'; name them one by one"
            )


def _team_settings() -> AccessSettings:
    """Who of a team may do what. Raises: InputError where nobody could change anything."""
    editors = _people("ECV_EDITORS")
    if not editors:
        raise InputError(
            "ECV_MODE=team needs ECV_EDITORS, who may run and change things: email addresses "
            f"or @domains with commas, or {EVERYBODY} for everybody who signs in"
        )
    viewers = _people("ECV_VIEWERS") or frozenset({EVERYBODY})
    return AccessSettings(mode=Mode.TEAM, editors=editors, viewers=viewers)


def _public_limits() -> Limits:
    """What visitors may run, as the environment says. Raises: InputError."""
    usual = Limits()
    algorithms = _names_of_variable("ECV_PUBLIC_ALGORITHMS") or usual.algorithms
    for name in algorithms:
        if name not in ALGORITHMS:
            raise InputError(
                f"ECV_PUBLIC_ALGORITHMS names '{name[:40]}', which is no algorithm; choose from: "
                f"{', '.join(ALGORITHMS)}"
            )
    quota = Quota(
        runs_per_hour=whole_number(
            "ECV_PUBLIC_RUNS_PER_HOUR", usual.quota.runs_per_hour, "runs", 1, _MOST
        ),
        waiting=whole_number("ECV_PUBLIC_QUEUE", usual.quota.waiting, "runs", 1, _MOST),
    )
    return Limits(
        algorithms=algorithms,
        datasets=_names_of_variable("ECV_PUBLIC_DATASETS"),
        seconds=whole_number("ECV_PUBLIC_SECONDS", usual.seconds, "seconds", 1, _MOST),
        quota=quota,
    )


def _names_of_variable(variable: str) -> tuple[str, ...]:
    """The names, with commas between them, in a variable of the environment, none twice."""
    parts = map(str.strip, os.environ.get(variable, "").split(","))
    return tuple(dict.fromkeys(filter(None, parts)))


def _people(variable: str) -> frozenset[str]:
    """The names of people in a variable of the environment.

    Email addresses do not tell capital letters apart, but subjects do: both spellings count.
    """
    names = set(_names_of_variable(variable))
    for name in _names_of_variable(variable):
        if "@" in name:
            names.add(name.lower())
    return frozenset(names)
