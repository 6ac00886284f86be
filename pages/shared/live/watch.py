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
from pages.shared.base.component import component, ignore
from pages.shared.live.events import SERVER, Feed, Grant, events
from pages.shared.live.person import admitted_until, who
from pages.shared.live.state import errors_as_sentences, made_once, store

_listener = component(__file__, "ecv_watch", html="<span></span>", js=["watch.js"])

PAGE = "page-shown"
"""In the session's state: the path of the page that is drawn, empty for the first one."""
_drawn_from: ContextVar[Activity | None] = ContextVar("drawn_from", default=None)
"""What went on when the drawing of this page, or of this part of it, began."""
_tokens_of_part: ContextVar[list[str] | None] = ContextVar("tokens_of_part", default=None)
"""Those of the feeds in the part of a page that is drawn now; None outside of `draw_live`."""
_Value = TypeVar("_Value")


def draw_live(
    draw: Callable[..., None],
    *arguments: object,
    key: str,
    topics: Sequence[str],
    foreground_topics: Sequence[str] = (),
) -> None:
    """Draw a part of the page, and draw it anew when what it shows has changed.

    Args:
        draw: Draws it.
        arguments: The arguments of `draw`.
        key: The key of this part; no other on the page has it.
        topics: The topics that it shows; see `events.topic`.
        foreground_topics: More of them; a page in the background is not drawn anew for these.
    """
    is_first_drawing = True

    def draw_and_listen() -> None:
        nonlocal is_first_drawing
        # These values stay if the database cannot be read below. The browser compares versions with
        # those of the server, which are never empty: so it asks for a new drawing once the database
        # can be read.
        moment = time.monotonic()
        version_of_topic = dict.fromkeys((*topics, *foreground_topics), "")
        # If `draw` calls `shared_entries`, that adds the token by which the browser gets a feed.
        feed_tokens: list[str] = []
        with errors_as_sentences():  # where the database cannot be read, this shows the error
            if is_first_drawing:
                # The whole page is drawn from this activity.
                activity = watch().drawn_activity()
            else:
                activity = _activity_for_later_drawing()
            is_first_drawing = False
            moment = activity.moment
            for topic in version_of_topic:
                version_of_topic[topic] = events.version(topic, activity)
            with _set_inside(_tokens_of_part, feed_tokens), _set_inside(_drawn_from, activity):
                draw(*arguments)
        # The listener is drawn last, so that it does not move what the part shows.
        _listen(key, moment, version_of_topic, foreground_topics, feed_tokens)

    st.fragment(draw_and_listen)()


def redraw_page_if_changed(now: object, drawn: object, drawn_at: float) -> None:
    """For a part of a page: have the whole page drawn anew where something has changed since.

    Args:
        now: What the page depends on, as it is now.
        drawn: The same as it was when the page was drawn.
        drawn_at: The moment of the activity that the page was drawn from.
    """
    # A part is drawn with its page first, from the same activity. If that drew the page anew, and
    # folds were quicker than the drawing, the page would never be finished.
    if watch().drawn_activity().moment > drawn_at and now != drawn:
        st.rerun()


def _activity_for_later_drawing() -> Activity:
    """What goes on now, for a part of a page that is drawn anew by itself. Raises: StoreError."""
    # A page, as it begins, turns away whoever may not see it. Such a part skips that beginning, so
    # the person is checked here, and the page, drawn anew, says why it refuses them.
    if who().role is PersonRole.NOBODY:
        st.rerun()
    return watch().newest_activity()


def shared_entries(
    name: str,
    topics: Sequence[str],
    make_entries: Callable[[], Mapping[str, object] | None],
    *,
    make_last_entries: Callable[[], Mapping[str, object]] = dict,
) -> dict[str, object]:
    """Entries of a component's data that all who watch are shown alike.

    The component (see shared.js) is told them anew as they change, and the page is not drawn anew.
    Call it in a part that `draw_live` draws, for somebody who may see it.

    Args:
        name: The name of the feed; no other has it.
        topics: The topics that it shows.
        make_entries: Gives the entries, from what `watch` says alone; None where there are none
            any more.
        make_last_entries: Gives those of what has ended while the page was drawn.
    """

    def make_later_entries(activity: Activity) -> Mapping[str, object] | None:
        # The server's loop calls this once a topic has changed, with what it has seen go on.
        with _set_inside(_drawn_from, activity):
            return make_entries()

    # The server sends later entries, which make up the feed, to every browser that shows it the
    # token of a grant. The session holds that grant for as long as its person may see the page.
    grants = _grants_of_session()
    if name not in grants:
        feed = Feed(name, topics=tuple(topics), make=make_later_entries)
        grants[name] = events.grant(feed, until=admitted_until())
    tokens = _tokens_of_part.get()
    if tokens is not None:
        tokens.append(grants[name].token)  # `draw_live` hands them to the browser
    # `make_entries` gives nothing once the run, or whatever the feed shows, has ended.
    entries = make_entries() or make_last_entries()
    return {"shared": name, "moment": watch().drawn_activity().moment, **entries}


@st.cache_resource(scope="session", show_spinner=False)
def _grants_of_session() -> dict[str, Grant]:
    """By the name of the feed, until the session's page is left; whoever calls it adds to it."""
    return {}


@contextmanager
def _set_inside(variable: ContextVar[_Value], value: _Value) -> Iterator[None]:
    """Inside, the variable has this value; after it, the one that it had."""
    value_before = variable.set(value)
    try:
        yield
    finally:
        variable.reset(value_before)


def redraw_page_after_restart() -> None:
    """Have the whole page drawn anew by a server that was started again: it knows no part of it.

    Call it where the page begins. Raises: StoreError.
    """
    activity = watch().drawn_activity()
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
        key: The key of the part that is drawn anew.
        moment: When what it shows was looked at.
        versions: The versions of its topics then.
        foreground_topics: Those for which a page in the background is not drawn anew.
        tokens: The tokens of the feeds that it shows.
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
    with st.container(key=f"told-{key}"):  # this container takes no room on the page
        _listener(key=f"listens-{key}", data=data, on_changed_change=ignore)


@made_once
def watch(url: str) -> Watch:
    """The process's one watch. Raises: StoreError if the database cannot be used."""
    return Watch(store())


@dataclass
class Watch:
    """What goes on, read once for all pages for as long as it has not changed."""

    _store: Store
    _runs: list[RunRecord] = field(default_factory=list)
    """The active ones, as they were read last."""
    _stages_when_read: object = None
    """Their `Activity.stages` then."""

    def begin_page(self) -> Activity:
        """What goes on now: all that the page which begins here is drawn from. Raises: StoreError.

        So what a part of it says to show is never newer than what was read for the page.
        """
        # If the database cannot be read now, the activity of the page before must not be used
        # again.
        _drawn_from.set(None)
        activity = self.newest_activity()
        _drawn_from.set(activity)
        return activity

    def newest_activity(self) -> Activity:
        """What goes on now. Raises: StoreError."""
        return current_activity(self._store)

    def drawn_activity(self) -> Activity:
        """What went on when the drawing of this page or part of it began. Raises: StoreError."""
        return _drawn_from.get() or self.newest_activity()

    def active_runs(self) -> list[RunRecord]:
        """As `Store.active`; runs are read again only when one has gone on. Raises: StoreError."""
        # All of a page shows the moment at which its drawing began; a part that is drawn again by
        # itself shows a later one.
        activity = self.drawn_activity()
        # The stages have the state, the number of folds and the like of each active run: while they
        # stay as they are, only progress changes.
        if activity.stages != self._stages_when_read:
            self._runs = []
            if activity.runs:
                self._runs = self._store.active()
            self._stages_when_read = activity.stages
        progress_of_run = {run.run_id: run.progress for run in activity.runs}
        return [replace(run, progress=progress_of_run.get(run.run_id)) for run in self._runs]

    def runs_of_group(self, group_id: str) -> list[RunRecord]:
        """As `Store.group`; runs that are all active are not read again. Raises: StoreError."""
        in_order_of_start = [run for run in self.drawn_activity().runs if run.group == group_id]
        active = {run.run_id: run for run in self.active_runs() if run.group == group_id}
        if not in_order_of_start or len(active) != in_order_of_start[0].runs_in_group:
            return self._store.group(group_id)
        # No run of the group has ended, so the active runs are the whole group.
        return [active[run.run_id] for run in in_order_of_start if run.run_id in active]
