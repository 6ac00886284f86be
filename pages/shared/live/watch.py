"""Parts of pages that follow what goes on, and what is read once for all who watch."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from typing import TypeVar

import streamlit as st

from ecv_core.access.roles import PersonRole
from ecv_core.records.run import RunRecord
from ecv_core.store.activity import Activity, current_activity
from ecv_core.store.store import Store
from pages.shared.live.acting import admitted_until, who
from pages.shared.live.events import SERVER, Feed, Grant, events
from pages.shared.live.state import errors_as_sentences, made_once, store
from pages.shared.widgets.component import component, ignore

_listener = component(__file__, "ecv_watch", html="<span></span>", js=["watch.js"])

PAGE = "page-shown"
"""In the session's state: the path of the page that is drawn, empty for the first one."""
_drawn_from: ContextVar[Activity | None] = ContextVar("drawn_from", default=None)
"""What went on when the drawing of this page, or of this part of it, began."""
_tokens: ContextVar[list[str] | None] = ContextVar("tokens", default=None)
"""Those of the feeds in the part of a page that is drawn now."""
_Value = TypeVar("_Value")


def follow(
    draw: Callable[..., None],
    *arguments: object,
    key: str,
    topics: Sequence[str],
    foreground_topics: Sequence[str] = (),
) -> None:
    """Draw a part of the page, and draw it anew when what it shows has changed.

    Args:
        draw: draws it.
        arguments: of `draw`.
        key: of this part; no other on the page has it.
        topics: that it shows; see `events.topic`.
        foreground_topics: more of them; a page in the background is not drawn anew for these.
    """
    drawn_with_page = True

    def draw_part() -> None:
        nonlocal drawn_with_page
        # These stay if the database cannot be read below. No topic has an empty version, so the
        # browser asks for a new drawing once the database can be read.
        moment = time.monotonic()
        versions = dict.fromkeys((*topics, *foreground_topics), "")
        tokens: list[str] = []  # filled by `shared_entries`
        with errors_as_sentences():  # shows the error where the database cannot be read
            if drawn_with_page:
                activity = watch().now()  # what the rest of the page is drawn from
            elif who().role is PersonRole.NOBODY:
                st.rerun()  # the whole page then says that this person is not let in any more
            else:
                activity = watch().look()
            drawn_with_page = False
            moment = activity.moment
            versions = {topic: events.version(topic, activity) for topic in versions}
            with _held(_tokens, tokens), _held(_drawn_from, activity):
                draw(*arguments)
        # The listener is drawn last, so that it does not move what the part shows.
        _listen(key, moment, versions, foreground_topics, tokens)

    st.fragment(draw_part)()


def shared_entries(
    name: str,
    topics: Sequence[str],
    make: Callable[[], Mapping[str, object] | None],
    *,
    ended: Callable[[], Mapping[str, object]] = dict,
) -> dict[str, object]:
    """Entries of a component's data that all who watch are shown alike.

    The component (see shared.js) is told them anew as they change, and the page is not drawn anew.
    Call it in a part that `follow` draws, for somebody who may see it.

    Args:
        name: of the feed; no other has it.
        topics: that it shows.
        make: gives the entries, from what `watch` says alone; None where there are none any more.
        ended: gives those of what has ended while the page was drawn.
    """

    def make_from(activity: Activity) -> Mapping[str, object] | None:
        with _held(_drawn_from, activity):
            return make()

    grants = _grants_of_session()
    if name not in grants:
        grants[name] = events.grant(Feed(name, tuple(topics), make_from), admitted_until())
    tokens_of_part = _tokens.get()
    if tokens_of_part is not None:
        tokens_of_part.append(grants[name].token)  # with it the browser may ask for news
    entries = make() or ended()
    return {"shared": name, "moment": watch().now().moment, **entries}


@st.cache_resource(scope="session", show_spinner=False)
def _grants_of_session() -> dict[str, Grant]:
    """By the name of the feed, until the session's page is left; whoever calls it adds to it."""
    return {}


@contextmanager
def _held(variable: ContextVar[_Value], value: _Value) -> Iterator[None]:
    """Inside, the variable has this value; after it, the one that it had."""
    before = variable.set(value)
    try:
        yield
    finally:
        variable.reset(before)


def follow_server() -> None:
    """Have the whole page drawn anew by a server that was started again: it knows no part of it.

    Call it where the page begins. Raises: StoreError.
    """
    activity = watch().now()
    _listen(SERVER, activity.moment, {SERVER: events.version(SERVER, activity)}, page=True)


def _listen(
    key: str,
    moment: float,
    versions: Mapping[str, str],
    foreground_topics: Sequence[str] = (),
    tokens: Sequence[str] = (),
    page: bool = False,
) -> None:
    """Have the browser follow topics, and press for a new drawing once they have changed.

    Args:
        key: Of the part that is drawn anew.
        moment: When what it shows was looked at.
        versions: Of its topics then.
        foreground_topics: Those for which a page in the background is not drawn anew.
        tokens: Of the feeds that it shows.
        page: Whether it is the whole page.
    """
    data = {
        "moment": moment,
        "versions": dict(versions),
        "often": list(foreground_topics),
        "tokens": list(tokens),
        "page": page,
        "path": st.session_state.get(PAGE, ""),
    }
    with st.container(key=f"told-{key}"):  # which takes no room, loaded or not
        _listener(key=f"listens-{key}", data=data, on_changed_change=ignore)


@made_once
def watch(url: str) -> Watch:
    """The process's one watch. Raises: StoreError if the database cannot be used."""
    return Watch(store())


@dataclass(slots=True)
class Watch:
    """What goes on, read once for all pages for as long as it has not changed."""

    _store: Store
    _stages: object = None
    """The stages of active runs when `_runs` were read."""
    _runs: list[RunRecord] = field(default_factory=list)

    def page_begins(self) -> Activity:
        """What goes on now: all that the page which begins here is drawn from. Raises: StoreError.

        So what a part of it says to show is never newer than what was read for the page.
        """
        _drawn_from.set(None)  # where the database is away, nothing of the page before is left
        activity = self.look()
        _drawn_from.set(activity)
        return activity

    def look(self) -> Activity:
        """What goes on now. Raises: StoreError."""
        return current_activity(self._store)

    def now(self) -> Activity:
        """What went on when the drawing of this page or part of it began. Raises: StoreError."""
        activity = _drawn_from.get()
        if activity is None:
            return self.look()
        return activity

    def active(self) -> list[RunRecord]:
        """As `Store.active`; runs are read again only when one has gone on. Raises: StoreError."""
        activity = self.now()
        # Stages hold all that changes of an active run but its progress, which comes with activity.
        if activity.stages != self._stages:
            self._runs = []
            if activity.runs:
                self._runs = self._store.active()
            self._stages = activity.stages
        progress = {run.run_id: run.progress for run in activity.runs}
        return [replace(run, progress=progress.get(run.run_id)) for run in self._runs]

    def group(self, group_id: str) -> list[RunRecord]:
        """As `Store.group`; runs that are all active are not read again. Raises: StoreError."""
        active = [run for run in self.now().runs if run.group == group_id]
        runs = {run.run_id: run for run in self.active() if run.group == group_id}
        if active and len(runs) == active[0].of_group:  # so that none has ended
            return [runs[run.run_id] for run in active if run.run_id in runs]
        return self._store.group(group_id)
