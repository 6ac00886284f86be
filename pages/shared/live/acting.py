"""Who uses this session, and what they may do: every change that a page makes goes through here."""

from __future__ import annotations

import math
import re
import secrets
import time

import streamlit as st

from ecv_core.access.rights import (
    OWNER,
    Acting,
    Action,
    Actor,
    Handling,
    Mode,
    PersonRole,
    member,
    refusal,
    settings,
    signed_in_until,
    visitor,
)
from ecv_core.records.errors import EcvError
from ecv_core.store.people import people_names
from pages.shared.live.state import escaped, manager, sentence, store
from pages.shared.live.tabs import NAME, tabs
from pages.shared.widgets.component import component

COOKIE = "ecv_visitor"
_SECRET = re.compile(r"[A-Za-z0-9_-]{22,64}")
_VISITOR, _NEW = "visitor-secret", "visitor-new"
_DAYS = 30

_keep_cookie = component(__file__, "ecv_visitor", html="", js="visitor.js")


def acting() -> Acting:
    """Runs, studies and selections: what this person may do with them, and the way to do it.

    Raises: StoreError if the database cannot be used.
    """
    return Acting(store(), manager, who(), settings())


def handling() -> Handling:
    """The same of files and datasets."""
    return Handling(store, who())


def who() -> Actor:
    """Who uses this session.

    A visitor is known by a secret that the browser keeps in a cookie, and until the page is loaded
    again by one of this session; a member of a team by what the provider says.
    """
    known = settings()
    if known.mode is Mode.PUBLIC:
        return visitor(_visitor_secret())
    if known.mode is Mode.TEAM:
        return member(_claims(), known, time.time())
    return OWNER


def admitted() -> bool:
    """Whether this person may see the pages; if not, it is said why, and how to sign in."""
    try:
        known, person = settings(), who()
    except EcvError as error:
        st.error(sentence(error), icon=":material/error:")
        return False
    tabs.admit(
        st.context.headers.get(NAME, ""),
        upload=refusal(Action.UPLOAD, person) is None,
        until=signed_in_until(_claims()) if person.id and known.mode is Mode.TEAM else math.inf,
    )
    if known.mode is Mode.PUBLIC:
        _remember_visitor()
    if person.role is not PersonRole.NOBODY:
        return True
    st.title("e-fold", anchor=False)
    if not person.id and "is_logged_in" not in st.user:
        st.error(
            "ECV_MODE=team needs a provider of OpenID Connect: the section [auth] of "
            ".streamlit/secrets.toml. docs/deploy.md says what belongs into it.",
            icon=":material/error:",
        )
        return False
    if not person.id:
        st.markdown("This dashboard belongs to a team. Sign in to see it, for an hour each time.")
        st.button("Sign in", type="primary", icon=":material/login:", on_click=st.login)
        return False
    st.markdown(
        f"You are signed in as **{escaped(person.name)}**, who is on no list here. Whoever runs "
        "this dashboard can add you to ECV_VIEWERS or ECV_EDITORS: by your email address if your "
        f"provider has verified it, or as `{subject_of(person)}`."
    )
    st.button("Sign out", icon=":material/logout:", on_click=st.logout)
    return False


def subject_of(person: Actor) -> str:
    """How a list of members can name somebody without an email address."""
    subject = person.id.partition("#")[2]
    return person.id if "@" in subject else subject


def _claims() -> dict[str, object]:
    """Of who is signed in here; empty for anybody else."""
    return dict(st.user.to_dict()) if st.user.get("is_logged_in") else {}


def starter(started_by: str) -> str:
    """'you', or how the member of the team is called who started something; else empty."""
    mode = settings().mode
    if mode is Mode.PRIVATE or not started_by:
        return ""
    if started_by == who().id:
        return "you"
    return people_names(store()).get(started_by, "") if mode is Mode.TEAM else ""


def why_not(action: Action) -> str:
    """Why this role may not do it to anything, as a sentence for the page; empty where it may."""
    why = handling().refusal(action)
    return sentence(EcvError(why)) if why else ""


def _visitor_secret() -> str:
    state = st.session_state
    if _VISITOR not in state:
        kept = st.context.cookies.get(COOKIE, "")
        state[_NEW] = _SECRET.fullmatch(kept) is None
        state[_VISITOR] = secrets.token_urlsafe(24) if state[_NEW] else kept
    return str(state[_VISITOR])


def _remember_visitor() -> None:
    """Have the browser keep the secret; in its first session only, which came without it."""
    if st.session_state.get(_NEW):
        secret = st.session_state[_VISITOR]
        with st.container(key="keep-visitor"):
            _keep_cookie(
                key="visitor", data={"name": COOKIE, "secret": secret, "seconds": _DAYS * 86_400}
            )
