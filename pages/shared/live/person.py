"""Who uses this session, and what they may do: every change that a page makes goes through here."""

from __future__ import annotations

import math
import re
import secrets
import time

import streamlit as st

from ecv_core.access.dataset_actions import DatasetActions
from ecv_core.access.roles import OWNER, Action, Actor, PersonRole, refusal
from ecv_core.access.run_actions import RunActions
from ecv_core.access.settings import Mode, member, settings, signed_in_until, visitor
from ecv_core.access.sign_outs import SignOuts
from ecv_core.records.errors import EcvError
from ecv_core.store.people import people_names
from pages.shared.live.state import escaped, manager, sentence, show_error, store
from pages.shared.live.tabs import TAB_HEADER, VISITOR, tabs

_SECRET_FORM = re.compile(r"[A-Za-z0-9_-]{22,64}")
_VISITOR = "visitor-secret"
"""In the session: the visitor's secret."""

sign_outs = SignOuts()
"""Of this process: a sign-in is over where it was seen, and a token lasts an hour anyway."""


def run_actions() -> RunActions:
    """Runs, studies and selections: what this person may do with them, and the way to do it.

    Raises:
        StoreError: If the database cannot be used.
    """
    return RunActions(store(), manager, who(), settings())


def dataset_actions() -> DatasetActions:
    """The same of files and datasets."""
    return DatasetActions(store, who())


def who() -> Actor:
    """Who uses this session.

    A visitor is known by a secret that the browser keeps in a cookie, and until the page is loaded
    again by one of this session; a member of a team by what the provider says.
    """
    rules = settings()
    if rules.mode is Mode.PUBLIC:
        return visitor(_visitor_secret())
    if rules.mode is Mode.TEAM:
        return member(_claims(), rules, time.time())
    return OWNER


def admitted_until() -> float:
    """The time, in Unix seconds, at which whoever uses this session is let in no longer."""
    if settings().mode is Mode.TEAM:
        return signed_in_until(_claims())
    return math.inf


def admit() -> bool:
    """Let this person see the pages, or say why not, and how to sign in.

    Returns:
        Whether they may see the pages.
    """
    try:
        person = who()
    except EcvError as error:
        show_error(error)
        return False
    may_upload = refusal(Action.UPLOAD, person) is None
    may_look = person.role is not PersonRole.NOBODY
    is_member = may_look and settings().mode is not Mode.PUBLIC
    name_of_tab = st.context.headers.get(TAB_HEADER, "")
    tabs.admit(name_of_tab, member=is_member, upload=may_upload)
    if not may_look:
        _say_how_to_get_in(person)
    return may_look


def _say_how_to_get_in(person: Actor) -> None:
    """For somebody of a team's dashboard who has not signed in, or is on no list."""
    st.title("e-fold", anchor=False)
    if not person.id and "is_logged_in" not in st.user:
        st.error(
            "ECV_MODE=team needs a provider of OpenID Connect: the section [auth] of "
            ".streamlit/secrets.toml. docs/deploy.md says what goes into it.",
            icon=":material/error:",
        )
    elif not person.id:
        st.markdown("This dashboard belongs to a team. Sign in to see it, for an hour each time.")
        st.button(
            "Sign in", type="primary", icon=":material/login:", key="sign-in", on_click=st.login
        )
    else:
        st.markdown(
            f"You are signed in as **{escaped(person.name)}**, who is on no list here. Whoever "
            "runs this dashboard can add you to ECV_VIEWERS or ECV_EDITORS: by your email address "
            f"if your provider has verified it, or as `{subject_of(person)}`."
        )
        st.button("Sign out", icon=":material/logout:", on_click=sign_out)


def subject_of(person: Actor) -> str:
    """How a list of members can name somebody without an email address."""
    _, _, subject = person.id.partition("#")
    if "@" in subject:
        return person.id
    return subject


def _claims() -> dict[str, object]:
    """What the provider says of who is signed in here; empty for anybody else."""
    if not st.user.get("is_logged_in"):
        return {}
    claims: dict[str, object] = dict(st.user.to_dict())
    sign_outs.note(claims)  # so that signing out in any tab ends this sign-in too
    if sign_outs.is_over(claims):
        return {}
    return claims


def sign_out() -> None:
    """Sign this person out: here, in other tabs, and wherever the cookie was copied to."""
    sign_outs.sign_out(_claims())
    st.logout()


def name_of_starter(person_id: str) -> str:
    """'you', or how the member of the team is called who started something; else empty."""
    mode = settings().mode
    if mode is Mode.PRIVATE or not person_id:
        return ""
    if person_id == who().id:
        return "you"
    if mode is Mode.TEAM:
        return people_names(store()).get(person_id, "")
    return ""  # visitors of a public dashboard have no names


def why_not(action: Action) -> str:
    """Why this role may not do it to anything, as a sentence for the page; empty where it may."""
    why = dataset_actions().refusal(action)
    if not why:
        return ""
    return sentence(EcvError(why))


def _visitor_secret() -> str:
    """By the cookie of the browser; one of this session alone where the browser keeps none."""
    state = st.session_state
    if _VISITOR not in state:
        secret = st.context.cookies.get(VISITOR, "")
        if _SECRET_FORM.fullmatch(secret) is None:
            secret = secrets.token_urlsafe(24)
        state[_VISITOR] = secret
    return str(state[_VISITOR])
